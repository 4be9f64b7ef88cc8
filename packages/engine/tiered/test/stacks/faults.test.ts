import { postgres } from "@stratigraph/postgres";
import { redis, type RedisClient } from "@stratigraph/redis";
import { TieredSaver, type TieredSaverOptions } from "@stratigraph/tiered";
import { Cluster, Redis } from "ioredis";
import { available } from "../../../../../test/servers/available.ts";
import { waitUntil } from "../../../../../test/servers/process.ts";
import { startPostgres } from "../../../../../test/servers/postgres.ts";
import { startRedis, startRedisCluster, type RedisOptions } from "../../../../../test/servers/redis.ts";
import { freshDatabase, type FreshDatabase } from "../../../../../test/servers/shared.ts";
import { allRounds } from "../../../../../test/rounds.ts";
import { moreTurns } from "./support/moreTurns.ts";
import { runsDuring } from "./support/runsDuring.ts";

// Faults in the middle of runs of an agent (fan-out, interrupts, updates; sync, async and exit) that two processes' savers
// take turns at, on Redis over Postgres: no run fails, and every state and history is what MemorySaver has.

const breaker = { openFor: "200ms", maxOpenFor: "500ms" } as const;

/** Resolves when a hot tier has answered again. */
async function moreHits(savers: readonly TieredSaver[]): Promise<void> {
  const before = counted(savers).hits;
  await waitUntil("Redis to be used again", () => counted(savers).hits > before, { timeoutMs: 20_000 });
}

/** What the savers' hot tiers have counted. */
function counted(savers: readonly TieredSaver[]): { hits: number; dropped: number } {
  const all = savers.map(({ tier }) => tier.counters[0]!);
  return {
    hits: all.reduce((sum, { hits }) => sum + hits, 0),
    dropped: all.reduce((sum, { dropped }) => sum + dropped, 0),
  };
}

/** Two stacks with connections of their own. */
async function withSavers<T>(
  hot: () => Parameters<typeof redis>[0],
  url: string,
  options: Partial<TieredSaverOptions>,
  work: (savers: readonly TieredSaver[]) => Promise<T>,
): Promise<T> {
  const savers = [0, 1].map(
    () => new TieredSaver({ hot: redis(hot()), warm: postgres({ url }), breaker, ...options }),
  );
  try {
    for (const saver of savers) await saver.setup();
    return await work(savers);
  } finally {
    await Promise.all(savers.map((saver) => saver.end()));
  }
}

describe.skipIf(!available.redis || !available.postgres)("redis>postgres", () => {
  let database: FreshDatabase;
  beforeEach(async () => {
    database = await freshDatabase();
  });
  afterEach(() => database.drop());

  /** Runs on a Redis of one's own. */
  async function onRedis(
    redisOptions: RedisOptions,
    work: (server: Awaited<ReturnType<typeof startRedis>>, savers: readonly TieredSaver[]) => Promise<void>,
  ): Promise<void> {
    const server = await startRedis(redisOptions);
    try {
      const hot = () => ({ url: server.url, ttl: "5m" }) as const;
      await withSavers(hot, database.url, {}, (savers) => work(server, savers));
    } finally {
      server.resume();
      await server.stop();
    }
  }

  // ../faults.test.ts does these three in few rounds.
  test.runIf(allRounds)("Redis killed, and restarted empty", async () => {
    await onRedis({}, async (server, savers) => {
      await runsDuring(savers, async (runs) => {
        for (let n = 0; n < 2; n += 1) {
          await moreTurns(runs, 3);
          const { dropped } = counted(savers);
          await server.kill();
          await moreTurns(runs, 6);
          await waitUntil("copies given up", () => counted(savers).dropped > dropped);
          await server.start();
          await moreHits(savers);
        }
      });
    });
  });

  test.runIf(allRounds).each([12, 60])("Redis paused for %i turns", async (turns) => {
    await onRedis({}, async (server, savers) => {
      await runsDuring(savers, async (runs) => {
        await moreTurns(runs, 3);
        server.pause();
        for (let n = 0; n < turns; n += 12) await moreTurns(runs, 12);
        server.resume();
        await moreHits(savers);
      });
    });
  });

  test.runIf(allRounds)("Redis full, and evicting", async () => {
    await onRedis({ maxmemory: "64mb" }, async (server, savers) => {
      const figure = async (name: string): Promise<number> =>
        Number(new RegExp(`${name}:(\\d+)`).exec(String(await server.command("info")))?.[1]);
      await runsDuring(savers, async (runs) => {
        await moreTurns(runs, 3);
        await server.command("config", "set", "maxmemory", (await figure("used_memory")) + 100_000);
        await waitUntil("evictions", async () => (await figure("evicted_keys")) > 5, { timeoutMs: 120_000 });
        await moreTurns(runs, 6);
        await moreHits(savers);
      });
    });
  });

  test("the password is changed", async () => {
    await onRedis({ password: "right" }, async (server, savers) => {
      const admin = new Redis(server.url);
      try {
        await runsDuring(savers, async (runs) => {
          await moreTurns(runs, 3);
          await admin.config("SET", "requirepass", "another");
          await admin.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
          // An answer that Redis gave before may still be on its way.
          await moreTurns(runs, 1);
          const { hits } = counted(savers);
          await moreTurns(runs, 6);
          expect(counted(savers).hits).toBe(hits);
          expect(counted(savers).dropped).toBeGreaterThan(0);
        });
      } finally {
        admin.disconnect();
      }
    });
  });

  test("a master of a Redis Cluster killed", async () => {
    const cluster = await startRedisCluster();
    const clients: Cluster[] = [];
    const hot = (): { client: RedisClient; ttl: "5m" } => {
      const nodes = cluster.nodes.map(({ port }) => ({ host: "127.0.0.1", port }));
      const client = new Cluster(nodes, { clusterRetryStrategy: () => 50, retryDelayOnFailover: 50 });
      client.on("error", () => undefined);
      clients.push(client);
      return { client, ttl: "5m" };
    };
    try {
      await withSavers(hot, database.url, {}, async (savers) => {
        await runsDuring(savers, async (runs) => {
          await moreTurns(runs, 3);
          await cluster.killMaster(0);
          await moreTurns(runs, 24);
          await moreHits(savers);
        });
      });
    } finally {
      for (const client of clients) client.disconnect();
      await cluster.stop();
    }
  });
});

test.skipIf(!available.redis || !available.postgres)("Postgres restarted, and crashed", async () => {
  const [warm, hot] = await Promise.all([startPostgres({ fsync: true }), startRedis()]);
  try {
    await withSavers(
      () => ({ url: hot.url, ttl: "5m" }),
      warm.url,
      {},
      async (savers) => {
        await runsDuring(savers, async (runs) => {
          for (const mode of ["fast", "immediate"] as const) {
            await moreTurns(runs, 3);
            await warm.restart({ mode });
          }
          await moreTurns(runs, 6);
        });
      },
    );
  } finally {
    await Promise.all([warm.stop(), hot.stop()]);
  }
});
