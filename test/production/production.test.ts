import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { preferredInstance } from "@stratigraph/service";
import { inRounds } from "../rounds.ts";
import { available } from "../servers/available.ts";
import { runChild, type Child } from "../servers/children.ts";
import {
  query,
  startPostgres,
  startReplica,
  type PostgresReplica,
  type PostgresServer,
} from "../servers/postgres.ts";
import type { Prometheus } from "../servers/prometheus.ts";
import { freePort, waitUntil } from "../servers/process.ts";
import { startRedis, type RedisServer } from "../servers/redis.ts";
import { freshBucket, type FreshBucket } from "../servers/shared.ts";
import { scraping, askPanels } from "./dashboard.ts";
import { User } from "./user.ts";

// examples/production as it is deployed: three instances on PostgreSQL with a synchronous replica, Redis and S3. While users talk to it,
// an instance, Redis and the primary are killed. Nothing that a user was told is lost, and nobody is paid twice.

const users = inRounds({ few: 20, all: 60, soak: 200 });
const rounds = inRounds({ few: 1, all: 2 });

const { postgres, redis: hasRedis, s3, prometheus: hasPrometheus } = available;

describe.skipIf(!postgres || !hasRedis || !s3 || !hasPrometheus)("the production example", () => {
  const folder = mkdtempSync(join(tmpdir(), "stratigraph-production-"));
  const ledger = join(folder, "refunds.jsonl");
  let primary: PostgresServer;
  let replica: PostgresReplica;
  let redis: RedisServer;
  let bucket: FreshBucket;
  let prometheus: Prometheus | undefined;
  const instances = new Map<string, Child<{ port: number }>>();

  beforeAll(async () => {
    [primary, redis, bucket] = await Promise.all([startPostgres(), startRedis(), freshBucket()]);
    replica = await startReplica(primary);
    await query(primary.url, "alter system set synchronous_standby_names = '*'");
    await query(primary.url, "select pg_reload_conf()");
    await waitUntil("synchronous replication", async () => {
      const [row] = await query(primary.url, "select sync_state from pg_stat_replication");
      return row?.["sync_state"] === "sync";
    });
  });
  afterAll(async () => {
    await Promise.all([...instances.values()].map((instance) => instance.kill()));
    await prometheus?.stop();
    await replica?.stop();
    await primary?.stop();
    await redis?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function start(port: number): Promise<void> {
    const { endpoint, accessKey, secretKey } = bucket;
    const child = runChild<{ port: number }>(join(import.meta.dirname, "instanceChild.ts"), [], {
      env: {
        PORT: String(port),
        HOST: "127.0.0.1",
        LEDGER: ledger,
        LOG_LEVEL: "warn",
        DATABASE_URL: `postgres://postgres@127.0.0.1:${primary.port},127.0.0.1:${replica.port}/postgres?target_session_attrs=read-write`,
        REDIS_URL: redis.url,
        ARCHIVE_URL: `s3://${bucket.bucket}?endpoint=${encodeURIComponent(endpoint)}&region=us-east-1&pathStyle=true`,
        AWS_ACCESS_KEY_ID: accessKey,
        AWS_SECRET_ACCESS_KEY: secretKey,
      },
    });
    instances.set(`http://127.0.0.1:${port}`, child);
    await child.message(() => true);
  }

  const paid = (): { amount: number; key: string }[] =>
    existsSync(ledger)
      ? readFileSync(ledger, "utf8")
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line) as { amount: number; key: string })
      : [];

  test("users lose nothing while an instance, Redis and the primary are killed", async () => {
    const ports = [await freePort(), await freePort(), await freePort()];
    await Promise.all(ports.map(start));
    prometheus = await scraping(ports);
    const all = Array.from({ length: users }, (_, n) => {
      const name = `user-${n}`;
      const reachable = (): string[] => {
        const urls = [...instances.keys()];
        const first = preferredInstance(`${name}/main`, urls);
        return [first, ...urls.filter((url) => url !== first)];
      };
      const wasPaid = (amount: number): boolean => paid().some((each) => each.amount === amount);
      return new User(name, { instances: reachable, wasPaid });
    });
    const amounts: number[] = [];
    let answers = 0;
    const talking = Promise.all(
      all.map(async (user, n) => {
        await sleep(Math.random() * 1000);
        for (let round = 0; round < rounds; round += 1) {
          const asked = `Question ${round} of ${user.name}: how long is the warranty of batteries?`;
          const { messages } = await user.says(asked);
          expect(messages.at(-1)!.text).toContain("[warranty-1]");
          answers += 1;
          // Every amount is another one. Each third one needs a person.
          const number = round * users + n;
          const amount = n % 3 === 0 ? 10_000 + number : 1 + number / 1000;
          amounts.push(amount);
          await user.says(`Round ${round}: please refund ${amount} EUR.`);
          answers += 1;
        }
      }),
    );
    /** Resolves when this share of all answers was given. */
    const reached = async (share: number): Promise<void> => {
      const isReached = (): boolean => answers >= Math.floor(users * rounds * 2 * share);
      while (!isReached()) await Promise.race([sleep(20), talking]);
      expect(answers).toBeLessThan(users * rounds * 2);
    };

    await reached(0.15);
    const [killed, child] = [...instances][0]!;
    instances.delete(killed);
    await child.kill();
    await reached(0.3);
    await start(ports[0]!);
    await redis.kill();
    await reached(0.5);
    await primary.kill();
    await replica.promote();
    await talking;

    // Every user's thread is what the user was told last, with every message once.
    for (const user of all) {
      const stored = await user.look();
      expect(stored).toEqual(user.seen);
      const said = stored.messages.filter(({ role }) => role === "human").map(({ text }) => text);
      expect(said).toHaveLength(2 * rounds);
      expect(new Set(said).size).toBe(said.length);
    }
    // Every refund was paid, and none twice.
    const keys = paid().map(({ key }) => key);
    expect(new Set(keys).size).toBe(keys.length);
    expect(
      paid()
        .map(({ amount }) => amount)
        .toSorted((a, b) => a - b),
    ).toEqual(amounts.toSorted((a, b) => a - b));
    const refusals = new Map<string, number>();
    for (const user of all)
      for (const [how, times] of user.refusals) refusals.set(how, (refusals.get(how) ?? 0) + times);
    expect(refusals.get("network") ?? 0).toBeGreaterThan(0);

    // The instances say how they are: without Redis they are ready.
    let puts = 0;
    for (const url of instances.keys()) {
      const ready = await fetch(`${url}/readyz?verbose`);
      expect(ready.status).toBe(200);
      const metrics = await (await fetch(`${url}/metrics`)).text();
      expect(metrics).not.toContain("user-");
      const counted =
        /^stratigraph_operation_duration_seconds_count\{.*operation="put",outcome="ok".*\} (\d+)/m;
      puts += Number(counted.exec(metrics)?.[1] ?? 0);
    }
    expect(puts).toBeGreaterThan(users);

    // Every query of the dashboard has an answer, and most of them show something.
    const { silent, speaking } = await askPanels(prometheus);
    expect(speaking).toContain("Traffic, errors, duration: Operations");
    // Nobody maintains or verifies here, and what happened only between two scrapes gives no rate.
    expect(speaking.length, silent.join(", ")).toBeGreaterThan(silent.length);

    // SIGTERM: each ends by itself, in time, and says that all is well.
    const ending = [...instances.values()];
    for (const { pid } of ending) process.kill(pid, "SIGTERM");
    for (const exit of await Promise.all(ending.map((each) => each.exit)))
      expect(exit).toMatchObject({ code: 0, signal: null });
  }, 300_000);
});
