import { sparser } from "../../../../test/rounds.ts";
import { testGraphs } from "../src/graphs/testGraphs.ts";
import { openOfficialPostgres } from "./officialPostgres.ts";

/**
 * Blobs are keyed by channel and integer version, and the first one stays: a second branch that reaches the
 * same version reads the values of the first (langgraphjs#1812, #2584).
 */
const knownFailures = [
  ...["sync", "async", "exit"].map(
    (durability) =>
      `time travel > two forks with the same integer versions keep their own values, durability ${durability}`,
  ),
  "DeltaChannel > two forks keep their own values, a snapshot every 2 updates",
];

/** It parses the serializer's bytes of the metadata as JSON. */
const serdeFailures = ["sync", "async", "exit"].map(
  (durability) => `compressing serializer > states, interrupts and metadata, durability ${durability}`,
);

testGraphs(
  "official PostgresSaver",
  Object.assign(() => openOfficialPostgres(), { withSerde: openOfficialPostgres }),
  { knownFailures: [...knownFailures, ...serdeFailures], ...sparser },
);
