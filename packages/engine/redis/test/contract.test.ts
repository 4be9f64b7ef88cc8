import { testTier } from "@stratigraph/testing";
import { Redis } from "ioredis";
import { sparser } from "../../../../test/rounds.ts";
import { sharedRedis } from "../../../../test/servers/shared.ts";
import { redis } from "../src/index.ts";

testTier(
  "redis",
  async () => {
    const { url, prefix } = await sharedRedis();
    const client = new Redis(url);
    const open = async () => redis({ client, prefix });
    return {
      tier: await open(),
      reopen: open,
      close: async () => client.disconnect(),
    };
  },
  { requires: ["deleteUnchanged", "inspect", "tags", "status", "locks"] },
);

testTier(
  "redis, with expiry",
  async () => {
    const place = await sharedRedis();
    const tiers = new Set([redis({ ...place, ttl: "1h" })]);
    const reopen = async () => {
      const tier = redis({ ...place, ttl: "1h" });
      tiers.add(tier);
      return tier;
    };
    return {
      tier: await reopen(),
      reopen,
      close: async () => {
        for (const tier of tiers) await tier.end();
      },
    };
  },
  { requires: ["tags", "status"], ...sparser },
);
