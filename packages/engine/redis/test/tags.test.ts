import type { Tier } from "@stratigraph/core";
import type { ThreadTag } from "@stratigraph/core/tier";
import { Redis } from "ioredis";
import { waitUntil } from "../../../../test/servers/process.ts";
import { sharedRedis } from "../../../../test/servers/shared.ts";
import type { RedisClient } from "../src/index.ts";
import { redis } from "../src/index.ts";
import { put } from "./fixtures.ts";

// The index of tags lives in other keys than the threads: it may name too many, and never too few.

const { url, prefix: keyPrefix } = await sharedRedis();
const client = new Redis(url);
afterAll(() => client.disconnect());

const anna: ThreadTag = { key: "user_id", value: "anna" };
let prefix: string;
let tests = 0;
beforeEach(() => {
  tests += 1;
  prefix = `${keyPrefix}${tests}:`;
});

async function idsOf(tier: Tier): Promise<string[]> {
  const found: string[] = [];
  for await (const { threadId } of tier.threads({ tags: [anna] })) found.push(threadId);
  return found.sort();
}

/** Names in the one index that there is. */
async function named(): Promise<string[]> {
  const keys = await client.keys(`${prefix}tag:*`);
  expect(keys.length).toBeLessThanOrEqual(1);
  return keys.length === 0 ? [] : await client.zrange(keys[0]!, 0, "-1");
}

test("a tag's value is in no key's name, and a thread's name leaves its index with the thread", async () => {
  const tier = redis({ client, prefix: prefix });
  for (const threadId of ["a", "b"]) {
    await tier.tagThread(threadId, [anna]);
    await tier.append(put(threadId, "c1"));
  }
  expect(await named()).toEqual(expect.arrayContaining(["a", "b"]));
  for (const key of await client.keys(`${prefix}*`)) expect(key).not.toContain("anna");
  await tier.deleteThread("a");
  expect(await named()).toEqual(["b"]);
  await tier.untagThread("b", [anna]);
  expect(await named()).toEqual([]);
});

test("tags expire with their thread, and other threads' writes clear the index", async () => {
  const brief = redis({ client, prefix: prefix, ttl: "1s" });
  for (let n = 0; n < 5; n += 1) {
    await brief.tagThread(`t${n}`, [anna]);
    await brief.append(put(`t${n}`, "c1"));
  }
  await waitUntil("Redis", async () => (await client.exists(`${prefix}t:{t4}`)) === 0);
  // Earlier ones may have gone with the writes of later ones, where five take a second.
  expect(await named()).toContain("t4");
  let writes = 0;
  await waitUntil("Redis", async () => {
    await brief.append(put(`other ${(writes += 1)}`, "c1"));
    return (await named()).length === 0;
  });
  await waitUntil("Redis", async () => {
    await brief.append(put(`other ${(writes += 1)}`, "c1"));
    return (await client.exists(`${prefix}tags`)) === 0;
  });
});

test("a name too many isn't listed, and goes", async () => {
  const tier = redis({ client, prefix: prefix });
  await tier.tagThread("tagged", [anna]);
  for (const threadId of ["tagged", "untagged"]) await tier.append(put(threadId, "c1"));
  const [key] = await client.keys(`${prefix}tag:*`);
  for (const member of ["untagged", "gone"]) await client.zadd(key!, 1, member);
  expect(await idsOf(tier)).toEqual(["tagged"]);
  expect(await named()).toEqual(["tagged"]);
});

test("who found a thread untagged takes no name out that was put in since", async () => {
  const tier = redis({ client, prefix: prefix });
  await tier.tagThread("t", [anna]);
  await tier.append(put("t", "c1"));
  await client.hdel(`${prefix}t:{t}`, "g");
  // Between looking at the thread's tags and taking its name out, another process tags it again.
  let tagged = 0;
  const slow: RedisClient = {
    callBuffer: async (command, args) => {
      const reply = await client.callBuffer(command, ...args);
      if (command === "HMGET" && args.length === 3 && tagged === 0) {
        tagged += 1;
        await tier.tagThread("t", [anna]);
      }
      return reply;
    },
  };
  expect(await idsOf(redis({ client: slow, prefix: prefix }))).toEqual([]);
  expect(tagged).toBe(1);
  expect(await idsOf(tier)).toEqual(["t"]);
});

test("a tombstone that is tagged lasts until its writer puts a checkpoint", async () => {
  const tier = redis({ client, prefix: prefix });
  await tier.append(put("t", "c1"));
  await tier.deleteThread("t");
  // Its week is nearly over.
  await client.pexpire(`${prefix}t:{t}`, 60_000);
  await tier.tagThread("t", [anna]);
  expect(await client.pttl(`${prefix}t:{t}`)).toBeGreaterThan(6 * 86_400_000);
});

test("without expiry, what was written before a checkpoint that never came expires all the same, and a checkpoint ends that", async () => {
  const tier = redis({ client, prefix: prefix });
  await tier.tagThread("early", [anna]);
  const left = async (): Promise<number> => await client.pttl(`${prefix}t:{early}`);
  expect(await left()).toBeGreaterThan(6 * 86_400_000);
  await tier.append(put("early", "c1"));
  expect(await left()).toBe(-1);
});
