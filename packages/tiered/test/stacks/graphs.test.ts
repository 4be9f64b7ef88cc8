import { postgres } from "@stratigraph/postgres";
import { redis } from "@stratigraph/redis";
import { testGraphs, testTier } from "@stratigraph/testing";
import { TieredSaver, TierStack, memory, type TierStackOptions } from "@stratigraph/tiered";
import { freshDatabase, sharedRedis } from "../../../../test/servers/shared.ts";

// What graphs.test.ts and validation.test.ts leave out: the contract on stacks of real servers, opened twice as two
// processes would, and graphs whose every step may be read back by another process.

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

const stacks: [string, (at: Place) => TierStackOptions][] = [
  ["memory>postgres", (at) => ({ hot: memory(), warm: warm(at) })],
  ["redis>postgres", (at) => ({ hot: hotRedis(at), warm: warm(at) })],
  ["redis>postgres, trusted", (at) => ({ hot: hotRedis(at), warm: warm(at), consistency: "trusted" })],
  ["memory>redis>postgres", (at) => ({ hot: [memory(), hotRedis(at)], warm: warm(at) })],
];

for (const [name, options] of stacks) {
  testTier(name, async () => {
    const at = await place();
    const opened: TierStack[] = [];
    const open = async (): Promise<TierStack> => {
      const stack = new TierStack(options(at));
      opened.push(stack);
      await stack.setup();
      return stack;
    };
    return {
      tier: await open(),
      reopen: open,
      close: async () => {
        for (const stack of opened) await stack.end();
        await at.database.drop();
      },
    };
  });
}

for (const [name, options] of stacks.slice(1)) {
  testGraphs(`${name}, two processes`, async () => {
    const at = await place();
    const savers = [0, 1].map(() => new TieredSaver(options(at)));
    for (const saver of savers) await saver.setup();
    return {
      saver: savers[0]!,
      second: async () => savers[1]!,
      close: async () => {
        for (const saver of savers) await saver.end();
        await at.database.drop();
      },
    };
  });
}
