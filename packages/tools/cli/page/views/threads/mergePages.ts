/** An item of a list, identified by a thread's id. */
export interface Listed {
  readonly thread: string;
}

/** The list with its newest page replaced. Threads on that page are removed further down. */
export function mergePages<T extends Listed>(newest: readonly T[], known: readonly T[]): T[] {
  const fresh = new Set(newest.map(({ thread }) => thread));
  return [...newest, ...known.filter(({ thread }) => !fresh.has(thread))];
}

/**
 * How many threads of the newest page are new, or differ in any field from the list. The time of the last write isn't enough: it may
 * be exact only to the minute, and within that minute a run can end or ask, which changes the head or `waits`.
 */
export function changes<T extends Listed>(newest: readonly T[], known: readonly T[]): number {
  const before = new Map(known.map((item) => [item.thread, JSON.stringify(item)]));
  return newest.filter((item) => before.get(item.thread) !== JSON.stringify(item)).length;
}
