import { postgres, type ShardedTier } from "@stratigraph/postgres";
import { testTier } from "@stratigraph/testing";
import { sparser } from "../../../../../test/rounds.ts";
import { freshShards } from "./support/freshShards.ts";

// A tier over three databases holds to the contract as one over a single database does.

testTier(
  "postgres, three shards",
  async () => {
    const shards = await freshShards(3);
    const tiers: ShardedTier[] = [];
    const open = async (): Promise<ShardedTier> => {
      const tier = postgres({ shards: shards.pools });
      tiers.push(tier);
      return tier;
    };
    const tier = await open();
    await tier.setup();
    return {
      tier,
      reopen: open,
      close: async () => {
        for (const each of tiers) await each.end();
        await shards.drop();
      },
    };
  },
  {
    skipNothing: true,
    requires: ["archiveSource", "inspect", "deleteUnchanged", "tags", "status", "leases", "locks"],
    ...sparser,
  },
);
