import { Redis } from "ioredis";
import { sharedRedis } from "../../../../test/servers/shared.ts";
import { redisBackups } from "../../../../test/setBack/redisBackups.ts";
import { testSetBack } from "../../../../test/setBack/testSetBack.ts";
import { RedisSaver } from "../src/index.ts";

for (const [name, ttl] of [
  ["redis", undefined],
  ["redis with a ttl", "1h"],
] as const) {
  testSetBack(
    name,
    async () => {
      const { url, prefix } = await sharedRedis();
      const client = new Redis(url);
      return {
        ...redisBackups(client, prefix),
        open: async (options) => new RedisSaver({ client, prefix, ttl, ...options }),
        close: async () => client.disconnect(),
      };
    },
    { expires: ttl !== undefined },
  );
}
