/** The README's first code, run and checked. */
import { strict as assert } from "node:assert";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { folder } from "./inTemporaryFolder.ts";
// #region quick-start
import { MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { createCheckpointer } from "stratigraph";

// An embedded database in a folder. { postgres: "postgresql://…" } when it gets serious.
const checkpointer = await createCheckpointer({ folder: ".stratigraph" });

const agent = ({ messages }: typeof MessagesAnnotation.State) => {
  return { messages: [{ role: "assistant", content: `That makes ${messages.length} messages.` }] };
};
const graph = new StateGraph(MessagesAnnotation)
  .addNode("agent", agent)
  .addEdge(START, "agent")
  .compile({ checkpointer });

const config = { configurable: { thread_id: "ada" } };
const { messages } = await graph.invoke({ messages: [{ role: "user", content: "Hello!" }] }, config);
console.log(messages.at(-1)?.content); // Run it again: the thread goes on where it was.

await checkpointer.end();
// #endregion

assert.equal(messages.at(-1)?.content, "That makes 1 messages.");
assert.ok(existsSync(join(folder, ".stratigraph")), "the thread is in the folder");

// As a second run of the program would.
const again = await createCheckpointer({ folder: ".stratigraph" });
const later = await new StateGraph(MessagesAnnotation)
  .addNode("agent", agent)
  .addEdge(START, "agent")
  .compile({ checkpointer: again })
  .invoke({ messages: [{ role: "user", content: "And again!" }] }, config);
assert.equal(later.messages.length, 4);
assert.equal(later.messages.at(-1)?.content, "That makes 3 messages.");
await again.end();
