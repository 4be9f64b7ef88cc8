import { emptyCheckpoint, uuid6, type Checkpoint } from "@langchain/langgraph-checkpoint";
import { StratigraphError } from "@stratigraph/core";
import { Redis } from "ioredis";
import { sharedRedis } from "../../../../test/servers/shared.ts";
import { RedisSaver, redis, type RedisSaverOptions } from "../src/index.ts";
import { expireKeys } from "./fixtures.ts";

// A whole saver on Redis: what its callers see of expiry, lost parts and races.

const { url, prefix } = await sharedRedis();
const client = new Redis(url);
const open = (options: RedisSaverOptions = {}) => new RedisSaver({ client, prefix, ...options });
afterAll(() => client.disconnect());

const text = (name: string) => `${name} `.repeat(100);
const meta = { source: "loop" as const, step: 1, parents: {} };

/** A checkpoint with two channels, of which the first keeps its version. */
function checkpoint(step: number): Checkpoint {
  const kept = text("kept");
  return {
    ...emptyCheckpoint(),
    id: uuid6(step),
    channel_values: { kept, changing: text(`step ${step}`) },
    channel_versions: { kept: 1, changing: step },
  };
}

test("a thread that expires during a run goes on, and holds every channel", async () => {
  const saver = open({ ttl: "1h" });
  const thread = { configurable: { thread_id: "expires", checkpoint_ns: "" } };
  const first = await saver.put(thread, checkpoint(1), meta, { kept: 1, changing: 1 });
  await expireKeys(client, [`${prefix}t:{expires}`, `${prefix}i:{expires}`]);
  expect(await open().getTuple(thread)).toBeUndefined();
  const second = await saver.put(first, checkpoint(2), meta, { changing: 2 });
  await saver.putWrites(second, [["changing", text("step 2")]], "task");
  const found = await open().getTuple(thread);
  expect(found?.checkpoint.channel_values).toEqual({ kept: text("kept"), changing: text("step 2") });
  expect(found?.pendingWrites).toEqual([["task", "changing", text("step 2")]]);
});

test("a head whose bytes are lost is an error, not an empty thread", async () => {
  const thread = { configurable: { thread_id: "lost", checkpoint_ns: "" } };
  await open().put(thread, checkpoint(1), meta, { kept: 1, changing: 1 });
  const key = `${prefix}t:{lost}`;
  for (const field of await client.hkeys(key))
    if (/^b[0-9a-f]{40}$/.test(field)) await client.hdel(key, field);
  const error: unknown = await open()
    .getTuple(thread)
    .catch((reason: unknown) => reason);
  expect(StratigraphError.is(error, "CORRUPT") && error.data["channel"]).toMatch(/kept|changing/);
});

test("two savers race for a thread: one moves the head, the other is told, nothing is mixed", async () => {
  const clients = [new Redis(url), new Redis(url)];
  const savers = clients.map((one) => new RedisSaver({ client: one, prefix, conflict: "throw" }));
  try {
    for (let round = 0; round < 50; round += 1) {
      const thread = { configurable: { thread_id: `race ${round}`, checkpoint_ns: "" } };
      const first = await savers[0]!.put(thread, checkpoint(1), meta, { kept: 1, changing: 1 });
      for (const saver of savers) await saver.getTuple(thread);
      const puts = savers.map(async (saver, n) => {
        const own = checkpoint(10 + n);
        await saver.put(first, own, meta, { changing: 10 + n });
        return own;
      });
      const outcomes = await Promise.allSettled(puts);
      const won = outcomes.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
      const lost = outcomes.flatMap((one) => (one.status === "rejected" ? [one.reason as Error] : []));
      expect([won.length, lost.length]).toEqual([1, 1]);
      expect(StratigraphError.is(lost[0], "CHECKPOINT_CONFLICT")).toBe(true);
      const found = await open().getTuple(thread);
      expect(found?.checkpoint.id).toBe(won[0]!.id);
      expect(found?.checkpoint.channel_values).toEqual(won[0]!.channel_values);
    }
  } finally {
    for (const one of clients) one.disconnect();
  }
});

test("deleting the checkpoints of a run finds its threads", async () => {
  const saver = open({ ttl: "1h" });
  const configs = ["run a", "run b"].map((thread_id) => ({ configurable: { thread_id, checkpoint_ns: "" } }));
  for (const config of configs) {
    const first = await saver.put(config, checkpoint(1), meta, { kept: 1, changing: 1 });
    const ofRun = { ...first, metadata: { run_id: "the run" } };
    await saver.put(ofRun, checkpoint(2), meta, { changing: 2 });
  }
  await open().deleteForRuns(["the run"]);
  for (const config of configs) {
    const found = await open().getTuple(config);
    expect(found?.checkpoint.channel_values["changing"]).toBe(text("step 1"));
  }
});

test("a lease has one holder at a time, and ends by itself", async () => {
  const tier = redis({ client, prefix });
  const hour = 3_600_000;
  expect(await tier.lease("archive", "one", hour)).toBe(true);
  expect(await tier.lease("archive", "two", hour)).toBe(false);
  expect(await tier.lease("archive", "one", 60)).toBe(true);
  expect(await tier.lease("other", "two", 60)).toBe(true);
  await expect.poll(() => tier.lease("archive", "two", hour), { timeout: 20_000 }).toBe(true);
  expect(await tier.lease("archive", "one", 0)).toBe(false);
  expect(await tier.lease("archive", "two", 0)).toBe(true);
  expect(await tier.lease("archive", "one", 60)).toBe(true);
});
