import { tool } from "@langchain/core/tools";
import type { AIMessage } from "@langchain/core/messages";
import {
  Annotation,
  END,
  MessagesAnnotation,
  MessagesValue,
  START,
  StateGraph,
  StateSchema,
} from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { MemorySaver } from "@stratigraph/core";
import { createJournal } from "@stratigraph/journal";
import { journalMiddleware } from "@stratigraph/journal/langchain";
import { createAgent } from "langchain";
import { expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { asks, pays, says } from "./support/effects.ts";
import { ScriptedModel } from "./support/scriptedModel.ts";

// As users write it: the type checker is the test, and none of it is cast.
const saver = new MemorySaver();
const journal = createJournal(saver);
const pay = tool(async ({ amount }) => `receipt ${amount}`, {
  name: "pay",
  description: "pays",
  schema: z.object({ amount: z.number() }),
});
const config = { configurable: { thread_id: "ada" } };
const hello = { messages: [{ role: "user" as const, content: "pay" }] };

it("tools keep their type", () => {
  const [wrapped] = journal.tools([pay], { pay: "once" });
  expectTypeOf(wrapped!).toEqualTypeOf(pay);
  expect(wrapped).toBeInstanceOf(pay.constructor);
  expect(wrapped!.schema).toBe(pay.schema);
});

it("StateSchema takes the channel, as Annotation does", async () => {
  const paid: number[] = [];
  const own = tool(({ amount }: { amount: number }) => `receipt ${paid.push(amount)}`, {
    name: "pay",
    description: "pays",
    schema: z.object({ amount: z.number() }),
  });
  const graph = new StateGraph(new StateSchema({ messages: MessagesValue, ...journal.channel }))
    .addNode("model", (state) => {
      const message = state.messages.at(-1)!.getType() === "tool" ? says("done") : asks(pays(5));
      return { messages: [message], ...journal.next(state, message) };
    })
    .addNode("tools", new ToolNode(journal.tools([own], { pay: "once" })))
    .addEdge(START, "model")
    .addConditionalEdges("model", ({ messages }) =>
      (messages.at(-1) as AIMessage).tool_calls?.length ? "tools" : END,
    )
    .addEdge("tools", "model")
    .compile({ checkpointer: saver });
  const schema = { configurable: { thread_id: "schema" } };
  for (const turn of [1, 2]) {
    const { messages } = await graph.invoke(hello, schema);
    expect(messages.at(-2)!.content).toBe(`receipt ${turn}`);
  }
  for await (const { next, config: back } of graph.getStateHistory(schema))
    if (next[0] === "tools") await graph.invoke(null, back);
  expect(paid).toEqual([5, 5]);
});

it("createAgent takes the tools and the middleware", async () => {
  const agent = createAgent({
    model: new ScriptedModel((turn) => (turn === 0 ? asks(pays(5)) : says("done"))),
    tools: journal.tools([pay], { pay: "idempotent" }),
    middleware: [journalMiddleware(journal)],
    checkpointer: saver,
  });
  const { messages } = await agent.invoke(hello, config);
  expect(messages.at(-1)!.content).toBe("done");
});

it("a StateGraph takes the channel, what a node returns, and the tools", async () => {
  const State = Annotation.Root({ ...MessagesAnnotation.spec, ...journal.channel });
  const graph = new StateGraph(State)
    .addNode("agent", async (state) => {
      const message = asks(pays(5));
      return { messages: [message], ...journal.next(state, message) };
    })
    .addNode("tools", new ToolNode(journal.tools([pay], { pay: "once" })))
    .addEdge(START, "agent")
    .addEdge("agent", "tools")
    .compile({ checkpointer: saver });
  const { messages } = await graph.invoke(hello, { configurable: { thread_id: "bob" } });
  expect(messages.at(-1)!.content).toBe("receipt 5");
});

it("`run` gives the type of its function", async () => {
  const State = Annotation.Root({ out: Annotation<number> });
  const graph = new StateGraph(State)
    .addNode("work", async (_state, own) => {
      const result = await journal.run(
        own,
        { id: "charge 7", tool: "charge", args: { order: 7 } },
        ({ idempotencyKey }) => ({
          length: idempotencyKey.length,
        }),
      );
      expectTypeOf(result).toEqualTypeOf<{ length: number }>();
      return { out: result.length };
    })
    .addEdge(START, "work")
    .compile({ checkpointer: saver });
  expect((await graph.invoke({ out: 0 }, { configurable: { thread_id: "eve" } })).out).toBe(64);
});
