import type { PgQuery } from "./client.ts";

/** A heavy statement may take this many times as long as others. */
const heavyFactor = 6;
/** A statement that timed out before may take this many times as long: it may be slow rather than lost. */
const againFactor = 3;
/** The slowest connection that is expected, in bytes per millisecond: a large put has more time accordingly. */
const bytesPerMs = 1000;
/** The longest delay that a timer can have, in milliseconds. */
const longestTimerMs = 2 ** 31 - 1;

/**
 * How long a statement may take once it has a connection, in milliseconds.
 * @param statementTimeoutMs the limit of an ordinary statement that sends few bytes
 * @param timeouts how often this call has timed out already
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

/** The server didn't answer in time. */
export class NoAnswerError extends Error {
  constructor(ms: number) {
    super(`no answer within ${Math.round(ms)} ms`);
    this.name = "NoAnswerError";
  }
}

/** A statement waited in vain for a connection of a pool that had all of them in use. */
export class FullPoolError extends Error {
  /** How many connections the pool has. */
  readonly connections: number;

  constructor(connections: number, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.name = "FullPoolError";
    this.connections = connections;
  }
}

/**
 * Settles as `promise` does if it settles within `ms` milliseconds.
 * @param since returns the instant from which `ms` count; it is called again whenever they have passed. Default: from now
 * @throws NoAnswerError
 */
export function within<T>(promise: Promise<T>, ms: number, since?: () => number): Promise<T> {
  const startedAt = performance.now();
  // Promise.race would cost each statement more.
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
