import { Redis } from "ioredis";
import { createCheckpointer, MemoryTier, redis, type TierSource } from "stratigraph";
import { expect, onTestFinished, test } from "vitest";
import { available } from "../../../../test/servers/available.ts";
import { sharedRedis } from "../../../../test/servers/shared.ts";

const day = 86_400_000;
const checkpoint = {
  v: 4,
  id: "1ef00000-0000-6000-8000-000000000001",
  ts: new Date(0).toISOString(),
  channel_values: { value: "long enough for a blob of its own ".repeat(20) },
  channel_versions: { value: 1 },
  versions_seen: {},
};

/** When the copies of a thread expire in the Redis that is a stack's hot tier, in milliseconds; -1: never. */
async function expiries(hotOf: (url: string) => TierSource): Promise<Set<number>> {
  const { url, prefix } = await sharedRedis();
  const client = new Redis(url);
  onTestFinished(() => client.disconnect());
  const saver = await createCheckpointer({
    hot: hotOf(`${url}?prefix=${encodeURIComponent(prefix)}`),
    warm: new MemoryTier(),
  });
  onTestFinished(() => saver.end());
  const config = { configurable: { thread_id: "the-one", checkpoint_ns: "" } };
  await saver.put(config, checkpoint, { source: "loop", step: 1, parents: {} }, { value: 1 });
  await saver.tier.idle();
  const keys = await client.keys(`${prefix}*the-one*`);
  expect(keys.length).toBeGreaterThan(0);
  const left = await Promise.all(keys.map((key) => client.pttl(key)));
  // To the hour: some time has passed.
  return new Set(left.map((ms) => (ms < 0 ? ms : Math.ceil(ms / 3_600_000) * 3_600_000)));
}

test
  .skipIf(!available.redis && process.env["STRATIGRAPH_TEST_REDIS_URL"] === undefined)
  .each<[string, (url: string) => TierSource, number]>([
    ["a URL: a day", (url) => url, day],
    ["a URL that says when", (url) => `${url}&ttl=3h`, 3 * 3_600_000],
    ["a URL that says never", (url) => `${url}&ttl=never`, -1],
    ["a tier that was passed in, as it was told", (url) => redis({ url, ttl: "2h" }), 2 * 3_600_000],
    ["a tier that was passed in and told nothing", (url) => redis({ url }), -1],
  ])("copies in a hot Redis expire: %s", async (_name, hotOf, expected) => {
  expect(await expiries(hotOf)).toEqual(new Set([expected]));
});
