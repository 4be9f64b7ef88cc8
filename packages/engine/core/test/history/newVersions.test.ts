import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import { MemoryTier, TierSaver } from "@stratigraph/core";
import { describe, expect, test } from "vitest";
import { text } from "../contract/support.ts";
import { configOf, idOf, metadata, put } from "./chain.ts";

const [one, two] = [text("one", 4), text("two", 4)];

/** The values of a checkpoint, by a saver that remembers nothing. */
async function valuesOf(tier: MemoryTier, n: number): Promise<unknown> {
  return (await new TierSaver(tier).getTuple(configOf(idOf(n))))?.checkpoint.channel_values;
}

describe("newVersions is a hint, versions decide", () => {
  const cases: readonly (readonly [
    name: string,
    values: Record<string, unknown>,
    versions: Record<string, number>,
    newVersions: Record<string, number>,
  ])[] = [
    ["a changed channel is missing in it", { log: two, kept: one }, { log: 2, kept: 1 }, {}],
    [
      "an unchanged channel is named in it",
      { log: two, kept: one },
      { log: 2, kept: 1 },
      { log: 2, kept: 1 },
    ],
    [
      "it names channels that aren't there",
      { log: two, kept: one },
      { log: 2, kept: 1 },
      { log: 2, other: 7 },
    ],
    ["carried-over values aren't given again", { log: two }, { log: 2, kept: 1 }, { log: 2 }],
  ];
  test.each(cases)("%s", async (_name, values, versions, newVersions) => {
    for (const remembers of [true, false]) {
      const tier = new MemoryTier();
      const saver = new TierSaver(tier);
      await put(saver, 1, { log: one, kept: one });
      const checkpoint = {
        ...emptyCheckpoint(),
        id: idOf(2),
        channel_values: values,
        channel_versions: versions,
      };
      await (remembers ? saver : new TierSaver(tier)).put(
        configOf(idOf(1)),
        checkpoint,
        metadata,
        newVersions,
      );
      expect(await valuesOf(tier, 2)).toEqual({ log: two, kept: one });
      expect(await valuesOf(tier, 1)).toEqual({ log: one, kept: one });
      // Values: the two of the log; "kept" has the bytes of the first.
      expect(await tier.blobs("t")).toHaveLength(2);
    }
  });

  test("two branches with the same version numbers keep their own values", async () => {
    const tier = new MemoryTier();
    const saver = new TierSaver(tier);
    await put(saver, 1, { log: one });
    for (const [n, value] of [
      [2, `${one} left`],
      [3, `${one} right`],
    ] as const) {
      await saver.getTuple(configOf(idOf(1)));
      const checkpoint = {
        ...emptyCheckpoint(),
        id: idOf(n),
        channel_values: { log: value },
        channel_versions: { log: 2 },
      };
      await saver.put(configOf(idOf(1)), checkpoint, metadata, { log: 2 });
    }
    expect(await valuesOf(tier, 2)).toEqual({ log: `${one} left` });
    expect(await valuesOf(tier, 3)).toEqual({ log: `${one} right` });
  });
});

const State = Annotation.Root({
  log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  note: Annotation<string>,
});

test("a graph's __copy__, whose newVersions are no difference to the parent, and what goes on from it", async () => {
  const tier = new MemoryTier();
  const open = (): TierSaver => new TierSaver(tier);
  const graphOf = (checkpointer: TierSaver) =>
    new StateGraph(State)
      .addNode("one", () => ({ log: [text("by one")], note: two }))
      .addNode("two", () => ({ log: [text("by two")] }))
      .addEdge(START, "one")
      .addEdge("one", "two")
      .addEdge("two", END)
      .compile({ checkpointer });
  const thread = { configurable: { thread_id: "t" } };
  const saver = open();
  const graph = graphOf(saver);
  await graph.invoke({ log: [one] }, thread);
  await graph.invoke({ log: [two] }, thread);
  const before = [];
  for await (const state of graph.getStateHistory(thread)) before.push(state);
  const blobs = await tier.blobs("t");
  for (const old of before) {
    for (const through of [graph, graphOf(open())]) {
      const copied = await through.updateState(old.config, null, "__copy__");
      const state = await graphOf(open()).getState(copied);
      expect(state.values).toEqual(old.values);
      expect(state.next).toEqual(old.next);
    }
  }
  // A copy has nothing new in it.
  expect((await tier.blobs("t")).length).toBe(blobs.length);
  const middle = before.find(({ next }) => next[0] === "two")!;
  const copied = await graph.updateState(middle.config, null, "__copy__");
  const end = await graphOf(open()).invoke(null, copied);
  expect(end.log).toEqual([...middle.values.log, text("by two")]);
  for (const old of before) expect((await graphOf(open()).getState(old.config)).values).toEqual(old.values);
});
