/** Looks for an answer, evenly spread over the time that it may take. */
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
 */
export async function answerWithin<T>(
  timeoutMs: number,
  call: () => Promise<T>,
  late: () => Error,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  let look: NodeJS.Immediate | undefined;
  const silence = new Promise<never>((_, reject) => {
    const wait = (left: number): void => {
      timer = setTimeout(() => {
        look = setImmediate(() => (left === 1 ? reject(late()) : wait(left - 1)));
      }, timeoutMs / looks);
    };
    wait(looks);
  });
  try {
    return await Promise.race([call(), silence]);
  } finally {
    clearTimeout(timer);
    clearImmediate(look);
  }
}
