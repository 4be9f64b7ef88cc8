import { Annotation, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import type { TierSaver } from "@stratigraph/core";

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  title: Annotation<string>(),
  facts: Annotation<Record<string, unknown>>(),
});

const builder = new StateGraph(State)
  .addNode("agent", ({ messages }) => ({
    messages: [{ role: "assistant", content: `Message ${messages.length} was read.` }],
    facts: { city: messages.length > 4 ? "Rome" : "Bern" },
  }))
  .addEdge(START, "agent");

/** What there is to be in the threads. */
interface Contents {
  /** Of each, before the number of the turn. Default: "A trip". */
  readonly title?: string;
  /** How often the graph runs on each. Default 4. */
  readonly turns?: number;
}

/** Writes a few threads, each by some turns of a graph. */
export async function demoThreads(
  saver: TierSaver,
  names: readonly string[],
  { title = "A trip", turns = 4 }: Contents = {},
): Promise<void> {
  const graph = builder.compile({ checkpointer: saver });
  for (const thread of names)
    for (let turn = 0; turn < turns; turn++) await sayHello(graph, thread, `${title}, turn ${turn}`);
}

async function sayHello(
  graph: ReturnType<typeof builder.compile>,
  thread: string,
  title: string,
): Promise<void> {
  const config = { configurable: { thread_id: thread }, durability: "sync" as const };
  await graph.invoke({ messages: [{ role: "user", content: "Hello" }], title }, config);
}
