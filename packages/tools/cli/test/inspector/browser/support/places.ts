import { PostgresSaver, postgres } from "@stratigraph/postgres";
import { redis } from "@stratigraph/redis";
import { TieredSaver } from "@stratigraph/tiered";
import type { TierSaver } from "@stratigraph/core";
import pg from "pg";
import { freshDatabase, sharedRedis } from "../../../../../../../test/servers/shared.ts";

/** A storage on servers that all test files share. */
export interface Place {
  readonly saver: TierSaver;
  /** Opens it once more, as another process would. */
  another(): TierSaver;
  readonly url: string;
  close(): Promise<void>;
}

const threadTags = ["user_id"];

/** An empty PostgreSQL. */
export async function onPostgres(): Promise<Place> {
  const database = await freshDatabase();
  const pools: pg.Pool[] = [];
  const another = () => {
    const pool = new pg.Pool({ connectionString: database.url, max: 4 });
    pools.push(pool);
    return new PostgresSaver({ pool, threadTags });
  };
  const saver = another();
  await saver.setup();
  return {
    saver,
    another,
    url: database.url,
    close: async () => {
      for (const pool of pools) await pool.end();
      await database.drop();
    },
  };
}

/** Redis in front of PostgreSQL. */
export async function onStack(): Promise<Place> {
  const [database, redisAddress] = await Promise.all([freshDatabase(), sharedRedis()]);
  const opened: TieredSaver[] = [];
  const another = () => {
    const saver = new TieredSaver({
      hot: redis({ ...redisAddress, ttl: "5m" }),
      warm: postgres({ url: database.url }),
      threadTags,
    });
    opened.push(saver);
    return saver;
  };
  const saver = another();
  await saver.setup();
  return {
    saver,
    another,
    url: database.url,
    close: async () => {
      for (const each of opened) await each.end();
      await database.drop();
    },
  };
}
