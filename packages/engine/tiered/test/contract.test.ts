import { MemoryTier, type Tier } from "@stratigraph/core";
import { postgres } from "@stratigraph/postgres";
import { redis } from "@stratigraph/redis";
import { testTier } from "@stratigraph/testing";
import { TierStack, boundedMemory } from "@stratigraph/tiered";
import { inRounds, sparser } from "../../../../test/rounds.ts";
import { freshDatabase, sharedRedis } from "../../../../test/servers/shared.ts";

/** `open` is called twice: the second stack has its own in-process tiers, as another process has. */
function suite(name: string, open: () => () => TierStack): void {
  testTier(
    name,
    async () => {
      const stack = open();
      return { tier: stack(), reopen: async () => stack(), close: async () => {} };
    },
    sparser,
  );
}

suite("one tier", () => {
  const warm = new MemoryTier();
  return () => new TierStack({ warm });
});

describe.each(["verified", "trusted"] as const)("%s", (consistency) => {
  suite("memory>memory, the hot one shared", () => {
    const [hot, warm] = [new MemoryTier(), new MemoryTier()];
    return () => new TierStack({ hot, warm, consistency });
  });
});

suite("memory>memory, a hot one each", () => {
  const warm = new MemoryTier();
  return () => new TierStack({ hot: boundedMemory(), warm });
});

suite("memory>memory>memory", () => {
  const [warm, cold] = [new MemoryTier(), new MemoryTier()];
  return () => new TierStack({ hot: boundedMemory(), warm, cold });
});

suite("a stack over a stack", () => {
  const warm = new MemoryTier();
  return () => new TierStack({ hot: boundedMemory(), warm: new TierStack({ hot: boundedMemory(), warm }) });
});

const verified = { name: "memory>redis>postgres", options: {} } as const;
const adaptive = {
  name: "memory>redis>postgres, trusted, with an adaptive ttl",
  options: { consistency: "trusted", adaptiveTtl: true },
} as const;

describe.each(inRounds({ few: [verified], all: [verified, adaptive] }))("$name", ({ name, options }) => {
  testTier(
    name,
    async () => {
      const database = await freshDatabase();
      const { url, prefix } = await sharedRedis();
      const stacks: TierStack[] = [];
      const open = async (): Promise<Tier> => {
        const hot = [boundedMemory(), redis({ url, prefix, ttl: "5m" })];
        const stack = new TierStack({ hot, warm: postgres({ url: database.url }), ...options });
        stacks.push(stack);
        await stack.setup();
        return stack;
      };
      const close = async (): Promise<void> => {
        await Promise.all(stacks.map((stack) => stack.end()));
        await database.drop();
      };
      return { tier: await open(), reopen: open, close };
    },
    sparser,
  );
});
