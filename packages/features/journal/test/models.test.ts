import { HumanMessage, SystemMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, START, StateGraph, Annotation } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { MemorySaver } from "@stratigraph/core";
import { createJournal } from "@stratigraph/journal";
import { expect, it } from "vitest";
import { asks, payments, pays, receipts, says } from "./support/effects.ts";
import { tool } from "@langchain/core/tools";
import { z } from "zod";
import { ScriptedModel } from "./support/scriptedModel.ts";

it("a model that is asked the same again costs nothing, and one that is asked another thing is asked", async () => {
  const saver = new MemorySaver();
  const journal = createJournal(saver);
  const { pay, paid } = payments();
  const scripted = new ScriptedModel((turn) => (turn === 0 ? asks(pays(5)) : says("done")));
  const tools = journal.tools([pay], { pay: "once" });
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

/** A model that tells how often it was asked, and is asked by several nodes with the same messages. */
class Counting extends ScriptedModel {
  readonly temperature: number | undefined;
  constructor(counter: { asked: number }, temperature?: number) {
    super(() => says(`answer ${(counter.asked += 1)}`));
    this.temperature = temperature;
  }
}

const sees = (field: string) =>
  tool(() => "", { name: "extract", description: "d", schema: z.object({ [field]: z.string() }) });

it.each([
  [
    "another tool_choice",
    (m: ScriptedModel) => [
      m.bindTools([sees("a")], { tool_choice: "any" }),
      m.bindTools([sees("a")], { tool_choice: "none" }),
    ],
    2,
  ],
  [
    "another schema of a tool of the same name",
    (m: ScriptedModel) => [m.bindTools([sees("name")]), m.bindTools([sees("iban")])],
    2,
  ],
  ["another call option", (m: ScriptedModel) => [m, m.withConfig({ stop: ["."] } as object)], 2],
  [
    "the same, in the same node",
    (m: ScriptedModel) => [m.bindTools([sees("a")]), m.bindTools([sees("a")])],
    1,
  ],
] as const)("asked with %s, a model gives an answer to that", async (_name, made, answers) => {
  const saver = new MemorySaver();
  const journal = createJournal(saver);
  const counter = { asked: 0 };
  const [one, other] = made(journal.model(new Counting(counter))) as unknown as ScriptedModel[];
  let broken = true;
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("ask", async ({ messages }, config) => {
      // The second time, as after a crash, both are recorded.
      const given = [await (broken ? one! : other!).invoke(messages, config)];
      if (broken) {
        broken = false;
        throw new Error("later");
      }
      return { messages: given };
    })
    .addEdge(START, "ask")
    .compile({ checkpointer: saver });
  const config = { configurable: { thread_id: "ada" } };
  await expect(graph.invoke({ messages: [new HumanMessage("who?")] }, config)).rejects.toThrow("later");
  expect((await graph.invoke(null, config)).messages.at(-1)!.content).toBe(`answer ${answers}`);
});

it("another temperature is another question, and so is another node's; judges in parallel get an answer each", async () => {
  const saver = new MemorySaver();
  const journal = createJournal(saver);
  const counter = { asked: 0 };
  const [cold, warm] = [0, 1].map((temperature) => journal.model(new Counting(counter, temperature)));
  const asked =
    (model: ScriptedModel) =>
    async ({ messages }: typeof MessagesAnnotation.State, config: object) => {
      const { content } = await model.invoke(messages.slice(0, 1), config);
      return { answers: [String(content)] };
    };
  const State = Annotation.Root({
    ...MessagesAnnotation.spec,
    answers: Annotation<string[]>({ reducer: (all, more) => [...all, ...more], default: () => [] }),
  });
  const graph = new StateGraph(State)
    .addNode("first", asked(cold!) as never)
    .addNode("second", asked(warm!) as never)
    .addNode("third", asked(warm!) as never)
    .addNode("judge 1", asked(warm!) as never)
    .addNode("judge 2", asked(warm!) as never)
    .addEdge(START, "first")
    .addEdge("first", "second")
    .addEdge("second", "third")
    .addEdge("third", "judge 1")
    .addEdge("third", "judge 2")
    .compile({ checkpointer: saver });
  const config = { configurable: { thread_id: "ada" } };
  const { answers } = await graph.invoke({ messages: [new HumanMessage("who?")] }, config);
  expect(new Set(answers).size).toBe(5);
  let start;
  for await (const state of graph.getStateHistory(config))
    if (state.next.includes("first")) start = state.config;
  // Nothing is asked again.
  expect((await graph.invoke(null, start!)).answers.toSorted()).toEqual(answers.toSorted());
  expect(counter.asked).toBe(5);
});

it("a question that stands by itself is asked in each turn, and once where the turn broke off", async () => {
  const saver = new MemorySaver();
  const journal = createJournal(saver);
  const counter = { asked: 0 };
  const model = journal.model(new Counting(counter));
  let breaks = true;
  const graph = new StateGraph(Annotation.Root({ answer: Annotation<string>() }))
    .addNode("ask", async () => {
      const { content } = await model.invoke([new HumanMessage("what is the price now?")]);
      if (breaks) throw new Error("broke off");
      return { answer: String(content) };
    })
    .addEdge(START, "ask")
    .compile({ checkpointer: saver });
  const config = { configurable: { thread_id: "prices" } };
  await expect(graph.invoke({ answer: "" }, config)).rejects.toThrow("broke off");
  breaks = false;
  expect((await graph.invoke(null, config)).answer).toBe("answer 1");
  expect((await graph.invoke({ answer: "" }, config)).answer).toBe("answer 2");
});
