import { setTimeout } from "node:timers/promises";
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { PostgresSaver } from "@stratigraph/postgres";
import { createWorkspace, type TakenTask } from "@stratigraph/workspace";

// One agent, in a process of its own: agent.ts <role> <database>. It may be killed at any time.
const [role = "", url = ""] = process.argv.slice(2);
const saver = PostgresSaver.fromConnString(url);
const workspace = createWorkspace(saver, "report", { agent: role });
const board = workspace.board();

/** What a model would say; the same each time. */
const known: Record<string, string> = { Rome: "the Colosseum", Pisa: "a leaning tower", Siena: "the Palio" };

const State = Annotation.Root({ task: Annotation<TakenTask>, text: Annotation<string> });

/** What each role does, as a graph with two steps. A thread that was cut short goes on after the last one. */
const graph = new StateGraph(State)
  .addNode("think", async ({ task: { what, data, results } }) => {
    await setTimeout(100); // a model takes its time
    const city = String(data?.["city"]);
    const facts = Object.values(results).map(({ text }) => String(text));
    if (role === "researcher") return { text: `${city} has ${known[city]}` };
    if (role === "analyst") return { text: `${facts.length} cities: ${facts.join("; ")}` };
    return { text: `${what.toUpperCase()}. ${facts.join(" ")}.` };
  })
  .addNode("note", async ({ task, text }) => {
    await workspace.put(["notes", role], task.key, { text }, { reason: task.what });
    return {};
  })
  .addEdge(START, "think")
  .addEdge("think", "note")
  .addEdge("note", END)
  .compile({ checkpointer: saver });

async function work(task: TakenTask): Promise<{ text: string }> {
  const config = { configurable: { thread_id: `${role} ${task.key}` } };
  const { next } = await graph.getState(config);
  const { text } = await graph.invoke(
    next.length > 0 ? null : { task: { ...task, signal: undefined } as never },
    config,
  );
  return { text };
}

for (;;) {
  try {
    const done = await board.work(work, { ttl: "2s", filter: ({ data }) => data?.["role"] === role });
    if (done !== undefined) continue;
  } catch (error) {
    // This process was held up for longer than its lock lasts: the task is ready again, or another agent has it.
    if ((error as { code?: unknown }).code !== "LOCK_LOST") throw error;
    continue;
  }
  if ((await board.tasks()).every(({ status }) => status === "done")) break;
  // Until something happens, or a dead agent's task is ready again.
  for await (const _ of workspace.watch({ signal: AbortSignal.timeout(300) })) break;
}
await saver.end();
