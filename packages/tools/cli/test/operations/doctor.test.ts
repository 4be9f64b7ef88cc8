// long file: every way in which a storage can be set up badly, on real servers
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { MemorySaver, MemoryTier, StratigraphError, TierSaver } from "@stratigraph/core";
import { operations, runOperation } from "../../src/operations/index.ts";
import { PostgresSaver, postgres } from "@stratigraph/postgres";
import { redis, RedisSaver } from "@stratigraph/redis";
import { folder, FolderSaver, s3, S3Saver } from "@stratigraph/s3";
import { FaultyTier } from "@stratigraph/testing";
import { TieredSaver } from "@stratigraph/tiered";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { available } from "../../../../../test/servers/available.ts";
import { startPgBouncer } from "../../../../../test/servers/pgbouncer.ts";
import { query, startPostgres } from "../../../../../test/servers/postgres.ts";
import { startRedis, startRedisCluster } from "../../../../../test/servers/redis.ts";
import { embeddedFolder, freshDatabase, sharedRedis } from "../../../../../test/servers/shared.ts";
import { s3Request } from "../../../../../test/servers/s3Request.ts";
import { silentProxy } from "../../../../../test/servers/silentProxy.ts";
import { openBucket } from "../../../../engine/s3/test/support/bucket.ts";
import { isSupported, oldestNode, supported } from "../../src/operations/read/versions.ts";
import { temporaryFolder } from "./support/temporaryFolder.ts";
import { testContext } from "./support/testContext.ts";

const doctor = operations.find(({ name }) => name === "doctor")!;

interface Item {
  readonly tier: string;
  readonly role?: string;
  readonly check: string;
  readonly status: string;
  readonly found: string;
  readonly advice?: string;
}

/** What the doctor says of a saver, without what it says of this process; the saver is closed when the test ends. */
async function diagnosed(saver: TierSaver, input: object = {}) {
  onTestFinished(() => saver.end());
  const output = await runOperation(doctor, input, testContext(saver));
  const { items } = output as unknown as { items: readonly Item[] };
  const lines = [...doctor.render(output)].join("\n");
  expect(lines).not.toContain("hunter2");
  const of = (check: string, role = "warm"): Item | undefined =>
    items.find((item) => item.check === check && item.role === role);
  return { items: items.filter(({ role }) => role !== undefined), of, lines, found: doctor.found!(output) };
}

/** Findings that somebody has to do something about. */
function bad(items: readonly Item[]): string[] {
  return items
    .filter(({ status }) => status === "problem" || status === "warning")
    .map(({ role, check, status }) => `${role} ${check}: ${status}`);
}

test("a saver in memory forgets, and the versions of this project are told", async () => {
  const output = await runOperation(doctor, {}, testContext(new MemorySaver()));
  expect(output).toMatchObject({ problems: 0, warnings: 1 });
  expect(output["items"]).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ check: "node", status: "ok", found: `Node.js ${process.versions.node}.` }),
      expect.objectContaining({ check: "langgraph", status: "ok" }),
      expect.objectContaining({ check: "core", status: "ok" }),
      expect.objectContaining({ tier: "memory", check: "durability", status: "warning" }),
    ]),
  );
  expect(doctor.found!(output)).toBe(false);
});

test("another key under a known id, or another hash key, is a problem", async () => {
  const tier = new MemoryTier();
  const encryption = { keys: { a: Buffer.alloc(32, 1) }, activeKey: "a", hashKey: Buffer.alloc(32, 2) };
  const fresh = await diagnosed(new TierSaver(tier, { encryption }));
  expect(fresh.of("keys")).toMatchObject({ status: "warning", advice: expect.stringContaining("setup") });
  const stored = new MemoryTier();
  await new TierSaver(stored, { encryption }).setup();
  const of = async (more: object) =>
    (await diagnosed(new TierSaver(stored, { encryption: { ...encryption, ...more } }))).of("keys");
  expect(await of({})).toMatchObject({ status: "ok" });
  expect(await of({ keys: { a: Buffer.alloc(32, 3) } })).toMatchObject({
    status: "problem",
    found: expect.stringMatching(/keys\["a"\].*storage memory/),
  });
  expect(await of({ hashKey: Buffer.alloc(32, 3) })).toMatchObject({
    status: "problem",
    found: expect.stringContaining("encryption.hashKey"),
  });
});

test("the oldest supported versions are those that the package names", () => {
  const manifest = JSON.parse(
    readFileSync(join(import.meta.dirname, "../../package.json"), "utf8"),
  ) as Record<"peerDependencies" | "engines", Record<string, string>>;
  expect(manifest.engines["node"]).toBe(`>=${oldestNode}`);
  const ranges = Object.entries(supported).map(([name, oldest]) => [name, `^${oldest}`]);
  // The dev command itself refuses versions of its server that it doesn't know.
  const { stratigraph: _, "@langchain/langgraph-api": __, ...peers } = manifest.peerDependencies;
  expect(peers).toEqual(Object.fromEntries(ranges));
});

test("versions are supported from the oldest on, up to the next major one", () => {
  expect(["1.4.12", "1.10.0", "2.0.0", "1.4.9"].map((version) => isSupported(version, "1.4.12"))).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

test("a storage that can't even be opened is a finding", async () => {
  const context = {
    ...testContext(new MemorySaver()),
    saver: async () => {
      throw new StratigraphError("UNAVAILABLE", "PostgreSQL could not be reached.");
    },
  };
  const output = await runOperation(doctor, {}, context);
  expect(output).toMatchObject({ problems: 1 });
  expect([...doctor.render(output)].join("\n")).toContain("could not be reached");
});

test("a tier without checks of its own is asked whether it answers", async () => {
  const tier = new FaultyTier(new MemoryTier(), "old");
  Object.assign(tier, { diagnose: undefined });
  expect((await diagnosed(new TierSaver(tier))).items).toMatchObject([
    { tier: "old", check: "connection", status: "ok" },
  ]);
});

describe("PostgreSQL", () => {
  async function fresh() {
    const database = await freshDatabase();
    onTestFinished(() => database.drop());
    return database.url;
  }

  test("has to be set up, and then only the disk of this test server is a finding", async () => {
    const url = await fresh();
    const before = await diagnosed(PostgresSaver.fromConnString(url));
    expect(before.of("schema")).toMatchObject({ status: "problem", advice: "stratigraph setup" });
    expect(before.of("rights")).toBeUndefined();
    expect(before.found).toBe(true);
    const saver = PostgresSaver.fromConnString(url);
    await saver.setup();
    const after = await diagnosed(saver);
    expect(bad(after.items)).toEqual(["warm durability: problem"]);
    expect(after.of("durability")).toMatchObject({
      found: expect.stringMatching(/^fsync and full_page_writes are off/),
      advice: expect.stringContaining("alter system set fsync = on;"),
    });
    expect(after.of("schema")).toMatchObject({ status: "ok" });
    expect(after.of("pooler")).toMatchObject({ found: "No pooler stands between." });
    expect(after.of("connection")!.found).toContain(`127.0.0.1:${new URL(url).port}`);
  });

  test("a schema that is older, and newer, and much newer", async () => {
    const url = await fresh();
    const saver = PostgresSaver.fromConnString(url);
    await saver.setup();
    const [row] = await query(url, "select max(id)::integer as newest from stratigraph.migrations");
    const newest = row!["newest"] as number;
    const add = (id: number, breaking: boolean) =>
      query(url, `insert into stratigraph.migrations (id, breaking) values (${id}, ${breaking})`);
    await query(url, `delete from stratigraph.migrations where id = ${newest}`);
    const older = await diagnosed(saver);
    expect(older.of("schema")).toMatchObject({
      status: "problem",
      found: expect.stringContaining(`is older (migration ${newest - 1})`),
      advice: expect.stringContaining("stratigraph setup"),
    });
    await add(newest, false);
    await add(newest + 1, false);
    expect((await diagnosed(PostgresSaver.fromConnString(url))).of("schema")).toMatchObject({
      status: "warning",
    });
    await add(newest + 2, true);
    expect((await diagnosed(PostgresSaver.fromConnString(url))).of("schema")).toMatchObject({
      status: "problem",
      found: expect.stringContaining(`newer (migration ${newest + 2})`),
    });
  });

  test("missing rights come with the statements that grant them", async () => {
    const url = await fresh();
    await PostgresSaver.fromConnString(url).setup();
    const role = `we"ird_${process.pid}_${Date.now()}`;
    const quoted = `"${role.replaceAll('"', '""')}"`;
    await query(url, `create role ${quoted} login`);
    onTestFinished(async () => void (await query(url, `drop owned by ${quoted}; drop role ${quoted}`)));
    const theirs = new URL(url);
    theirs.username = encodeURIComponent(role);
    const before = await diagnosed(PostgresSaver.fromConnString(theirs.href));
    expect(before.of("rights")).toMatchObject({
      status: "problem",
      found: expect.stringMatching(/lacks rights in schema stratigraph: usage of the schema.*more/),
    });
    expect(before.of("schema")).toMatchObject({ status: "unknown" });
    const statements = before.of("rights")!.advice!.replace("As the schema's owner: ", "");
    await query(url, statements);
    const after = await diagnosed(PostgresSaver.fromConnString(theirs.href));
    expect(after.of("rights")).toMatchObject({ status: "ok" });
    expect(after.of("schema")).toMatchObject({ status: "ok" });
  });

  test("an embedded one has neither pool nor disk to look at", async () => {
    const path = await embeddedFolder();
    const saver = PostgresSaver.embedded(path);
    onTestFinished(async () => {
      await saver.end();
      rmSync(path, { recursive: true });
    });
    await saver.setup();
    const { items, of } = await diagnosed(saver, { timeout: 60 });
    expect(bad(items)).toEqual(["warm durability: warning"]);
    expect(of("durability")).toMatchObject({
      status: "warning",
      found: expect.stringContaining("never synced to the disk"),
    });
    expect(items.map(({ check }) => check)).toEqual(
      expect.arrayContaining(["connection", "schema", "rights", "size"]),
    );
    expect(of("pooler") ?? of("connections")).toBeUndefined();
  });

  test("a pool that is larger than the server allows", async () => {
    const pool = new pg.Pool({ connectionString: await fresh(), max: 500 });
    onTestFinished(() => pool.end());
    const { of } = await diagnosed(new PostgresSaver({ pool }));
    expect(of("connections")).toMatchObject({
      status: "problem",
      found: expect.stringContaining("may open 500 connections"),
      advice: expect.stringContaining("max_connections"),
    });
  });

  test.skipIf(!available.pgbouncer)(
    "PgBouncer in transaction mode is fine, in session mode it isn't",
    async () => {
      const url = await fresh();
      await PostgresSaver.fromConnString(url).setup();
      for (const [poolMode, status] of [
        ["transaction", "ok"],
        ["session", "warning"],
      ] as const) {
        const pooler = await startPgBouncer({ target: url, poolMode });
        onTestFinished(() => pooler.stop());
        const { of } = await diagnosed(PostgresSaver.fromConnString(pooler.url));
        expect(of("pooler")).toMatchObject({ status, found: expect.stringContaining(`${poolMode} mode`) });
      }
    },
  );

  describe.skipIf(!available.postgres)("on a server of its own", () => {
    test("a wrong password is one finding, with a command that tests it", async () => {
      const server = await startPostgres();
      onTestFinished(() => server.stop());
      await query(server.url, "create role guarded login password 'right'");
      const hba = join(server.dataDir, "pg_hba.conf");
      writeFileSync(hba, `host all guarded 127.0.0.1/32 scram-sha-256\n${readFileSync(hba, "utf8")}`);
      await query(server.url, "select pg_reload_conf()");
      const url = `postgresql://guarded:hunter2@127.0.0.1:${server.port}/postgres`;
      const { items, found } = await diagnosed(PostgresSaver.fromConnString(url));
      expect(items).toMatchObject([
        {
          check: "connection",
          status: "problem",
          found: expect.stringMatching(new RegExp(`127.0.0.1:${server.port}: .*refused the password`)),
          advice: expect.stringContaining(`psql -h 127.0.0.1 -p ${server.port} -U USER -d postgres`),
        },
      ]);
      expect(found).toBe(true);
    });

    test("a server that is down, and one whose wire is cut", async () => {
      const server = await startPostgres();
      onTestFinished(() => server.stop());
      const proxy = await silentProxy(server.port);
      onTestFinished(() => proxy.close());
      const url = `postgresql://postgres:hunter2@127.0.0.1:${proxy.port}/postgres`;
      const saver = PostgresSaver.fromConnString(url, { statementTimeout: "1s" });
      await saver.setup();
      proxy.silence();
      const hanging = await diagnosed(saver, { timeout: 0.5 });
      expect(hanging.items).toMatchObject([
        { check: "connection", status: "problem", found: expect.stringContaining(`127.0.0.1:${proxy.port}`) },
      ]);
      await server.shutDown("immediate");
      const direct = `postgresql://postgres:hunter2@127.0.0.1:${server.port}/postgres`;
      const down = await diagnosed(PostgresSaver.fromConnString(direct));
      expect(down.items).toMatchObject([
        { check: "connection", status: "problem", found: expect.stringContaining("ECONNREFUSED") },
      ]);
    });
  });
});

describe.skipIf(!available.redis)("Redis", () => {
  async function started(options: Parameters<typeof startRedis>[0] = {}) {
    const server = await startRedis(options);
    onTestFinished(() => server.stop());
    return server;
  }
  const hot = (url: string, ttl?: "15m") =>
    new TieredSaver({ hot: redis({ url, ...(ttl === undefined ? {} : { ttl }) }), warm: new MemoryTier() });

  test("that owns threads has to keep them", async () => {
    const careless = await started({ maxmemory: "64mb", maxmemoryPolicy: "allkeys-lru" });
    const { items, of } = await diagnosed(await RedisSaver.fromUrl(careless.url));
    expect(bad(items)).toEqual(["warm eviction: problem", "warm persistence: problem"]);
    expect(of("eviction")).toMatchObject({
      found: expect.stringContaining("allkeys-lru"),
      advice: expect.stringContaining(
        `redis-cli -h 127.0.0.1 -p ${careless.port} config set maxmemory-policy noeviction`,
      ),
    });
    const careful = await started({ maxmemory: "64mb", maxmemoryPolicy: "noeviction", appendonly: true });
    expect(bad((await diagnosed(await RedisSaver.fromUrl(careful.url))).items)).toEqual([]);
  });

  test("that holds copies has to lose them", async () => {
    const full = await started({ maxmemory: "64mb", maxmemoryPolicy: "noeviction" });
    expect((await diagnosed(hot(full.url))).of("eviction", "hot")).toMatchObject({ status: "problem" });
    expect((await diagnosed(hot(full.url, "15m"))).of("eviction", "hot")).toMatchObject({
      status: "warning",
    });
    const evicting = await started({ maxmemory: "64mb" });
    expect((await diagnosed(hot(evicting.url))).of("eviction", "hot")).toMatchObject({ status: "ok" });
    const endless = await started();
    expect((await diagnosed(hot(endless.url))).of("eviction", "hot")).toMatchObject({ status: "warning" });
    const expiring = await diagnosed(hot(endless.url, "15m"));
    expect(bad(expiring.items)).toEqual(["warm durability: warning"]);
  });

  test("with a wrong password, without rights, down, and with a cut wire", async () => {
    const server = await started({ password: "right" });
    const wrong = new RedisSaver({ url: `redis://:hunter2@127.0.0.1:${server.port}` });
    expect((await diagnosed(wrong)).items).toMatchObject([
      {
        check: "connection",
        status: "problem",
        found: expect.stringMatching(new RegExp(`127.0.0.1:${server.port}: .*password`)),
        advice: expect.stringContaining(`redis-cli -h 127.0.0.1 -p ${server.port}`),
      },
    ]);
    await server.command("acl", "setuser", "narrow", "on", ">hunter2", "~*", "+ping", "+time", "+select");
    const narrow = await diagnosed(
      new RedisSaver({ url: `redis://narrow:hunter2@127.0.0.1:${server.port}` }),
    );
    expect(narrow.of("server")).toMatchObject({
      status: "unknown",
      advice: expect.stringContaining("+info"),
    });
    expect(narrow.of("rights")).toMatchObject({ status: "unknown" });
    const proxy = await silentProxy(server.port);
    onTestFinished(() => proxy.close());
    const cut = new RedisSaver({ url: `redis://:right@127.0.0.1:${proxy.port}` });
    await cut.setup();
    proxy.silence();
    expect((await diagnosed(cut, { timeout: 0.5 })).items).toMatchObject([
      { check: "connection", status: "problem", found: expect.stringContaining(`127.0.0.1:${proxy.port}`) },
    ]);
    await server.kill();
    const down = new RedisSaver({ url: `redis://:right@127.0.0.1:${server.port}`, commandTimeout: "500ms" });
    expect((await diagnosed(down)).items).toMatchObject([{ check: "connection", status: "problem" }]);
  });

  test("that is a replica, and a cluster", async () => {
    const [primary, replica] = [await started(), await started()];
    await replica.command("replicaof", "127.0.0.1", primary.port);
    expect((await diagnosed(new RedisSaver({ url: replica.url }))).of("replication")).toMatchObject({
      status: "problem",
      found: expect.stringContaining(`127.0.0.1:${primary.port}`),
    });
    const cluster = await startRedisCluster();
    onTestFinished(() => cluster.stop());
    const nodes = cluster.nodes.map(({ url }) => ({ url }));
    const { of } = await diagnosed(new RedisSaver({ cluster: nodes }));
    expect(of("cluster")).toMatchObject({ status: "ok" });
    expect(of("connection")!.found).toMatch(/^Redis Cluster at 127\.0\.0\.1:\d+, /);
  });
});

describe("S3", () => {
  async function bucket() {
    const opened = await openBucket();
    onTestFinished(() => opened.close());
    return opened;
  }

  test("is checked without leaving a trace, and with a probe that is removed again", async () => {
    const { client, bucket: name, login } = await bucket();
    const place = { client, bucket: name };
    const looked = await diagnosed(new S3Saver(place));
    expect(looked.of("write")).toMatchObject({
      status: "unknown",
      advice: expect.stringContaining("--write"),
    });
    expect(bad(looked.items)).toEqual([]);
    expect(looked.found).toBe(false);
    const { of } = await diagnosed(new S3Saver(place), { write: true });
    expect(of("write")).toMatchObject({ status: "ok" });
    for (const check of ["connection", "read", "versioning", "lifecycle", "clock"])
      expect(of(check)).toMatchObject({ status: "ok" });
    expect(of("connection")!.found).toContain(login.endpoint);
    expect(await (await s3Request(login, "GET", `/${name}?list-type=2`)).text()).not.toContain("<Key>");
  });

  test("without the right to delete, and with rules that delete or keep", async () => {
    const { client, bucket: name, login } = await bucket();
    const set = async (what: string, body: string): Promise<void> => {
      const answer = await s3Request(login, "PUT", `/${name}?${what}=`, body);
      expect(answer.status, await answer.text()).toBeLessThan(300);
    };
    await set(
      "policy",
      JSON.stringify({
        Version: "2012-10-17",
        Statement: [
          {
            Effect: "Deny",
            Principal: "*",
            Action: "s3:DeleteObject",
            Resource: `arn:aws:s3:::${name}/*`,
          },
        ],
      }),
    );
    const denied = await diagnosed(new S3Saver({ client, bucket: name }), { write: true });
    expect(denied.of("write")).toMatchObject({
      status: "problem",
      found: expect.stringMatching(/can't be deleted.*\.doctor\/.* is left/),
      advice: expect.stringContaining("s3:DeleteObject"),
    });
    await s3Request(login, "DELETE", `/${name}?policy=`);
    await set(
      "lifecycle",
      "<LifecycleConfiguration><Rule><ID>tidy</ID><Filter><Prefix>strat</Prefix></Filter><Status>Enabled</Status>" +
        "<Expiration><Days>30</Days></Expiration></Rule></LifecycleConfiguration>",
    );
    const ruled = await diagnosed(new S3Saver({ client, bucket: name }));
    expect(ruled.of("lifecycle")).toMatchObject({
      status: "problem",
      found: expect.stringContaining('"tidy" deletes objects of threads after 30 days'),
    });
    expect(
      (await diagnosed(new S3Saver({ client, bucket: name, prefix: "other" }))).of("lifecycle"),
    ).toMatchObject({
      status: "ok",
    });
  });

  test("a bucket that isn't there", async () => {
    const { client } = await bucket();
    expect((await diagnosed(new S3Saver({ client, bucket: "no-such-bucket" }))).items).toMatchObject([
      {
        check: "connection",
        status: "problem",
        found: expect.stringContaining("doesn't exist"),
        advice: expect.stringContaining("aws s3 ls 's3://no-such-bucket/stratigraph/'"),
      },
    ]);
  });

  test("a folder tells how much is free", async () => {
    const path = temporaryFolder();
    const saver = new FolderSaver(path);
    await saver.setup();
    const { of } = await diagnosed(saver, { write: true });
    expect(of("space")!.found).toMatch(/GB of .* GB are free/);
    expect(of("write")).toMatchObject({ status: "ok" });
    const gone = await diagnosed(new FolderSaver(join(path, "gone")));
    expect(gone.items).toMatchObject([{ check: "connection", status: "problem" }]);
  });
});

test("a stack asks all of its tiers, and one that is down doesn't hide the others", async () => {
  const database = await freshDatabase();
  onTestFinished(() => database.drop());
  const place = await sharedRedis();
  const { client, bucket, close } = await openBucket();
  onTestFinished(() => close());
  const saver = new TieredSaver({
    hot: redis({ ...place, ttl: "5m" }),
    warm: postgres({ url: database.url }),
    cold: s3({ client, bucket }),
    replicas: [folder({ path: join(temporaryFolder(), "gone") })],
  });
  await saver.tier.layers[1]!.tier.setup!();
  const { of, items, lines } = await diagnosed(saver);
  expect(of("connection", "hot")).toMatchObject({ tier: "redis", status: "ok" });
  expect(of("schema", "warm")).toMatchObject({ tier: "postgres", status: "ok" });
  expect(of("read", "cold")).toMatchObject({ tier: "s3", status: "ok" });
  expect(items.filter(({ role }) => role === "replica")).toMatchObject([
    { tier: "folder", status: "problem" },
  ]);
  expect(lines).toMatch(/^PROBLEM {2}postgres \(warm\) +durability +fsync/m);
  expect(lines).toMatch(/^PROBLEM postgres durability: alter system set fsync = on;/m);
});

test("maintenance that hasn't run for long is told by what it would have removed", async () => {
  const day = 86_400_000;
  const tier = new MemoryTier(() => Date.now() - 20 * day);
  const saver = new TierSaver(tier);
  await tier.append({
    threadId: "t",
    records: [],
    blobs: [],
    heads: [{ namespace: "", to: "1", expected: "any" }],
    onConflict: "refuse",
  });
  await tier.deleteThread("t");
  const output = await runOperation(doctor, {}, testContext(saver));
  expect(output["items"]).toEqual(
    expect.arrayContaining([
      expect.objectContaining({
        check: "maintenance",
        status: "warning",
        found: expect.stringContaining("13 days"),
      }),
    ]),
  );
});
