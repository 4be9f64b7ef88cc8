/** Threads come from LangGraph's saver, go on, go into a file, and back: the guide's code on migrating, run and checked. */
import { strict as assert } from "node:assert";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
// #region migrate
import { MemorySaver, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { exportThreads, importThreads, openSource, openTarget, saverSource } from "@stratigraph/migrate";
import { createCheckpointer } from "stratigraph";

const graphOn = (checkpointer: BaseCheckpointSaver) =>
  new StateGraph(MessagesAnnotation)
    .addNode("agent", ({ messages }) => ({ messages: [`Message ${messages.length} was read.`] }))
    .addEdge(START, "agent")
    .compile({ checkpointer });
const thread = { configurable: { thread_id: "ada" } };

const official = new MemorySaver();
await graphOn(official).invoke({ messages: ["Hello!"] }, thread);

// Any saver is a source. For PostgreSQL: openSource("official+postgresql://user:password@host/database")
const checkpointer = await createCheckpointer({ memory: true });
const report = await importThreads(saverSource(official), checkpointer);
console.log(report); // { complete: true, threads: 1, checkpoints: 3, verified: true, differences: [], … }
const { messages } = await graphOn(checkpointer).invoke({ messages: ["And again!"] }, thread);
console.log(messages.at(-1)?.content); // Message 3 was read.
// #endregion

const file = join(mkdtempSync(join(tmpdir(), "stratigraph-example-")), "threads.jsonl.gz");
// #region file
const target = await openTarget(file);
await exportThreads(checkpointer, target);
await target.close();

const elsewhere = await createCheckpointer({ memory: true });
const source = await openSource(file);
const brought = await importThreads(source, elsewhere);
await source.close();
// #endregion
rmSync(join(file, ".."), { recursive: true });

const there = await graphOn(elsewhere).invoke({ messages: ["Once more!"] }, thread);
assert.deepEqual([report.threads, report.checkpoints, report.differences], [1, 3, []]);
assert.equal(messages.at(-1)?.content, "Message 3 was read.");
assert.deepEqual([brought.checkpoints, brought.differences], [6, []]);
assert.equal(there.messages.length, 6);
const before = await graphOn(official).getState(thread);
assert.equal(before.values.messages.length, 2);
await elsewhere.end();
await checkpointer.end();
