import type { OutlineEntry } from "./source.ts";

/** The key of a checkpoint among those of its thread. */
export function entryKey({ namespace, checkpointId }: OutlineEntry): string {
  return JSON.stringify([namespace, checkpointId]);
}

/** The key of a checkpoint's parent; undefined if it has none. */
export function parentKey({ namespace, parentId }: OutlineEntry): string | undefined {
  return parentId === undefined ? undefined : JSON.stringify([namespace, parentId]);
}

/**
 * Entries with parents before their children, otherwise in the order given. Ids of LangGraph grow with time, so that usually
 * nothing is moved; ids of others may sort in any order.
 */
export function parentsFirst<Entry extends OutlineEntry>(entries: readonly Entry[]): Entry[] {
  const byKey = new Map(entries.map((entry) => [entryKey(entry), entry]));
  const placed = new Set<string>();
  const ordered: Entry[] = [];
  for (const entry of entries) ordered.push(...lineOf(byKey, entry, placed).reverse());
  return ordered;
}

/** An entry and its ancestors among `byKey`, nearest first, without those in `met`, to which they are added. */
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

/** The last entry of each namespace, of entries in the order by which a saver finds its newest checkpoint. */
export function lastOfEach(entries: readonly OutlineEntry[]): Map<string, string> {
  return new Map(entries.map(({ namespace, checkpointId }) => [namespace, checkpointId]));
}
