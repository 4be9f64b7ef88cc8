import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { withThread } from "@stratigraph/service";
import { createCheckpointer } from "stratigraph";
import { inRounds } from "../rounds.ts";
import { available } from "../servers/available.ts";
import { runChild, type Child } from "../servers/children.ts";
import { startNginx, type Nginx } from "../servers/nginx.ts";
import { freePort, waitUntil } from "../servers/process.ts";
import { freshDatabase, type FreshDatabase } from "../servers/shared.ts";
import { User, type Shown } from "./user.ts";

// examples/production behind its own nginx.conf: two instances and a worker on PostgreSQL, and clients that give up and send again.

const [users, turns] = inRounds({ few: [4, 2], all: [20, 3], soak: [100, 6] });

const recipe = readFileSync(join(import.meta.dirname, "../../examples/production/deploy/nginx.conf"), "utf8");

describe.skipIf(!available.nginx || !available.postgres)("the production example behind its nginx", () => {
  const folder = mkdtempSync(join(tmpdir(), "stratigraph-proxy-"));
  const ledger = join(folder, "refunds.jsonl");
  const instances: Child<{ port: number }>[] = [];
  const ports: number[] = [];
  let database: FreshDatabase;
  let nginx: Nginx;

  beforeAll(async () => {
    database = await freshDatabase();
    ports.push(await freePort(), await freePort(), await freePort());
    await Promise.all([0, 1, 2].map(start));
    let http = /^http \{\n(.*)^\}/ms.exec(recipe)![1]!;
    for (const n of [0, 1]) {
      expect(http).toContain(`server agent-${n}:8080`);
      http = http.replace(`agent-${n}:8080`, `127.0.0.1:${ports[n]}`);
    }
    http = http.replace(/^ *server agent-2.*\n/m, "");
    nginx = await startNginx((port) => http.replace("listen 80;", `listen 127.0.0.1:${port};`));
  });
  afterAll(async () => {
    await nginx?.stop();
    await Promise.all(instances.map((instance) => instance.kill()));
    await database?.drop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Starts an instance of the program that is deployed. The third one is the worker. */
  async function start(n: number): Promise<void> {
    const env = {
      PORT: String(ports[n]),
      HOST: "127.0.0.1",
      LEDGER: ledger,
      LOG_LEVEL: "warn",
      DATABASE_URL: database.url,
      MAINTENANCE: n === 2 ? "on" : "off",
    };
    const child = runChild<{ port: number }>(join(import.meta.dirname, "instanceChild.ts"), [], { env });
    instances[n] = child;
    await child.message(() => true);
  }

  const paid = (): number[] =>
    existsSync(ledger)
      ? readFileSync(ledger, "utf8")
          .trim()
          .split("\n")
          .map((line) => (JSON.parse(line) as { amount: number }).amount)
      : [];

  test("a client that gives up while another run has its thread, looks, and sends again is paid once", async () => {
    const checkpointer = await createCheckpointer(database.url);
    let release = (): void => undefined;
    const holds = new Promise<void>((resolve) => (release = resolve));
    let begun = (): void => undefined;
    const isHeld = new Promise<void>((resolve) => (begun = resolve));
    const holder = withThread(checkpointer, "ada/1", () => (begun(), holds));
    await isHeld;
    const headers = { "x-user-id": "ada", "content-type": "application/json" };
    const body = JSON.stringify({ id: "m-1", text: "Please refund 20 EUR." });
    const send = async (signal?: AbortSignal): Promise<Response> =>
      await fetch(`${nginx.url}/threads/1/messages`, {
        method: "POST",
        headers,
        body,
        ...(signal === undefined ? {} : { signal }),
      });
    const look = async (): Promise<Shown> =>
      (await (await fetch(`${nginx.url}/threads/1`, { headers })).json()) as Shown;
    const looksLike = async (underWay: string[]): Promise<void> =>
      void (await waitUntil(`a look that shows ${JSON.stringify(underWay)}`, async () => {
        const thread = await look();
        expect(thread.messages).toEqual([]);
        return JSON.stringify(thread.underWay) === JSON.stringify(underWay);
      }));

    const client = new AbortController();
    const first = send(client.signal).catch((error: Error) => error.name);
    await looksLike(["m-1"]);
    client.abort();
    expect(await first).toBe("AbortError");
    // Its leaving gets to the instance, through nginx.
    await looksLike([]);
    const second = send();
    await looksLike(["m-1"]);
    release();
    await holder;
    expect(await (await second).text()).toContain("Done: 20 EUR were paid back");
    // And once more, as after a connection that broke.
    expect(await (await send()).text()).toContain("Done: 20 EUR were paid back");
    expect((await look()).messages.filter(({ role }) => role === "human")).toHaveLength(1);
    expect(paid()).toEqual([20]);
    await checkpointer.end();
  });

  test("users who give up and send again are all answered, and paid once, while an instance is killed and one is replaced", async () => {
    const before = paid().length;
    const wasPaid = (amount: number): boolean => paid().includes(amount);
    const habits = {
      instances: () => [nginx.url],
      wasPaid,
      // At first nobody waits long enough for an answer; with each try, longer.
      waitsMs: (tries: number) => Math.round(Math.random() * 50 * 2 ** Math.min(tries, 9)),
      isBlind: () => Math.random() < 0.5,
    };
    const all = Array.from({ length: users }, (_, n) => new User(`user-${n}`, habits));
    const amounts: number[] = [];
    let answers = 0;
    const talking = Promise.all(
      all.map(async (user, n) => {
        for (let turn = 0; turn < turns; turn += 1) {
          // Every amount is another one. Some need a person.
          const number = turn * users + n;
          const amount = n % 5 === 0 ? 10_000 + number : 1 + number / 1000;
          amounts.push(amount);
          const { messages } = await user.says(`Turn ${turn}: please refund ${amount} EUR.`);
          expect(messages.at(-1)!.text).toBe(`Done: ${amount} EUR were paid back`);
          answers += 1;
        }
      }),
    );
    const reached = async (share: number): Promise<void> => {
      const isReached = (): boolean => answers >= users * turns * share;
      await Promise.race([talking, waitUntil("answers", isReached, { timeoutMs: 240_000 })]);
    };
    await reached(0.1);
    await instances[0]!.kill();
    await reached(0.3);
    await start(0);
    await reached(0.5);
    process.kill(instances[1]!.pid, "SIGTERM");
    expect(await instances[1]!.exit).toMatchObject({ code: 0, signal: null });
    await start(1);
    await talking;

    for (const user of all) {
      const stored = await user.look();
      expect(stored).toEqual(user.seen);
      const said = stored.messages.filter(({ role }) => role === "human").map(({ text }) => text);
      expect(said).toHaveLength(turns);
      expect(new Set(said).size).toBe(turns);
    }
    expect(
      paid()
        .slice(before)
        .toSorted((a, b) => a - b),
    ).toEqual(amounts.toSorted((a, b) => a - b));
    const gaveUp = all.reduce((sum, { refusals }) => sum + (refusals.get("network") ?? 0), 0);
    expect(gaveUp).toBeGreaterThan(0);
  }, 300_000);
});
