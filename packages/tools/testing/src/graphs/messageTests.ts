import { AIMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import type { BaseMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, REMOVE_ALL_MESSAGES, START, StateGraph } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { expect } from "vitest";
import { Calls } from "./calls.ts";
import type { GraphContext } from "./context.ts";
import { expectOneLine, historyOf } from "./snapshots.ts";

/** A model that calls a tool after each message of a person, and answers after the tool has. */
const agent = (checkpointer: BaseCheckpointSaver, calls: Calls) =>
  new StateGraph(MessagesAnnotation)
    .addNode("model", ({ messages }) => {
      calls.add("model");
      const last = messages.at(-1);
      if (last instanceof ToolMessage) {
        return {
          messages: [
            new AIMessage({ id: `ai-${messages.length}`, content: `It is ${String(last.content)}.` }),
          ],
        };
      }
      const call = { id: `call-${messages.length}`, name: "weather", args: { city: "Zürich", days: [1, 2] } };
      return {
        messages: [
          new AIMessage({
            id: `ai-${messages.length}`,
            content: [{ type: "text", text: "let me look" }],
            tool_calls: [{ ...call, type: "tool_call" }],
            response_metadata: { usage: { input_tokens: 7, output_tokens: 3 } },
            additional_kwargs: { model: "none" },
          }),
        ],
      };
    })
    .addNode("tools", ({ messages }) => {
      calls.add("tools");
      const last = messages.at(-1);
      const asked = last instanceof AIMessage ? (last.tool_calls ?? []) : [];
      return {
        messages: asked.map(
          (call) =>
            new ToolMessage({
              id: `tool-${String(call.id)}`,
              tool_call_id: call.id ?? "",
              name: call.name,
              content: "sunny ☀",
              artifact: { raw: [1, 2] },
            }),
        ),
      };
    })
    .addEdge(START, "model")
    .addConditionalEdges("model", ({ messages }) => {
      const last = messages.at(-1);
      return last instanceof AIMessage && (last.tool_calls?.length ?? 0) > 0 ? "tools" : END;
    })
    .addEdge("tools", "model")
    .compile({ checkpointer });

const talk = (checkpointer: BaseCheckpointSaver) =>
  new StateGraph(MessagesAnnotation)
    .addNode("echo", ({ messages }) => ({
      messages: [new AIMessage({ id: `echo-${messages.length}`, content: "ok" })],
    }))
    .addEdge(START, "echo")
    .compile({ checkpointer });

const idsOf = (messages: BaseMessage[]): (string | undefined)[] => messages.map((message) => message.id);

/** Conversations: messages of all kinds, tool calls, messages replaced and removed by id. */
export const messageTests = ({ test, saver, reopen, thread, durabilities }: GraphContext): void => {
  for (const durability of durabilities()) {
    test(`a conversation with tool calls over three turns, durability ${durability}`, async () => {
      const calls = new Calls();
      const config = { ...thread(), durability };
      const spoken: BaseMessage[] = [];
      for (let turn = 0; turn < 3; turn++) {
        const graph = agent(await reopen(), calls);
        const question = new HumanMessage({
          id: `human-${turn}`,
          content: `How is it? ${turn}`,
          name: "Ada",
        });
        const { messages } = await graph.invoke({ messages: [question] }, config);
        expect(messages.length).toBe((turn + 1) * 4);
        spoken.splice(0, spoken.length, ...messages);
      }
      expect(calls.take()).toEqual([
        "model",
        "tools",
        "model",
        "model",
        "tools",
        "model",
        "model",
        "tools",
        "model",
      ]);
      const reader = agent(await reopen(), calls);
      const { messages } = (await reader.getState(config)).values as { messages: BaseMessage[] };
      expect(messages.map((message) => message.toDict())).toEqual(spoken.map((message) => message.toDict()));
      const [human, ai, tool] = messages;
      expect(human).toBeInstanceOf(HumanMessage);
      expect(human?.name).toBe("Ada");
      expect(ai).toBeInstanceOf(AIMessage);
      expect(ai instanceof AIMessage && [ai.tool_calls, ai.response_metadata, ai.additional_kwargs]).toEqual([
        [{ id: "call-1", name: "weather", args: { city: "Zürich", days: [1, 2] }, type: "tool_call" }],
        { usage: { input_tokens: 7, output_tokens: 3 } },
        { model: "none" },
      ]);
      expect(tool).toBeInstanceOf(ToolMessage);
      expect(tool instanceof ToolMessage && [tool.tool_call_id, tool.artifact]).toEqual([
        "call-1",
        { raw: [1, 2] },
      ]);
      expectOneLine(await historyOf(reader, config));
    });
  }

  test("a message with a known id replaces, a new one is appended, a RemoveMessage removes", async () => {
    const config = thread();
    const first = [
      new SystemMessage({ id: "s", content: "be kind" }),
      new HumanMessage({ id: "h", content: "hi" }),
    ];
    await talk(saver()).invoke({ messages: first }, config);
    const graph = talk(await reopen());
    await graph.updateState(config, {
      messages: [
        new HumanMessage({ id: "h", content: "hello" }),
        new HumanMessage({ id: "h2", content: "more" }),
      ],
    });
    const replaced = (await talk(await reopen()).getState(config)).values as { messages: BaseMessage[] };
    expect(idsOf(replaced.messages)).toEqual(["s", "h", "echo-2", "h2"]);
    expect(replaced.messages.map((message) => message.content)).toEqual(["be kind", "hello", "ok", "more"]);

    await talk(await reopen()).invoke({ messages: [new RemoveMessage({ id: "echo-2" })] }, config);
    const removed = (await talk(await reopen()).getState(config)).values as { messages: BaseMessage[] };
    expect(idsOf(removed.messages)).toEqual(["s", "h", "h2", "echo-3"]);

    const before = await historyOf(graph, config);
    const lengths = before.map((s) => (s.values as { messages: BaseMessage[] }).messages.length);
    expect(lengths).toEqual([4, 3, 4, 4, 3, 2, 0]);
  });

  test("removing all messages leaves the new ones, and history keeps the old", async () => {
    const config = thread();
    for (let turn = 0; turn < 3; turn++) {
      await talk(saver()).invoke({ messages: [new HumanMessage({ id: `h${turn}`, content: "x" })] }, config);
    }
    const old = await talk(await reopen()).getState(config);
    const all = new RemoveMessage({ id: REMOVE_ALL_MESSAGES });
    const summary = new SystemMessage({ id: "summary", content: "they said x" });
    await talk(await reopen()).invoke({ messages: [all, summary] }, config);
    const graph = talk(await reopen());
    const now = (await graph.getState(config)).values as { messages: BaseMessage[] };
    expect(idsOf(now.messages)).toEqual(["summary", "echo-1"]);
    const then = (await graph.getState(old.config)).values as { messages: BaseMessage[] };
    expect(idsOf(then.messages)).toEqual(["h0", "echo-1", "h1", "echo-3", "h2", "echo-5"]);
  });

  test("messages without ids get one that stays", async () => {
    const config = thread();
    const { messages } = await talk(saver()).invoke({ messages: [new HumanMessage("no id")] }, config);
    expect(messages[0]?.id).toMatch(/^[0-9a-f-]{36}$/);
    for (let reading = 0; reading < 2; reading++) {
      const read = (await talk(await reopen()).getState(config)).values as { messages: BaseMessage[] };
      expect(idsOf(read.messages)).toEqual(idsOf(messages));
    }
  });
};
