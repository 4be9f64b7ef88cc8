/** Two runs on one thread: the guide's code on conflicts, run and checked. */
import { strict as assert } from "node:assert";
// #region conflicts
import { Annotation, START, StateGraph } from "@langchain/langgraph";
import { createCheckpointer, StratigraphError } from "stratigraph";

const checkpointer = await createCheckpointer({ memory: true });
const State = Annotation.Root({
  log: Annotation<string[]>({ reducer: (log, more) => log.concat(more), default: () => [] }),
});
const graph = new StateGraph(State)
  .addNode("work", async ({ log }) => {
    await new Promise((resolve) => setTimeout(resolve, 50)); // Long enough for both runs to overlap.
    return { log: [`after ${log.at(-1)}`] };
  })
  .addEdge(START, "work")
  .compile({ checkpointer });

const thread = { configurable: { thread_id: "ada" }, durability: "sync" as const };
await graph.invoke({ log: ["begin"] }, thread);

// The user sent twice: both runs start from the same checkpoint.
const runs = await Promise.allSettled([
  graph.invoke({ log: ["first"] }, thread),
  graph.invoke({ log: ["second"] }, thread),
]);
const lost = runs.flatMap((run) => (run.status === "rejected" ? [run.reason as unknown] : []));
console.log(lost.length, StratigraphError.is(lost[0], "CHECKPOINT_CONFLICT")); // 1 true

// The thread has the work of the run that won, and nothing of the other one.
const { values } = await graph.getState(thread);
console.log(values.log);
await checkpointer.end();
// #endregion

assert.equal(lost.length, 1);
assert.equal(values.log.length, 4);
