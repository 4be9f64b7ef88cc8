import { askedRounds } from "./run/rounds.mjs";

const asked = askedRounds();

/**
 * One of two, as STRATIGRAPH_TEST_ROUNDS says: `few`, as in `npm test`, or `all`, as in `.ci/run`. For what is done again and again:
 * races, kills, random histories, threads of a soak. Few must be enough to fail: kills that hit, races
 * that either side wins.
 */
export function inRounds<T>(counts: { few: T; all: T }): T {
  return counts[asked];
}

/**
 * For suites of `@stratigraph/testing` on savers that are made of others, or slow: with few rounds each test with one durability,
 * so that all of them meet every saver. On memory each test runs with each, and the graphs on PostgreSQL too.
 */
export const sparse = inRounds({ few: { durabilities: "in turn" }, all: {} } as const);
