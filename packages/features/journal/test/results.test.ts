import { ToolMessage, type AIMessage, type BaseMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import {
  Annotation,
  Command,
  getCurrentTaskInput,
  MessagesAnnotation,
  Send,
  START,
  StateGraph,
} from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { MemorySaver } from "@stratigraph/core";
import { expect, it } from "vitest";
import { z } from "zod";
import { createJournal } from "../src/index.ts";
import { agentOf, asks, call, receipts, says } from "./support/effects.ts";

// What a tool gave is given again, to the call of a model that was asked anew.

const config = { configurable: { thread_id: "ada" } };
const begins = { messages: [{ role: "user", content: "begin" }] };
const schema = z.object({ to: z.string() });
const hand = call("hand", { to: "eve" });

type Config = { toolCall?: { id?: string } };
const answer = (given: unknown, fields: object = {}) =>
  new ToolMessage({
    content: "handed",
    tool_call_id: (given as Config).toolCall!.id!,
    name: "hand",
    ...fields,
  });

/** The checkpoint from which an agent's model was asked for the n-th time. */
async function beforeModel(
  graph: { getStateHistory(at: typeof config): AsyncIterable<{ next: string[]; config: object }> },
  nth: number,
) {
  const found = [];
  for await (const state of graph.getStateHistory(config))
    if (state.next.includes("agent")) found.unshift(state);
  return found[nth - 1]!.config;
}

it("all that a ToolMessage has, but its id", async () => {
  const saver = new MemorySaver();
  const journal = createJournal(saver);
  const fields = {
    content: [{ type: "text", text: "hi" }],
    artifact: { rows: new Map([[1, 2n]]) },
    additional_kwargs: { a: 1 },
    response_metadata: { cost: 5 },
    metadata: { m: 1 },
  };
  const hands = tool(async (_args, given) => answer(given, fields), { name: "hand", schema });
  const tools = journal.tools([hands], { hand: "once" });
  const { graph } = agentOf(journal, tools, (turn) => (turn === 0 ? asks(hand) : says("done")), saver);
  await graph.invoke(begins, config);
  const { messages } = await graph.invoke(null, await beforeModel(graph, 1));
  expect(messages[2]).toMatchObject(fields);
  expect((messages[2] as ToolMessage).tool_call_id).toBe((messages[1] as AIMessage).tool_calls![0]!.id);
});

it("a Command that hands on all messages: earlier answers stay, and this one answers the message that asks now", async () => {
  const saver = new MemorySaver();
  const journal = createJournal(saver);
  const search = tool(async () => "found", { name: "search", schema });
  const handOn = async (_args: unknown, given: unknown) => {
    const { messages } = getCurrentTaskInput() as { messages: BaseMessage[] };
    return new Command({ update: { messages: [...messages, answer(given)] } });
  };
  const tools = journal.tools([search, tool(handOn, { name: "hand", schema })], {
    search: "once",
    hand: "once",
  });
  const script = (turn: number) => [asks(call("search", { to: "x" })), asks(hand)][turn] ?? says("done");
  const { graph } = agentOf(journal, tools, script, saver);
  await graph.invoke(begins, config);
  const { messages } = await graph.invoke(null, await beforeModel(graph, 2));
  expect(messages.map((message) => message.getType())).toEqual(["human", "ai", "tool", "ai", "tool", "ai"]);
  expect(receipts(messages)).toEqual(["found", "handed"]);
  for (const at of [1, 3])
    expect((messages[at + 1] as ToolMessage).tool_call_id).toBe(
      (messages[at] as AIMessage).tool_calls![0]!.id,
    );
});

it("a Command that sends the answer on", async () => {
  const saver = new MemorySaver();
  const journal = createJournal(saver);
  const got: ToolMessage[] = [];
  const send = async (_args: unknown, given: unknown) =>
    new Command({ goto: [new Send("eve", { messages: [answer(given)] })] });
  const graph = new StateGraph(Annotation.Root({ ...MessagesAnnotation.spec, ...journal.channel }))
    .addNode("agent", (state) => {
      const message = asks(hand);
      return { messages: [message], ...journal.next(state, message) };
    })
    .addNode("tools", new ToolNode(journal.tools([tool(send, { name: "hand", schema })], { hand: "once" })), {
      ends: ["eve"],
    })
    .addNode("eve", ({ messages }: { messages: ToolMessage[] }) => {
      got.push(messages.at(-1)!);
      return { messages };
    })
    .addEdge(START, "agent")
    .addEdge("agent", "tools")
    .compile({ checkpointer: saver });
  await graph.invoke(begins, config);
  const { messages } = await graph.invoke(null, await beforeModel(graph, 1));
  expect(got).toHaveLength(2);
  expect(got[1]!.tool_call_id).toBe((messages[1] as AIMessage).tool_calls![0]!.id);
  expect(got[1]!.tool_call_id).not.toBe(got[0]!.tool_call_id);
});

it("a Command that refers to itself happened, and isn't kept", async () => {
  const saver = new MemorySaver();
  const journal = createJournal(saver);
  let handed = 0;
  const loop = async (_args: unknown, given: unknown) => {
    handed += 1;
    const extra: { self?: unknown } = {};
    extra.self = extra;
    return new Command({ update: { messages: [answer(given)], extra } });
  };
  const [wrapped] = journal.tools([tool(loop, { name: "hand", schema })], { hand: "once" });
  const asked = { name: "hand", args: { to: "eve" }, id: "1", type: "tool_call" as const };
  const make = () => wrapped!.invoke(asked, config);
  await make();
  await expect(make()).rejects.toMatchObject({ code: "RESULT_NOT_KEPT" });
  expect(handed).toBe(1);
});
