/** Where counting started. */
interface Counted {
  readonly since?: string | undefined;
}

/** Whether all are counted from the same checkpoint on. */
export function alike(found: readonly Counted[]): boolean {
  return found.every(({ since }) => since === found[0]!.since);
}

/** The least of a column, where it says something: more than one row, counted alike, and not all the same. */
export function leastOf<T extends Counted>(
  found: readonly T[],
  numberOf: (summary: T) => number,
): number | undefined {
  const numbers = found.map(numberOf);
  const least = Math.min(...numbers);
  return alike(found) && numbers.some((each) => each !== least) ? least : undefined;
}
