import { sparser } from "../../../../test/rounds.ts";
import { testGraphs } from "../src/graphs/testGraphs.ts";
import { isAtLeast } from "../src/installedVersion.ts";
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
  "subgraph time travel > a replay gives a persistent subgraph the memory it had then",
  "updateState > an update of an old checkpoint starts a branch",
  "copy > a run goes on from the copy, and the original stays",
  "functional API > from an old checkpoint the memory of that time counts",
  "DeltaChannel > two forks keep their own values, a snapshot every 2 updates",
];

/** It orders pending writes by task id, as LangGraph before 1.5 applied them; since then they apply by task path. */
const orderFailures = isAtLeast("@langchain/langgraph", "1.5.0")
  ? [
      ...["sync", "async"].map((durability) => [3, durability] as const),
      ...["sync", "async", "exit"].map((durability) => [1000, durability] as const),
    ].map(
      ([every, durability]) =>
        `DeltaChannel > writers in parallel, a snapshot every ${every} updates, durability ${durability}`,
    )
  : [];

/** It parses the serializer's bytes of the metadata as JSON. */
const serdeFailures = ["sync", "async", "exit"].map(
  (durability) => `compressing serializer > states, interrupts and metadata, durability ${durability}`,
);

testGraphs(
  "official PostgresSaver",
  Object.assign(() => openOfficialPostgres(), { withSerde: openOfficialPostgres }),
  { knownFailures: [...knownFailures, ...orderFailures, ...serdeFailures], ...sparser },
);
