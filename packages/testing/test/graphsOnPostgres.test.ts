import { testGraphs } from "../src/graphs/testGraphs.ts";
import { openOfficialPostgres } from "./officialPostgres.ts";

/**
 * Blobs are keyed by channel and integer version, and the first one stays: a second branch that reaches the
 * same version reads the values of the first (langgraphjs#1812, #2584).
 */
const knownFailures = [
  "time travel > replay from an old checkpoint runs only what follows it",
  "time travel > two forks with the same integer versions keep their own values, durability sync",
  "time travel > two forks with the same integer versions keep their own values, durability async",
  "time travel > two forks with the same integer versions keep their own values, durability exit",
  "time travel > two forks of one checkpoint by plain invoke keep their own values",
  "time travel > a new input at an old checkpoint continues from there",
  "time travel > after a fork, the next turn builds on the fork and not on the longer branch",
];

testGraphs("official PostgresSaver", openOfficialPostgres, { knownFailures });
