import { Redis } from "ioredis";
import { sharedRedis } from "../../../test/servers/shared.ts";
import { testSetBack } from "../../../test/setBack/testSetBack.ts";
import { RedisSaver } from "../src/index.ts";

// All keys are put back to what they were, as by a server that begins with an older RDB.

for (const [name, ttl] of [
  ["redis", undefined],
  ["redis with a ttl", "1h"],
] as const) {
  testSetBack(
    name,
    async () => {
      const { url, keyPrefix } = await sharedRedis();
      const client = new Redis(url);
      const keys = async (): Promise<string[]> => await client.keys(`${keyPrefix}*`);
      return {
        open: async (options) => new RedisSaver({ client, keyPrefix, ttl, ...options }),
        mark: async () =>
          await Promise.all(
            (await keys()).map(async (key) => [key, await client.pttl(key), await client.dumpBuffer(key)]),
          ),
        setBack: async (mark) => {
          const transaction = client.multi();
          for (const key of await keys()) transaction.del(key);
          for (const [key, ttlMs, value] of mark as [string, number, Buffer][])
            transaction.restore(key, Math.max(0, ttlMs), value);
          await transaction.exec();
        },
        close: async () => client.disconnect(),
      };
    },
    { expires: ttl !== undefined },
  );
}
