import { DURABILITIES, type Durability } from "../graphs/durabilities.ts";
import { installedVersion, isVersionFrom } from "../installedVersion.ts";

/** Why a scenario isn't simply compared with the official MemorySaver. */
export interface OfficialException {
  /**
   * `"differs"`: the official MemorySaver is wrong, and the saver under test must differ from it.
   * `"unordered"`: LangGraph itself loses an order at random, with every saver. Everything else is compared, and the test checks that the
   * official MemorySaver does lose the order.
   * `"differs, unordered"`: as "differs", and with this durability no saver keeps the order.
   */
  kind: "differs" | "unordered" | "differs, unordered";
  reason: string;
}

interface Entry extends OfficialException {
  scenarios: readonly string[];
  durabilities: readonly Durability[];
  /** The first version of LangGraph in which this is right. Default: there is none. */
  until?: string;
}

const entries: readonly Entry[] = [
  {
    kind: "differs",
    scenarios: ["a channel that the graph no longer has, and one that is new"],
    durabilities: DURABILITIES,
    reason:
      "It stores the values of the graph that runs, and forgets a channel that this graph doesn't have, though its version is in " +
      "the checkpoint. LangGraph's validation suite and the official PostgresSaver carry such a value over from the parent.",
  },
  {
    kind: "differs",
    scenarios: ["a node that changes its state in place and returns nothing of it"],
    durabilities: ["sync"],
    reason:
      "It stores what the objects hold at the time, also of channels that nobody wrote to. Savers that store values by version, " +
      "as the official PostgresSaver, keep the one that was written.",
  },
  {
    kind: "differs",
    scenarios: ["a DeltaChannel forked in the middle", "a fork of parallel writers of a DeltaChannel"],
    durabilities: ["sync", "async"],
    until: "1.5.0",
    reason:
      "What a fork writes is stored on the checkpoint where it begins, beside what the first line wrote there, and the channel is " +
      "rebuilt from both, in both lines.",
  },
  {
    kind: "differs, unordered",
    scenarios: ["a fork of parallel writers of a DeltaChannel"],
    durabilities: ["exit"],
    until: "1.5.0",
    reason: "What holds for its forks under the other durabilities, and for parallel writers under this one.",
  },
  {
    kind: "differs",
    scenarios: [
      "one question, asked again without an answer",
      "two questions of one node",
      "parallel questions, answered one after another by id",
      "questions of several Sends, one answered before the others",
      "a run from before a subgraph that remembers",
      "a node that fails twice, resumed each time",
      "two nodes set what only one may",
      "a copy of a checkpoint",
      "copies of the first checkpoint and of the last",
      "tasks, a question, a failure",
    ],
    durabilities: ["exit"],
    until: "1.5.0",
    reason: "A run without progress puts its checkpoint again, on itself; it becomes its own parent.",
  },
  {
    kind: "unordered",
    scenarios: [
      "four parallel writers of a DeltaChannel",
      "six parallel writers of a DeltaChannel",
      "six parallel writers of a DeltaChannel, finishing in reverse",
      "five Sends into a DeltaChannel",
      "three parallel tool calls into a DeltaChannel of messages",
      "three parallel tool calls, messages without ids",
      "one of several parallel writers of a DeltaChannel fails, and is run again",
    ],
    durabilities: ["exit"],
    until: "1.5.0",
    reason:
      'Under "exit" the writes of a superstep get other task ids when they are stored, and are replayed in the order of those.',
  },
];

/** The exceptions for a version of LangGraph, by default the installed one, by "scenario, durability". */
export const officialExceptions = (
  langgraph = installedVersion("@langchain/langgraph"),
): ReadonlyMap<string, OfficialException> =>
  new Map(
    entries
      .filter(({ until }) => until === undefined || !isVersionFrom(langgraph, until))
      .flatMap(({ scenarios, durabilities, kind, reason }) =>
        scenarios.flatMap((scenario) =>
          durabilities.map((durability) => [`${scenario}, ${durability}`, { kind, reason }] as const),
        ),
      ),
  );
