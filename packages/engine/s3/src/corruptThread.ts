import { CorruptionError, StratigraphError } from "@stratigraph/core";
import type { MaybeAddress } from "@stratigraph/core/tier";
import type { DamagedObject, MissingObject } from "./objectErrors.ts";

/** The error for a lost or damaged object of a thread: a CorruptionError if a checkpoint was asked for. */
export function corruptThread(
  { threadId, namespace, checkpointId }: Partial<MaybeAddress>,
  error: MissingObject | DamagedObject,
): StratigraphError {
  if (threadId !== undefined && namespace !== undefined && checkpointId !== undefined)
    return new CorruptionError({ threadId, namespace, checkpointId }, error.message, error);
  const which = threadId === undefined ? "A thread" : `Thread ${JSON.stringify(threadId)}`;
  return new StratigraphError(
    "CORRUPT",
    `${which} can't be read: ${error.message}. The stored bytes were damaged, tampered with or lost; restore them from a backup ` +
      `(or an older version of the object).`,
    { threadId, key: error.key },
    error,
  );
}
