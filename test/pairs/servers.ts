import { postgres } from "@stratigraph/postgres";
import { redis } from "@stratigraph/redis";
import { Redis } from "ioredis";
import pg from "pg";
import { freshDatabase, sharedRedis } from "../servers/shared.ts";
import { postgresBackups } from "../setBack/postgresBackups.ts";
import { redisBackups } from "../setBack/redisBackups.ts";
import { realTier } from "../simulation/realTier.ts";
import type { World } from "../simulation/world.ts";
import {
  alone,
  pack,
  stackOf,
  type Reached,
  type FaultyServer,
  type Storage,
  type ServerStorage,
} from "./storages.ts";

/**
 * Storages on real servers. Each is empty when a play begins. The servers' clocks are real, so a play's clock is set to their time at its
 * beginning.
 */
export interface Servers {
  readonly storages: Record<ServerStorage, (world: World) => Storage>;
  close(): Promise<void>;
}

/** Opens clients of a PostgreSQL and a Redis. */
export async function openServers(): Promise<Servers> {
  const [database, { url, prefix }] = await Promise.all([freshDatabase(), sharedRedis()]);
  const pool = new pg.Pool({ connectionString: database.url, max: 4 });
  const client = new Redis(url);
  await postgres({ pool }).setup();
  const rows = postgresBackups(database.url);
  const keys = redisBackups(client, prefix);
  const noRows = await rows.mark();

  const faultyServerOf = (
    world: World,
    backups: typeof rows,
    lose: () => Promise<unknown>,
  ): FaultyServer => ({
    away: undefined,
    mark: () => world.really(() => backups.mark()),
    setBack: (mark) => world.really(() => backups.setBack(mark)),
    lose: () => world.really(lose),
  });
  const onPostgres = (world: World): Reached => {
    const server = world.machine("postgres");
    return {
      faulty: faultyServerOf(world, rows, () => rows.setBack(noRows)),
      reach: (process) => world.connect(process, server, realTier(world, postgres({ pool }))),
    };
  };
  const onRedis = (world: World, ttl?: "1h"): Reached => {
    const server = world.machine("redis");
    return {
      faulty: faultyServerOf(world, keys, () => keys.setBack([])),
      reach: (process) => world.connect(process, server, realTier(world, redis({ client, prefix, ttl }))),
    };
  };
  const empty = (world: World, storage: Storage): Storage => ({
    ...storage,
    prepare: async () => {
      for (const server of [...storage.owners, storage.hot]) await server?.lose();
      world.clock.beganAtMs = await world.really(() => Date.now());
    },
  });
  const stack = (world: World, trusted: boolean): Storage =>
    stackOf(
      [onRedis(world, "1h"), onPostgres(world), pack(world, "cold")],
      trusted ? { consistency: "trusted" } : {},
    );
  return {
    storages: {
      postgres: (world) => empty(world, alone(onPostgres(world))),
      redis: (world) => empty(world, alone(onRedis(world))),
      "redis>postgres>pack": (world) => empty(world, stack(world, false)),
      "redis>postgres>pack, trusted": (world) => empty(world, stack(world, true)),
    },
    close: async () => {
      client.disconnect();
      await pool.end();
      await database.drop();
    },
  };
}
