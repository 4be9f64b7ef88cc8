/** A thread is copied from LangGraph's saver to Stratigraph and back: the guide's code on migrating, run and checked. */
import { strict as assert } from "node:assert";
// #region migrate
import { MemorySaver, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import type { BaseCheckpointSaver, CheckpointTuple, PendingWrite } from "@langchain/langgraph-checkpoint";
import { createCheckpointer } from "stratigraph";

/** Copies all checkpoints and pending writes of a thread from one saver to another. */
async function copyThread(from: BaseCheckpointSaver, to: BaseCheckpointSaver, threadId: string) {
  const thread = { configurable: { thread_id: threadId } };
  const tuples: CheckpointTuple[] = [];
  for await (const tuple of from.list(thread)) tuples.push(tuple); // Subgraphs too: list covers every namespace.
  for (const { checkpoint, metadata, config, parentConfig, pendingWrites = [] } of tuples.toReversed()) {
    const parent = parentConfig ?? {
      configurable: {
        ...thread.configurable,
        checkpoint_ns: config.configurable?.["checkpoint_ns"] as string,
      },
    };
    if (parentConfig !== undefined) await to.getTuple(parent); // A fork is a fork for whoever has read its parent.
    await to.put(parent, checkpoint, metadata!, checkpoint.channel_versions);
    for (const task of new Set(pendingWrites.map(([taskId]) => taskId))) {
      const ofTask = pendingWrites.filter(([taskId]) => taskId === task);
      const writes = ofTask.map(([, channel, value]): PendingWrite => [channel, value]);
      await to.putWrites(config, writes, task);
    }
  }
}

const graphOn = (checkpointer: BaseCheckpointSaver) =>
  new StateGraph(MessagesAnnotation)
    .addNode("agent", ({ messages }) => ({ messages: [`Message ${messages.length} was read.`] }))
    .addEdge(START, "agent")
    .compile({ checkpointer });
const thread = { configurable: { thread_id: "ada" } };

const official = new MemorySaver();
await graphOn(official).invoke({ messages: ["Hello!"] }, thread);

const checkpointer = await createCheckpointer({ memory: true });
await copyThread(official, checkpointer, "ada");
const { messages } = await graphOn(checkpointer).invoke({ messages: ["And again!"] }, thread);
console.log(messages.at(-1)?.content); // Message 3 was read.

const back = new MemorySaver(); // Going back works alike.
await copyThread(checkpointer, back, "ada");
const last = await graphOn(back).invoke({ messages: ["Once more!"] }, thread);
console.log(last.messages.length); // 6
await checkpointer.end();
// #endregion

assert.equal(messages.at(-1)?.content, "Message 3 was read.");
assert.equal(last.messages.length, 6);
const before = await graphOn(official).getState(thread);
assert.equal(before.values.messages.length, 2);
