/** A research assistant: it looks up one topic after the other, and writes a report. Each search costs money, so it is made once. */
import { appendFileSync } from "node:fs";
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { createJournal } from "@stratigraph/journal";
import { createCheckpointer } from "stratigraph";

const { DATABASE_URL = "", SEARCHES = "", CRASH_AT } = process.env;

export const checkpointer = await createCheckpointer({ postgres: DATABASE_URL });
const journal = createJournal(checkpointer);

/** Searches the web. Here, it only notes in a file what was paid for. */
function search(topic: string): string {
  if (topic === CRASH_AT) process.kill(process.pid, "SIGKILL");
  appendFileSync(SEARCHES, `${topic}\n`);
  return `${topic} has ${topic.length} letters`;
}

const State = Annotation.Root({
  topics: Annotation<string[]>(),
  notes: Annotation<string[]>({ reducer: (known, more) => [...known, ...more], default: () => [] }),
  report: Annotation<string>(),
});

export const graph = new StateGraph(State)
  .addNode("look_up", async ({ topics, notes }, config) => {
    const topic = topics[notes.length]!;
    const call = { id: `search ${topic}`, tool: "search", args: { topic }, effects: "idempotent" } as const;
    return { notes: [await journal.run(config, call, () => search(topic))] };
  })
  .addNode("write", ({ notes }) => ({ report: `${notes.join(". ")}.` }))
  .addEdge(START, "look_up")
  .addConditionalEdges("look_up", ({ topics, notes }) => (notes.length < topics.length ? "look_up" : "write"))
  .addEdge("write", END)
  .compile({ checkpointer });
