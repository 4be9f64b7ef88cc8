import { MemoryTier, TierSaver } from "@stratigraph/core";
import { testWorkspace } from "./suite.ts";

testWorkspace("memory", async () => {
  const tier = new MemoryTier();
  return { saver: new TierSaver(tier), other: new TierSaver(tier) };
});
