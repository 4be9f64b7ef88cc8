/**
 * Runs something as if it happened at another time, and as if time passed faster: what a graph makes in a second then looks like
 * the work of minutes. It changes the clock of this process, so that nothing else may run meanwhile. Timers aren't touched.
 */
export async function asIfAt<T>(startMs: number, speed: number, work: () => Promise<T>): Promise<T> {
  const Real = globalThis.Date;
  const begun = Real.now();
  const now = () => Math.round(startMs + (Real.now() - begun) * speed);
  class Shifted extends Real {
    constructor(...given: [] | [number]) {
      super(...((given.length === 0 ? [now()] : given) as [number]));
    }
    static override now(): number {
      return now();
    }
  }
  globalThis.Date = Shifted as DateConstructor;
  try {
    return await work();
  } finally {
    globalThis.Date = Real;
  }
}
