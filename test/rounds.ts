import { askedRounds } from "./run/rounds.mjs";

const asked = askedRounds();

/**
 * Returns `few`, `all` or `soak`, as STRATIGRAPH_TEST_ROUNDS says: `npm test` does few rounds, `.ci/run` all of some files, and `pnpm soak`
 * those that no change waits for; where no such count is given, it does all. For loops of races, kills, random histories and threads. A few rounds must
 * be enough to fail: some kills must hit, and each side must win some races.
 */
export function inRounds<T>(counts: { few: T; all: T; soak?: T }): T {
  return asked === "soak" && "soak" in counts ? (counts.soak as T) : counts[asked === "few" ? "few" : "all"];
}

/** Whether this isn't `npm test` alone: for what another test does on nearly the same storage, or what takes long and breaks rarely. */
export const allRounds = inRounds({ few: false, all: true });

/**
 * For suites of `@stratigraph/testing` on savers that are made of others, or slow: with few rounds every third test, each with one
 * durability, so that all of them meet every saver. Savers begin with different tests. On memory every test runs, graphs with each durability.
 */
export const sparse = inRounds({ few: { durabilities: "in turn", every: 3 }, all: {} } as const);

/**
 * As {@link sparse}, but with few rounds every twelfth test, and every twelfth pair of the ids of any text: for suites that another one runs over
 * nearly the same storage.
 */
export const sparser = inRounds({
  few: { durabilities: "in turn", every: 12 },
  all: { durabilities: "in turn", every: 2 },
  soak: {},
} as const);
