import { AIMessage, type BaseMessage, type ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import {
  Annotation,
  Command,
  END,
  messagesStateReducer,
  START,
  StateGraph,
  type Messages,
} from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { MemorySaver, type TierSaver } from "@stratigraph/core";
import { z } from "zod";
import { createJournal, type Journal, type Question } from "../../src/index.ts";

/** A message of a model that asks for calls. Ids differ each time, as those of real models do. */
export function asks(...calls: readonly { name: string; args: Record<string, unknown> }[]): AIMessage {
  return new AIMessage({
    content: "",
    tool_calls: calls.map((call) => ({
      ...call,
      id: `call_${crypto.randomUUID()}`,
      type: "tool_call" as const,
    })),
  });
}

export function says(text: string): AIMessage {
  return new AIMessage(text);
}

/** A tool that pays, and remembers what it paid. */
export function payments(behave: (amount: number, times: number) => unknown = () => undefined) {
  const paid: number[] = [];
  const pay = tool(
    async ({ amount }: { amount: number }) => {
      paid.push(amount);
      await behave(amount, paid.filter((it) => it === amount).length);
      return `receipt ${amount}`;
    },
    { name: "pay", description: "pays", schema: z.object({ amount: z.number() }) },
  );
  return { pay, paid };
}

/** What a repetition of each tool would do: something that must not happen twice. */
export function onceEach(tools: readonly { readonly name: string }[]): Record<string, "once"> {
  return Object.fromEntries(tools.map(({ name }) => [name, "once"]));
}

/** A model's answers, by how many the conversation has, how often it was asked, and the messages. */
export type Script = (turn: number, asked: number, messages: readonly BaseMessage[]) => AIMessage;

/**
 * An agent of a StateGraph, whose model follows a script.
 * @param window how many messages its state keeps
 * @param afterTools is called when the tools have ended, in their step
 */
export function agentOf(
  journal: Journal,
  tools: ReturnType<Journal["tools"]>,
  script: Script,
  checkpointer: TierSaver | undefined,
  {
    retryPolicy,
    window = Infinity,
    afterTools,
  }: {
    retryPolicy?: { maxAttempts: number; initialInterval: number };
    window?: number;
    afterTools?: (() => void) | undefined;
  } = {},
) {
  let asked = 0;
  const messages = Annotation<BaseMessage[], Messages>({
    reducer: (all, more) => messagesStateReducer(all, more).slice(-window),
    default: () => [],
  });
  const State = Annotation.Root({ messages, ...journal.channel });
  const node = new ToolNode(tools as never);
  const runTools = async (state: typeof State.State, config: object): Promise<typeof State.Update> => {
    const told = (await node.invoke(state, config)) as typeof State.Update;
    afterTools?.();
    return told;
  };
  const graph = new StateGraph(State)
    .addNode("agent", (state) => {
      const turn = state.messages.filter((message) => message.getType() === "ai").length;
      asked += 1;
      const message = script(turn, asked, state.messages);
      return { messages: [message], ...journal.next(state, message) };
    })
    .addNode(
      "tools",
      afterTools === undefined ? node : runTools,
      retryPolicy === undefined ? {} : { retryPolicy },
    )
    .addEdge(START, "agent")
    .addConditionalEdges("agent", (state) =>
      ((state.messages.at(-1) as AIMessage).tool_calls?.length ?? 0) > 0 ? "tools" : END,
    )
    .addEdge("tools", "agent")
    .compile(checkpointer === undefined ? {} : { checkpointer });
  return { graph, asked: () => asked };
}

/** A call as a model asks for it. */
export const call = (name: string, args: Record<string, unknown>) => ({ name, args });
export const pays = (amount: number) => call("pay", { amount });

/** What a run that was stopped asks. */
export function questions(result: unknown): { id: string; value: Question }[] {
  return (Object(result) as { __interrupt__?: { id: string; value: Question }[] }).__interrupt__ ?? [];
}

/** Goes on with the answer to the only question of a run that was stopped. */
export function reply(
  result: unknown,
  answer: Record<string, unknown>,
): Command<Record<string, unknown>, never, never> {
  const [asked, ...others] = questions(result);
  if (asked === undefined || others.length > 0)
    throw new Error(`${others.length + 1} questions, or none: ${JSON.stringify(asked)}`);
  return new Command({ resume: { id: asked.value.id, ...answer } });
}

/** The answers that a model got to its calls, and that each has the id of its call. */
export function receipts(messages: readonly BaseMessage[]): string[] {
  const ids = new Set(
    messages.flatMap((message) => ((message as AIMessage).tool_calls ?? []).map(({ id }) => id)),
  );
  const given = messages.filter((message): message is ToolMessage => message.getType() === "tool");
  for (const { tool_call_id } of given)
    if (!ids.has(tool_call_id)) throw new Error(`${tool_call_id} was never asked`);
  const names = messages.flatMap(({ id }) => (id === undefined ? [] : [id]));
  if (new Set(names).size < names.length) throw new Error("two messages have the same id");
  return given.map(({ content }) => String(content));
}

/** An agent whose first payments of each amount end in an error that doesn't tell what happened. */
export function unluckyPayer(script: Script, failures = 1, policy?: Parameters<typeof createJournal>[1]) {
  const saver = new MemorySaver();
  const journal = createJournal(saver, policy);
  const { pay, paid } = payments((_amount, times) => {
    if (times <= failures) throw new Error("the line was cut");
  });
  const { graph, asked } = agentOf(journal, journal.tools([pay], { pay: "once" }), script, saver);
  return { graph, asked, paid, journal, saver };
}
