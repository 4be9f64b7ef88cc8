/** How many looks for an answer are spread evenly over the time that it may take. */
const looks = 4;

/**
 * Makes a call, for a bounded time. An answer that comes later is ignored.
 *
 * A timer alone would take this process's own work for silence: after a callback that took longer than the limit, the timer
 * fires before the answers that came meanwhile are read. So the limit is waited for in parts, and after each one the event loop
 * reads what has arrived. However long a callback takes, it uses up one part; silence uses up all of them.
 *
 * @param timeoutMs milliseconds in which the event loop was free to read an answer
 * @param late makes the error that is thrown when time is up
 * @param signal ends the wait when it is aborted; the call goes on
 * @throws what `call` and `late` throw; the signal's reason
 */
export async function answerWithin<T>(
  timeoutMs: number,
  call: () => Promise<T>,
  late: () => Error,
  signal?: AbortSignal,
): Promise<T> {
  signal?.throwIfAborted();
  let timer: NodeJS.Timeout | undefined;
  let look: NodeJS.Immediate | undefined;
  let stop = (): void => {};
  const silence = new Promise<never>((_, reject) => {
    const wait = (left: number): void => {
      timer = setTimeout(() => {
        look = setImmediate(() => (left === 1 ? reject(late()) : wait(left - 1)));
      }, timeoutMs / looks);
    };
    wait(looks);
    stop = () => reject(signal?.reason as Error);
    signal?.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([call(), silence]);
  } finally {
    clearTimeout(timer);
    clearImmediate(look);
    signal?.removeEventListener("abort", stop);
  }
}
