import { postgres } from "@stratigraph/postgres";
import { redis } from "@stratigraph/redis";
import { testGraphs, testPromises } from "@stratigraph/testing";
import { TieredSaver, boundedMemory, type TierStackOptions } from "@stratigraph/tiered";
import { freshDatabase, sharedRedis } from "../../../../../test/servers/shared.ts";
import { sparser } from "../../../../../test/rounds.ts";

// What graphs.test.ts and validation.test.ts leave out: stacks that are opened twice as two processes would, so that every step of a
// graph may be read back by another process.

interface Place {
  readonly database: Awaited<ReturnType<typeof freshDatabase>>;
  readonly redis: Awaited<ReturnType<typeof sharedRedis>>;
}

async function place(): Promise<Place> {
  const [database, shared] = await Promise.all([freshDatabase(), sharedRedis()]);
  return { database, redis: shared };
}

const warm = ({ database }: Place) => postgres({ url: database.url });
const hotRedis = (at: Place) => redis({ ...at.redis, ttl: "5m" });

const open = {
  // A process whose invalidation gets no answer in time lets the other one read stale, as promised; on a loaded machine that
  // takes longer than the default of 100 ms, and isn't what is tested here.
  trusted: (at: Place): TierStackOptions => ({
    hot: hotRedis(at),
    warm: warm(at),
    consistency: "trusted",
    breaker: { timeout: "10s" },
  }),
  memoryAndRedis: (at: Place): TierStackOptions => ({ hot: [boundedMemory(), hotRedis(at)], warm: warm(at) }),
};

function graphsInTwoProcesses(name: string, options: (at: Place) => TierStackOptions): void {
  const open = async () => {
    const at = await place();
    const savers = [new TieredSaver(options(at)), new TieredSaver(options(at))] as const;
    for (const saver of savers) await saver.setup();
    return {
      saver: savers[0],
      second: async () => savers[1],
      close: async () => {
        for (const saver of savers) await saver.end();
        await at.database.drop();
      },
    };
  };
  testGraphs(`${name}, two processes`, open, sparser);
  testPromises(`${name}, two processes`, open, sparser);
}

graphsInTwoProcesses("redis>postgres, trusted", open.trusted);
graphsInTwoProcesses("memory>redis>postgres", open.memoryAndRedis);
