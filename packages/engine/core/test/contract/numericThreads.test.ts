import { Annotation, START, StateGraph } from "@langchain/langgraph";
import { MemorySaver } from "@stratigraph/core";
import { expect, test } from "vitest";

// LangGraph's PostgresSaver takes a number for a thread's id, and applications that have numeric user ids pass them. A number and its
// digits are one thread, as they are there.

const State = Annotation.Root({
  log: Annotation<string[]>({ reducer: (a, b) => a.concat(b), default: () => [] }),
});

const graphOn = (checkpointer: MemorySaver) =>
  new StateGraph(State)
    .addNode("a", () => ({ log: ["a"] }))
    .addEdge(START, "a")
    .compile({ checkpointer });

const on = (thread_id: unknown) => ({ configurable: { thread_id } });

test.each(["sync", "async", "exit"] as const)("a thread with a number for its id, %s", async (durability) => {
  const saver = new MemorySaver();
  const graph = graphOn(saver);
  await graph.invoke({ log: ["one"] }, { ...on(7), durability });
  await graph.invoke({ log: ["two"] }, { ...on("7"), durability });
  for (const id of [7, "7"])
    expect((await graph.getState(on(id))).values).toEqual({ log: ["one", "a", "two", "a"] });
  const ids: unknown[] = [];
  for await (const { config } of saver.list(on(7))) ids.push(config.configurable?.["thread_id"]);
  expect(new Set(ids)).toEqual(new Set(["7"]));
  await graph.updateState(on(7), { log: ["three"] });
  await Reflect.apply(saver.deleteThread.bind(saver), undefined, [7]);
  expect((await graph.getState(on("7"))).values).toEqual({});
});

test("what isn't a whole number isn't taken for one: nothing rounds an id", async () => {
  const graph = graphOn(new MemorySaver());
  for (const id of [1.5, NaN, 2 ** 53, 7n])
    await expect(graph.invoke({ log: [] }, on(id))).rejects.toMatchObject({ code: "INVALID_ADDRESS" });
});
