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
  let ends: (() => void) | undefined;
  const silence = new Promise<never>((_, reject) => {
    const wait = (left: number): void => {
      timer = setTimeout(() => {
        look = setImmediate(() => (left === 1 ? reject(late()) : wait(left - 1)));
      }, timeoutMs / looks);
    };
    wait(looks);
    ends = signal && onAbort(signal, () => reject(signal.reason as Error));
  });
  try {
    return await Promise.race([call(), silence]);
  } finally {
    clearTimeout(timer);
    clearImmediate(look);
    ends?.();
  }
}

const timeIsUp = new Error("time is up");

/** Waits as {@link answerWithin} does. @returns whether `work` ended in time @throws what `work` throws */
export async function endsWithin(timeoutMs: number, work: () => unknown): Promise<boolean> {
  try {
    const call = async (): Promise<unknown> => await work();
    await answerWithin(timeoutMs, call, () => timeIsUp);
    return true;
  } catch (error) {
    if (error === timeIsUp) return false;
    throw error;
  }
}

/** What is done when a signal is aborted. However many wait for a signal, it has one listener: Node warns of more than ten. */
class Acts extends Set<() => void> {
  handleEvent(): void {
    for (const act of this) act();
  }
}

const actsOf = new WeakMap<AbortSignal, Acts>();

function onAbort(signal: AbortSignal, act: () => void): () => void {
  const acts = actsOf.get(signal) ?? new Acts();
  actsOf.set(signal, acts);
  acts.add(act);
  signal.addEventListener("abort", acts);
  return () => {
    acts.delete(act);
    if (acts.size === 0) signal.removeEventListener("abort", acts);
  };
}
