import pg from "pg";
import { freshDatabase } from "../../../../../../test/servers/shared.ts";

/** Empty databases on the shared PostgreSQL, and a small pool for each. */
export interface FreshShards {
  readonly urls: readonly string[];
  readonly pools: readonly pg.Pool[];
  drop(): Promise<void>;
}

/** Creates so many databases. */
export async function freshShards(count: number): Promise<FreshShards> {
  const databases = await Promise.all(Array.from({ length: count }, () => freshDatabase()));
  const urls = databases.map(({ url }) => url);
  const pools = urls.map((connectionString) => new pg.Pool({ connectionString, max: 2 }));
  return {
    urls,
    pools,
    async drop() {
      await Promise.all(pools.map((pool) => pool.end()));
      await Promise.all(databases.map((database) => database.drop()));
    },
  };
}

/** Ids of threads, so many in each shard. */
export function idsByShard(
  tier: { shards: number; shardOf(threadId: string): number },
  each: number,
): string[][] {
  const ids: string[][] = Array.from({ length: tier.shards }, () => []);
  for (let n = 0; ids.some(({ length }) => length < each); n += 1) {
    const shard = ids[tier.shardOf(`thread ${n}`)]!;
    if (shard.length < each) shard.push(`thread ${n}`);
  }
  return ids;
}
