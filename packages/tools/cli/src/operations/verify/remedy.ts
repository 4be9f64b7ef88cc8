import { StratigraphError, type ErrorCode } from "@stratigraph/core";
import { namedBlobs, type Address, type RemoveRequest, type StoredCheckpoint } from "@stratigraph/core/tier";
import type { Place, Storage } from "./places.ts";
import { undecodable, type Suspicion } from "./suspicion.ts";

/** A way to mend a finding, with a sentence that describes it; or why there is none, and what a person can do. */
export type Remedy =
  | {
      readonly does: string;
      /** Returns false and changes nothing if the thread has another revision in the finding's tier. */
      apply(revision: number): Promise<boolean>;
    }
  | { readonly impossible: string };

/** A suspicion that was found again, and the thread that it is about. */
export interface Case {
  readonly storage: Storage;
  readonly threadId: string;
  readonly suspicion: Suspicion;
  /** Whether ends of side branches that can't be read may be removed. */
  readonly prune: boolean;
}

const nothing = { checkpoints: [], dropBlobs: [], replaceBlobs: [], heads: [] } as const;

/** Changes a tier in one atomic step, and drops the copies of its data. Returns false if the thread has another revision there. */
export async function remove(
  place: Place,
  request: Partial<RemoveRequest> & Pick<RemoveRequest, "threadId" | "revision">,
): Promise<boolean> {
  return await place.changes.remove({ ...nothing, ...request });
}

/** Codes of errors that mean that somebody has changed the thread. */
const overtaken: ReadonlySet<ErrorCode> = new Set([
  "CHECKPOINT_CONFLICT",
  "STALE_READ",
  "THREAD_DELETED",
  "NOT_FOUND",
]);

/** Whether a change came too late: somebody has changed the thread. */
export function isOvertaken(error: unknown): boolean {
  return StratigraphError.is(error) && overtaken.has(error.code);
}

/**
 * Whether a checkpoint can be read, with all values and pending writes. "unknown": its key isn't there, or another version wrote it;
 * nothing says that it is damaged.
 */
export async function stateOf(
  { coder }: Storage,
  { record, blobs, writes }: StoredCheckpoint,
): Promise<"whole" | "damaged" | "unknown"> {
  try {
    await coder.decodeBody(record);
    await coder.writes.open(record, writes);
    for (const hash of namedBlobs(record, writes)) await coder.payload(record, undefined, hash, blobs);
    return "whole";
  } catch (error) {
    return undecodable(error).kind === "corrupt" ? "damaged" : "unknown";
  }
}

/** Whether a checkpoint can be read, with all values and pending writes. */
export async function isWhole(storage: Storage, stored: StoredCheckpoint): Promise<boolean> {
  return (await stateOf(storage, stored)) === "whole";
}

/** Only the address of a record. */
export function addressOf({ threadId, namespace, checkpointId }: Address): Address {
  return { threadId, namespace, checkpointId };
}
