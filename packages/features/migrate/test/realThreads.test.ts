import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AIMessage, HumanMessage, type BaseMessage, type BaseMessageLike } from "@langchain/core/messages";
import {
  Annotation,
  Command,
  DeltaChannel,
  interrupt,
  messagesDeltaReducer,
  Send,
  START,
  StateGraph,
} from "@langchain/langgraph";
import { TASKS, type BaseCheckpointSaver, type CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { PostgresSaver as OfficialPostgres } from "@langchain/langgraph-checkpoint-postgres";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { MemorySaver } from "@stratigraph/core";
import { importThreads, openSource } from "@stratigraph/migrate";
import Database from "libsql";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freshDatabase } from "../../../../test/servers/shared.ts";
import { history } from "./support/conversation.ts";

// What LangGraph itself stores through the official savers: DeltaChannels, subgraphs, and checkpoints of its older formats.

interface Official {
  readonly saver: BaseCheckpointSaver;
  readonly url: string;
  close(): Promise<void>;
}

async function onPostgres(): Promise<Official> {
  const database = await freshDatabase();
  const saver = OfficialPostgres.fromConnString(database.url);
  await saver.setup();
  const close = async () => {
    await saver.end();
    await database.drop();
  };
  return { saver, url: `official+${database.url}`, close };
}

async function onSqlite(): Promise<Official> {
  const folder = mkdtempSync(join(tmpdir(), "stratigraph-real-"));
  const path = join(folder, "threads.sqlite");
  const database = new Database(path);
  const close = async () => {
    database.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { saver: new SqliteSaver(database as never), url: `sqlite:${path}`, close };
}

const on = (thread_id: string) => ({ configurable: { thread_id } });
const log = Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] });

/** Messages that are stored as pending writes, with a snapshot after some of them. */
function deltaChat(checkpointer: BaseCheckpointSaver) {
  const State = Annotation.Root({
    messages: () =>
      new DeltaChannel<BaseMessage[], BaseMessageLike[]>(messagesDeltaReducer, { snapshotFrequency: 5 }),
  });
  return new StateGraph(State)
    .addNode("answer", ({ messages }) => ({
      messages: [new AIMessage({ content: `${messages.length} read`, id: `a${messages.length}` })],
    }))
    .addEdge(START, "answer")
    .compile({ checkpointer });
}

/** A graph with two subgraphs: one keeps state of its own, the other asks a person. */
function nested(checkpointer: BaseCheckpointSaver) {
  const State = Annotation.Root({ log });
  const Inner = Annotation.Root({
    log,
    visits: Annotation<number>({ reducer: (a, b) => a + b, default: () => 0 }),
  });
  const counter = new StateGraph(Inner)
    .addNode("count", ({ visits }) => ({ log: [`visit ${visits + 1}`], visits: 1 }))
    .addEdge(START, "count")
    .compile({ checkpointer: true });
  const asks = new StateGraph(State)
    .addNode("ask", () => ({ log: [`answer ${String(interrupt("which?"))}`] }))
    .addEdge(START, "ask")
    .compile();
  return new StateGraph(State)
    .addNode("counter", async () => ({ log: [(await counter.invoke({ log: [] })).log.at(-1)!] }))
    .addNode("asks", asks)
    .addEdge(START, "counter")
    .addEdge("counter", "asks")
    .compile({ checkpointer });
}

/** A graph that sends work to several tasks. */
function sending(checkpointer: BaseCheckpointSaver) {
  return new StateGraph(Annotation.Root({ log }))
    .addNode("work", (task) => ({ log: [`did ${String((task as { n?: number }).n)}`] }))
    .addConditionalEdges(START, () => [1, 2, 3].map((n) => new Send("work", { n, log: [] })))
    .compile({ checkpointer });
}

describe.each<[string, () => Promise<Official>]>([
  ["PostgresSaver", onPostgres],
  ["SqliteSaver", onSqlite],
])("the official %s", (_name, open) => {
  let official: Official;
  beforeAll(async () => {
    official = await open();
  });
  afterAll(() => official?.close());

  /** Imports a thread, and expects nothing to be found wrong with it. */
  async function imported(threadId: string): Promise<MemorySaver> {
    const saver = new MemorySaver();
    const source = await openSource(official.url);
    const report = await importThreads(source, saver, { threadIds: [threadId] });
    await source.close();
    expect(report).toMatchObject({ threads: 1, verified: true, differences: [], mixedUp: [], diverged: [] });
    return saver;
  }

  test("a DeltaChannel goes on from what its writes add up to", async () => {
    const say = async (saver: BaseCheckpointSaver, text: string) => {
      const message = new HumanMessage({ content: text, id: text });
      return (await deltaChat(saver).invoke({ messages: [message] }, on("delta"))).messages;
    };
    for (const text of ["One", "Two", "Three", "Four"]) await say(official.saver, text);
    const saver = await imported("delta");
    const tuples: CheckpointTuple[] = [];
    for await (const tuple of saver.list(on("delta"))) tuples.push(tuple);
    const withValue = tuples.filter(({ checkpoint }) => checkpoint.channel_values["messages"] !== undefined);
    expect(withValue.length, "some are snapshots, and the others rely on writes").toBeLessThan(tuples.length);
    expect(withValue.length).toBeGreaterThan(0);
    expect(await history(saver, "delta")).toEqual(await history(official.saver, "delta"));
    const [here, there] = [await say(saver, "Five"), await say(official.saver, "Five")];
    expect(here.map(({ content }) => content)).toEqual(there.map(({ content }) => content));
    expect(here.length).toBe(10);
    // The writes up to a checkpoint of the past are there, too.
    const state = await deltaChat(saver).getState(tuples.at(-3)!.config);
    expect(state.values).toEqual((await deltaChat(official.saver).getState(tuples.at(-3)!.config)).values);
  });

  test("subgraphs keep their namespaces, answer what waits in them, and go on counting", async () => {
    await nested(official.saver).invoke({ log: [] }, on("nested"));
    await nested(official.saver).invoke(new Command({ resume: "first" }), on("nested"));
    await nested(official.saver).invoke({ log: [] }, on("nested"));
    const saver = await imported("nested");
    const namespaces = new Set<string>();
    for await (const { config } of saver.list(on("nested")))
      namespaces.add(String(config.configurable!["checkpoint_ns"]));
    expect([...namespaces].map((each) => each.replace(/:.*/, "")).sort()).toEqual(
      expect.arrayContaining(["", "asks", "counter"]),
    );
    expect(await history(saver, "nested")).toEqual(await history(official.saver, "nested"));
    const results = [];
    for (const each of [saver, official.saver]) {
      const { log: lines } = await nested(each).invoke(new Command({ resume: "second" }), on("nested"));
      results.push(lines);
    }
    expect(results[0]).toEqual(results[1]);
    expect(results[0]).toEqual(expect.arrayContaining(["visit 2", "answer first", "answer second"]));
  });

  test('a run with durability "exit", and one of an interrupted graph, lack nothing', async () => {
    const options = { ...on("exit"), durability: "exit" as const };
    for (let n = 0; n < 2; n += 1) {
      await nested(official.saver).invoke({ log: [] }, options);
      await nested(official.saver).invoke(new Command({ resume: "yes" }), options);
    }
    const saver = await imported("exit");
    expect(await history(saver, "exit")).toEqual(await history(official.saver, "exit"));
  });

  test("checkpoints of format 3, whose Sends are pending writes of their parents", async () => {
    await official.saver.getTuple(on("older"));
    const at = { configurable: { thread_id: "older", checkpoint_ns: "" } };
    const sends = [1, 2].map((n) => ({ lg_name: "Send", node: "work", args: { n, log: [] } }));
    const older = (id: string, step: number, values: Record<string, unknown>) => ({
      checkpoint: {
        v: 3,
        id,
        ts: "2025-01-01T00:00:00.000Z",
        channel_values: values,
        channel_versions: Object.fromEntries(Object.keys(values).map((channel) => [channel, step])),
        versions_seen: {},
      },
      metadata: { source: "loop", step, parents: {} } as const,
      versions: Object.fromEntries(Object.keys(values).map((channel) => [channel, step])),
    });
    const first = older("1ef00000-0000-6000-8000-000000000001", 1, { log: ["begun"] });
    const second = older("1ef00000-0000-6000-8000-000000000002", 2, { log: ["begun", "sent"] });
    const config = await official.saver.put(at, first.checkpoint, first.metadata, first.versions);
    const writes = sends.map((send): [string, unknown] => [TASKS, send]);
    await official.saver.putWrites(config, writes, "00000000-0000-0000-0000-000000000001");
    await official.saver.put(config, second.checkpoint, second.metadata, second.versions);

    const original = (await official.saver.getTuple(at))!;
    expect(original.checkpoint.channel_values[TASKS]).toHaveLength(2);
    const saver = await imported("older");
    expect(await history(saver, "older")).toEqual(await history(official.saver, "older"));
    expect((await saver.getTuple(at))!.checkpoint).toEqual(original.checkpoint);
    // LangGraph runs the two tasks, here as there.
    const ends = [];
    for (const each of [saver, official.saver]) ends.push((await sending(each).invoke(null, at)).log);
    expect(ends[0]).toEqual(ends[1]);
    expect(ends[0]).toEqual(["begun", "sent", "did 1", "did 2"]);
    // What a newer LangGraph wrote on top of them lacks nothing either.
    const later = await imported("older");
    expect(await history(later, "older")).toEqual(await history(official.saver, "older"));
  });
});
