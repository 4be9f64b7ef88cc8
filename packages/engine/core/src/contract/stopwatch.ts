/**
 * Tells how many milliseconds have passed since it was started, by the clock that says more: one stands still while a machine sleeps, the
 * other can be set. For a process that asks whether it was stopped for so long that another one took its place.
 */
export function stopwatch(): () => number {
  const [begunMs, begunDateMs] = [performance.now(), Date.now()];
  return () => Math.max(performance.now() - begunMs, Date.now() - begunDateMs);
}

/** A stopwatch of what hasn't begun: longer than any time. */
export const unstarted = (): number => Number.POSITIVE_INFINITY;
