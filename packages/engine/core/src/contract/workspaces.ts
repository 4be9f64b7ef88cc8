import type { ItemAddress, ItemChange, ItemPage } from "./items.ts";
import type { Tier } from "./tier.ts";

/** A change of a workspace. The namespace is one of the workspace. */
export interface WorkspaceChange extends ItemChange {
  /** What the log says of the change: who made it, and why. Absent: the log doesn't have the change. */
  readonly note?: Uint8Array | undefined;
  /**
   * "message": only the log has it, so it has a note and may have any key. "touch": the item that is there gets a new time to live, in the
   * log too, and keeps its value and its version. Default: puts or deletes the item.
   */
  readonly as?: "message" | "touch" | undefined;
}

/** An item that has to be there at this version when a commit is made; with 0, it has to be absent. */
export interface VersionCheck extends ItemAddress {
  readonly version: number;
}

/** Changes that are made together, all or none. No two of them have the same address, messages aside. */
export interface Commit {
  /** 32 hexadecimal digits that no other commit has. */
  readonly id: string;
  readonly checks: readonly VersionCheck[];
  readonly changes: readonly WorkspaceChange[];
}

/** What became of a commit. */
export type CommitResult =
  | {
      /** The versions that the changes got, in their order. 0 for a touch, and for a deletion without a note. */
      readonly versions: readonly number[];
      /** Milliseconds since 1970, by the tier's clock; never smaller than that of an earlier commit of the workspace. */
      readonly atMs: number;
    }
  /** Which of the checks failed, by their places. Nothing was done. */
  | { readonly failed: readonly number[] };

/** A change as the log has it. */
export interface LoggedChange extends ItemAddress {
  readonly version: number;
  readonly atMs: number;
  readonly kind: "put" | "delete" | "message";
  readonly note: Uint8Array;
  /** The encoded value of an item or message. Absent in a deletion. */
  readonly value?: Uint8Array | undefined;
}

/** Other bytes for an entry of a log. */
export interface EntryBytes {
  /** The entry as it was read. */
  readonly was: LoggedChange;
  readonly note: Uint8Array;
  /** As in {@link was}: absent if it is. */
  readonly value?: Uint8Array | undefined;
}

/** Which entries of a log to read. */
export interface LogQuery {
  /** Only entries below one of these; none is the beginning of another. `[[]]`: all. */
  readonly prefixes: readonly (readonly string[])[];
  /** Only entries of this key, in the namespace that is the only prefix. */
  readonly key?: string | undefined;
  /** Only entries with a larger version. Default 0. */
  readonly after?: number | undefined;
  /** Only entries with a smaller version. */
  readonly before?: number | undefined;
  /** Only entries made until then, in milliseconds since 1970. */
  readonly untilMs?: number | undefined;
  /** Default: oldest first. */
  readonly newestFirst?: boolean | undefined;
  readonly limit: number;
}

/** The state of a workspace. */
export interface WorkspaceState {
  /** The version of the newest entry of the log; 0 without one. */
  readonly version: number;
  /** The log was trimmed up to this version: items as they were at this version or later are still known, and their entries are there. */
  readonly trimmed: number;
}

/** What a tier found of a log. */
export interface LogPage extends WorkspaceState {
  /**
   * When the entry of {@link version} was made, in milliseconds since 1970; of one that a trim removed, when the newest commit was. 0 without
   * a commit.
   */
  readonly changedAtMs: number;
  /**
   * The version of the newest entry of the log that isn't larger than {@link LogQuery.after}, whatever its namespace; 0 without one. Who has
   * read the log up to an entry, and finds another one there, knows that the log was set back, or is another one.
   */
  readonly afterVersion: number;
  /** When that entry was made; 0 without one. */
  readonly afterAtMs: number;
  /** Fewer than the limit if their values are large: then at least one. */
  readonly entries: readonly LoggedChange[];
  /** Whether there may be more. */
  readonly more: boolean;
}

/** Items as they were at a version. */
export interface ItemsAtQuery {
  readonly version: number;
  readonly prefixes: readonly (readonly string[])[];
  /** Only the item of this key, in the namespace that is the only prefix. */
  readonly key?: string | undefined;
  /** Only items after this one, in the order of the answer. */
  readonly after?: ItemAddress | undefined;
  readonly limit: number;
}

/** News of a workspace. They may be missed, so readers also look from time to time. */
export interface WorkspaceNews {
  /**
   * Resolves soon after a commit that the log has, or sooner; whenever `ofAllProcesses` changes; and when the signal is aborted. Never
   * rejects.
   */
  readonly come: Promise<void>;
  /** Whether commits of all processes are told of at present: then looking often is of no use. False: those of this process only. */
  readonly ofAllProcesses: boolean;
}

/**
 * Workspaces of a tier: items with a log. The items of a workspace are those of {@link Items} whose namespaces begin with `""` and the
 * workspace's name; here, addresses leave these two labels out. A workspace begins with its first commit. Its commits are made one after
 * another, so that versions grow in the order in which they can be seen: who has read the log up to a version misses nothing before it.
 */
export interface WorkspaceStorage {
  /**
   * Makes commits, each on its own, in their order.
   * @param options `isRepeat`: a commit whose id is among the newest 10,000 entries of the log was made already; it is answered as then
   */
  commit(
    workspace: string,
    commits: readonly Commit[],
    options?: { readonly isRepeat?: boolean },
  ): Promise<readonly CommitResult[]>;
  /** Entries, and the state in which they were read. */
  log(workspace: string, query: LogQuery): Promise<LogPage>;
  /**
   * Items in the order of the UTF-8 of their labels, and in one namespace in an order of the tier's. Those that had a time to live are left
   * out if it has passed by now. Of a version before {@link WorkspaceState.trimmed}, items are missing.
   */
  itemsAt(workspace: string, query: ItemsAtQuery): Promise<ItemPage>;
  /** Names of workspaces, in the order of their UTF-8. */
  list(query: { readonly after?: string | undefined; readonly limit: number }): Promise<readonly string[]>;
  /**
   * Removes entries up to a version that say nothing of items as they were at that version or later: messages, deletions, puts that were
   * followed by another change, and those whose time to live has passed. At most 1,000 of them. Returns how many: it is to be repeated
   * until these are none.
   */
  trim(workspace: string, version: number): Promise<number>;
  /** Deletes a workspace with its items and its log, if its newest version is this one. Returns whether it did. */
  delete(workspace: string, version: number): Promise<boolean>;
  /**
   * Replaces notes and values of entries by bytes that mean the same, and with them those of items. Versions and times stay. From then on the
   * items pass every FieldTest. Nobody is woken.
   * @returns how many were replaced: not those that are gone, have other bytes by now, or are just being changed
   */
  replace(workspace: string, entries: readonly EntryBytes[]): Promise<number>;
  /** Waits for the next commit of the workspace. Absent: readers only look. */
  changed?(workspace: string, signal: AbortSignal): WorkspaceNews;
}

/** Whether commits that were made are in the log. */
export function isLogged(commits: readonly Commit[], results: readonly CommitResult[]): boolean {
  return results.some(
    (result, place) =>
      "versions" in result &&
      commits[place]!.changes.some(({ note, as }) => note !== undefined && as !== "touch"),
  );
}

/** An address of a workspace as one of {@link Items}. */
export function addressWithin(workspace: string, { namespace, key }: ItemAddress): ItemAddress {
  return { namespace: ["", workspace, ...namespace], key };
}

/** A tier that keeps workspaces. */
export interface WorkspaceKeeper {
  readonly workspaces: WorkspaceStorage;
}

/** Whether a tier is a {@link WorkspaceKeeper}. */
export function keepsWorkspaces(tier: Tier): tier is Tier & WorkspaceKeeper {
  return (tier as Partial<WorkspaceKeeper>).workspaces !== undefined;
}
