import { Redis } from "ioredis";
import { sharedRedis } from "../../../../test/servers/shared.ts";
import { redis } from "../src/index.ts";
import { at, blob, put, watched } from "./fixtures.ts";

// What a thread keeps when its contents go: its expiry, its pin, its revision, and what it was told of copies.

const { url, prefix } = await sharedRedis();
const client = new Redis(url);
const tier = redis({ client, prefix, ttl: "1h", refreshOnRead: false });
afterAll(() => client.disconnect());

const hourMs = 3_600_000;
const weekMs = 7 * 24 * hourMs;
const left = (threadId: string) => client.pttl(`${prefix}t:{${threadId}}`);
const root = (threadId: string) => ({ threadId, namespace: "" });

async function evicted(threadId: string): Promise<void> {
  const { revision } = await tier.peek(root(threadId));
  expect(await tier.evict(threadId, revision)).toBe(true);
}

const copyOf = (threadId: string, revision: number) => {
  const { records, blobs } = put(threadId, "c1", undefined, [blob("value")]);
  const until = { untilMs: Date.now() + hourMs };
  return { ...root(threadId), revision, head: "c1", record: records[0]!, blobs, writes: [], ...until };
};

test("an evicted thread expires when it would have expired", async () => {
  await tier.append(put("expires", "c1"));
  await client.pexpire(`${prefix}t:{expires}`, hourMs / 2);
  await evicted("expires");
  expect((await tier.peek(root("expires"))).head).toBe("c1");
  expect(await left("expires")).toBeGreaterThan(hourMs / 2 - 60_000);
  expect(await left("expires")).toBeLessThanOrEqual(hourMs / 2);
});

test("an evicted thread stays pinned", async () => {
  await tier.append(put("pinned", "c1"));
  await tier.pin("pinned");
  await evicted("pinned");
  expect(await left("pinned")).toBe(-1);
  await tier.append(put("pinned", "c2", "c1"));
  expect(await left("pinned")).toBe(-1);
});

test.each([
  ["evicted", evicted],
  ["deleted", (threadId: string) => tier.deleteThread(threadId)],
])("a thread that was %s refuses the copies that it refused before", async (how, empty) => {
  await tier.append(put(how, "c1"));
  await tier.invalidate(how, 42);
  await empty(how);
  await tier.adopt(copyOf(how, 41));
  expect((await tier.read(at(how, "c1"))).checkpoint).toBeUndefined();
  await tier.adopt(copyOf(how, 42));
  expect((await tier.read(at(how, "c1"))).copy?.revision).toBe(42);
});

test("a later invalidation that names less takes nothing back", async () => {
  await tier.invalidate("invalidated", 42);
  await tier.invalidate("invalidated", 7);
  await tier.adopt(copyOf("invalidated", 41));
  expect((await tier.peek(root("invalidated"))).head).toBeUndefined();
});

test("a tombstone lasts a week, whatever was the thread's time", async () => {
  await tier.append(put("tombstone", "c1"));
  await tier.deleteThread("tombstone");
  expect(await left("tombstone")).toBeGreaterThan(weekMs - hourMs);
  expect(await left("tombstone")).toBeLessThanOrEqual(weekMs);
});

test("a copy isn't trusted any more once its thread was pruned", async () => {
  await tier.adopt(copyOf("pruned", 42));
  const { revision, copy } = await tier.peek(root("pruned"));
  expect(copy?.revision).toBe(42);
  const nothing = { checkpoints: [], dropBlobs: [], replaceBlobs: [], heads: [] };
  expect(await tier.remove({ threadId: "pruned", revision, ...nothing })).toBe(true);
  expect((await tier.peek(root("pruned"))).copy).toBeUndefined();
});

test("a thread that is gone and begun anew at once has later revisions, also than one with many changes", async () => {
  await tier.append(put("anew", "c1"));
  const changes = Array.from({ length: 200 }, (_, n) =>
    tier.append({ ...put("anew", `c${n + 2}`), onConflict: "branch" }),
  );
  const revisions = (await Promise.all(changes)).map(({ revision }) => revision);
  await client.del(`${prefix}t:{anew}`);
  expect((await tier.append(put("anew", "d1"))).revision).toBeGreaterThan(Math.max(...revisions));
});

test("a large value that is replaced between the script that names it and its fetching is read again", async () => {
  const [value, other] = [blob("value", 40_000), blob("other", 40_000)];
  await tier.append(put("large", "c1", undefined, [value]));
  await tier.append(put("large", "c2", "c1", [other]));
  let fetched = 0;
  const reader = redis({
    client: watched(client, async (command) => {
      if (command !== "HMGET" || (fetched += 1) > 1) return;
      const { revision } = await tier.peek(root("large"));
      // The head is taken back, and its value goes with it.
      const to = { namespace: "", to: "c1" };
      const gone = {
        checkpoints: [at("large", "c2")],
        dropBlobs: [other.hash],
        replaceBlobs: [],
        heads: [to],
      };
      expect(await tier.remove({ threadId: "large", revision, ...gone })).toBe(true);
    }),
    prefix,
  });
  const { head, checkpoint } = await reader.read(root("large"));
  expect([head, [...(checkpoint?.blobs.keys() ?? [])]]).toEqual(["c1", [value.hash]]);
  expect(fetched).toBe(2);
});
