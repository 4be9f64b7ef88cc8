import { StratigraphError, type ThreadInfo } from "@stratigraph/core";
import { postgres, PostgresSaver, type PostgresOptions, type ShardedTier } from "@stratigraph/postgres";
import type pg from "pg";
import { query, startPostgres } from "../../../../../test/servers/postgres.ts";
import { tracedWhile } from "../../../../../test/tracedWhile.ts";
import { appendOf, writesOf } from "../group/support/requests.ts";
import { threeNodes, logOf } from "../support/threeNodes.ts";
import { freshShards, idsByShard, type FreshShards } from "./support/freshShards.ts";

// Threads spread over several databases: which database has which, what is refused, and what a database that is away costs.

let shards: FreshShards;
const tiers: ShardedTier[] = [];
beforeEach(async () => {
  shards = await freshShards(3);
});
afterEach(async () => {
  for (const tier of tiers.splice(0)) await tier.end();
  await shards.drop();
});

type Source = readonly (string | pg.Pool)[];

function open(sources: Source, options: Pick<PostgresOptions, "retryFor"> = {}): ShardedTier {
  const tier = postgres({ shards: sources, ...options });
  tiers.push(tier);
  return tier;
}

async function failure(work: Promise<unknown>): Promise<StratigraphError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!StratigraphError.is(error))
    expect.fail(`it should have failed with a StratigraphError: ${String(error)}`);
  return error;
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

const countOf = async (url: string): Promise<number> =>
  Number((await query(url, "select count(*) as n from stratigraph.threads where live"))[0]!["n"]);

test("each thread is in the database of its hash, as a whole", async () => {
  const tier = open(shards.pools);
  const saver = new PostgresSaver(tier);
  await saver.setup();
  const ids = idsByShard(tier, 2);
  for (const threadId of ids.flat()) {
    const config = { configurable: { thread_id: threadId } };
    await threeNodes(saver).invoke({ last: threadId }, config);
    expect((await threeNodes(saver).getState(config)).values.log).toEqual(logOf(threadId));
  }
  for (const [n, url] of shards.urls.entries()) {
    const rows = await query(
      url,
      "select stratigraph.id_text(key) as id from stratigraph.threads order by 1",
    );
    expect(rows.map(({ id }) => id)).toEqual(ids[n]!.toSorted());
  }
});

test("with another number or order of databases, or one that is another's, nothing works and nothing is changed", async () => {
  const [a, b, c] = shards.pools as [pg.Pool, pg.Pool, pg.Pool];
  await open([a, b]).setup();
  const wrong: readonly (readonly [Source, string])[] = [
    [[b, a], "given as shard 1 of 2 is shard 2 of 2"],
    [[a], "given as shard 1 of 1 is shard 1 of 2"],
    [[a, b, c], "given as shard 1 of 3 is shard 1 of 2"],
    [[a, a], "given as shard 2 of 2 is shard 1 of 2"],
    [[a, c], "isn't set up, but its set was complete"],
  ];
  for (const [sources, message] of wrong) {
    const error = await failure(open(sources).setup());
    expect(error).toMatchObject({ code: "MISCONFIGURED", data: { field: "shards" } });
    expect(error.message).toContain(message);
  }
  // Whoever doesn't call setup() is refused at the first call.
  const swapped = open([b, a]);
  const [[threadId]] = idsByShard(swapped, 1) as [[string]];
  expect(await failure(swapped.append(appendOf(threadId, "c1")))).toMatchObject({ code: "MISCONFIGURED" });
  expect(await failure(open([a, c]).setup({ verifyOnly: true }))).toMatchObject({ code: "MISCONFIGURED" });
  expect(await query(shards.urls[2]!, "select from pg_namespace where nspname = 'stratigraph'")).toEqual([]);
  await open([c]).setup();
  const other = await failure(open([a, c]).setup());
  expect(other.message).toContain("is shard 1 of 1");
});

test("a database of another set, one with threads from before, and a shard opened alone are refused", async () => {
  const [a, b, c] = shards.pools as [pg.Pool, pg.Pool, pg.Pool];
  await open([a, b]).setup();
  const alone = postgres({ url: shards.urls[1]! });
  const refused = await failure(alone.setup());
  expect(refused).toMatchObject({ code: "MISCONFIGURED", data: { field: "shards" } });
  expect(refused.message).toContain("Schema stratigraph is shard 2 of 2");
  await alone.end();
  const before = postgres({ url: shards.urls[2]! });
  await before.setup();
  await before.append(appendOf("from before", "c1"));
  await before.end();
  const dropped = await failure(open([c, a]).setup());
  expect(dropped.message).toContain("given as shard 2 of 2 is shard 1 of 2");
  const kept = await failure(open([c]).setup());
  expect(kept.message).toContain("has threads that were stored without shards");
  await query(shards.urls[2]!, "drop schema stratigraph cascade");
  await query(shards.urls[0]!, "update stratigraph.shard set family = gen_random_uuid()");
  expect((await failure(open([a, b]).setup())).message).toContain("is shard 2 of 2 of another set");
});

test("many processes may set up the same databases at once", async () => {
  await Promise.all(Array.from({ length: 4 }, () => open(shards.pools).setup()));
  const families = new Set<unknown>();
  for (const [n, url] of shards.urls.entries()) {
    const [row] = await query(url, "select * from stratigraph.shard");
    expect(row).toMatchObject({ number: n, shards: 3, complete: n === 0 });
    families.add(row!["family"]);
  }
  expect(families.size).toBe(1);
});

test("threads are listed across databases in one order, page by page, in both directions", async () => {
  const tier = open(shards.pools);
  await tier.setup();
  const ids = idsByShard(tier, 7).flat();
  for (const threadId of ids) await tier.append(appendOf(threadId, "c1"));
  // Three minutes, each with threads in every database.
  for (const url of shards.urls)
    await query(
      url,
      "update stratigraph.threads set written_at = written_at - (thread % 3) * interval '1 minute'",
    );
  const oldest = await all(tier.threads({}));
  expect(oldest.map(({ threadId }) => threadId).toSorted()).toEqual(ids.toSorted());
  const times = oldest.map(({ writtenAtMs }) => writtenAtMs);
  expect(times).toEqual(times.toSorted((x, y) => x - y));
  expect(new Set(times).size).toBe(3);
  expect(await all(tier.threads({ order: "newest" }))).toEqual(oldest.toReversed());
  for (const order of ["oldest", "newest"] as const)
    for (const limit of [1, 2, 5, 20]) {
      const paged: ThreadInfo[] = [];
      for (;;) {
        const page = await all(tier.threads({ order, limit, after: paged.at(-1) }));
        paged.push(...page);
        if (page.length < limit) break;
      }
      expect(paged).toEqual(order === "oldest" ? oldest : oldest.toReversed());
    }
  const checkpoints = await all(tier.list({ recordsOnly: true, limit: 15 }));
  expect(new Set(checkpoints.map(({ record }) => record.threadId)).size).toBe(15);
  for (const { threadId } of oldest.slice(0, 9)) await tier.deleteThread(threadId);
  const deleted = await all(tier.tombstones({}));
  expect(deleted).toHaveLength(9);
  expect(await all(tier.tombstones({ after: deleted[3]! }))).toEqual(deleted.slice(4));
});

test("a thread is copied from one database to another with all that belongs to it", async () => {
  const tier = open(shards.pools);
  await tier.setup();
  const [[source], [target]] = idsByShard(tier, 1) as [[string], [string]];
  await tier.append(appendOf(source, "c1"));
  await tier.append(appendOf(source, "c2", "c1"));
  await tier.append(appendOf(source, "x2", "c1", { onConflict: "branch" }));
  await tier.appendWrites(writesOf(source, "c2", "task"));
  await tier.tagThread(source, [{ key: "user_id", value: "anna" }]);
  expect(await tier.copyThread(source, target)).toBe(true);
  expect(await countOf(shards.urls[1]!)).toBe(1);
  const plain = async (threadId: string): Promise<unknown> =>
    (await all(tier.list({ threadId }))).map(({ record, writes, head, blobs }) => ({
      ...record,
      threadId: "",
      writes: writes.map(({ taskId, body }) => [taskId, Buffer.from(body).toString("hex")]),
      head,
      blobs: [...blobs.keys()],
    }));
  expect(await plain(target)).toEqual(await plain(source));
  expect(await tier.threadTags(target)).toEqual([{ key: "user_id", value: "anna" }]);
  expect((await tier.list({ threadId: target, lost: true }).next()).value).toMatchObject({
    record: { checkpointId: "x2", lostTo: "c2" },
  });
});

test("while a database is away, its threads fail with UNAVAILABLE, the others go on, and so does a process that starts", async () => {
  const server = await startPostgres();
  try {
    const tier = open([shards.urls[0]!, server.url], { retryFor: "0s" });
    const saver = new PostgresSaver(tier);
    await saver.setup();
    const [[here], [there]] = idsByShard(tier, 1) as [[string], [string]];
    const config = (thread_id: string) => ({ configurable: { thread_id } });
    for (const id of [here, there]) await threeNodes(saver).invoke({ last: "a" }, config(id));
    await server.shutDown();
    await threeNodes(saver).invoke({ last: "b" }, config(here));
    const error = await failure(threeNodes(saver).invoke({ last: "b" }, config(there)));
    expect(error).toMatchObject({ code: "UNAVAILABLE", data: { tier: "postgres#2" } });
    // A page without that database's threads would look as if they didn't exist.
    expect(await failure(saver.listThreads())).toMatchObject({ code: "UNAVAILABLE" });
    expect(await saver.health()).toMatchObject({
      ok: true,
      tiers: [{ name: "postgres", ok: true, shards: [{ ok: true }, { name: "postgres#2", ok: false }] }],
    });
    const late = open([shards.urls[0]!, server.url], { retryFor: "0s" });
    const events = await tracedWhile(() => late.setup());
    expect(events.filter(({ type }) => type === "unreachable")).toMatchObject([
      { tier: "postgres#2", role: "warm" },
    ]);
    expect((await late.peek({ threadId: here, namespace: "" })).head).toBeDefined();
    expect(await failure(late.peek({ threadId: there, namespace: "" }))).toMatchObject({
      code: "UNAVAILABLE",
    });
    // A set of which not all databases were ever there isn't begun without them.
    const first = open([shards.urls[1]!, server.url], { retryFor: "0s" });
    expect(await failure(first.setup())).toMatchObject({ code: "NOT_SET_UP" });
    await server.start();
    expect((await late.peek({ threadId: there, namespace: "" })).head).toBeDefined();
    await threeNodes(saver).invoke({ last: "b" }, config(there));
    expect((await threeNodes(saver).getState(config(there))).values.log).toEqual([
      ...logOf("a"),
      ...logOf("b"),
    ]);
    expect((await saver.health()).tiers[0]!.shards!.every(({ ok }) => ok)).toBe(true);
  } finally {
    for (const tier of tiers.splice(0)) await tier.end();
    await server.stop();
  }
});

test("maintenance, deletions by tag and sweeps reach every database", async () => {
  const tier = open(shards.pools);
  const saver = new PostgresSaver(tier, undefined, { deleteAfter: "1h", pause: "0ms" });
  await saver.setup();
  const ids = idsByShard(tier, 2);
  for (const threadId of ids.flat()) await tier.append(appendOf(threadId, "c1"));
  for (const threadId of ids.map(([first]) => first!)) await saver.tagThread(threadId, { tenant: "acme" });
  expect((await saver.listThreads({ tag: { tenant: "acme" } })).threads).toHaveLength(3);
  for (const url of shards.urls)
    await query(
      url,
      "update stratigraph.threads set written_at = now() - interval '2 hours' where thread = 2",
    );
  const { steps } = await saver.maintain();
  expect(
    steps
      .filter(({ what }) => what === "delete")
      .map(({ threadId }) => threadId)
      .toSorted(),
  ).toEqual(ids.map(([, second]) => second!).toSorted());
  for (const url of shards.urls)
    await query(url, "update stratigraph.threads set written_at = now() - interval '8 days' where not live");
  expect(await tier.sweep(0)).toBe(3);
  for (const [n, url] of shards.urls.entries()) {
    expect(await countOf(url)).toBe(1);
    await query(url, "insert into stratigraph.heads values (900, '', 'x')");
    expect((await all(tier.leftovers())).map(({ id }) => id)).toEqual([`${n}:900`]);
    // Nobody deleted it: its row is lost, and what is left of it stays.
    expect(await tier.dropLeftover(`${n}:900`)).toBe(false);
    await query(url, "delete from stratigraph.heads where thread = 900");
  }
  expect(await tier.dropLeftover("7:900")).toBe(false);
});
