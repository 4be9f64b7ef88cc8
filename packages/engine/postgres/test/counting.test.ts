import { PostgresSaver } from "@stratigraph/postgres";
import { expect, test } from "vitest";
import { query } from "../../../../test/servers/postgres.ts";
import { freshDatabase } from "../../../../test/servers/shared.ts";
import { largeThread } from "../../../../test/weighedTier.ts";
import { at, checkpointOf } from "./support/checkpoints.ts";
import { countedPool, type CountedPool } from "./support/countedPool.ts";
import { logOf, threeNodes } from "./support/threeNodes.ts";

let database: Awaited<ReturnType<typeof freshDatabase>>;
let counted: CountedPool;
let saver: PostgresSaver;

beforeAll(async () => {
  database = await freshDatabase();
  counted = countedPool({ connectionString: database.url, max: 4 });
  saver = new PostgresSaver({ pool: counted.pool });
  await saver.setup();
});

afterAll(async () => {
  await counted.pool.end();
  await database.drop();
});

/** Statements and checkouts of some work. */
async function costOf(work: () => Promise<unknown>): Promise<{ statements: number; checkouts: number }> {
  counted.reset();
  await work();
  return { statements: counted.sent.length, checkouts: counted.checkouts() };
}

const one = { statements: 1, checkouts: 1 };

test("the counter sees what goes past pool.query too", async () => {
  const cost = await costOf(async () => {
    const client = await counted.pool.connect();
    await client.query("begin");
    await client.query("commit");
    client.release();
    await counted.pool.query("select 1");
  });
  expect(cost).toEqual({ statements: 3, checkouts: 2 });
});

test.each([
  ["sync", 10],
  ["async", 10],
  ["exit", 2],
] as const)(
  "a 3-node run under durability %s costs at most %i statements and checkouts",
  async (durability, most) => {
    const graph = threeNodes(saver);
    for (const turn of ["a", "b"]) {
      let state: unknown;
      const cost = await costOf(async () => {
        state = await graph.invoke({ last: turn }, { configurable: { thread_id: durability }, durability });
      });
      expect(cost.statements).toBeLessThanOrEqual(most);
      expect(cost.checkouts).toBeLessThanOrEqual(most);
      expect(cost.statements).toBeGreaterThan(1);
      expect(state).toMatchObject({ last: `${turn}:three` });
    }
    const { values } = await graph.getState({ configurable: { thread_id: durability } });
    expect(values.log).toEqual([...logOf("a"), ...logOf("b")]);
  },
);

test("a run by a saver that never saw the thread costs no more", async () => {
  const fresh = new PostgresSaver({ pool: counted.pool });
  const cost = await costOf(() =>
    threeNodes(fresh).invoke({ last: "c" }, { configurable: { thread_id: "sync" }, durability: "sync" }),
  );
  expect(cost.statements).toBeLessThanOrEqual(10);
});

test("no statement is named, sets anything, or begins a transaction", async () => {
  counted.reset();
  await threeNodes(saver).invoke({ last: "a" }, { configurable: { thread_id: "unnamed" } });
  for await (const _ of saver.list(at("unnamed"))) break;
  await saver.copyThread("unnamed", "unnamed copy");
  await saver.prune(["unnamed copy"], { strategy: "keep_latest" });
  await saver.deleteThread("unnamed copy");
  expect(counted.sent.length).toBeGreaterThan(12);
  for (const { name, text } of counted.sent) {
    expect(name).toBeUndefined();
    expect(text).toMatch(/^(select|with) /);
  }
});

test("steps of a run, also the first of a thread, are appended row by row; sets are for what is out of the ordinary", async () => {
  const own = await freshDatabase();
  await query(own.url, `alter database ${new URL(own.url).pathname.slice(1)} set track_functions = 'pl'`);
  const calls = async (work: (fresh: PostgresSaver) => Promise<unknown>): Promise<Map<string, number>> => {
    await query(own.url, "select pg_stat_reset()");
    const fresh = PostgresSaver.fromConnString(own.url);
    await fresh.setup();
    await work(fresh);
    // A connection reports its statistics when it closes.
    await fresh.end();
    const sql = "select funcname, calls from pg_stat_user_functions where funcname like 'append%'";
    await expect.poll(async () => (await query(own.url, sql)).length).toBeGreaterThan(0);
    return new Map((await query(own.url, sql)).map((row) => [String(row["funcname"]), Number(row["calls"])]));
  };
  const plain = await calls((fresh) =>
    threeNodes(fresh).invoke({ last: "a" }, { configurable: { thread_id: "t" }, durability: "sync" }),
  );
  expect([...plain.keys()].sort()).toEqual(["append_begins_1", "append_thread_1"]);
  expect(plain.get("append_begins_1")).toBe(1);
  const again = await calls(async (fresh) => {
    await fresh.deleteThread("t");
    await threeNodes(fresh).invoke({ last: "b" }, { configurable: { thread_id: "t" } });
  });
  expect(again.get("append_1")).toBeGreaterThan(0);
  await own.drop();
});

test("put, putWrites and getTuple are one statement each", async () => {
  const first = checkpointOf({ messages: ["x".repeat(5_000)], n: 1 });
  const metadata = { source: "loop", step: 0, parents: {} } as const;
  expect(await costOf(() => saver.put(at("t"), first, metadata, first.channel_versions))).toEqual(one);
  expect(
    await costOf(() =>
      saver.putWrites(
        at("t", first.id),
        [
          ["messages", ["y".repeat(9_000)]],
          ["n", 2],
        ],
        "task",
      ),
    ),
  ).toEqual(one);
  expect(await costOf(() => saver.getTuple(at("t")))).toEqual(one);
  expect(await costOf(() => saver.getTuple(at("t", first.id)))).toEqual(one);
  expect(await costOf(() => saver.getTuple(at("nowhere")))).toEqual(one);

  const next = { ...checkpointOf({ messages: ["z".repeat(5_000)], n: 1 }, { version: 2 }) };
  expect(await costOf(() => saver.put(at("t", first.id), next, metadata, { messages: 2 }))).toEqual(one);
  expect(await costOf(() => saver.deleteThread("t"))).toEqual(one);
});

test("pages of a list have fewer checkpoints where their values are large", async () => {
  await saver.tier.append(largeThread("large", Array<number>(34).fill(2 << 20)));
  const pages: number[] = [];
  let before = 0;
  counted.reset();
  for await (const { record } of saver.tier.list({ threadId: "large" })) {
    expect(record.blobs).toHaveLength(1);
    if (counted.sent.length > before) pages.push(0);
    before = counted.sent.length;
    pages[pages.length - 1]! += 1;
  }
  const [first, ...others] = pages;
  // It is read before anybody knows. The others have 8 MB, with the value that others are patches on.
  expect(first).toBe(16);
  expect(Math.max(...others)).toBeLessThanOrEqual(3);
  expect(others.reduce((sum, size) => sum + size, 0)).toBe(18);
});

test("a list is one statement per page, and fetching stops with its consumer", async () => {
  const metadata = { source: "loop", step: 0, parents: {} } as const;
  const ids: string[] = [];
  for (let step = 0; step < 60; step += 1) {
    const checkpoint = checkpointOf({ step }, { version: step + 1 });
    await saver.put(at("long", ids.at(-1)), checkpoint, metadata, { step: step + 1 });
    ids.push(checkpoint.id);
  }
  const take = async (count: number, limit?: number): Promise<string[]> => {
    const found: string[] = [];
    for await (const { checkpoint } of saver.list(at("long"), limit === undefined ? {} : { limit })) {
      found.push(checkpoint.id);
      if (found.length === count) break;
    }
    return found;
  };
  const newest = ids.toReversed();
  let found: string[] = [];
  const cost = (count: number, limit?: number) =>
    costOf(async () => {
      found = await take(count, limit);
    });
  expect(await cost(1)).toEqual(one);
  expect(found).toEqual(newest.slice(0, 1));
  expect(await cost(16)).toEqual(one);
  expect(await cost(99, 10)).toEqual(one);
  expect(found).toEqual(newest.slice(0, 10));
  // Pages of 16, 32 and the rest.
  expect(await cost(17)).toEqual({ statements: 2, checkouts: 2 });
  expect(await cost(99)).toEqual({ statements: 3, checkouts: 3 });
  expect(found).toEqual(newest);
});

test("the history of a DeltaChannel is one statement, however far back its value is", async () => {
  const metadata = { source: "loop", step: 0, parents: {} } as const;
  let parent: string | undefined;
  for (let step = 0; step < 40; step += 1) {
    const checkpoint = checkpointOf({ other: step }, { version: step + 1 });
    checkpoint.channel_versions["delta"] = step + 1;
    await saver.put(at("delta", parent), checkpoint, metadata, { other: step + 1, delta: step + 1 });
    await saver.putWrites(at("delta", checkpoint.id), [["delta", step]], `task ${step}`);
    parent = checkpoint.id;
  }
  let values: unknown[] = [];
  const cost = await costOf(async () => {
    const history = await saver.getDeltaChannelHistory({ config: at("delta", parent), channels: ["delta"] });
    values = history["delta"]!.writes.map(([, , value]) => value);
  });
  expect(cost).toEqual(one);
  // Writes of the checkpoint itself are not history yet.
  expect(values).toEqual(Array.from({ length: 39 }, (_, step) => step));
  const byHead = await costOf(() =>
    saver.getDeltaChannelHistory({ config: at("delta"), channels: ["delta"] }),
  );
  expect(byHead).toEqual({ statements: 2, checkouts: 2 });
});
