import { emptyCheckpoint, uuid6, type Checkpoint } from "@langchain/langgraph-checkpoint";

/** A checkpoint with these channels, all at version `version`. Ids grow with `step`. */
export function checkpointOf(
  values: Record<string, unknown>,
  options: { id?: string; version?: number } = {},
): Checkpoint {
  const { id = uuid6(0), version = 1 } = options;
  return {
    ...emptyCheckpoint(),
    id,
    channel_values: values,
    channel_versions: Object.fromEntries(Object.keys(values).map((channel) => [channel, version])),
  };
}

/** A config that names a thread and, if given, a checkpoint and a namespace. */
export function at(threadId: string, checkpointId?: string, namespace = "") {
  return {
    configurable: {
      thread_id: threadId,
      checkpoint_ns: namespace,
      ...(checkpointId === undefined ? {} : { checkpoint_id: checkpointId }),
    },
  };
}
