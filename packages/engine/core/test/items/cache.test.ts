import { testCache } from "../../../../tools/testing/src/store/testCache.ts";
import { MemoryTier, TierSaver } from "../../src/index.ts";

testCache("memory", async () => {
  const tier = new MemoryTier();
  const open = (options = {}) => new TierSaver(tier).cache(options);
  return { cache: open, other: open };
});
