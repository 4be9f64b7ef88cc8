import type { Tier } from "./tier.ts";

/** Where an item of a store is: a namespace, as its labels from the outermost on, and a key in it. Labels and keys are any text but "". */
export interface ItemAddress {
  readonly namespace: readonly string[];
  readonly key: string;
}

/** Which item to read. */
export interface ItemRead extends ItemAddress {
  /**
   * The time to live that the item gets anew, in milliseconds, if it has one, and if at most nine tenths of this are left. An item that
   * somebody is just changing may be left as it is.
   */
  readonly refreshMs?: number | undefined;
}

/** An item as it is stored. */
export interface StoredItem extends ItemAddress {
  /** The encoded value. */
  readonly value: Uint8Array;
  /** A number that grows with every change of any item of the tier, and that no other change has. */
  readonly version: number;
  /** Milliseconds since 1970, by the tier's clock. */
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** What the log of a workspace says of its last change; see WorkspaceChange. */
  readonly note?: Uint8Array | undefined;
}

/** What a tier knows of a field of a value: the scalar, or [] if it is something else or long. */
export type ItemField = string | number | boolean | null | readonly [];

/** Puts an item in the place of the one at its address, or deletes that. */
export interface ItemChange extends ItemAddress {
  /** Absent: deletes the item. */
  readonly value?: Uint8Array | undefined;
  /** The top-level fields of the value, for {@link FieldTest}. Absent in a deletion, and for a value that passes every test. */
  readonly fields?: Readonly<Record<string, ItemField>> | undefined;
  /** How long the item stays, in milliseconds. Absent: for ever. */
  readonly ttlMs?: number | undefined;
  /** What {@link Items.nearest} finds the item by: vectors of one length, each of unit length or zero. Changes of workspaces have none. */
  readonly vectors?: readonly Float32Array[] | undefined;
}

/** A test of one field that narrows a search. */
export type FieldTest =
  | { readonly field: string; readonly in: readonly (string | number | boolean | null)[] }
  | { readonly field: string; readonly is: "present" | "absent" }
  | { readonly field: string; readonly is: ">" | ">=" | "<" | "<="; readonly than: number };

/** Which items to search. */
export interface ItemSearch {
  /** The first labels of the namespaces: items below any of these. None is the beginning of another. `[[]]`: all namespaces. */
  readonly prefixes: readonly (readonly string[])[];
  /**
   * Items that don't pass these tests may be left out. A comparison with a number must not leave out those whose field is a string or [].
   */
  readonly tests: readonly FieldTest[];
  /** Only items with a smaller version. */
  readonly before?: number | undefined;
  /** Only items with a larger version. */
  readonly after?: number | undefined;
  readonly limit: number;
}

/** What a tier found of a search. */
export interface ItemPage<Found = StoredItem> {
  /** Fewer than the limit if their values are large: then at least one. */
  readonly items: readonly Found[];
  /** Whether there may be more after these. */
  readonly more: boolean;
}

/** Which items to compare with a vector. */
export interface NearestItemsQuery extends Pick<ItemSearch, "prefixes" | "tests" | "limit"> {
  readonly vector: Float32Array;
  /** Only items that come after this one. */
  readonly beyond?: Pick<NearItem, "similarity" | "version"> | undefined;
}

/** An item, and how similar it is to a vector: the largest sum of products of the vector and one of its own of that length. */
export interface NearItem extends StoredItem {
  /** From -1 to 1, apart from rounding. -Infinity: it has no vector of that length, or was changed since it had. */
  readonly similarity: number;
}

/** Other bytes for the value of the item that has this version. */
export interface ItemBytes extends ItemAddress {
  readonly version: number;
  readonly value: Uint8Array;
}

/** Which namespaces to list. */
export interface ItemNamespacesQuery {
  readonly prefixes: readonly (readonly string[])[];
  /** Only namespaces that come after this one. */
  readonly after?: readonly string[] | undefined;
  readonly limit: number;
}

/**
 * The items of a tier: what {@link TierStore} needs. Items whose time to live has passed are as good as deleted, though they may still take
 * up space. Nothing of a thread is an item, and deleting threads deletes no items. Each method is one round trip.
 *
 * A label is never empty in a namespace of a store. Namespaces that have an empty label belong to workspaces, and are below a prefix only
 * if the prefix has the empty label too.
 */
export interface Items {
  /** The items at these addresses, in the same order. */
  read(addresses: readonly ItemRead[]): Promise<readonly (StoredItem | undefined)[]>;
  /** Changes items, all or none of them. No two changes have the same address. */
  change(changes: readonly ItemChange[]): Promise<void>;
  /** The items with the largest versions, largest first. */
  search(search: ItemSearch): Promise<ItemPage>;
  /** The most similar items, most similar first. Of equal ones the largest version comes first. */
  nearest(query: NearestItemsQuery): Promise<ItemPage<NearItem>>;
  /** Namespaces that have items, in the order of the UTF-8 of their labels. */
  namespaces(query: ItemNamespacesQuery): Promise<readonly (readonly string[])[]>;
  /** All items, those of workspaces too. */
  all(page: Pick<ItemSearch, "before" | "limit">): Promise<ItemPage>;
  /**
   * Replaces values by bytes that mean the same. The items keep their versions and times, lose their vectors, and
   * from then on pass every {@link FieldTest}.
   * @returns how many were replaced: not those that have another version by now, or are just being changed
   */
  replace(values: readonly ItemBytes[]): Promise<number>;
}

/** What a store needs of the items of a tier. */
export type StoreItems = Omit<Items, "all" | "replace">;

/** A tier that keeps items. */
export interface ItemKeeper {
  readonly items: Items;
}

/** Whether a tier is an {@link ItemKeeper}. */
export function keepsItems(tier: Tier): tier is Tier & ItemKeeper {
  return (tier as Partial<ItemKeeper>).items !== undefined;
}

/** The largest namespace, in bytes of UTF-8 with one more for each label: a database's index has to hold it. */
export const maxNamespaceBytes = 2000;

/**
 * Whether a namespace, as text of {@link namespacePath} in latin1, is below a prefix. Empty labels begin another realm: the prefix has to
 * name them.
 */
export function isBelow(path: string, prefix: string): boolean {
  return path.startsWith(prefix) && path[prefix.length] !== "\0";
}

/** A namespace as bytes: each label's UTF-8 and a NUL. Namespaces that begin with certain labels begin with their bytes. */
export function namespacePath(namespace: readonly string[]): Buffer {
  return Buffer.from(namespace.map((label) => `${label}\0`).join(""), "utf8");
}

/** The labels of {@link namespacePath}. */
export function namespaceOfPath(path: Uint8Array): string[] {
  const text = Buffer.from(path.buffer, path.byteOffset, path.byteLength).toString("utf8");
  return text.split("\0").slice(0, -1);
}
