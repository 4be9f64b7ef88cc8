/**
 * Waits for a promise of the user's code, but not for ever.
 * @param limitMs how long at most, in milliseconds. The wait ends earlier if nothing is under way in the process any more, because then
 * the promise never settles
 * @param unsettled makes the error from the reason why the wait ended
 */
export async function settle<T>(
  promise: Promise<T>,
  limitMs: number,
  unsettled: (why: string) => Error,
): Promise<T> {
  let end = (): void => undefined;
  const limit = new Promise<never>((_, reject) => {
    const idle = (): void => reject(unsettled("nothing is under way any more that could settle it"));
    const late = (): void => reject(unsettled(`it took longer than ${limitMs / 1000} s`));
    // Node ends a process in which nothing is under way, without a word, whatever is awaited.
    process.once("beforeExit", idle);
    const timer = setTimeout(late, limitMs).unref();
    end = () => {
      process.off("beforeExit", idle);
      clearTimeout(timer);
    };
  });
  try {
    return await Promise.race([promise, limit]);
  } finally {
    end();
  }
}
