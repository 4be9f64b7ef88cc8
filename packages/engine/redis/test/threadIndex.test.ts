import { Redis } from "ioredis";
import { expect, onTestFinished, test } from "vitest";
import { sharedRedis } from "../../../../test/servers/shared.ts";
import { redis } from "../src/index.ts";
import { put } from "./fixtures.ts";

test("a thread that was written since isn't told as an old one, where the index lags behind", async () => {
  const { url, prefix: keyPrefix } = await sharedRedis();
  const client = new Redis(url);
  onTestFinished(() => client.disconnect());
  const prefix = `${keyPrefix}lags:`;
  const tier = redis({ client, prefix: prefix });
  for (const threadId of ["written", "old"]) await tier.append(put(threadId, "c1"));
  for (const threadId of ["written", "old"]) await client.zadd(`${prefix}threads`, 1000, threadId);
  await client.hset(`${prefix}t:{old}`, "at", 1000);
  const found: string[] = [];
  for await (const { threadId } of tier.threads({ writtenBeforeMs: 2000 })) found.push(threadId);
  expect(found).toEqual(["old"]);
});
