import { MemorySaver, MemoryTier, TierSaver } from "@stratigraph/core";
import { testGraphs, testPromises, testSaver } from "@stratigraph/testing";
import { inRounds } from "../../../../test/rounds.ts";

const open = async (serde?: ConstructorParameters<typeof MemorySaver>[0]) => ({
  saver: new MemorySaver(serde),
  close: async () => undefined,
});

testGraphs(
  "core MemorySaver",
  Object.assign(() => open(), { withSerde: open }),
  { durabilities: inRounds({ few: "in turn", all: "each" }) },
);
// Newest first is by checkpoint id: LangGraph.js compares ids in `before`, also across namespaces.
testSaver("core MemorySaver", () => open(), { knownFailures: ["list_uses_checkpoint_timestamp_not_id"] });
testPromises("core TierSaver over memory", async () => {
  const tier = new MemoryTier();
  const second = async () => new TierSaver(tier);
  return { saver: await second(), second, close: async () => undefined };
});
