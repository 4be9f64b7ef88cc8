import { MemoryTier } from "@stratigraph/core";
import { FaultyTier, testTier } from "@stratigraph/testing";

const close = async (): Promise<void> => {};

testTier("memory", async () => {
  const tier = new MemoryTier();
  return { tier, reopen: async () => tier, close };
});

testTier("memory behind a FaultyTier without faults", async () => {
  const tier = new FaultyTier(new MemoryTier());
  return { tier, reopen: async () => tier, close };
});
