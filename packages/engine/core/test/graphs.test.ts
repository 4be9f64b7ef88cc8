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
testSaver("core MemorySaver", () => open());
testPromises("core TierSaver over memory", async () => {
  const tier = new MemoryTier();
  const second = async () => new TierSaver(tier);
  return { saver: await second(), second, close: async () => undefined };
});
