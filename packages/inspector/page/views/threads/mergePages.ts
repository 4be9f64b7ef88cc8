/** Something in a list that is known by a thread's id and the time of its last write. */
export interface Listed {
  readonly thread: string;
  readonly writtenAt: string;
}

/** The list with its newest page taken anew: what came to the top isn't further down any more. */
export function mergePages<T extends Listed>(newest: readonly T[], known: readonly T[]): T[] {
  const fresh = new Set(newest.map(({ thread }) => thread));
  return [...newest, ...known.filter(({ thread }) => !fresh.has(thread))];
}

/** How many of the newest page are new, or were written to since they were listed. */
export function changes(newest: readonly Listed[], known: readonly Listed[]): number {
  const before = new Map(known.map(({ thread, writtenAt }) => [thread, writtenAt]));
  return newest.filter(({ thread, writtenAt }) => before.get(thread) !== writtenAt).length;
}
