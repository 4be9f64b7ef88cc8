import type { Check } from "@stratigraph/core";

/** One object in a listing. */
export interface ListedObject {
  readonly key: string;
  /** In bytes. */
  readonly size: number;
  /** By the storage's own clock. Milliseconds since 1970. */
  readonly modifiedMs: number;
  /** Changes with the object; only to be compared with what other listings say. */
  readonly version: string;
}

/** An object, or the part of it that was asked for. */
export interface FoundObject {
  readonly bytes: Uint8Array;
  /** Names this content of this object, for `ifMatch`. */
  readonly etag: string;
}

/** Options of {@link ObjectStore.get}. */
export interface GetOptions {
  /** Only these bytes: first (inclusive) and end (exclusive). */
  readonly range?: readonly [start: number, end: number] | undefined;
  /** Answer "unchanged" where the object still has this etag. */
  readonly unless?: string | undefined;
}

/** The condition of {@link ObjectStore.put}: no object is there, or exactly this one. */
export type PutCondition = { readonly ifNoneMatch: "*" } | { readonly ifMatch: string };

/** Where objects are, without secrets. */
export interface StorePlace {
  /** For people. */
  readonly text: string;
  /** A command that tests from a shell whether they can be reached. */
  readonly test: string;
}

/**
 * What a {@link PackTier} needs of object storage. Keys hold lower-case letters, digits and `-_./` only. Reads see every
 * acknowledged write; a put is stored as a whole or not at all. Failures that may pass are retried before they are thrown.
 */
export interface ObjectStore {
  /** For messages and traces. */
  readonly name: string;

  /** Absent where there is no such object. */
  get(key: string, options?: GetOptions): Promise<FoundObject | "unchanged" | undefined>;

  /** Stores durably. @returns the new etag; absent where the condition doesn't hold: nothing was stored */
  put(key: string, bytes: Uint8Array, condition?: PutCondition): Promise<string | undefined>;

  /**
   * Objects whose keys begin with `prefix`, in order of their keys.
   * @param after go on after this key (exclusive)
   */
  list(prefix: string, after?: string): AsyncIterable<ListedObject>;

  /** Deletes; objects that aren't there are no error. */
  delete(keys: readonly string[]): Promise<void>;

  /** Tells whether requests would be served, where a listing doesn't tell. @throws what they would throw */
  ping?(): Promise<void>;

  /**
   * Deletes an object if it is still the one with this etag. False, and nothing deleted, where it isn't, or where the storage
   * can't tell. Absent: it never can.
   */
  deleteIf?(key: string, etag: string): Promise<boolean>;

  /**
   * Checks that the storage is there, lets objects be put, got, listed and deleted, and keeps conditions.
   * @throws StratigraphError "NOT_SET_UP", "ACCESS_DENIED", "MISCONFIGURED", "STORAGE_FULL"
   */
  setup?(): Promise<void>;

  /** Where the objects are, for a diagnosis. Absent: under the store's name. */
  place?(): Promise<StorePlace>;

  /** What else there is to look at in storage of this kind, for a diagnosis. Writes nothing. */
  checks?(): readonly Check[];

  /** Closes what was opened for this store alone. */
  end?(): Promise<void>;
}
