import { Annotation, DeltaChannel, START, StateGraph } from "@langchain/langgraph";
import { MemoryTier, TierSaver } from "@stratigraph/core";
import { expect, test } from "vitest";

const State = Annotation.Root({
  list: () =>
    new DeltaChannel<string[], string[]>((state, writes) => [...state, ...writes.flat()], {
      snapshotFrequency: 1000,
    }),
});

test("copies of a line that was left keep its DeltaChannels, after the checkpoint it came from was wound back", async () => {
  const tier = new MemoryTier();
  const saver = new TierSaver(tier);
  const config = { configurable: { thread_id: "t" } };
  const graph = (checkpointer: TierSaver) =>
    new StateGraph(State)
      .addNode("a", () => ({ list: ["a"] }))
      .addNode("b", () => ({ list: ["b"] }))
      .addEdge(START, "a")
      .addEdge("a", "b")
      .compile({ checkpointer });
  await graph(saver).invoke({ list: ["in"] }, config);
  const history = [];
  for await (const state of graph(saver).getStateHistory(config)) history.push(state);
  await saver.promote(history[1]!.config);
  const copy = await graph(saver).updateState(history[0]!.config, null, "__copy__");
  const read = async (at: typeof copy): Promise<unknown> =>
    (await graph(new TierSaver(tier)).getState(at)).values;
  expect(await read(copy)).toEqual({ list: ["in", "a", "b"] });
  expect(await read(history[0]!.config)).toEqual({ list: ["in", "a", "b"] });
  expect(await read(history[1]!.config)).toEqual({ list: ["in", "a"] });
});
