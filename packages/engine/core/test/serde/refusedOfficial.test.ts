import { Annotation, MemorySaver as OfficialSaver, START, StateGraph } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { MemorySaver, StratigraphSerializer } from "@stratigraph/core";
import { expect, test } from "vitest";

// The table "What was accepted and is refused" of docs/guides/migrating.md: MemorySaver shows it, without a server.

class Money {
  readonly amount = 7;
}

const State = Annotation.Root({ value: Annotation<unknown>() });

async function stored(checkpointer: BaseCheckpointSaver, value: unknown): Promise<unknown> {
  const graph = new StateGraph(State)
    .addNode("a", () => ({ value }))
    .addEdge(START, "a")
    .compile({ checkpointer });
  const config = { configurable: { thread_id: "t" }, durability: "sync" as const };
  await graph.invoke({ value: "begun" }, config);
  return (await graph.getState(config)).values.value;
}

test("an instance of a class is refused by channel and path, or kept as plain data where that is asked for", async () => {
  expect(await stored(new OfficialSaver(), { price: new Money() })).toEqual({ price: { amount: 7 } });
  await expect(stored(new MemorySaver(), { price: new Money() })).rejects.toMatchObject({
    code: "SERIALIZATION",
    message: expect.stringMatching(/value.*price/s) as string,
  });
  const serde = new StratigraphSerializer({ unknownClasses: "plain" });
  expect(await stored(new MemorySaver({ serde }), { price: new Money() })).toEqual({ price: { amount: 7 } });
});

test("functions, symbols and promises are refused, and not dropped", async () => {
  for (const value of [() => 1, Symbol("s"), Promise.resolve(1)])
    await expect(stored(new MemorySaver(), { inside: value })).rejects.toMatchObject({
      code: "SERIALIZATION",
    });
  expect(await stored(new OfficialSaver(), { inside: () => 1 })).toEqual({});
});
