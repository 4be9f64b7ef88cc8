import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  RemoveMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import {
  Annotation,
  DeltaChannel,
  MessagesAnnotation,
  REMOVE_ALL_MESSAGES,
  START,
  Send,
  StateGraph,
  messagesDeltaReducer,
} from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { scenarioGroup } from "../scenario.ts";
import { finishInTurn } from "../../finishInTurn.ts";

const DeltaMessages = Annotation.Root({
  messages: () => new DeltaChannel<BaseMessage[], BaseMessage[]>(messagesDeltaReducer),
});

/** A model that calls three tools at once, which answer in another order. `ids`: whether the messages have ids. */
const agent = (ids: boolean, state: typeof DeltaMessages | typeof MessagesAnnotation = DeltaMessages) => {
  const finish = finishInTurn();
  return (checkpointer: BaseCheckpointSaver) =>
    new StateGraph(state as typeof DeltaMessages)
      .addNode("model", ({ messages }) => {
        const done = messages.at(-1)?.getType() === "tool";
        const turn = messages.length;
        const calls = ["ra", "rb", "rc"].map((name) => ({
          name,
          args: { turn },
          id: `${name}${turn}`,
          type: "tool_call" as const,
        }));
        const answer = done
          ? new AIMessage({ content: `done after ${turn}`, ...(ids ? { id: `done ${turn}` } : {}) })
          : new AIMessage({
              content: [{ type: "text", text: "let me look" }],
              tool_calls: calls,
              response_metadata: { usage: { input_tokens: 7 } },
              additional_kwargs: { model: "none" },
              ...(ids ? { id: `ai ${turn}` } : {}),
            });
        return { messages: [answer] };
      })
      .addNode("tool", async ({ name, id, place }: { name: string; id: string; place: number }) => {
        await finish(place);
        return {
          messages: [
            new ToolMessage({
              content: `of ${name} ☀`,
              artifact: { raw: [1, 2] },
              tool_call_id: id,
              name,
              ...(ids ? { id: `m ${id}` } : {}),
            }),
          ],
        };
      })
      .addConditionalEdges(
        "model",
        ({ messages }) => {
          const last = messages.at(-1);
          const calls = AIMessage.isInstance(last) ? (last.tool_calls ?? []) : [];
          return calls.map(({ name, id = "" }, index) => new Send("tool", { name, id, place: 2 - index }));
        },
        ["tool"],
      )
      .addEdge("tool", "model")
      .addEdge(START, "model")
      .compile({ checkpointer });
};

const echo = (checkpointer: BaseCheckpointSaver) =>
  new StateGraph(MessagesAnnotation)
    .addNode("echo", ({ messages }) => ({
      messages: [new AIMessage({ id: `echo ${messages.length}`, content: "ok" })],
    }))
    .addEdge(START, "echo")
    .compile({ checkpointer });

/** Conversations whose messages are kept by a reducer. */
export const messageScenarios = scenarioGroup({
  "three parallel tool calls": async (stage) => {
    const build = agent(true, MessagesAnnotation);
    for (const turn of ["one", "two"])
      await stage.turn(build, { messages: [new HumanMessage({ content: turn, id: turn, name: "Ada" })] });
  },

  "messages replaced and removed by id, then all of them": async (stage) => {
    const human = (id: string, content: string) => new HumanMessage({ id, content });
    await stage.turn(echo, {
      messages: [new SystemMessage({ id: "s", content: "be kind" }), human("h", "hi")],
    });
    await stage.update(echo, { messages: [human("h", "hello"), human("h2", "more")] });
    await stage.turn(echo, { messages: [new RemoveMessage({ id: "echo 2" })] });
    const all = new RemoveMessage({ id: REMOVE_ALL_MESSAGES });
    await stage.turn(echo, {
      messages: [all, new SystemMessage({ id: "summary", content: "they said hi" })],
    });
  },

  "messages without ids": async (stage) => {
    for (const turn of ["one", "two"]) await stage.turn(echo, { messages: [new HumanMessage(turn)] });
  },
});

/** Conversations in a DeltaChannel that parallel tasks write to. */
export const deltaMessageScenarios = scenarioGroup(
  {
    "three parallel tool calls into a DeltaChannel of messages": async (stage) => {
      const build = agent(true);
      for (const turn of ["one", "two"])
        await stage.turn(build, { messages: [new HumanMessage({ content: turn, id: turn })] });
    },

    "three parallel tool calls, messages without ids": async (stage) => {
      const build = agent(false);
      for (const turn of ["one", "two"]) await stage.turn(build, { messages: [new HumanMessage(turn)] });
    },
  },
  { ordersByTask: true },
);
