import { MemoryTier } from "@stratigraph/core";
import { postgres } from "@stratigraph/postgres";
import { redis } from "@stratigraph/redis";
import { testDifferential } from "@stratigraph/testing";
import { TieredSaver, boundedMemory, type TieredSaverOptions } from "@stratigraph/tiered";
import { freshDatabase, sharedRedis } from "../../../../../test/servers/shared.ts";
import { sparser } from "../../../../../test/rounds.ts";

// Every stack but that of ../differential.test.ts, opened twice as two processes would: each step of a scenario is taken by the one that didn't take the last.

interface Place {
  readonly database: Awaited<ReturnType<typeof freshDatabase>>;
  readonly redis: Awaited<ReturnType<typeof sharedRedis>>;
}

const stacks: Record<string, (at: Place) => TieredSaverOptions> = {
  "memory>postgres": (at) => ({ hot: boundedMemory(), warm: postgres({ url: at.database.url }) }),
  "redis>postgres": (at) => ({
    hot: redis({ ...at.redis, ttl: "5m" }),
    warm: postgres({ url: at.database.url }),
  }),
  // A process whose invalidation gets no answer in time lets the other one read stale, as promised; on a loaded machine that
  // takes longer than the default of the breaker, and isn't what is tested here. Nor are copies that are still on their way.
  "redis>postgres, trusted": (at) => ({
    hot: redis({ ...at.redis, ttl: "5m" }),
    warm: postgres({ url: at.database.url }),
    consistency: "trusted",
    breaker: { timeout: "10s" },
  }),
};

for (const [name, options] of Object.entries(stacks)) {
  testDifferential(
    `${name}, two processes`,
    async () => {
      const at: Place = { database: await freshDatabase(), redis: await sharedRedis() };
      const savers = [new TieredSaver(options(at)), new TieredSaver(options(at))] as const;
      for (const saver of savers) await saver.setup();
      let opened = 0;
      return {
        saver: savers[0],
        second: async () => {
          for (const saver of savers) await saver.tier.idle();
          return savers[opened++ % 2 === 0 ? 0 : 1];
        },
        close: async () => {
          for (const saver of savers) await saver.end();
          await at.database.drop();
        },
      };
    },
    sparser,
  );
}

/** Between two turns everything idle for no time at all moves to the cold tier. */
class ArchivingSaver extends TieredSaver {
  override async getTuple(
    config: Parameters<TieredSaver["getTuple"]>[0],
  ): ReturnType<TieredSaver["getTuple"]> {
    await this.maintain();
    return await super.getTuple(config);
  }
}

for (const restoreOn of ["read", "write"] as const) {
  testDifferential(
    `memory>memory>memory, archived before every read, restored on ${restoreOn}`,
    async () => {
      const saver = new ArchivingSaver(
        {
          hot: boundedMemory(),
          warm: new MemoryTier(),
          cold: new MemoryTier(),
          archiveAfter: "0s",
          pause: "0ms",
          restoreOn,
        },
        () => Date.now() + 1000,
      );
      await saver.setup();
      return { saver, close: () => saver.end() };
    },
    sparser,
  );
}
