import { PostgresSaver as OfficialSaver } from "@langchain/langgraph-checkpoint-postgres";
import { postgresSource, readThrough, saverSource } from "@stratigraph/migrate";
import { MemorySaver, MemoryTier } from "@stratigraph/core";
import { RedisSaver } from "@stratigraph/redis";
import { TieredSaver } from "@stratigraph/tiered";
import { MemorySaver as OfficialMemory } from "@langchain/langgraph-checkpoint";
import pg from "pg";
import { createCheckpointer, type PostgresSaver } from "stratigraph";
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { waitUntil } from "../../../../test/servers/process.ts";
import { freshDatabase, sharedRedis, type FreshDatabase } from "../../../../test/servers/shared.ts";
import { tracedWhile } from "../../../../test/tracedWhile.ts";
import { history, say } from "./support/conversation.ts";

let database: FreshDatabase;
let pool: pg.Pool;
let official: OfficialSaver;

beforeAll(async () => {
  database = await freshDatabase();
  pool = new pg.Pool({ connectionString: database.url });
  official = new OfficialSaver(pool);
  await official.setup();
});

afterEach(() => vi.useRealTimers());

afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

async function opened(): Promise<PostgresSaver> {
  const saver = await createCheckpointer({
    postgres: database.url,
    readThrough: `official+${database.url}`,
  });
  onTestFinished(() => saver.end());
  return saver;
}

test("a thread comes over at its first read, goes on, and stays in the source", async () => {
  await say(official, "ada", "One");
  await say(official, "listed", "One");
  const before = await history(official, "ada");
  const saver = await opened();
  const events = await tracedWhile(async () => {
    expect((await say(saver, "ada", "Two")).map(({ content }) => content)).toEqual([
      "One",
      "1 read",
      "Two",
      "3 read",
    ]);
  });
  expect(events.filter(({ type }) => type === "brought")).toEqual([
    {
      type: "brought",
      threadId: "ada",
      source: "the official PostgresSaver",
      checkpoints: 3,
      mixedUp: 0,
    },
  ]);
  expect(await history(official, "ada")).toEqual(before);
  expect(await history(saver, "listed")).toEqual(await history(official, "listed"));
  expect((await say(saver, "new", "One")).length).toBe(2);
});

test("a thread that is deleted here isn't brought again", async () => {
  await say(official, "gone", "One");
  const saver = await opened();
  expect((await say(saver, "gone", "Two")).length).toBe(4);
  await saver.deleteThread("gone");
  expect(await saver.getTuple({ configurable: { thread_id: "gone" } })).toBeUndefined();
  expect((await say(saver, "gone", "Anew")).length).toBe(2);
});

test("two processes that bring a thread at once end with one of it, and both go on", async () => {
  const savers = [await opened(), await opened()];
  for (let n = 0; n < 10; n += 1) {
    const threadId = `raced ${n}`;
    const config = { configurable: { thread_id: threadId } };
    await say(official, threadId, "One");
    const tuples = await Promise.all([...savers, ...savers].map((saver) => saver.getTuple(config)));
    const original = (await official.getTuple(config))!;
    for (const tuple of tuples) expect(tuple?.checkpoint).toEqual(original.checkpoint);
    for (const saver of savers)
      expect(await history(saver, threadId)).toEqual(await history(official, threadId));
    expect(await savers[0]!.conflicts(threadId)).toEqual([]);
    expect((await say(savers[n % 2]!, threadId, "Two")).length).toBe(4);
    expect((await say(savers[(n + 1) % 2]!, threadId, "Three")).length).toBe(6);
  }
});

test("one that the source went on with is told, and not mixed in", async () => {
  await say(official, "both", "One");
  const saver = await opened();
  const config = { configurable: { thread_id: "both" } };
  await saver.getTuple(config);
  await say(official, "both", "An old process");
  const events = await tracedWhile(async (told) => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 60_000 });
    await saver.getTuple(config);
    vi.useRealTimers();
    // The look at the source isn't waited for.
    await waitUntil("the look", () => told.some(({ type }) => type === "source-went-on"));
  });
  expect(events.filter(({ type }) => type === "source-went-on")).toEqual([
    { type: "source-went-on", threadId: "both", source: "the official PostgresSaver" },
  ]);
  expect((await say(saver, "both", "Two")).length).toBe(4);
});

test("into Redis, and into a stack: a thread is compared before anybody sees it", async () => {
  const old = new OfficialMemory();
  for (const text of ["One", "Two"]) await say(old, "ada", text);
  const { url, prefix } = await sharedRedis();
  const savers = [
    new RedisSaver({ url, prefix }),
    new TieredSaver({ hot: new MemoryTier(), warm: new MemoryTier(), cold: new MemoryTier() }),
  ];
  for (const saver of savers) {
    onTestFinished(() => saver.end());
    readThrough(saver, saverSource(old));
    expect(await history(saver, "ada")).toEqual(await history(old, "ada"));
    expect((await say(saver, "ada", "Three")).length).toBe(6);
  }
});

test("any source and any saver", async () => {
  const old = new OfficialMemory();
  await say(old, "ada", "One");
  const saver = new MemorySaver();
  readThrough(saver, saverSource(old));
  expect((await say(saver, "ada", "Two")).length).toBe(4);
  const source = postgresSource({ pool });
  const other = await createCheckpointer({ memory: true, readThrough: source });
  expect((await say(other, "both", "Two")).length).toBe(6);
  await other.end();
  // A source that was passed in stays open.
  expect((await source.plan()).threads).toBeGreaterThan(0);
  const wrong = { memory: true, readThrough: 5 } as never;
  await expect(createCheckpointer(wrong)).rejects.toMatchObject({ code: "INVALID_OPTION" });
});
