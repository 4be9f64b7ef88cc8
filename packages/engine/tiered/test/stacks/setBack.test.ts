import { MemoryTier } from "@stratigraph/core";
import { TieredSaver, boundedMemory } from "@stratigraph/tiered";
import { setBackTier, type SetBackTier } from "../../../../../test/setBack/setBackTier.ts";
import { testSetBack, type SetBackStorage } from "../../../../../test/setBack/testSetBack.ts";

// Only the warm tier is set back: the hot ones still have what it lost, and so has the memory of the processes.

function stack(
  consistency: "verified" | "trusted",
  more: () => object = () => ({}),
): () => Promise<SetBackStorage> {
  return async () => {
    const warm: SetBackTier = setBackTier();
    const hot = new MemoryTier();
    const others = more();
    let now = Date.now();
    const savers: TieredSaver[] = [];
    const idle = async (): Promise<unknown> => await Promise.all(savers.map(({ tier }) => tier.idle()));
    return {
      open: async (options) => {
        const tiers = { hot: [boundedMemory(), hot], warm, ...others };
        const saver = new TieredSaver({ ...tiers, consistency, ...options }, () => now);
        savers.push(saver);
        return saver;
      },
      mark: async () => {
        await idle();
        return warm.mark;
      },
      setBack: async (mark) => {
        await idle();
        await warm.setBack(mark as number);
        // Until its time is up, a copy is believed without asking the warm tier.
        now += 3_600_000;
      },
      close: idle as () => Promise<never>,
    };
  };
}

testSetBack("a stack, verified", stack("verified"));
testSetBack("a stack, trusted", stack("trusted"));
testSetBack(
  "a stack with an archive",
  stack("verified", () => ({ cold: new MemoryTier() })),
);
