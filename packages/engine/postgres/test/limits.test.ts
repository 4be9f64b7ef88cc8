// long file: the limits of one storage, each test on the same server
import { randomBytes } from "node:crypto";
import { appendFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { PostgresSaver } from "@stratigraph/postgres";
import pg from "pg";
import { expect, test } from "vitest";
import { available } from "../../../../test/servers/available.ts";
import { query, startPostgres } from "../../../../test/servers/postgres.ts";
import { run, serverAccount } from "../../../../test/servers/process.ts";
import { freshDatabase } from "../../../../test/servers/shared.ts";
import { smallDisk } from "../../../../test/servers/smallDisk.ts";
import { at, checkpointOf } from "./support/checkpoints.ts";
import { inRounds } from "../../../../test/rounds.ts";

const metadata = { source: "loop", step: 0, parents: {} } as const;

let database: Awaited<ReturnType<typeof freshDatabase>>;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

/** The error of some work, which must fail. */
async function failure(work: Promise<unknown>): Promise<Error> {
  return await work.then(
    () => expect.unreachable("it should have failed"),
    (error: Error) => error,
  );
}

test("a slow server: so many calls wait, the next ones are refused, and the waiting ones are done", async () => {
  const pool = new pg.Pool({ connectionString: database.url, max: 2 });
  const saver = new PostgresSaver({ pool, maxCalls: 5 });
  await saver.setup();
  const locker = await pool.connect();
  await locker.query("begin; lock table stratigraph.threads in access exclusive mode");
  const first = checkpointOf({ n: 1 });
  const calls = Array.from({ length: 12 }, (_, n) =>
    saver.put(at(`t${n}`), first, metadata, first.channel_versions),
  );
  const settled = Promise.allSettled(calls);
  await Promise.allSettled(calls.slice(5));
  await locker.query("commit");
  locker.release();
  const results = await settled;
  expect(results.map(({ status }) => status)).toEqual([
    ...Array.from({ length: 5 }, () => "fulfilled"),
    ...Array.from({ length: 7 }, () => "rejected"),
  ]);
  const refused = results.at(-1) as PromiseRejectedResult;
  expect(refused.reason).toMatchObject({ code: "OVERLOADED", data: { maxCalls: 5 } });
  expect(String(refused.reason)).toContain("Slow the writers down");
  for (let n = 0; n < 12; n += 1) expect((await saver.getTuple(at(`t${n}`))) !== undefined).toBe(n < 5);
  await pool.end();
});

describe.skipIf(!available.postgres)("a server of its own", () => {
  let server: Awaited<ReturnType<typeof startPostgres>>;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  test("a full disk: the error says so, nothing half-written is read, and with space again it goes on", async (context) => {
    const disk = smallDisk(40);
    if (disk === undefined) return context.skip("no small file system can be mounted here");
    try {
      const account = serverAccount();
      await run("mkdir", [join(disk.folder, "space")], { account });
      appendFileSync(join(disk.folder, "ballast"), randomBytes(12_000_000));
      await query(server.url, `create tablespace small location '${join(disk.folder, "space")}'`);
      await query(server.url, "create database full_disk tablespace small");
      const saver = PostgresSaver.fromConnString(server.url.replace(/postgres$/, "full_disk"));
      await saver.setup();
      const stored: string[] = [];
      const put = async () => {
        const id = stored.length;
        const checkpoint = checkpointOf(
          { data: randomBytes(600_000).toString("base64"), id },
          { version: id + 1 },
        );
        await saver.put(at("t", stored.at(-1)), checkpoint, metadata, checkpoint.channel_versions);
        stored.push(checkpoint.id);
      };
      const fill = async () => {
        while (stored.length < 100) await put();
      };
      const error = await failure(fill());
      expect(error).toMatchObject({ code: "STORAGE_FULL", data: { sqlState: "53100" }, retryable: false });
      expect(error.message).toContain("disk is full");
      expect(stored.length).toBeGreaterThan(3);
      const listed = async (): Promise<unknown[]> => {
        const found: unknown[] = [];
        for await (const { checkpoint } of saver.list(at("t"))) found.unshift(checkpoint.id);
        return found;
      };
      expect(await listed()).toEqual(stored);
      rmSync(join(disk.folder, "ballast"));
      await put();
      expect(await listed()).toEqual(stored);
      await saver.end();
      await query(server.url, "drop database full_disk with (force)");
      await query(server.url, "drop tablespace small");
    } finally {
      disk.remove();
    }
  }, 120_000);
});

test("a state of 50 MB is stored and read in bounded memory", async () => {
  const saver = PostgresSaver.fromConnString(database.url);
  await saver.setup();
  // Half of it can't be compressed.
  const documents = Array.from({ length: 50 }, () =>
    randomBytes(375_000).toString("base64").padEnd(1_000_000, "text "),
  );
  const first = checkpointOf({ documents });
  const before = process.memoryUsage().rss;
  await saver.put(at("large"), first, metadata, first.channel_versions);
  const other = PostgresSaver.fromConnString(database.url);
  const tuple = await other.getTuple(at("large"));
  expect(tuple?.checkpoint.channel_values["documents"]).toEqual(documents);
  expect(process.memoryUsage().rss - before).toBeLessThan(1_500_000_000);
  await saver.end();
  await other.end();
});

/** Bytes that can't be compressed. */
function noise(megabytes: number): Uint8Array {
  const bytes = new Uint8Array(megabytes * 1024 * 1024);
  const piece = 1024 * 1024;
  for (let at = 0; at < bytes.length; at += piece) bytes.set(randomBytes(piece), at);
  return bytes;
}

test("what is acknowledged can be read back: the longest value is, and one that is longer is refused", async () => {
  // A value of this size takes longer than the default allows where the disk is busy.
  const saver = PostgresSaver.fromConnString(database.url, { statementTimeout: "5m" });
  await saver.setup();
  const largest = checkpointOf({ largest: noise(inRounds({ few: 32, all: 32, soak: 254 })) });
  const stored = await saver.put(at("largest"), largest, metadata, largest.channel_versions);
  const tuple = await saver.getTuple(at("largest"));
  const { largest: found } = tuple!.checkpoint.channel_values as { largest: Uint8Array };
  expect(Buffer.compare(found, largest.channel_values["largest"] as Uint8Array)).toBe(0);

  const bytes = noise(256);
  const refused = {
    code: "SERIALIZATION",
    data: { threadId: "largest", channel: "bytes" },
    message: expect.stringMatching(
      /257 MB as stored; what is longer than 255 MB can't be read back from postgres/,
    ) as string,
  };
  const longer = checkpointOf({ bytes });
  await expect(saver.put(stored, longer, metadata, longer.channel_versions)).rejects.toMatchObject(refused);
  await inRounds({
    few: undefined,
    all: async () => {
      await expect(saver.putWrites(stored, [["bytes", bytes]], "task")).rejects.toMatchObject(refused);
    },
  })?.();
  // Its checkpoint isn't known: such writes stand in their batch, and count together.
  const early = { configurable: { ...stored.configurable, checkpoint_id: "early" } };
  const half = bytes.subarray(0, bytes.length / 2 + 1);
  await expect(
    saver.putWrites(
      early,
      [
        ["one", half],
        ["two", half],
      ],
      "task",
    ),
  ).rejects.toMatchObject({ code: "SERIALIZATION", data: { channel: "one, two" } });
  expect((await saver.getTuple(at("largest")))?.config).toEqual(tuple?.config);
  await saver.end();
});

/** A gigabyte to compress. */
const testLarge = inRounds({ few: undefined, all: undefined, soak: test });
testLarge?.("values that are too long together for one statement are refused", async () => {
  const saver = PostgresSaver.fromConnString(database.url);
  await saver.setup();
  const part = noise(201);
  const parts = Object.fromEntries([1, 2, 3, 4, 5].map((n) => [`part ${n}`, part.slice().fill(n, 0, 1)]));
  const together = checkpointOf(parts);
  await expect(
    saver.put(at("together"), together, metadata, together.channel_versions),
  ).rejects.toMatchObject({
    code: "SERIALIZATION",
    message: expect.stringMatching(/takes at most/) as string,
  });
  expect(await saver.getTuple(at("together"))).toBeUndefined();
  await saver.end();
});

const count = inRounds({ few: 1000, all: 1000, soak: 10_000 });

test(`a thread of ${count} checkpoints: calls read as many rows as on a short one, and it is pruned`, async () => {
  const pool = new pg.Pool({ connectionString: database.url, max: 1 });
  const saver = new PostgresSaver({ pool, schema: "thousands" });
  await saver.setup();
  const ids: string[] = [];
  const put = async (step: number) => {
    const log = `${"history ".repeat(100)}${step}`;
    const checkpoint = checkpointOf({ log, step }, { version: step + 1 });
    await saver.put(at("t", ids.at(-1)), checkpoint, { ...metadata, step }, checkpoint.channel_versions);
    ids.push(checkpoint.id);
  };
  const rowsRead = async (): Promise<number> => {
    await pool.query("select pg_stat_force_next_flush()");
    const sql = `select sum(seq_tup_read + idx_tup_fetch)::int as n from pg_stat_user_tables where schemaname = 'thousands'`;
    return (await query(database.url, sql))[0]!["n"] as number;
  };
  const rowsOf = async (work: () => Promise<unknown>): Promise<number> => {
    const before = await rowsRead();
    for (let n = 0; n < 7; n += 1) await work();
    return (await rowsRead()) - before;
  };
  const listed = async (limit: number): Promise<string[]> => {
    const found: string[] = [];
    for await (const { checkpoint } of saver.list(at("t"), { limit })) found.push(checkpoint.id);
    return found;
  };
  const calls = {
    put: () => put(ids.length),
    getTuple: () => saver.getTuple(at("t")),
    list: () => listed(10),
  };
  const measure = async () => ({
    put: await rowsOf(calls.put),
    getTuple: await rowsOf(calls.getTuple),
    list: await rowsOf(calls.list),
  });
  for (let step = 0; step < 100; step += 1) await put(step);
  const short = await measure();
  while (ids.length < count) await put(ids.length);
  const long = await measure();
  for (const call of ["put", "getTuple", "list"] as const)
    expect(long[call], call).toBeLessThanOrEqual(2 * short[call]);
  expect(await listed(10)).toEqual(ids.slice(-10).toReversed());

  await saver.prune(["t"], { strategy: "keep_latest", keepLast: 20 });
  expect(await listed(100)).toEqual(ids.slice(-20).toReversed());
  const [row] = await query(database.url, "select count(*)::int as n from thousands.blobs");
  expect(row!["n"]).toBeLessThanOrEqual(40);
  await put(ids.length);
  expect((await saver.getTuple(at("t")))?.checkpoint.id).toBe(ids.at(-1));
  await saver.end();
  await pool.end();
});

test("an embedded database on a full disk: the error says so, and with space again it is made", async (context) => {
  const disk = smallDisk(150);
  if (disk === undefined) return context.skip("no small file system can be mounted here");
  try {
    appendFileSync(join(disk.folder, "ballast"), randomBytes(130_000_000));
    const folder = join(disk.folder, "threads");
    const saver = PostgresSaver.embedded(folder);
    const error = await failure(saver.setup());
    expect(error).toMatchObject({ code: "STORAGE_FULL", data: { folder } });
    expect(error.message).toContain(`Folder ${folder} can't be used. The disk is full. Free space`);
    expect(error.message).not.toContain("undefined");
    rmSync(join(disk.folder, "ballast"));
    await saver.setup();
    expect(await saver.getTuple(at("t"))).toBeUndefined();
    await saver.end();
  } finally {
    disk.remove();
  }
});
