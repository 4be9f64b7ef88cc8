import type { Check } from "@stratigraph/core/tier";

/** One object in a listing. */
export interface ListedObject {
  readonly key: string;
  /** In bytes. */
  readonly size: number;
  /** Milliseconds since 1970, by the storage's clock. */
  readonly modifiedMs: number;
  /** Changes whenever the object changes. Compare it only with versions from other listings. */
  readonly version: string;
}

/** An object, or the part of it that was asked for. */
export interface FoundObject {
  readonly bytes: Uint8Array;
  /** Identifies this content of this object, for `ifMatch`. */
  readonly etag: string;
}

/** Options of {@link ObjectStore.get}. */
export interface GetOptions {
  /** Read only the bytes from `start` (inclusive) to `end` (exclusive). */
  readonly range?: readonly [start: number, end: number] | undefined;
  /** Return "unchanged" if the object still has this etag. */
  readonly unless?: string | undefined;
}

/** The condition of {@link ObjectStore.put}: there is no object, or it has exactly this etag. */
export type PutCondition = { readonly ifNoneMatch: "*" } | { readonly ifMatch: string };

/** Where objects are, without secrets. */
export interface StorePlace {
  /** For people. */
  readonly text: string;
  /** A command that tests from a shell whether they can be reached. */
  readonly test: string;
}

/**
 * What a {@link PackTier} needs of object storage. Keys contain only lower-case letters, digits and `-_./`. Reads see every
 * acknowledged write, and a put is stored as a whole or not at all. Failures that may pass are retried before they are thrown.
 */
export interface ObjectStore {
  /** Used in messages and traces. */
  readonly name: string;

  /** Whether listing a prefix without objects costs no request to a server. */
  readonly listsLocally?: boolean | undefined;

  /** Reads an object. Undefined if there is no such object. */
  get(key: string, options?: GetOptions): Promise<FoundObject | "unchanged" | undefined>;

  /** Stores an object durably. @returns the new etag; undefined if the condition doesn't hold and nothing was stored */
  put(key: string, bytes: Uint8Array, condition?: PutCondition): Promise<string | undefined>;

  /**
   * Lists the objects whose keys begin with `prefix`, in the order of their keys.
   * @param after begin after this key
   */
  list(prefix: string, after?: string): AsyncIterable<ListedObject>;

  /** Deletes objects. It is no error if some aren't there. */
  delete(keys: readonly string[]): Promise<void>;

  /** Checks that requests are served. Implement it if a listing doesn't show that. @throws what requests would throw */
  ping?(): Promise<void>;

  /**
   * Deletes an object if it still has this etag. Returns false, and deletes nothing, if it doesn't or if the storage can't check that.
   * Leave the method out if the storage never can.
   */
  deleteIf?(key: string, etag: string): Promise<boolean>;

  /**
   * Checks that the storage exists, that objects can be put, got, listed and deleted, and that it obeys conditions.
   * @throws StratigraphError "NOT_SET_UP", "ACCESS_DENIED", "MISCONFIGURED", "STORAGE_FULL"
   */
  setup?(): Promise<void>;

  /** Where the objects are, for a diagnosis. If the method is absent, a diagnosis shows the store's name. */
  place?(): Promise<StorePlace>;

  /** Further checks of this kind of storage, for a diagnosis. They write nothing. */
  checks?(): readonly Check[];

  /** Closes whatever was opened for this store alone. */
  end?(): Promise<void>;
}
