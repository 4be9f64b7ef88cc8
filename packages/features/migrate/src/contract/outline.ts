import { rewindMark } from "@stratigraph/core/internal";
import { isReserved, reservedNamespaces } from "@stratigraph/core/tier";
import type { OutlineEntry, SourceCheckpoint } from "./source.ts";

/** Whether records of a namespace are copied with their thread: all but values that may be lost at any time. */
export function isCopied(namespace: string): boolean {
  return namespace !== reservedNamespaces.loose;
}

/** The entries that LangGraph's checkpoints are, without the records that packages keep beside them. */
export function ofGraph<Entry extends OutlineEntry>(entries: readonly Entry[]): Entry[] {
  return entries.filter(({ namespace }) => !isReserved(namespace));
}

/** What a batch of pending writes is known by in every storage. Undefined for batches without an id, which imports and old versions wrote. */
export function batchIdOf(batch: {
  readonly taskId: string;
  readonly batchId?: string | undefined;
}): string | undefined {
  return rewindMark(batch.taskId)?.id ?? batch.batchId;
}

/** The key of a checkpoint, unique in its thread. */
export function entryKey({ namespace, checkpointId }: OutlineEntry): string {
  return JSON.stringify([namespace, checkpointId]);
}

/** The key of a checkpoint's parent; undefined if it has none. */
export function parentKey({ namespace, parentId }: OutlineEntry): string | undefined {
  return parentId === undefined ? undefined : JSON.stringify([namespace, parentId]);
}

/**
 * Entries with parents before their children, otherwise in the order given. LangGraph's ids grow with time, so usually
 * nothing moves; ids of other programs may sort in any order.
 */
export function parentsFirst<Entry extends OutlineEntry>(entries: readonly Entry[]): Entry[] {
  const byKey = new Map(entries.map((entry) => [entryKey(entry), entry]));
  const placed = new Set<string>();
  const ordered: Entry[] = [];
  for (const entry of entries) ordered.push(...lineOf(byKey, entry, placed).reverse());
  return ordered;
}

/** An entry and its ancestors in `byKey`, nearest first, up to the first that is in `met`. Adds them to `met`. */
export function lineOf<Entry extends OutlineEntry>(
  byKey: ReadonlyMap<string, Entry>,
  from: Entry | undefined,
  met: Set<string>,
): Entry[] {
  const line: Entry[] = [];
  // The set also ends a circle, which only damaged data has.
  for (let next = from; next !== undefined && !met.has(entryKey(next));) {
    met.add(entryKey(next));
    line.push(next);
    const parent: string | undefined = parentKey(next);
    next = parent === undefined ? undefined : byKey.get(parent);
  }
  return line;
}

/** The last id of each namespace. The entries must be in the order by which a saver finds its newest checkpoint. */
export function lastOfEach(entries: readonly OutlineEntry[]): Map<string, string> {
  return new Map(entries.map(({ namespace, checkpointId }) => [namespace, checkpointId]));
}

/** How many pending writes a checkpoint has, those of all branches. */
export function writeCount({ batches, writes }: Pick<SourceCheckpoint, "batches" | "writes">): number {
  return batches === undefined ? writes.length : batches.reduce((sum, batch) => sum + batch.writes.length, 0);
}
