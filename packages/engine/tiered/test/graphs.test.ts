import { MemoryTier, type Tier } from "@stratigraph/core";
import { postgres } from "@stratigraph/postgres";
import { redis } from "@stratigraph/redis";
import { testGraphs, testPromises, testSaver } from "@stratigraph/testing";
import { TieredSaver, boundedMemory, type TieredSaverOptions } from "@stratigraph/tiered";
import { freshDatabase, sharedRedis } from "../../../../test/servers/shared.ts";
import { sparse, sparser } from "../../../../test/rounds.ts";

type Serde = NonNullable<TieredSaverOptions["serde"]>;

let database: Awaited<ReturnType<typeof freshDatabase>> | undefined;
let count = 0;

async function postgresTier(): Promise<Tier> {
  database ??= await freshDatabase();
  count += 1;
  return postgres({ url: database.url, schema: `s${count}` });
}

async function redisTier(): Promise<Tier> {
  return redis({ ...(await sharedRedis()), ttl: "5m" });
}

afterAll(async () => {
  await database?.drop();
});

/** Every turn finds its thread archived: between two turns everything idle for no time at all moves to the cold tier. */
class ArchivingSaver extends TieredSaver {
  override async getTuple(
    config: Parameters<TieredSaver["getTuple"]>[0],
  ): ReturnType<TieredSaver["getTuple"]> {
    await this.maintain();
    return await super.getTuple(config);
  }
}

function suites(
  name: string,
  options: () => Promise<TieredSaverOptions>,
  make: (options: TieredSaverOptions) => TieredSaver = (given) => new TieredSaver(given),
  rounds: typeof sparse | typeof sparser = sparser,
): void {
  const open = async (serde?: Serde) => {
    const saver = make({ ...(await options()), ...(serde === undefined ? {} : { serde }) });
    await saver.setup();
    return { saver, close: () => saver.end() };
  };
  testGraphs(
    name,
    Object.assign(() => open(), { withSerde: open }),
    sparser,
  );
  testPromises(name, () => open(), rounds);
  testSaver(name, () => open(), rounds);
}

suites("memory>postgres", async () => ({ hot: boundedMemory(), warm: await postgresTier() }));
suites(
  "redis>postgres",
  async () => ({ hot: await redisTier(), warm: await postgresTier() }),
  (options) => new TieredSaver(options),
  sparse,
);
suites("memory>redis>postgres, trusted", async () => ({
  hot: [boundedMemory(), await redisTier()],
  warm: await postgresTier(),
  consistency: "trusted",
}));
for (const restoreOn of ["read", "write"] as const) {
  suites(
    `memory>memory>memory, archived before every read, restored on ${restoreOn}`,
    async () => ({
      hot: boundedMemory(),
      warm: new MemoryTier(),
      cold: new MemoryTier(),
      archiveAfter: "0s",
      pause: "0ms",
      restoreOn,
    }),
    (options) => new ArchivingSaver(options, () => Date.now() + 1000),
  );
}
