import type { PgQuery } from "./client.ts";

/** How many times as long as others a heavy statement may take. */
const heavyFactor = 6;
/** How many times as long a statement may take that ran out of time before: it may be slow rather than lost. */
const againFactor = 3;
/** What every connection carries at least, in bytes a millisecond: a large put may take longer by that. */
const bytesPerMs = 1000;
/** The longest time that timers take, in milliseconds. */
const longestTimerMs = 2 ** 31 - 1;

/**
 * How long a statement may take once it has a connection, in milliseconds.
 * @param statementTimeoutMs what an ordinary one with no bytes to speak of may take
 * @param timeouts how often this call ran out of time already
 */
export function timeoutMsOf(
  { values = [], heavy }: PgQuery,
  statementTimeoutMs: number,
  timeouts: number,
): number {
  const bytes = values.reduce<number>(
    (sum, value) => sum + (value instanceof Uint8Array ? value.length : 0),
    0,
  );
  const ms =
    (statementTimeoutMs * (heavy === true ? heavyFactor : 1) + bytes / bytesPerMs) *
    (timeouts === 0 ? 1 : againFactor);
  return Math.min(Math.ceil(ms), longestTimerMs);
}

/** No answer came in time. */
export class NoAnswerError extends Error {
  constructor(ms: number) {
    super(`no answer within ${Math.round(ms)} ms`);
    this.name = "NoAnswerError";
  }
}

/**
 * What a promise comes to, if it does so in time.
 * @param since from when `ms` count, asked again when they are over; default: from now
 * @throws NoAnswerError
 */
export function within<T>(promise: Promise<T>, ms: number, since?: () => number): Promise<T> {
  const startedAt = performance.now();
  // Not a race of promises: this one costs each statement less.
  return new Promise<T>((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const look = (): void => {
      const left = Math.max(startedAt, since?.() ?? 0) + ms - performance.now();
      if (left < 1) reject(new NoAnswerError(ms));
      else timer = setTimeout(look, Math.min(left, longestTimerMs));
    };
    look();
    const over =
      <A>(then: (outcome: A) => void) =>
      (outcome: A): void => {
        clearTimeout(timer);
        then(outcome);
      };
    promise.then(over(resolve), over(reject));
  });
}
