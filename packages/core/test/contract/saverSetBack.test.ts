import { TierSaver } from "@stratigraph/core";
import { setBackTier } from "../../../../test/setBack/setBackTier.ts";
import { testSetBack } from "../../../../test/setBack/testSetBack.ts";

testSetBack("memory", async () => {
  const tier = setBackTier();
  return {
    open: async (options) => new TierSaver(tier, options),
    mark: async () => tier.mark,
    setBack: async (mark) => await tier.setBack(mark as number),
    close: async () => {},
  };
});
