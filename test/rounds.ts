import { askedRounds } from "./run/rounds.mjs";

const asked = askedRounds();

/**
 * Returns `few` or `all`, as STRATIGRAPH_TEST_ROUNDS says: `npm test` does few rounds, `.ci/run` all. For loops of races, kills,
 * random histories and threads of a soak. A few rounds must be enough to fail: some kills must hit, and each side must win some
 * races.
 */
export function inRounds<T>(counts: { few: T; all: T }): T {
  return counts[asked];
}

/**
 * For suites of `@stratigraph/testing` on savers that are made of others, or slow: with few rounds each test with one durability,
 * so that all of them meet every saver. On memory each test runs with each, and the graphs on PostgreSQL too.
 */
export const sparse = inRounds({ few: { durabilities: "in turn" }, all: {} } as const);

/** As {@link sparse}, and with few rounds every sixth test: for suites that another one runs over nearly the same storage. */
export const sparser = inRounds({ few: { durabilities: "in turn", every: 6 }, all: {} } as const);
