import type { RunnableConfig } from "@langchain/core/runnables";
import { Annotation, START, StateGraph } from "@langchain/langgraph";
import { HumanMessage } from "@langchain/core/messages";
import type { BaseCheckpointSaver, Checkpoint, PendingWrite } from "@langchain/langgraph-checkpoint";
import { expect } from "vitest";
import type { GraphContext } from "../graphs/context.ts";

const long = (text: string): string => text.repeat(400);

/** One value of every kind that savers store in a different way: short, long, bytes, growing lists, messages. */
const valuesOf = (turn: number) => ({
  short: { turn },
  long: { text: long(`long ${turn} `), list: [turn] },
  bytes: new Uint8Array([turn, 2, 3]),
  messages: Array.from(
    { length: 12 + turn },
    (_, n) => new HumanMessage({ content: long(`message ${n} `), id: `m${n}` }),
  ),
  map: new Map([["turn", { turn }]]),
});

type Values = ReturnType<typeof valuesOf>;

/** Changes in place everything that a graph could change in place. */
const spoil = ({ short, long: text, bytes, messages, map }: Values): void => {
  short.turn = -1;
  text.text = "spoilt";
  text.list.push(-1);
  bytes.fill(255);
  messages[0]!.content = "spoilt";
  messages.push(new HumanMessage("added"));
  map.set("spoilt", { turn: -1 });
};

const checkpointOf = (id: string, version: number, values: Values): Checkpoint => ({
  v: 4,
  id,
  ts: "2026-01-01T00:00:00.000Z",
  channel_values: values,
  channel_versions: Object.fromEntries(Object.keys(values).map((channel) => [channel, version])),
  versions_seen: { node: { short: version } },
});

const plain = (values: unknown): unknown => {
  const { messages, ...rest } = values as Values;
  return { ...rest, messages: messages.map(({ id, content }) => ({ id, content })) };
};

/** Tests that values are stored as they were when the call was made, even if they are changed before it ends. */
export const valueAtCallTests = ({ test, saver, reopen, thread }: GraphContext): void => {
  test("put stores the values that it was given, even if all of them are changed right after the call", async () => {
    const config = thread();
    let parent: { configurable: Record<string, unknown> } = config;
    for (let turn = 1; turn <= 4; turn += 1) {
      const values = valuesOf(turn);
      const checkpoint = checkpointOf(`1ef4f797-8335-6428-8001-8a1503f9b87${turn}`, turn, values);
      const metadata = { source: "loop" as const, step: turn, parents: {}, note: { turn } };
      const versions = { ...checkpoint.channel_versions };
      const writer: BaseCheckpointSaver = turn === 3 ? await reopen() : saver();
      const putting = writer.put(parent, checkpoint, metadata, versions);
      spoil(values);
      checkpoint.channel_versions["short"] = 999;
      checkpoint.versions_seen["node"]!["short"] = 999;
      metadata.note.turn = -1;
      delete versions["long"];
      parent = (await putting) as typeof parent;
      const tuple = await (await reopen()).getTuple(parent);
      expect(plain(tuple?.checkpoint.channel_values)).toEqual(plain(valuesOf(turn)));
      expect(tuple?.checkpoint.channel_versions["short"]).toBe(turn);
      expect(tuple?.checkpoint.versions_seen).toEqual({ node: { short: turn } });
      expect(tuple?.metadata).toMatchObject({ step: turn, note: { turn } });
    }
  });

  // In LangGraph 1.4's updateState, if a task writes to a channel for the first time, the put has no version of that channel.
  test("a value without a version is the one given, though the parent has another without one", async () => {
    const begun = checkpointOf("1ef4f797-8335-6428-8001-8a1503f9b871", 1, valuesOf(1));
    const metadata = { source: "update" as const, step: 1, parents: {} };
    const put = async (config: RunnableConfig, id: string, early: unknown): Promise<RunnableConfig> => {
      const checkpoint = { ...begun, id, channel_values: { ...valuesOf(1), early } };
      return await saver().put(config, checkpoint, metadata, { short: 1 });
    };
    const first = await put(thread(), begun.id, { k: 0 });
    const second = await put(first, "1ef4f797-8335-6428-8001-8a1503f9b872", { k: 1 });
    const third = await put(second, "1ef4f797-8335-6428-8001-8a1503f9b873", undefined);
    const early = async (config: RunnableConfig): Promise<unknown> =>
      (await (await reopen()).getTuple(config))?.checkpoint.channel_values["early"];
    expect(await early(second)).toEqual({ k: 1 });
    expect(await early(third)).toBeUndefined();
  });

  test("putWrites stores the values that it was given, even if all of them are changed right after the call", async () => {
    const config = thread();
    const parent = await saver().put(
      config,
      checkpointOf("1ef4f797-8335-6428-8001-8a1503f9b875", 1, valuesOf(1)),
      { source: "loop", step: 1, parents: {} },
      {},
    );
    const values = valuesOf(7);
    const writes = Object.entries(values) as PendingWrite[];
    const writing = saver().putWrites(parent, writes, "task");
    spoil(values);
    writes.length = 0;
    await writing;
    const tuple = await (await reopen()).getTuple(parent);
    const read = Object.fromEntries(
      (tuple?.pendingWrites ?? []).map(([, channel, value]) => [channel, value]),
    );
    expect(plain(read)).toEqual(plain(valuesOf(7)));
  });

  for (const durability of ["sync", "async"] as const) {
    test(`a node that changes state in place doesn't change earlier checkpoints, durability ${durability}`, async () => {
      const config = { ...thread(), durability };
      const State = Annotation.Root({
        first: Annotation<{ seen: string[] }>,
        second: Annotation<{ seen: string[] }>,
        third: Annotation<{ seen: string[] }>,
      });
      type All = typeof State.State;
      const step = (name: string) => (state: All) => {
        // Many real nodes change the state that they were given and return it.
        for (const { seen } of [state.first, state.second, state.third]) seen.push(name);
        return { first: state.first, second: state.second, third: state.third };
      };
      const graph = new StateGraph(State)
        .addNode("one", step("one"))
        .addNode("two", step("two"))
        .addEdge(START, "one")
        .addEdge("one", "two")
        .compile({ checkpointer: saver() });
      const input = { first: { seen: [] }, second: { seen: [] }, third: { seen: [] } };
      const result = await graph.invoke(input, config);
      expect(result.third.seen).toEqual(["one", "two"]);
      // Each checkpoint has either all of a step or nothing of it, and all channels agree.
      for await (const { values } of graph.getStateHistory(config)) {
        const { first, second, third } = values as Partial<All>;
        expect(second).toEqual(first);
        expect(third).toEqual(first);
      }
    });
  }
};
