import { rm } from "node:fs/promises";
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { PostgresSaver } from "@stratigraph/postgres";
import pg from "pg";
import { expect, test } from "vitest";
import { query } from "../../../../test/servers/postgres.ts";
import { embeddedFolder, freshDatabase } from "../../../../test/servers/shared.ts";
import { allRounds } from "../../../../test/rounds.ts";
import { at, checkpointOf } from "./support/checkpoints.ts";

const metadata = { source: "loop", step: 0, parents: {} } as const;

/** Ids that have broken somebody's storage. All differ. */
const texts = [
  "a\0b",
  "\0",
  "a",
  "A",
  "a ",
  " a",
  "'; drop table stratigraph.threads; --",
  '"quoted" \\"twice\\"',
  "\\x00\\000",
  "$1 $$ :schema :id",
  "%_*?[a-z]{b,c}",
  "🦕👩‍👩‍👧‍👦",
  // The same letter, composed and decomposed: two ids.
  "é",
  "e\u0301",
  "\u202Eright to left\u202C",
  "\ufeffbom",
  "line\nbreak\r\n\ttab",
  "__proto__",
  "constructor",
  "null",
  "undefined",
  "0",
  "00000000-0000-0000-0000-000000000000",
  "00000000-0000-0000-0000-00000000000",
  "1F1E4E9B-0F5A-6EC0-83E6-0A96B323DB2B",
  "1f1e4e9b-0f5a-6ec0-83e6-0a96b323db2b",
  "x".repeat(511),
  "x".repeat(512),
  "x".repeat(513),
  "long 🦕 ".repeat(1_000),
  `${"long 🦕 ".repeat(1_000)}!`,
];

const kinds = {
  "on PostgreSQL": async () => {
    const database = await freshDatabase();
    const pool = new pg.Pool({ connectionString: database.url, max: 4 });
    const close = async () => {
      await pool.end();
      await database.drop();
    };
    return { saver: new PostgresSaver({ pool }), fresh: () => new PostgresSaver({ pool }), close };
  },
  "on PGlite": async () => {
    const folder = await embeddedFolder();
    const saver = PostgresSaver.embedded(folder);
    const close = async () => {
      await saver.end();
      await rm(folder, { recursive: true });
    };
    return { saver, fresh: () => new PostgresSaver(saver.tier), close };
  },
};

/** An embedded database gets the same statements. */
const wanted = Object.entries(kinds).filter(([name]) => allRounds || name === "on PostgreSQL");

describe.each(wanted)("%s", (_, open) => {
  let opened: Awaited<ReturnType<typeof open>>;
  beforeAll(async () => {
    opened = await open();
    await opened.saver.setup();
  });
  afterAll(() => opened.close());

  test("thread, namespace, checkpoint, task and channel of any text come back as they were", async () => {
    const { saver } = opened;
    for (const text of texts) {
      const noted = { ...metadata, note: text, [text]: [text] };
      // An empty object's __proto__ can't be set by assignment; LangGraph has the same limit for channels.
      const channel = text === "__proto__" ? "channel" : text;
      const first = checkpointOf({ [channel]: text, more: "x".repeat(3_000) }, { id: text });
      const second = checkpointOf(
        { [channel]: text, more: "y".repeat(3_000) },
        { id: `${text}+`, version: 2 },
      );
      await saver.put(at(text, undefined, text), first, noted, first.channel_versions);
      await saver.put(at(text, text, text), second, noted, second.channel_versions);
      await saver.putWrites(at(text, `${text}+`, text), [[channel, { [channel]: text }]], text);
    }
    const other = opened.fresh();
    for (const text of texts) {
      const channel = text === "__proto__" ? "channel" : text;
      const tuple = (await other.getTuple(at(text, undefined, text)))!;
      expect(tuple.config).toEqual(at(text, `${text}+`, text));
      expect(tuple.parentConfig).toEqual(at(text, text, text));
      expect(tuple.checkpoint.channel_values).toEqual({ [channel]: text, more: "y".repeat(3_000) });
      expect(tuple.metadata).toEqual({ ...metadata, note: text, [text]: [text] });
      expect(tuple.pendingWrites).toEqual([[text, channel, { [channel]: text }]]);
      const listed: string[] = [];
      for await (const { checkpoint } of other.list(at(text, undefined, text))) listed.push(checkpoint.id);
      expect(listed.toSorted()).toEqual([text, `${text}+`].toSorted());
      // The root namespace of the same thread is another one.
      expect(await other.getTuple(at(text))).toBeUndefined();
    }
    const found = (await other.listThreads({ limit: 1_000 })).threads.map(({ threadId }) => threadId);
    expect(found.toSorted()).toEqual(texts.toSorted());
  });

  test("filters find any text, and nothing else", async () => {
    for (const text of texts) {
      const found: string[] = [];
      for await (const { config } of opened.saver.list({}, { filter: { note: text } }))
        found.push(config.configurable!["thread_id"] as string);
      expect(found).toEqual([text, text]);
    }
    const none: unknown[] = [];
    for await (const tuple of opened.saver.list({}, { filter: { note: "' or true --" } })) none.push(tuple);
    expect(none).toEqual([]);
  });

  test("runs, copies and deletions of any text touch that one only", async () => {
    const { saver } = opened;
    for (const text of texts) await saver.copyThread(text, `copy of ${text}`);
    for (const text of texts) {
      expect((await saver.getTuple(at(`copy of ${text}`, undefined, text)))?.checkpoint.id).toBe(`${text}+`);
      await saver.prune([`copy of ${text}`], { strategy: "keep_latest" });
      await saver.deleteThread(`copy of ${text}`);
      expect(await saver.getTuple(at(`copy of ${text}`, undefined, text))).toBeUndefined();
      const run = checkpointOf({ n: 1 }, { id: `${text}++` });
      const config = { ...at(text, `${text}+`, text), metadata: { run_id: text } };
      await saver.put(config, run, metadata, run.channel_versions);
      await saver.deleteForRuns([text]);
      expect((await saver.getTuple(at(text, undefined, text)))?.checkpoint.id).toBe(`${text}+`);
    }
    for (const text of texts) {
      await saver.deleteThread(text);
      expect(await saver.getTuple(at(text, undefined, text))).toBeUndefined();
    }
    expect((await saver.listThreads()).threads).toEqual([]);
  });

  test("a graph with such node names runs, is interrupted and goes on", async () => {
    const State = Annotation.Root({ log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b] }) });
    const names = ["no\0de", "🦕", "'quoted\"", "x".repeat(600)] as const;
    const builder = new StateGraph(State)
      .addNode(names[0], () => ({ log: [names[0]] }))
      .addNode(names[1], () => ({ log: [names[1]] }))
      .addNode(names[2], () => ({ log: [names[2]] }))
      .addNode(names[3], () => ({ log: [names[3]] }))
      .addEdge(START, names[0])
      .addEdge(names[0], names[1])
      .addEdge(names[1], names[2])
      .addEdge(names[2], names[3])
      .addEdge(names[3], END);
    const graph = builder.compile({ checkpointer: opened.saver, interruptBefore: [names[2]] });
    const config = { configurable: { thread_id: "nodes\0" } };
    await graph.invoke({ log: [] }, config);
    expect((await graph.getState(config)).next).toEqual([names[2]]);
    const { log } = await graph.invoke(null, config);
    expect(log).toEqual(names);
    expect((await graph.getState(config)).values.log).toEqual(names);
  });

  test("ids that have no UTF-8 form, are empty or no text are refused clearly", async () => {
    const first = checkpointOf({ n: 1 });
    for (const bad of ["\ud800", "", 7.5, {}, "x".repeat(65_537)]) {
      const config = { configurable: { thread_id: bad } };
      await expect(opened.saver.put(config, first, metadata, {})).rejects.toMatchObject({
        code: "INVALID_ADDRESS",
        data: { field: "thread_id" },
      });
    }
  });
});

test.runIf(allRounds)("filters across threads use the index of metadata", async () => {
  const database = await freshDatabase();
  const pool = new pg.Pool({ connectionString: database.url, max: 1 });
  const saver = new PostgresSaver({ pool });
  await saver.setup();
  let wanted = "";
  for (let thread = 0; thread < 300; thread += 1) {
    let parent: string | undefined;
    for (let step = 0; step < 10; step += 1) {
      const checkpoint = checkpointOf({ step }, { version: step + 1 });
      const note = { ...metadata, step, user: `user ${thread}`, tenant: { id: thread % 7 } };
      await saver.put(at(`t${thread}`, parent), checkpoint, note, checkpoint.channel_versions);
      parent = checkpoint.id;
      if (thread === 123 && step === 4) wanted = checkpoint.id;
    }
  }
  await query(database.url, "analyze stratigraph.checkpoints");
  const scans = async (): Promise<{ index: number; table: number }> => {
    const sql = `select (select idx_scan::int from pg_stat_user_indexes where indexrelname = 'checkpoints_terms') as index,
                        (select seq_scan::int from pg_stat_user_tables where relname = 'checkpoints') as table`;
    await pool.query("select pg_stat_force_next_flush()");
    return (await query(database.url, sql))[0] as { index: number; table: number };
  };
  const before = await scans();
  const found: string[] = [];
  for await (const { checkpoint } of saver.list({}, { filter: { user: "user 123", step: 4 } }))
    found.push(checkpoint.id);
  expect(found).toEqual([wanted]);
  const after = await scans();
  await saver.end();
  await pool.end();
  expect(after.index - before.index).toBe(1);
  expect(after.table).toBe(before.table);
  await database.drop();
});
