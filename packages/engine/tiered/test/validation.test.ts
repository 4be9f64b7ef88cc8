import { deltaChannelHistoryTests, specTest } from "@langchain/langgraph-checkpoint-validation";
import { MemoryTier, type Tier } from "@stratigraph/core";
import { postgres } from "@stratigraph/postgres";
import { redis } from "@stratigraph/redis";
import { TieredSaver, boundedMemory, type TieredSaverOptions } from "@stratigraph/tiered";
import { emptySchema } from "../../../../test/servers/emptySchema.ts";
import { query } from "../../../../test/servers/postgres.ts";
import { allRounds } from "../../../../test/rounds.ts";
import { freshDatabase, sharedRedis } from "../../../../test/servers/shared.ts";

let database: Awaited<ReturnType<typeof freshDatabase>> | undefined;

/** A tier that holds nothing. Tests follow one another, so one schema does for all. */
async function postgresTier(): Promise<Tier> {
  database ??= await freshDatabase();
  const tier = postgres({ url: database.url });
  await tier.setup();
  await query(database.url, emptySchema("stratigraph"));
  return tier;
}

async function redisTier(): Promise<Tier> {
  return redis({ ...(await sharedRedis()), ttl: "5m" });
}

afterAll(async () => {
  await database?.drop();
});

function official(name: string, options: () => Promise<TieredSaverOptions>): void {
  const initializer = {
    checkpointerName: name,
    createCheckpointer: async () => {
      const saver = new TieredSaver(await options());
      await saver.setup();
      return saver;
    },
    destroyCheckpointer: (saver: TieredSaver) => saver.end(),
  };
  specTest(initializer);
  deltaChannelHistoryTests(initializer);
}

official("memory>memory>memory", async () => ({
  hot: boundedMemory(),
  warm: new MemoryTier(),
  cold: new MemoryTier(),
}));
if (allRounds) {
  official("memory>redis>postgres", async () => ({
    hot: [boundedMemory(), await redisTier()],
    warm: await postgresTier(),
  }));
  official("memory>memory", async () => ({ hot: boundedMemory(), warm: new MemoryTier() }));
  official("memory>postgres", async () => ({ hot: boundedMemory(), warm: await postgresTier() }));
  official("memory>postgres, trusted", async () => ({
    hot: boundedMemory(),
    warm: await postgresTier(),
    consistency: "trusted",
  }));
  official("redis>postgres", async () => ({ hot: await redisTier(), warm: await postgresTier() }));
}
