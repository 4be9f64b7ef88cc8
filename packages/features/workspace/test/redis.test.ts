import { RedisSaver } from "@stratigraph/redis";
import { Redis } from "ioredis";
import { afterAll } from "vitest";
import { sharedRedis } from "../../../../test/servers/shared.ts";
import { testWorkspace } from "./suite.ts";

const { url, prefix } = await sharedRedis();
const client = new Redis(url);
afterAll(() => client.disconnect());

testWorkspace("Redis", async () => {
  const open = (): RedisSaver => new RedisSaver({ client, prefix });
  return { saver: open(), other: open() };
});
