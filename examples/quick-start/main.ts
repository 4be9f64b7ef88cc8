/** Runs the first code of the README, and checks it. */
import { strict as assert } from "node:assert";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { folder } from "./inTemporaryFolder.ts";
// #region quick-start
import { MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { createCheckpointer } from "stratigraph";

// An embedded database in a folder. { postgres: "postgresql://…" } when it gets serious.
console.log("Opening .stratigraph; the first time creates its database …");
const checkpointer = await createCheckpointer({ pglite: ".stratigraph" });

const graph = new StateGraph(MessagesAnnotation)
  .addNode("agent", ({ messages }) => ({
    messages: [{ role: "assistant", content: `Message ${messages.length} was read.` }],
  }))
  .addEdge(START, "agent")
  .compile({ checkpointer });

const config = { configurable: { thread_id: "ada" } };
const { messages } = await graph.invoke({ messages: [{ role: "user", content: "Hello!" }] }, config);
console.log(messages.at(-1)?.content); // Run it again: the thread goes on where it was.

await checkpointer.end();
// #endregion

assert.equal(messages.at(-1)?.content, "Message 1 was read.");
assert.ok(existsSync(join(folder, ".stratigraph")), "the thread is in the folder");

// This does what a second run of the program would do.
const again = await createCheckpointer({ pglite: ".stratigraph" });
graph.checkpointer = again;
const later = await graph.invoke({ messages: [{ role: "user", content: "And again!" }] }, config);
assert.equal(later.messages.length, 4);
assert.equal(later.messages.at(-1)?.content, "Message 3 was read.");
await again.end();
