import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import pg from "pg";
import {
  createCache,
  createCheckpointer,
  createStore,
  fork,
  MemorySaver,
  MemoryTier,
  boundedMemory,
  postgres,
  PostgresSaver,
  RedisSaver,
  StratigraphError,
  TieredSaver,
  type CheckpointerConfig,
  type LostRace,
  type TierSaver,
} from "stratigraph";
import { expect, onTestFinished, test, vi } from "vitest";
import { available } from "../../../../test/servers/available.ts";
import { embeddedFolder, freshDatabase, sharedRedis } from "../../../../test/servers/shared.ts";

// An embedded database takes seconds to open where the machine is busy.
vi.setConfig({ testTimeout: 240_000 });

/** One turn of a chat on a saver: how many messages the thread has afterwards. */
async function chat(checkpointer: TierSaver): Promise<number> {
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("agent", ({ messages }) => ({
      messages: [{ role: "assistant", content: `${messages.length}` }],
    }))
    .addEdge(START, "agent")
    .compile({ checkpointer });
  const config = { configurable: { thread_id: "chat" }, durability: "sync" as const };
  const { messages } = await graph.invoke({ messages: [{ role: "user", content: "Hello!" }] }, config);
  return messages.length;
}

/** Two openings of one config: the second goes on where the first was. */
async function goesOn(config: CheckpointerConfig): Promise<void> {
  for (const messages of [2, 4]) {
    const checkpointer = await createCheckpointer(config);
    try {
      expect(await chat(checkpointer)).toBe(messages);
    } finally {
      await checkpointer.end();
    }
  }
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "stratigraph-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function databaseFolder(): Promise<string> {
  const folder = await embeddedFolder();
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

async function database(): Promise<string> {
  const { url, drop } = await freshDatabase();
  onTestFinished(drop);
  return url;
}

test("memory: true", async () => {
  const checkpointer = await createCheckpointer({ memory: true });
  expect(checkpointer).toBeInstanceOf(MemorySaver);
  expect([await chat(checkpointer), await chat(checkpointer)]).toEqual([2, 4]);
});

test("threadTags: threads are found by what their configs say", async () => {
  const checkpointer = await createCheckpointer({ memory: true, threadTags: ["thread_id"] });
  await chat(checkpointer);
  const { threads } = await checkpointer.listThreads({ tag: { thread_id: "chat" } });
  expect(threads.map(({ threadId }) => threadId)).toEqual(["chat"]);
});

test("a folder", async () => {
  const folder = temporaryFolder();
  await goesOn({ pglite: folder });
  const checkpointer = await createCheckpointer({ pglite: folder });
  expect(checkpointer).toBeInstanceOf(PostgresSaver);
  for (const again of [createCheckpointer, createCache, createStore]) {
    const error = await again({ pglite: folder }).catch((reason: unknown) => reason);
    expect(StratigraphError.is(error, "LOCKED")).toBe(true);
    expect(String(error)).toContain(`This process (${process.pid}) has folder`);
  }
  // What the error advises.
  await checkpointer.cache().set([{ key: [["n"], "k"], value: 1 }]);
  await checkpointer.store().put(["a"], "b", { c: 1 });
  await checkpointer.end();
});

test("a stack whose warm tier is an embedded database, by URLs", async () => {
  await goesOn({ hot: "memory:", warm: `pglite:${await databaseFolder()}` });
});

test("a stack whose archive is filled: what is idle goes there, and comes back", async () => {
  const cold = `file:${temporaryFolder()}`;
  const checkpointer = await createCheckpointer({
    warm: new MemoryTier(),
    cold,
    archiveAfter: "1ms",
    keepLast: 5,
    trimAfter: "1d",
    deleteArchivedAfter: "365d",
    maxThreads: 10,
    parallel: 2,
    pause: "0ms",
  });
  expect(await chat(checkpointer)).toBe(2);
  await vi.waitFor(async () =>
    expect(await checkpointer.maintain()).toMatchObject({
      steps: [{ what: "archive", threadId: "chat", done: true }],
    }),
  );
  const archive = await createCheckpointer({ warm: cold });
  expect(await archive.getTuple({ configurable: { thread_id: "chat" } })).toBeDefined();
  await archive.end();
  expect(await chat(checkpointer)).toBe(4);
  await checkpointer.end();
});

test("a stack with an archive in a folder; a folder of packs alone", async () => {
  await goesOn({ warm: `pglite:${await databaseFolder()}`, cold: `file:${temporaryFolder()}` });
  await goesOn({ warm: `file:${temporaryFolder()}` });
});

describe.skipIf(!available.postgres && process.env["STRATIGRAPH_TEST_POSTGRES_URL"] === undefined)(
  "PostgreSQL",
  () => {
    test("a connection string, with options of the driver and the saver", async () => {
      const url = await database();
      await goesOn({ postgres: url, schema: "mine", conflict: "throw", patchMemory: "1mb" });
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      const { rows } = await client.query("select count(*)::integer as n from mine.checkpoints");
      await client.end();
      expect(rows).toEqual([{ n: 6 }]);
    });

    test("a pool, which stays open", async () => {
      const pool = new pg.Pool({ connectionString: await database() });
      await goesOn({ postgres: pool });
      expect((await pool.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
      await pool.end();
    });

    test("setup: false leaves the database alone", async () => {
      const checkpointer = await createCheckpointer({ postgres: await database(), setup: false });
      await expect(chat(checkpointer)).rejects.toSatisfy((error) => StratigraphError.is(error, "NOT_SET_UP"));
      await checkpointer.end();
    });

    test("a stack: memory over PostgreSQL, by URLs and by tiers", async () => {
      const url = await database();
      await goesOn({ hot: "memory:", warm: url });
      const checkpointer = await createCheckpointer({
        hot: [boundedMemory({ maxSize: "1mb" })],
        warm: postgres({ url }),
        consistency: "trusted",
        trustFor: "5s",
      });
      expect(checkpointer).toBeInstanceOf(TieredSaver);
      expect(checkpointer.tier.name).toBe("memory>postgres");
      expect(await chat(checkpointer)).toBe(6);
      await checkpointer.end();
    });
  },
);

test.skipIf(!available.redis && process.env["STRATIGRAPH_TEST_REDIS_URL"] === undefined)(
  "Redis by URL",
  async () => {
    const { url, prefix } = await sharedRedis();
    await goesOn({ redis: url, prefix, ttl: "1m" });
    expect(new RedisSaver({ url, prefix })).toBeInstanceOf(RedisSaver);
  },
);

test("a server that isn't there: the error of its tier, and nothing stays open", async () => {
  const opened = createCheckpointer({ postgres: "postgresql://127.0.0.1:1/none", retryFor: "50ms" });
  await expect(opened).rejects.toSatisfy((error) => StratigraphError.is(error, "UNAVAILABLE"));
});

test("what every saver takes, and the functions of branch, come along", async () => {
  const lost: LostRace[] = [];
  const checkpointer = await createCheckpointer({
    memory: true,
    conflict: "branch",
    onConflict: (race) => void lost.push(race),
  });
  await chat(checkpointer);
  const { threadId } = await fork(checkpointer, { threadId: "chat" });
  expect((await checkpointer.getTuple({ configurable: { thread_id: threadId } }))?.checkpoint.id).toBe(
    (await checkpointer.getTuple({ configurable: { thread_id: "chat" } }))?.checkpoint.id,
  );
  const first = { configurable: { thread_id: "race" } };
  const parent = await checkpointer.put(
    first,
    emptyCheckpoint(),
    { source: "input", step: 0, parents: {} },
    {},
  );
  for (const writer of [{}, {}]) {
    const run = { control: writer, configurable: parent.configurable! };
    await checkpointer.put(run, emptyCheckpoint(), { source: "loop", step: 1, parents: {} }, {});
  }
  expect(lost).toMatchObject([{ threadId: "race", outcome: "branched" }]);
  expect(await checkpointer.keysInUse({ threadIds: ["race"] })).toMatchObject({
    keys: [{ threads: 1, records: 3 }],
  });
});
