import { rewindMark } from "@stratigraph/core/internal";
import { isKeptWhole, isReserved, reservedNamespaces, type HeadMove } from "@stratigraph/core/tier";
import { entryKey, parentKey } from "../contract/outline.ts";
import type { OutlineEntry } from "../contract/source.ts";

/** What one of two storages has of a thread. */
export interface Side {
  /** Its checkpoints and the records beside them, by key. */
  readonly entries: ReadonlyMap<string, OutlineEntry>;
  /** By namespace. */
  readonly heads: ReadonlyMap<string, string>;
  /** Ids of batches of pending writes, by the key of their checkpoint. */
  readonly batches: ReadonlyMap<string, ReadonlySet<string>>;
}

/** What two storages added to a thread since one of them was copied to the other. */
export interface WentOn {
  /** Whether the target has anything that the source doesn't have: checkpoints, pending writes, calls, events or moved heads. */
  readonly target: boolean;
  /** Whether the source has anything that the target doesn't have. */
  readonly source: boolean;
}

/** Whether records of a namespace mean that somebody continued the thread: checkpoints, calls and events. */
export function isOfThread(namespace: string): boolean {
  return !isReserved(namespace) || isKeptWhole(namespace);
}

/** Whether a batch is a rewind mark with which an import replaced earlier imported writes. */
export function isOfImport(taskId: string): boolean {
  const mark = rewindMark(taskId);
  return mark !== undefined && mark.made.length === 0 && mark.undoable !== true;
}

/** @param ofRuns the target's batches, without those that imports wrote */
export function wentOn(source: Side, target: Side, ofRuns = target.batches): WentOn {
  return {
    target: isBeyond(
      { ...target, entries: goingOn(target, source), batches: ofRuns },
      source,
      brought(target, source),
    ),
    source: isBeyond(source, target) || isBehind(target, source),
  };
}

/**
 * What may go on with a thread of the source. Where the conversation wasn't brought yet, calls or events that were recorded here don't,
 * unless the source has some, too: then they are two lines of them.
 */
function goingOn(target: Side, source: Side): Side["entries"] {
  if ([...target.heads.keys()].some((namespace) => !isReserved(namespace))) return target.entries;
  const known = new Set([...source.entries.values()].map(({ namespace }) => namespace));
  return new Map(
    [...target.entries].filter(([, { namespace }]) => !isReserved(namespace) || known.has(namespace)),
  );
}

/**
 * Checkpoints of the target that were brought, and pruned in the source since: those on branches that no head is on, and that no race put
 * there, and those of subgraphs whose step had ended. Whoever left such a branch here has gone on elsewhere, or moved the head, which the
 * reflog has.
 */
function brought(target: Side, source: Side): ReadonlySet<string> {
  const { entries, heads } = target;
  const tips = new Set([...heads].map(([namespace, checkpointId]) => entryKey({ namespace, checkpointId })));
  const lines = ancestorsOf(
    [...tips].flatMap((key) => entries.get(key) ?? []),
    [target],
  );
  const known = new Set([...source.entries.values()].map(({ namespace }) => namespace));
  const head = heads.get("") ?? "";
  const isBrought = (key: string, { namespace, checkpointId, lostTo }: OutlineEntry): boolean => {
    if (lostTo !== undefined) return false;
    const hasEnded = namespace.includes(":") && !known.has(namespace) && checkpointId < head;
    return hasEnded || (!tips.has(key) && !lines.has(key));
  };
  return new Set([...entries].flatMap(([key, entry]) => (isBrought(key, entry) ? [key] : [])));
}

/** The heads to move in a target where nothing was added. An existing head moves only if nobody has moved it since it was read. */
export function headMoves(
  heads: Side["heads"],
  entries: { has(key: string): boolean },
  there: Side["heads"],
): HeadMove[] {
  return [...heads].flatMap(([namespace, to]) => {
    const now = there.get(namespace);
    if (now === to) return [];
    // What packages keep may have changed there since, although the thread hasn't continued. The ids of these records grow with time.
    const isOlder = now === undefined || entries.has(entryKey({ namespace, checkpointId: now })) || now < to;
    if (isReserved(namespace) && !isOlder) return [];
    return [{ namespace, to, expected: now === undefined ? [] : [now] }];
  });
}

/** Whether `mine` has anything that `theirs` doesn't have. What is older than everything there may have been `pruned` there, too. */
function isBeyond(mine: Side, theirs: Side, pruned: ReadonlySet<string> = new Set()): boolean {
  const older = ancestorsOf(theirs.entries.values(), [mine, theirs]);
  const isHead = ({ namespace, checkpointId }: OutlineEntry) => mine.heads.get(namespace) === checkpointId;
  for (const [key, entry] of mine.entries) {
    const isThere = theirs.entries.has(key);
    if (!isThere && isOfThread(entry.namespace) && !older.has(key) && !pruned.has(key)) return true;
    // The reflog has the moves of heads. Each of its records has all moves of the one before.
    if (!isThere && entry.namespace === reservedNamespaces.reflog && isHead(entry)) return true;
    if (!isThere && (!isHead(entry) || pruned.has(key))) continue;
    const known = theirs.batches.get(key);
    for (const id of mine.batches.get(key) ?? []) if (known?.has(id) !== true) return true;
  }
  return false;
}

/** Whether `mine` has what `theirs` continued from its head, without having moved there: a copy ended early. Nobody moved that head back. */
function isBehind(mine: Side, theirs: Side): boolean {
  const moved = mine.heads.get(reservedNamespaces.reflog);
  if (moved !== undefined && moved !== theirs.heads.get(reservedNamespaces.reflog)) return false;
  return [...theirs.heads].some(([namespace, checkpointId]) => {
    const head = theirs.entries.get(entryKey({ namespace, checkpointId }));
    const now = mine.heads.get(namespace);
    if (head === undefined || now === undefined || isReserved(namespace)) return false;
    return ancestorsOf([head], [mine, theirs]).has(entryKey({ namespace, checkpointId: now }));
  });
}

/** The keys of the ancestors of some entries, as far as either side knows them. */
function ancestorsOf(entries: Iterable<OutlineEntry>, sides: readonly Side[]): ReadonlySet<string> {
  const found = new Set<string>();
  for (const entry of entries)
    for (let key = parentKey(entry); key !== undefined && !found.has(key);) {
      found.add(key);
      const parent: OutlineEntry | undefined = sides.map((side) => side.entries.get(key!)).find(Boolean);
      key = parent === undefined ? undefined : parentKey(parent);
    }
  return found;
}
