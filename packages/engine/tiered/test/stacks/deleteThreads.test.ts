import { postgres } from "@stratigraph/postgres";
import { redis } from "@stratigraph/redis";
import { s3 } from "@stratigraph/s3";
import { TieredSaver, TierStack, boundedMemory } from "@stratigraph/tiered";
import { Redis } from "ioredis";
import pg from "pg";
import { openBucket } from "../../../s3/test/support/bucket.ts";
import { sdk } from "../../../s3/test/support/sdk.ts";
import { query } from "../../../../../test/servers/postgres.ts";
import { freshDatabase, sharedRedis, type FreshDatabase } from "../../../../../test/servers/shared.ts";
import { configOf, put, text, valueOf } from "../support.ts";

// A person's threads in every storage of a stack: found, deleted, and looked for with the storages' own clients.

const ahead = (): number => Date.now() + 120_000;

let database: FreshDatabase;
let bucket: Awaited<ReturnType<typeof openBucket>>;
let shared: Awaited<ReturnType<typeof sharedRedis>>;
let raw: Redis;

beforeEach(async () => {
  [database, bucket, shared] = await Promise.all([freshDatabase(), openBucket(), sharedRedis()]);
  raw = new Redis(shared.url);
});
afterEach(async () => {
  raw.disconnect();
  await Promise.all([database.drop(), bucket.close()]);
});

function open(): TieredSaver {
  return new TieredSaver(
    {
      hot: [boundedMemory(), redis({ ...shared, ttl: "5m" })],
      warm: postgres({ url: database.url }),
      cold: s3({ client: bucket.client, bucket: bucket.bucket }),
      archiveAfter: "0s",
      pause: "0ms",
      threadTags: ["user_id"],
    },
    ahead,
  );
}

async function fill(saver: TieredSaver, threadId: string, userId: string): Promise<void> {
  for (const n of [1, 2, 3]) await put(saver, threadId, n, text(`${threadId} ${n}`));
  await saver.tagThread(threadId, { user_id: userId });
}

/** Objects of a thread, with their sizes. */
async function objectsOf(
  threadId: string,
): Promise<readonly { Key?: string | undefined; Size?: number | undefined }[]> {
  const found = await bucket.client.send(new sdk.ListObjectsV2Command({ Bucket: bucket.bucket }));
  return (found.Contents ?? []).filter(({ Key = "" }) => Key.includes(threadId));
}

const keysOf = async (threadId: string): Promise<string[]> => await raw.keys(`${shared.prefix}*${threadId}*`);

async function rowsOf(threadId: string): Promise<unknown[]> {
  const key = `'\\x02${Buffer.from(threadId).toString("hex")}'`;
  const rows = await Promise.all(
    ["checkpoints", "writes", "blobs", "heads", "thread_tags"].map((table) =>
      query(
        database.url,
        `select 1 from stratigraph.${table} join stratigraph.threads t using (thread) where t.key = ${key}`,
      ),
    ),
  );
  return rows.flat();
}

test("archived and warm threads of a person are gone from PostgreSQL, Redis and S3, and nobody else's", async () => {
  const saver = open();
  await saver.setup();
  await fill(saver, "archived-anna", "anna");
  await fill(saver, "archived-ben", "ben");
  await saver.maintain();
  await fill(saver, "warm-anna", "anna");
  await valueOf(saver, "warm-anna");
  await saver.tier.idle();

  // Where it all is, by the storages' own word.
  expect((await objectsOf("archived-anna")).length).toBeGreaterThan(0);
  expect((await keysOf("warm-anna")).length).toBeGreaterThan(0);
  expect((await rowsOf("warm-anna")).length).toBeGreaterThan(3);
  const { threads } = await saver.listThreads({ tag: { user_id: "anna" } });
  expect(threads.map(({ threadId, evicted }) => [threadId, evicted]).sort()).toEqual([
    ["archived-anna", true],
    ["warm-anna", false],
  ]);

  const plan = await saver.deleteThreads({ tag: { user_id: "anna" } }, { dryRun: true });
  expect(plan.threads).toHaveLength(2);
  expect((await rowsOf("warm-anna")).length).toBeGreaterThan(3);

  const report = await saver.deleteThreads({ tag: { user_id: "anna" } });
  expect(report.complete).toBe(true);
  const found = (threadId: string) =>
    report.threads
      .find((thread) => thread.threadId === threadId)!
      .found.map(({ tier, role, checkpoints }) => [tier, role, checkpoints]);
  expect(found("archived-anna")).toEqual([
    ["memory", "hot", 0],
    ["redis", "hot", 0],
    ["postgres", "warm", 0],
    ["s3", "cold", 3],
  ]);
  expect(found("warm-anna")).toEqual([
    ["memory", "hot", 3],
    ["redis", "hot", 3],
    ["postgres", "warm", 3],
    ["s3", "cold", 0],
  ]);
  expect(report.remains.map(({ tier, forMs }) => [tier, forMs !== undefined])).toEqual([
    ["memory", true],
    ["redis", true],
    ["postgres", true],
    ["s3", false],
  ]);

  for (const threadId of ["archived-anna", "warm-anna"]) {
    expect(await rowsOf(threadId)).toEqual([]);
    for (const { Key, Size } of await objectsOf(threadId)) {
      expect(Key).toMatch(/\/head$/);
      expect(Size).toBeLessThan(300);
    }
    for (const key of await keysOf(threadId)) {
      expect(Object.keys(await raw.hgetall(key)).sort()).toEqual(["dead", "del", "flo", "id", "rem", "rev"]);
      expect(await raw.pttl(key)).toBeGreaterThan(0);
    }
    expect(await saver.getTuple(configOf(threadId))).toBeUndefined();
  }
  expect(await valueOf(saver, "archived-ben")).toBe(text("archived-ben 3"));
  await saver.end();
});

test("an archive that can't be reached is reported, and the deletion is completed later by the thread ids", async () => {
  const saver = open();
  await saver.setup();
  await fill(saver, "archived-anna", "anna");
  await saver.maintain();
  const cold = s3({ client: bucket.client, bucket: bucket.bucket });
  const { deleteUnchanged } = cold;
  cold.deleteUnchanged = async () => {
    throw Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
  };
  const withBrokenArchive = new TieredSaver({
    warm: postgres({ url: database.url }),
    cold,
    archiveAfter: "1d",
  });
  const report = await withBrokenArchive.deleteThreads({ tag: { user_id: "anna" } });
  expect(report).toMatchObject({
    complete: false,
    threads: [{ threadId: "archived-anna", verified: false, reason: "Tier s3 holds something of it." }],
  });
  cold.deleteUnchanged = deleteUnchanged;
  const threadIds = report.threads.map(({ threadId }) => threadId);
  expect(await saver.deleteThreads({ threadIds })).toMatchObject({ complete: true });
  expect((await objectsOf("archived-anna")).map(({ Key }) => Key)).toEqual([
    expect.stringMatching(/archived-anna\/head$/),
  ]);
  await Promise.all([saver.end(), withBrokenArchive.end()]);
});

test("copies of an archived thread inherit its tags, and the archive keeps none", async () => {
  const saver = open();
  await saver.setup();
  await fill(saver, "archived-anna", "anna");
  await saver.maintain();
  await saver.copyThread("archived-anna", "copy");
  const { threads } = await saver.listThreads({ tag: { user_id: "anna" } });
  expect(threads.map(({ threadId }) => threadId).sort()).toEqual(["archived-anna", "copy"]);
  expect(await s3({ client: bucket.client, bucket: bucket.bucket }).threadTags("archived-anna")).toEqual([]);
  await saver.end();
});

test("a filter over 1,000 threads of a stack costs a few statements", async () => {
  let statements = 0;
  class CountedPool extends pg.Pool {
    override query(...args: unknown[]): never {
      statements += 1;
      return (pg.Pool.prototype.query as (...all: unknown[]) => never).apply(this, args);
    }
  }
  const pool = new CountedPool({ connectionString: database.url, max: 4 });
  const warm = postgres({ pool });
  const stack = new TierStack({ hot: redis({ ...shared, ttl: "5m" }), warm });
  const saver = new TieredSaver({ hot: boundedMemory(), warm });
  await stack.setup();
  await Promise.all(Array.from({ length: 1000 }, (_, n) => put(saver, `t${n}`, 1, n)));
  const limit = 1000;
  statements = 0;
  expect((await saver.listThreads({ filter: { step: 1 }, limit })).threads).toHaveLength(1000);
  expect(statements).toBeGreaterThan(0);
  expect(statements).toBeLessThanOrEqual(20);
  statements = 0;
  expect((await saver.listThreads({ filter: { step: 2 }, limit })).threads).toEqual([]);
  expect(statements).toBeLessThanOrEqual(2);
  await Promise.all([saver.end(), stack.end()]);
  await pool.end();
});
