/** A summary, with the checkpoint from which it counts. */
interface Counted {
  readonly since?: string | undefined;
}

/** Whether all are counted from the same checkpoint. */
export function alike(found: readonly Counted[]): boolean {
  return found.every(({ since }) => since === found[0]!.since);
}

/** The least number of a column. Undefined if it says nothing: all are equal, or aren't counted from the same checkpoint. */
export function leastOf<T extends Counted>(
  found: readonly T[],
  numberOf: (summary: T) => number,
): number | undefined {
  const numbers = found.map(numberOf);
  const least = Math.min(...numbers);
  return alike(found) && numbers.some((each) => each !== least) ? least : undefined;
}
