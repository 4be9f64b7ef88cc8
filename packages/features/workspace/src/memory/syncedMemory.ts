import type { StratigraphError } from "@stratigraph/core";
import type { ItemAddress } from "@stratigraph/core/tier";
import type { Value } from "./remoteMemory.ts";

/** An item that was changed on both sides since they last agreed on it. null: there is none. */
export interface MemoryConflict {
  readonly namespace: string[];
  readonly key: string;
  readonly base: Value;
  /** As the cache has it. */
  readonly ours: Value;
  /** As the server has it. */
  readonly theirs: Value;
  /** Who made it so on the server, if that is known. */
  readonly author: Readonly<Record<string, unknown>>;
}

/** An item that one side doesn't take from the other. It is tried again by each sync. */
export interface MemoryFailure {
  readonly namespace: string[];
  readonly key: string;
  readonly error: StratigraphError;
}

/** What a sync did. */
export interface SyncedMemory {
  /** How many items of the cache were changed as the server has them. */
  readonly pulled: number;
  /** How many items of the server were changed as the cache has them. */
  readonly pushed: number;
  /** Items that are to be decided: by `resolve` of the next sync. */
  readonly conflicts: readonly MemoryConflict[];
  /** Items that couldn't be sent, as the agent may not write there, or that are too long. */
  readonly failed: readonly MemoryFailure[];
}

/** The labels and the key of an address, as results have them. */
export function named({ namespace, key }: ItemAddress): { namespace: string[]; key: string } {
  return { namespace: [...namespace], key };
}
