import { postgres } from "@stratigraph/postgres";
import { redis } from "@stratigraph/redis";
import { testDifferential } from "@stratigraph/testing";
import { TieredSaver, boundedMemory } from "@stratigraph/tiered";
import { freshDatabase, sharedRedis } from "../../../../test/servers/shared.ts";
import { sparser } from "../../../../test/rounds.ts";

// The stack with all kinds of tiers, opened twice as two processes would: each step of a scenario is taken by the one that didn't
// take the last. Its parts
// play every scenario alone, in the packages of their tiers. The other stacks: stacks/differential.test.ts.

testDifferential(
  "memory>redis>postgres, two processes",
  async () => {
    const [database, shared] = await Promise.all([freshDatabase(), sharedRedis()]);
    const open = () =>
      new TieredSaver({
        hot: [boundedMemory(), redis({ ...shared, ttl: "5m" })],
        warm: postgres({ url: database.url }),
      });
    const savers = [open(), open()] as const;
    for (const saver of savers) await saver.setup();
    let opened = 0;
    return {
      saver: savers[0],
      second: async () => savers[opened++ % 2 === 0 ? 0 : 1],
      close: async () => {
        for (const saver of savers) await saver.end();
        await database.drop();
      },
    };
  },
  sparser,
);
