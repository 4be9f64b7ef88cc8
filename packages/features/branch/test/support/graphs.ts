import { AIMessage, HumanMessage, type BaseMessage, type BaseMessageLike } from "@langchain/core/messages";
import {
  Annotation,
  DeltaChannel,
  END,
  MessagesAnnotation,
  START,
  StateGraph,
  interrupt,
  messagesDeltaReducer,
} from "@langchain/langgraph";
import type { TierSaver } from "@stratigraph/core";

/** A chat that answers every message, and keeps a sum, a topic, a title and a set of tags beside. */
export const Chat = Annotation.Root({
  ...MessagesAnnotation.spec,
  sum: Annotation<number>({ reducer: (sum, more) => sum + more, default: () => 0 }),
  title: Annotation<string>(),
  notes: Annotation<string[]>({ reducer: (notes, more) => [...notes, ...more], default: () => [] }),
  facts: Annotation<Record<string, unknown>>({
    reducer: (facts, more) => ({ ...facts, ...more }),
    default: () => ({}),
  }),
});

export function chat(checkpointer: TierSaver) {
  return new StateGraph(Chat)
    .addNode("answer", ({ messages }) => ({
      messages: [
        new AIMessage({
          content: `re: ${String(messages.at(-1)!.content)}`,
          id: `re-${messages.at(-1)!.id}`,
        }),
      ],
      sum: 1,
    }))
    .addEdge(START, "answer")
    .addEdge("answer", END)
    .compile({ checkpointer });
}

let count = 0;
export const human = (content: string, id = `m${(count += 1)}`): HumanMessage =>
  new HumanMessage({ content, id });
export const on = (thread_id: string, checkpoint_id?: string) => ({
  configurable: { thread_id, ...(checkpoint_id === undefined ? {} : { checkpoint_id }) },
  durability: "sync" as const,
});
export const textOf = (messages: BaseMessage[]): string[] => messages.map(({ content }) => String(content));

/** Asks a person before it ends. */
export function asking(checkpointer: TierSaver) {
  const State = Annotation.Root({
    log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  });
  return new StateGraph(State)
    .addNode("ask", () => ({ log: [`answer ${String(interrupt("which?"))}`] }))
    .addNode("end", () => ({ log: ["end"] }))
    .addEdge(START, "ask")
    .addEdge("ask", "end")
    .addEdge("end", END)
    .compile({ checkpointer });
}

/** A chat whose messages are a DeltaChannel: stored as writes, with a snapshot now and then. */
export function deltaChat(checkpointer: TierSaver, snapshotFrequency = 5) {
  const State = Annotation.Root({
    messages: () =>
      new DeltaChannel<BaseMessage[], BaseMessageLike[]>(messagesDeltaReducer, { snapshotFrequency }),
  });
  return new StateGraph(State)
    .addNode("answer", ({ messages }) => ({
      messages: [
        new AIMessage({
          content: `re: ${String(messages.at(-1)!.content)}`,
          id: `re-${messages.at(-1)!.id}`,
        }),
      ],
    }))
    .addEdge(START, "answer")
    .addEdge("answer", END)
    .compile({ checkpointer });
}

/** Asks a person; what it logs is a DeltaChannel. */
export function deltaAsking(checkpointer: TierSaver) {
  const State = Annotation.Root({
    log: () => new DeltaChannel<string[], string[]>((before, writes) => [...before, ...writes.flat()]),
  });
  return new StateGraph(State)
    .addNode("ask", () => ({ log: [`answer ${String(interrupt("which?"))}`] }))
    .addEdge(START, "ask")
    .addEdge("ask", END)
    .compile({ checkpointer });
}

/** An outer graph around a subgraph that interrupts, and one that keeps state of its own. */
export function nested(checkpointer: TierSaver) {
  const State = Annotation.Root({
    log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  });
  const Inner = Annotation.Root({
    log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
    visits: Annotation<number>({ reducer: (a, b) => a + b, default: () => 0 }),
  });
  const counter = new StateGraph(Inner)
    .addNode("count", ({ visits }) => ({ log: [`visit ${visits + 1}`], visits: 1 }))
    .addEdge(START, "count")
    .compile({ checkpointer: true });
  const asks = new StateGraph(State)
    .addNode("before", () => ({ log: ["before"] }))
    .addNode("ask", () => ({ log: [`answer ${String(interrupt("which?"))}`] }))
    .addEdge(START, "before")
    .addEdge("before", "ask")
    .compile();
  return new StateGraph(State)
    .addNode("counter", async () => ({ log: [(await counter.invoke({ log: [] })).log.at(-1)!] }))
    .addNode("asks", asks)
    .addEdge(START, "counter")
    .addEdge("counter", "asks")
    .addEdge("asks", END)
    .compile({ checkpointer });
}
