import { redis, type CacheOptions, type CheckpointerConfig, type TierSaver } from "stratigraph";
import { afterAll, beforeAll } from "vitest";
import { query } from "../../../../test/servers/postgres.ts";
import { allRounds } from "../../../../test/rounds.ts";
import { freshDatabase, sharedRedis } from "../../../../test/servers/shared.ts";
import { tracedWhile } from "../../../../test/tracedWhile.ts";
import { testCache } from "../../../tools/testing/src/store/testCache.ts";
import { createCheckpointer } from "../src/createCheckpointer.ts";

let database: Awaited<ReturnType<typeof freshDatabase>>;
const savers: TierSaver[] = [];

beforeAll(async () => {
  database = await freshDatabase();
});

afterAll(async () => {
  for (const saver of savers) await saver.end();
  await database.drop();
});

async function opened(config: CheckpointerConfig | string) {
  const saver = await createCheckpointer(config);
  savers.push(saver);
  return (options?: CacheOptions) => saver.cache(options);
}

const later = async (): Promise<void> =>
  void (await query(
    database.url,
    "update stratigraph.cache_entries set used_at = used_at - interval '2 minutes'",
  ));

// A stack has both: in few rounds it stands for them.
if (allRounds) {
  testCache(
    "PostgreSQL",
    async () => {
      return { cache: await opened(database.url), other: await opened(database.url), later };
    },
    tracedWhile,
  );

  testCache(
    "Redis",
    async () => {
      const { url, prefix } = await sharedRedis();
      const open = () => opened({ redis: url, prefix });
      return { cache: await open(), other: await open() };
    },
    tracedWhile,
  );
}

testCache(
  "a stack",
  async () => {
    const { url, prefix } = await sharedRedis();
    const open = () => opened({ hot: [redis({ url, prefix })], warm: database.url });
    return { cache: await open(), other: await open(), limits: "of each storage" };
  },
  tracedWhile,
);
