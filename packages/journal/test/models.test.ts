import { HumanMessage, SystemMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, START, StateGraph, Annotation } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { MemorySaver } from "@stratigraph/core";
import { createJournal } from "@stratigraph/journal";
import { expect, it } from "vitest";
import { asks, payments, pays, receipts, says } from "./support/effects.ts";
import { ScriptedModel } from "./support/scriptedModel.ts";

it("a model that is asked the same again costs nothing, and one that is asked another thing is asked", async () => {
  const saver = new MemorySaver();
  const journal = createJournal(saver);
  const { pay, paid } = payments();
  const scripted = new ScriptedModel((turn) => (turn === 0 ? asks(pays(5)) : says("done")));
  const tools = journal.tools([pay]);
  const model = journal.model(scripted).bindTools();
  let prompt = "be kind";
  const State = Annotation.Root({ ...MessagesAnnotation.spec, ...journal.channel });
  const graph = new StateGraph(State)
    .addNode("agent", async (state) => {
      const message = await model.invoke([new SystemMessage(prompt), ...state.messages]);
      return { messages: [message], ...journal.next(state, message) };
    })
    .addNode("tools", new ToolNode(tools))
    .addEdge(START, "agent")
    .addConditionalEdges("agent", ({ messages }) => (messages.at(-1)!.content === "done" ? END : "tools"))
    .addEdge("tools", "agent")
    .compile({ checkpointer: saver });
  const config = { configurable: { thread_id: "ada" } };
  const first = await graph.invoke({ messages: [new HumanMessage("pay")] }, config);
  expect(scripted.asked).toBe(2);
  let start;
  for await (const state of graph.getStateHistory(config))
    if (state.next.includes("agent")) start = state.config;
  const again = await graph.invoke(null, start!);
  expect(scripted.asked).toBe(2);
  expect(again.messages.map(({ content }) => content)).toEqual(first.messages.map(({ content }) => content));
  expect(receipts(again.messages)).toEqual(["receipt 5"]);
  prompt = "be strict";
  await graph.invoke(null, start!);
  expect(scripted.asked).toBe(4);
  expect(paid).toEqual([5]);
});
