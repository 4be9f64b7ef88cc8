import { MemoryTier } from "@stratigraph/core";
import { testTier } from "@stratigraph/testing";
import { TierStack, memory } from "@stratigraph/tiered";

const close = async (): Promise<void> => {};

function suite(name: string, open: () => TierStack, again?: (warm: TierStack) => TierStack): void {
  testTier(name, async () => {
    const tier = open();
    return { tier, reopen: async () => again?.(tier) ?? tier, close };
  });
}

suite("one tier", () => new TierStack({ warm: new MemoryTier() }));
suite("memory>memory", () => new TierStack({ hot: memory(), warm: new MemoryTier() }));
suite(
  "memory>memory, trusted",
  () => new TierStack({ hot: memory(), warm: new MemoryTier(), consistency: "trusted" }),
);
suite(
  "memory>memory>memory",
  () => new TierStack({ hot: memory(), warm: new MemoryTier(), cold: new MemoryTier() }),
);
suite(
  "a stack over a stack, two processes",
  () => new TierStack({ hot: memory(), warm: new TierStack({ hot: memory(), warm: new MemoryTier() }) }),
  (warm) => new TierStack({ hot: memory(), warm }),
);
