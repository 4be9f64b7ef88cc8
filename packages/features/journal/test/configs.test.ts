import { StructuredTool, tool } from "@langchain/core/tools";
import { Annotation, START, StateGraph } from "@langchain/langgraph";
import { MemorySaver } from "@stratigraph/core";
import { expect, it, vi } from "vitest";
import { z } from "zod";
import { createJournal } from "../src/index.ts";
import { says } from "./support/effects.ts";
import { ScriptedModel } from "./support/scriptedModel.ts";

// Code calls tools and models with whatever part of a config it has.

const State = Annotation.Root({ said: Annotation<unknown[]> });

function setUp() {
  const saver = new MemorySaver();
  const journal = createJournal(saver);
  const paid: unknown[] = [];
  const pay = tool(({ n }: { n: number }) => `receipt ${paid.push(n)}`, {
    name: "pay",
    description: "pays",
    schema: z.object({ n: z.number() }),
  });
  const [wrapped] = journal.tools([pay], { pay: "once" }) as [typeof pay];
  const model = journal.model(new ScriptedModel(() => says("hello")));
  return { saver, journal, paid, wrapped, model };
}

const { signal } = new AbortController();
const parts: readonly object[] = [
  {},
  { tags: ["t"] },
  { signal },
  { configurable: { user: "ada" } },
  { metadata: { a: 1 } },
];

it.each(parts)("what a config leaves out is that of the task: %j", async (part) => {
  const { saver, paid, wrapped, model } = setUp();
  const graph = new StateGraph(State)
    .addNode("sell", async () => ({
      said: [
        await wrapped.invoke({ n: 1 }, part),
        await wrapped.withConfig(part).invoke({ n: 2 }),
        (await model.invoke("hi", part)).content,
      ],
    }))
    .addEdge(START, "sell")
    .compile({ checkpointer: saver });
  const config = { configurable: { thread_id: "t" } };
  const expected = { said: ["receipt 1", "receipt 2", "hello"] };
  expect(await graph.invoke({ said: [] }, config)).toEqual(expected);
  let first = config;
  for await (const found of graph.getStateHistory(config)) first = found.config as typeof config;
  expect(await graph.invoke(null, first)).toEqual(expected);
  expect(paid).toEqual([1, 2]);
});

it("a tool whose getters read private fields is the tool that it was", async () => {
  class Private extends StructuredTool {
    readonly name = "private";
    readonly schema = z.object({});
    #told = "a secret description";
    override get description(): string {
      return this.#told;
    }
    override set description(told: string) {
      this.#told = told;
    }
    protected override async _call(): Promise<string> {
      return this.#told;
    }
  }
  const { journal } = setUp();
  const [wrapped] = journal.tools([new Private()], { private: "none" }) as [Private];
  expect(wrapped.description).toBe("a secret description");
  wrapped.description = "another one";
  expect(await wrapped.invoke({}, { configurable: { thread_id: "t" } })).toBe("another one");
});

it("a read in a graph without a checkpointer waits for no checkpoint", async () => {
  const { saver, journal } = setUp();
  const stored = vi.spyOn(saver, "stored");
  const graph = new StateGraph(State)
    .addNode("read", async (_, config) => ({
      said: [await journal.run(config, { id: "read", effects: "none" }, () => 1)],
    }))
    .addEdge(START, "read")
    .compile();
  expect(await graph.invoke({ said: [] }, { configurable: { thread_id: "t" } })).toEqual({ said: [1] });
  expect(stored).not.toHaveBeenCalled();
});
