/** The id of the n-th thread that fills a database. */
export function threadName(n: number): string {
  return `user-${n}-${((n * 2_654_435_761) >>> 0).toString(16)}`;
}

/** A term that only the n-th thread has. */
export function termOf(n: number): number {
  return ((n + 1) * 2_654_435_761) | 0;
}
