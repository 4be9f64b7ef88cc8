import { TierSaver } from "@stratigraph/core";
import { setBackTier } from "../../../../../test/setBack/setBackTier.ts";
import { testSetBack, type SetBackStorage } from "../../../../../test/setBack/testSetBack.ts";

async function setup(): Promise<SetBackStorage> {
  const tier = setBackTier();
  return {
    open: async (options) => new TierSaver(tier, options),
    mark: async () => tier.mark,
    setBack: async (mark) => await tier.setBack(mark as number),
    close: async () => {},
  };
}

testSetBack("memory", setup, { durabilities: ["sync", "async", "exit"] });
