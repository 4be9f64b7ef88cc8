import {
  uuid6,
  type Checkpoint,
  type CheckpointMetadata,
  type CheckpointTuple,
} from "@langchain/langgraph-checkpoint";

/** Names the head of a thread. */
export const configOf = (threadId: string) => ({ configurable: { thread_id: threadId, checkpoint_ns: "" } });

/** What is put after a checkpoint, or first. */
export function nextOf(before: CheckpointTuple | undefined, value: string) {
  const step = (before?.metadata?.step ?? 0) + 1;
  const checkpoint: Checkpoint = {
    v: 4,
    id: uuid6(step),
    ts: new Date().toISOString(),
    channel_values: { value },
    channel_versions: { value: step },
    versions_seen: {},
  };
  const metadata: CheckpointMetadata = { source: "loop", step, parents: {} };
  return { config: before?.config ?? configOf("t"), checkpoint, metadata };
}
