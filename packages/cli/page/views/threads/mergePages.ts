/** Something in a list that is known by a thread's id. */
export interface Listed {
  readonly thread: string;
}

/** The list with its newest page taken anew: what came to the top isn't further down any more. */
export function mergePages<T extends Listed>(newest: readonly T[], known: readonly T[]): T[] {
  const fresh = new Set(newest.map(({ thread }) => thread));
  return [...newest, ...known.filter(({ thread }) => !fresh.has(thread))];
}

/**
 * How many of the newest page are new, or differ from what is listed in anything: the time of the last write may be told to
 * the minute, and a run that ends or asks within it has another head, or waits.
 */
export function changes<T extends Listed>(newest: readonly T[], known: readonly T[]): number {
  const before = new Map(known.map((item) => [item.thread, JSON.stringify(item)]));
  return newest.filter((item) => before.get(item.thread) !== JSON.stringify(item)).length;
}
