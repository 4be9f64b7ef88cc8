// long file: ten stories of one kind, each on three sources
import { Annotation, Command, DeltaChannel, interrupt, START, StateGraph } from "@langchain/langgraph";
import {
  emptyCheckpoint,
  INTERRUPT,
  MemorySaver as OfficialMemory,
  uuid6,
  type BaseCheckpointSaver,
} from "@langchain/langgraph-checkpoint";
import { PostgresSaver as OfficialPostgres } from "@langchain/langgraph-checkpoint-postgres";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { MemorySaver, MemoryTier, TierSaver } from "@stratigraph/core";
import type { AppendRequest } from "@stratigraph/core/tier";
import {
  importThreads,
  postgresSource,
  readThrough,
  saverSource,
  type CopyReport,
  type ThreadSource,
} from "@stratigraph/migrate";
import { sqliteSource } from "@stratigraph/migrate/internal";
import Database from "libsql";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { waitUntil } from "../../../../test/servers/process.ts";
import { freshDatabase, type FreshDatabase } from "../../../../test/servers/shared.ts";
import { history, say } from "./support/conversation.ts";
import { tierWith } from "./support/tierWith.ts";

// The source is written while threads are brought from it: what is served is what it had at one moment, and repeating mends.

interface Living {
  readonly saver: BaseCheckpointSaver;
  readonly source: ThreadSource;
}

let database: FreshDatabase;
let pool: pg.Pool;
let officialPostgres: OfficialPostgres;

beforeAll(async () => {
  database = await freshDatabase();
  pool = new pg.Pool({ connectionString: database.url });
  officialPostgres = new OfficialPostgres(pool);
  await officialPostgres.setup();
});

afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

function onMemory(): Living {
  const saver = new OfficialMemory();
  return { saver, source: saverSource(saver) };
}

function onPostgres(): Living {
  return { saver: officialPostgres, source: postgresSource({ pool }) };
}

function onSqlite(): Living & { readonly file: Database.Database } {
  const file = new Database(":memory:");
  onTestFinished(() => void file.close());
  return { saver: new SqliteSaver(file as never), source: sqliteSource({ database: file }), file };
}

/** A node that others wait for, and that waits for others. */
class Gate {
  readonly reached: Promise<void>;
  readonly opened: Promise<void>;
  reach!: () => void;
  open!: () => void;

  constructor() {
    this.reached = new Promise((resolve) => (this.reach = resolve));
    this.opened = new Promise((resolve) => (this.open = resolve));
  }

  async pass(): Promise<void> {
    this.reach();
    await this.opened;
  }
}

const on = (thread_id: string) => ({ configurable: { thread_id } });

/** Two nodes at once, of which one is slow, and one after them. The log is stored as pending writes. */
function slowly(checkpointer: BaseCheckpointSaver, gate?: Gate) {
  const State = Annotation.Root({
    log: () =>
      new DeltaChannel<string[], string[]>((log, writes) => [...(log ?? []), ...writes.flat()], {
        snapshotFrequency: 100,
      }),
    turns: Annotation<number>({ reducer: (a, b) => a + b, default: () => 0 }),
  });
  return new StateGraph(State)
    .addNode("fast", ({ turns }) => ({ log: [`fast ${turns}`] }))
    .addNode("slow", async ({ turns }) => {
      await gate?.pass();
      return { log: [`slow ${turns}`] };
    })
    .addNode("last", ({ turns }) => ({ log: [`last ${turns}`], turns: 1 }))
    .addEdge(START, "fast")
    .addEdge(START, "slow")
    .addEdge(["fast", "slow"], "last")
    .compile({ checkpointer });
}

type Turn = { log: string[] };

async function turn(saver: BaseCheckpointSaver, threadId: string, text: string): Promise<string[]> {
  return ((await slowly(saver).invoke({ log: [text] }, on(threadId))) as Turn).log;
}

/** Begins a turn, which waits in its slow node, with what the fast one wrote stored. */
async function underWay(saver: BaseCheckpointSaver, threadId: string): Promise<() => Promise<unknown>> {
  const gate = new Gate();
  const running = slowly(saver, gate).invoke({ log: ["in 0"] }, on(threadId));
  await gate.reached;
  await waitUntil("the fast node's writes", async () => {
    const { pendingWrites = [] } = (await saver.getTuple(on(threadId)))!;
    return pendingWrites.some(([, , value]) => String(value) === "fast 0");
  });
  return async () => {
    gate.open();
    return await running;
  };
}

async function state(saver: BaseCheckpointSaver, threadId: string): Promise<string[]> {
  return ((await slowly(saver).getState(on(threadId))).values as Turn).log;
}

async function expectSame(saver: BaseCheckpointSaver, official: BaseCheckpointSaver, threadId: string) {
  expect(await history(saver, threadId)).toEqual(await history(official, threadId));
  expect(await state(saver, threadId)).toEqual(await state(official, threadId));
}

function expectClean(report: CopyReport): void {
  expect(report).toMatchObject({ complete: true, differences: [], diverged: [] });
}

const whole = ["in 0", "fast 0", "slow 0", "last 0", "in 1", "fast 1", "slow 1", "last 1"];

describe.each<[string, () => Living]>([
  ["MemorySaver", onMemory],
  ["PostgresSaver", onPostgres],
  ["SqliteSaver", onSqlite],
])("the official %s", (name, open) => {
  const ids = { threadIds: [] as string[] };
  const only = (threadId: string) => ({ ...ids, threadIds: [`${name} ${threadId}`] });

  test.each([true, false])("an import during a step, and one after it, verified: %s", async (verify) => {
    const { saver: official, source } = open();
    const options = { ...only(`twice ${verify}`), verify };
    const [id] = options.threadIds as [string];
    const end = await underWay(official, id);
    const ours = new MemorySaver();
    expectClean(await importThreads(source, ours, options));
    await end();
    await turn(official, id, "in 1");
    const report = await importThreads(source, ours, options);
    expectClean(report);
    expect(report.writes, "the slow node's writes are among them").toBeGreaterThan(0);
    await expectSame(ours, official, id);
    expect((await state(ours, id)).toSorted()).toEqual(whole.toSorted());
    const again = await importThreads(source, ours, options);
    expect(again).toMatchObject({ skipped: 1, checkpoints: 0, writes: 0, differences: [] });
    expect(await turn(ours, id, "in 2")).toEqual(await turn(official, id, "in 2"));
  });

  test("a thread that was looked at during a step, and the rest imported afterwards", async () => {
    const { saver: official, source } = open();
    const options = only("looked at");
    const [id] = options.threadIds as [string];
    const end = await underWay(official, id);
    const ours = new MemorySaver();
    readThrough(ours, source);
    expect((await ours.getTuple(on(id)))?.pendingWrites?.length).toBeGreaterThan(0);
    await end();
    await turn(official, id, "in 1");
    expectClean(await importThreads(source, ours, options));
    await expectSame(ours, official, id);
  });

  test("an import that died during a step, and one after it", async () => {
    const { saver: official, source } = open();
    const options = only("died");
    const [id] = options.threadIds as [string];
    const end = await underWay(official, id);
    const tier = new MemoryTier();
    const dying = new TierSaver(
      changed(tier, (request) => {
        if (request.heads.length > 0) throw new Error("killed");
        return request;
      }),
    );
    await expect(importThreads(source, dying, options)).rejects.toThrow("killed");
    expect((await tier.peek({ threadId: id, namespace: "" })).head).toBeUndefined();
    await end();
    await turn(official, id, "in 1");
    const ours = new TierSaver(tier);
    expectClean(await importThreads(source, ours, options));
    await expectSame(ours, official, id);
  });

  test("a thread that went on here, in whole turns or with one task only, is told and stays as it is", async () => {
    const { saver: official, source } = open();
    for (const how of ["turn", "task"]) {
      const options = only(`went on here, ${how}`);
      const [id] = options.threadIds as [string];
      const end = await underWay(official, id);
      const ours = new MemorySaver();
      expectClean(await importThreads(source, ours, options));
      const gate = new Gate();
      const here = slowly(ours, gate).invoke(null, on(id));
      await gate.reached;
      gate.open();
      await here;
      if (how === "task") {
        const { config } = (await ours.getTuple(on(id)))!;
        await ours.putWrites(config, [["log", ["of here"]]], "a task");
      }
      await end();
      const before = await history(ours, id);
      expect(await importThreads(source, ours, options)).toMatchObject({ diverged: [id], differences: [] });
      expect(await history(ours, id)).toEqual(before);
    }
  });

  test("what a task wrote here counts as going on, also before there is a checkpoint", async () => {
    const { saver: official, source } = open();
    const options = only("one task here");
    const [id] = options.threadIds as [string];
    const end = await underWay(official, id);
    const ours = new MemorySaver();
    expectClean(await importThreads(source, ours, options));
    const { config } = (await ours.getTuple(on(id)))!;
    await ours.putWrites(config, [["log", ["of here"]]], "a task");
    const before = await history(ours, id);
    // As long as the source has nothing new, the thread went on here and nowhere else.
    expectClean(await importThreads(source, ours, options));
    await end();
    expect(await importThreads(source, ours, options)).toMatchObject({ diverged: [id], differences: [] });
    expect(await history(ours, id)).toEqual(before);
  });

  test("answers to two questions, between which an import came", async () => {
    const { saver: official, source } = open();
    const options = only("answers");
    const [id] = options.threadIds as [string];
    const asking = new StateGraph(Annotation.Root({ log: Annotation<string[]>() }))
      .addNode("ask", () => ({ log: [interrupt("one?"), interrupt("two?")] }))
      .addEdge(START, "ask")
      .compile({ checkpointer: official });
    await asking.invoke({ log: [] }, on(id));
    const ours = new MemorySaver();
    expectClean(await importThreads(source, ours, options));
    await asking.invoke(new Command({ resume: "1" }), on(id));
    expectClean(await importThreads(source, ours, options));
    expect(await history(ours, id)).toEqual(await history(official, id));
    await asking.invoke(new Command({ resume: "2" }), on(id));
    expectClean(await importThreads(source, ours, options));
    expect(await history(ours, id)).toEqual(await history(official, id));
  });

  test("writes of one task to one channel that differ in place or value", async () => {
    const { saver: official, source } = open();
    const options = only("places");
    const [id] = options.threadIds as [string];
    const config = await putHead(official, id);
    await official.putWrites(config, [["log", 1]], "task b");
    const ours = new MemorySaver();
    expectClean(await importThreads(source, ours, options));
    await official.putWrites(config, [["log", "of a"]], "task a");
    await official.putWrites(config, [[INTERRUPT, "first"]], "task c");
    await official.putWrites(
      config,
      [
        ["log", 1],
        ["log", 1],
        ["log", 2],
      ],
      "task b",
    );
    expectClean(await importThreads(source, ours, options));
    await official.putWrites(config, [[INTERRUPT, "second"]], "task c");
    expectClean(await importThreads(source, ours, options));
    const writes = async (saver: BaseCheckpointSaver) =>
      ((await saver.getTuple(on(id)))!.pendingWrites ?? []).map((write) => JSON.stringify(write));
    expect((await writes(ours)).toSorted()).toEqual((await writes(official)).toSorted());
    expect((await importThreads(source, ours, options)).writes).toBe(0);
  });
});

async function putHead(saver: BaseCheckpointSaver, threadId: string) {
  const checkpoint = {
    ...emptyCheckpoint(),
    id: uuid6(1),
    channel_values: { n: 1 },
    channel_versions: { n: 1 },
  };
  const config = { configurable: { thread_id: threadId, checkpoint_ns: "" } };
  return await saver.put(config, checkpoint, { source: "loop", step: 1, parents: {} }, { n: 1 });
}

/** A tier whose appends are something else. */
function changed(tier: MemoryTier, change: (request: AppendRequest) => AppendRequest): MemoryTier {
  return tierWith(tier, { append: async (request: AppendRequest) => await tier.append(change(request)) });
}

test("a write whose value the source replaced is replaced here", async () => {
  const { saver: official, source, file } = onSqlite();
  const config = await putHead(official, "replaced");
  await official.putWrites(
    config,
    [
      ["log", "first"],
      ["log", "stays"],
    ],
    "task",
  );
  const ours = new MemorySaver();
  expectClean(await importThreads(source, ours));
  // The official SqliteSaver itself keeps the first value; the MongoDBSaver replaces it.
  file.exec(`update writes set value = cast('"second"' as blob) where idx = 0`);
  expectClean(await importThreads(source, ours));
  expect((await ours.getTuple(on("replaced")))!.pendingWrites).toEqual([
    ["task", "log", "second"],
    ["task", "log", "stays"],
  ]);
  expectClean(await importThreads(source, ours));
});

test("a thread that was brought, and differs from the source since, is brought anew as a whole", async () => {
  await say(officialPostgres, "repaired", "One");
  const options = { threadIds: ["repaired"] };
  const source = postgresSource({ pool });
  const ours = new MemorySaver();
  expectClean(await importThreads(source, ours, options));
  await pool.query(
    `update checkpoint_blobs set blob = convert_to('["other"]', 'utf8') where thread_id = 'repaired' and channel = 'messages' and version = '3'`,
  );
  expectClean(await importThreads(source, ours, options));
  expect(await history(ours, "repaired")).toEqual(await history(officialPostgres, "repaired"));
});

test("a copy that isn't what was brought is told and isn't served, and the next import mends it", async () => {
  const official = new OfficialMemory();
  await turn(official, "lost", "in 0");
  const tier = new MemoryTier();
  const losing = new TierSaver(
    changed(tier, (request) => ({ ...request, writes: request.writes?.slice(1) })),
  );
  const report = await importThreads(saverSource(official), losing);
  expect(report.differences).toMatchObject([
    { threadId: "lost", what: "3 pending writes are missing" },
    { threadId: "lost", what: expect.stringContaining("isn't served; import it again") },
  ]);
  const ours = new TierSaver(tier);
  expect(await ours.getTuple(on("lost"))).toBeUndefined();
  expect((await ours.listThreads()).threads).toEqual([]);
  expectClean(await importThreads(saverSource(official), ours));
  await expectSame(ours, official, "lost");
});

/** A source that lets something else happen before some checkpoint of a thread is read, each time. */
function writtenMeanwhile(source: ThreadSource, work: () => Promise<unknown>): ThreadSource {
  const during = (thread: Awaited<ReturnType<NonNullable<ThreadSource["thread"]>>>) =>
    thread === undefined
      ? undefined
      : {
          ...thread,
          checkpoints: async function* () {
            for await (const each of thread.checkpoints()) {
              await work();
              yield each;
            }
          },
        };
  return {
    ...source,
    threads: async function* (selection) {
      for await (const thread of source.threads(selection)) yield during(thread)!;
    },
    thread: async (threadId) => during(await source.thread!(threadId)),
  };
}

test("a source without snapshots that is written while a thread is read: it is read again, or told and not served", async () => {
  const official = new OfficialMemory();
  const config = await putHead(official, "moving");
  let left = 1;
  const source = writtenMeanwhile(saverSource(official), async () => {
    if (left-- > 0) await official.putWrites(config, [["log", left]], `task ${left}`);
  });
  const ours = new MemorySaver();
  readThrough(ours, source);
  expect((await ours.getTuple(on("moving")))!.pendingWrites).toHaveLength(1);
  const restless = new MemorySaver();
  left = 1000;
  readThrough(restless, source);
  await expect(restless.getTuple(on("moving"))).rejects.toMatchObject({
    code: "OVERLOADED",
    retryable: true,
  });
  const imported = new MemorySaver();
  expect((await importThreads(source, imported)).differences).toMatchObject([
    { threadId: "moving", what: expect.stringContaining("import it again") },
  ]);
  expect(await imported.getTuple(on("moving"))).toBeUndefined();
  left = 0;
  expectClean(await importThreads(source, imported));
  expect(await history(imported, "moving")).toEqual(await history(official, "moving"));
  expect(await history(restless, "moving")).toEqual(await history(official, "moving"));
});
