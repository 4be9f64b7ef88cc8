import { CorruptionError, StratigraphError } from "./errors.ts";
import type { Address } from "./tier.ts";

/** What is thrown where stored bytes don't decode; names thread, checkpoint and channel. */
export function corrupt(at: Address, channel: string | undefined, what: string, cause: unknown): Error {
  if (cause instanceof CorruptionError) return cause;
  const { threadId, namespace, checkpointId } = at;
  return new CorruptionError({ threadId, namespace, checkpointId, channel }, what, cause);
}

/** What is thrown where a serde refuses a value; names thread, checkpoint and channel, and repeats the serde's advice. */
export function notStored(at: Address, channel: string, cause: unknown): Error {
  const { threadId, namespace, checkpointId } = at;
  const why = cause instanceof Error ? cause.message : String(cause);
  const where = `Thread ${JSON.stringify(threadId)}, checkpoint ${checkpointId}, channel ${JSON.stringify(channel)}`;
  const data = {
    ...(StratigraphError.is(cause) ? cause.data : {}),
    threadId,
    namespace,
    checkpointId,
    channel,
  };
  return new StratigraphError("SERIALIZATION", `${where}: the value can't be stored. ${why}`, data, cause);
}
