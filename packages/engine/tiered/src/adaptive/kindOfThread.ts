/** How a thread was used: read, or written to. */
export type Use = "read" | "write";

/** What is remembered of a thread's uses: enough to find out its kind. */
export interface ThreadUses {
  /** When it was last used, in milliseconds since 1970. */
  readonly atMs: number;
  readonly last: Use;
  /** An estimate of the memory that its copy takes, in bytes. */
  readonly bytes: number;
  /** How often it came back after it wasn't used for longer than the tier's `ttl`. */
  readonly returns: number;
  /** After how long it last came back, in multiples of the `ttl`; 0 if it never did. */
  readonly returnedAfter: number;
  /** How often it was used since then. */
  readonly usesSince: number;
}

/** How many kinds of threads there are. */
export const kindsOfThreads = 80;

/**
 * The kind of a thread, a whole number below {@link kindsOfThreads}. Threads of one kind were last used in the same way, came back about as
 * often and after about as long, and either all or none of them were used more than twice since. Times are in multiples of the `ttl`, so
 * that the kinds fit minutes as well as days.
 */
export function kindOfThread({ last, returns, returnedAfter, usesSince }: ThreadUses): number {
  const parts: readonly [place: number, places: number][] = [
    [last === "read" ? 0 : 1, 2],
    [placeOf(returnedAfter, [1, 4, 24, 144]), 5],
    [placeOf(returns, [1, 2, 4]), 4],
    [usesSince > 2 ? 1 : 0, 2],
  ];
  return parts.reduce((kind, [place, places]) => kind * places + place, 0);
}

/** How many of the ascending `bounds` a value reaches. */
function placeOf(value: number, bounds: readonly number[]): number {
  return bounds.filter((bound) => value >= bound).length;
}
