import { StratigraphError, type Tier } from "@stratigraph/core";
import { Redis } from "ioredis";
import { sharedRedis } from "../../../../test/servers/shared.ts";
import type { RedisClient, RedisOptions } from "../src/index.ts";
import { redis } from "../src/index.ts";
import { at, blob, expireKeys, put } from "./fixtures.ts";
import { allRounds } from "../../../../test/rounds.ts";

// What is Redis's own: keys, expiry, pins, what happens when a part of a thread is gone, and what calls cost.

const { url, prefix: keyPrefix } = await sharedRedis();
const client = new Redis(url);
afterAll(() => client.disconnect());

const open = (options: RedisOptions = {}) => redis({ client, prefix: keyPrefix, ...options });
const thread = (threadId: string) => `${keyPrefix}t:{${threadId}}`;
const index = (threadId: string) => `${keyPrefix}i:{${threadId}}`;
const root = (threadId: string) => ({ threadId, namespace: "" });
const expire = (threadId: string) => expireKeys(client, [thread(threadId), index(threadId)]);

async function idsOf(tier: Tier, threadId: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { record } of tier.list({ threadId })) found.push(record.checkpointId);
  return found;
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => "went well",
    (error: unknown) => (StratigraphError.is(error) ? error.code : String(error)),
  );
}

describe("keys", () => {
  test("a thread is two keys with one hash tag, whatever its id", async () => {
    const ids = ["plain-1", "with {braces}", "{}", "nul\0nul", "*?[a]", "ü".repeat(5000), "~", "a/b c"];
    const tier = redis({ client, prefix: `${keyPrefix}keys:` });
    for (const threadId of ids) await tier.append(put(threadId, "c1", undefined, [blob(threadId)]));
    const keys = await client.keys(`${keyPrefix}keys:[ti]:*`);
    const tags = keys.map((key) => /^[^{}]*:[ti]:\{([\w.:~-]+)\}$/.exec(key)?.[1]);
    expect(keys).toHaveLength(2 * ids.length);
    expect(new Set(tags).size).toBe(ids.length);
    expect(tags).toContain("plain-1");
    for (const threadId of ids) {
      const { checkpoint } = await tier.read(root(threadId));
      expect(checkpoint?.record.threadId).toBe(threadId);
      expect([...checkpoint!.blobs.keys()]).toEqual([blob(threadId).hash]);
    }
  });

  test("should two ids ever meet in one key, the second is refused and reads nothing", async () => {
    const tier = open();
    await tier.append(put("met", "c1"));
    await client.hset(thread("met"), "id", "somebody else");
    expect(await codeOf(tier.peek(root("met")))).toBe("CORRUPT");
    expect(await codeOf(tier.append(put("met", "c2", "c1")))).toBe("CORRUPT");
    expect(await codeOf(tier.deleteThread("met"))).toBe("CORRUPT");
    await client.del(thread("met"), index("met"));
  });

  test("a key of somebody else's is refused, not changed", async () => {
    await client.set(thread("foreign"), "theirs");
    const error: unknown = await open()
      .append(put("foreign", "c1"))
      .catch((reason: unknown) => reason);
    expect(String(error)).toContain("a prefix of your own");
    expect(await client.get(thread("foreign"))).toBe("theirs");
  });

  test("options that can't be used are refused at once", () => {
    for (const options of [{ prefix: "a{b}" }, { ttl: "0s" }, { ttl: "15" }, { commandTimeout: "0ms" }])
      expect(() => open(options as RedisOptions)).toThrow(/Invalid option (prefix|ttl|commandTimeout)/);
    expect(() => redis({} as { url: string })).toThrow(/Invalid option client/);
  });
});

describe("expiry", () => {
  const ttls = async (threadId: string) => [
    await client.pttl(thread(threadId)),
    await client.pttl(index(threadId)),
  ];

  test("both keys of a thread expire together, set with the values", async () => {
    const tier = open({ ttl: "1h" });
    await tier.append(put("e1", "c1"));
    expect((await ttls("e1"))[0]).toBeGreaterThan(3_590_000);
    expect((await ttls("e1"))[0]).toBeLessThanOrEqual(3_600_000);
    expect(await client.pexpiretime(thread("e1"))).toBe(await client.pexpiretime(index("e1")));
    await tier.appendWrites({
      ...at("e2", "c1"),
      taskId: "t",
      blobs: [],
      body: Buffer.from(""),
      newBlobs: [],
    });
    expect((await ttls("e2"))[0]).toBeGreaterThan(3_590_000);
  });

  test("a thread that expired is gone whole, and its revision isn't used again", async () => {
    const tier = open({ ttl: "1h" });
    const { revision } = await tier.append(put("gone", "c1", undefined, [blob("v")]));
    await expire("gone");
    expect(await tier.peek(root("gone"))).toEqual({ revision: 0, writes: [] });
    expect(await idsOf(tier, "gone")).toEqual([]);
    const infos = [];
    for await (const info of tier.threads({})) infos.push(info.threadId);
    expect(infos).not.toContain("gone");
    expect(await client.zscore(`${keyPrefix}threads`, "gone")).toBeNull();
    expect((await tier.append(put("gone", "c2"))).revision).toBeGreaterThan(revision);
  });

  test("reading keeps a thread alive, unless told otherwise", async () => {
    const [sliding, fixed] = [open({ ttl: "1h" }), open({ ttl: "1h", refreshOnRead: false })];
    const reads = [
      async (tier: Tier) => await tier.peek(root("slide")),
      async (tier: Tier) => await tier.read(root("slide")),
      async (tier: Tier) => await idsOf(tier, "slide"),
    ];
    await sliding.append(put("slide", "c1"));
    for (const read of reads) {
      for (const key of [thread("slide"), index("slide")]) await client.pexpire(key, 5000);
      await read(fixed);
      expect(Math.max(...(await ttls("slide")))).toBeLessThanOrEqual(5000);
      await read(sliding);
      expect(Math.min(...(await ttls("slide")))).toBeGreaterThan(3_590_000);
    }
  });

  test("a pinned thread doesn't expire until it is unpinned", async () => {
    const tier = open({ ttl: "1h" });
    expect(await tier.pin("pinned")).toBe(false);
    await tier.append(put("pinned", "c1"));
    expect(await tier.pin("pinned")).toBe(true);
    expect(await ttls("pinned")).toEqual([-1, -1]);
    await tier.append(put("pinned", "c2", "c1"));
    await tier.read(root("pinned"));
    expect(await ttls("pinned")).toEqual([-1, -1]);
    expect(await tier.unpin("pinned")).toBe(true);
    expect(Math.min(...(await ttls("pinned")))).toBeGreaterThan(3_590_000);
    await tier.deleteThread("pinned");
    expect(await tier.pin("pinned")).toBe(false);
  });

  test("a tombstone outlives the ttl, and is there for threads that had expired", async () => {
    const tier = open({ ttl: "1h" });
    const { revision } = await tier.append(put("dead", "c1"));
    await expire("dead");
    await tier.deleteThread("dead");
    await tier.peek(root("dead"));
    expect((await ttls("dead"))[0]).toBeGreaterThan(6 * 86_400_000);
    expect(await codeOf(tier.append({ ...put("dead", "c2", "c1"), seen: revision }))).toBe("THREAD_DELETED");
    expect(await codeOf(tier.append({ ...put("dead", "c2"), seen: revision }))).toBe("THREAD_DELETED");
    expect(await codeOf(tier.append(put("dead", "d1")))).toBe("went well");
    expect((await ttls("dead"))[0]).toBeLessThanOrEqual(3_600_000);
  });

  test("the index of all threads doesn't grow with threads that expired", async () => {
    const prefix = `${keyPrefix}sweep:`;
    const tier = redis({ client, prefix: prefix, ttl: "5ms" });
    for (let n = 0; n < 300; n += 1) await tier.append(put(`s${n}`, "c1"));
    expect(await client.zcard(`${prefix}threads`)).toBeLessThan(150);
  });
});

describe("a thread of which a part is gone", () => {
  test("without a blob, or the base of one: the head is told, the checkpoint is not", async () => {
    const tier = open();
    const whole = blob("whole");
    const patch = { ...blob("patch"), base: whole.hash };
    await tier.append(put("part", "c1", undefined, [whole]));
    await tier.append(put("part", "c2", "c1", [patch]));
    await client.hdel(thread("part"), `b${whole.hash}`);
    const reading = await tier.read(root("part"));
    expect([reading.head, reading.checkpoint]).toEqual(["c2", undefined]);
  });

  test("what relies on blobs that are gone is refused, so that the saver stores them whole", async () => {
    const tier = open({ ttl: "1h" });
    const { revision: seen } = await tier.append(put("relies", "c1", undefined, [blob("v")]));
    const next = { ...put("relies", "c2", "c1", [blob("v")]), blobs: [], relies: true, seen };
    const patch = { ...blob("patch"), base: blob("v").hash };
    await expire("relies");
    expect(await codeOf(tier.append(next))).toBe("STALE_READ");
    const patched = { ...put("relies", "c2", "c1", [patch]), relies: true, seen };
    expect(await codeOf(tier.append(patched))).toBe("STALE_READ");
    const batch = { ...at("relies", "c1"), taskId: "t", blobs: [blob("v").hash], body: Buffer.from("") };
    expect(await codeOf(tier.appendWrites({ ...batch, newBlobs: [], relies: true, seen }))).toBe(
      "STALE_READ",
    );
    expect((await tier.peek(root("relies"))).revision).toBe(0);
  });

  test("the sorted set alone: listing makes it anew, with its expiry", async () => {
    const tier = open({ ttl: "1h", refreshOnRead: false });
    await tier.append(put("unsorted", "c1"));
    await tier.append(put("unsorted", "c2", "c1"));
    await client.del(index("unsorted"));
    await tier.append(put("unsorted", "c3", "c2"));
    expect(await idsOf(tier, "unsorted")).toEqual(["c3", "c2", "c1"]);
    expect(await client.zcard(index("unsorted"))).toBe(3);
    expect(await client.pttl(index("unsorted"))).toBeGreaterThan(3_590_000);
  });

  test("the hash alone: the thread is gone, and what comes next begins anew", async () => {
    const tier = open();
    await tier.append(put("unhashed", "c1"));
    await client.del(thread("unhashed"));
    expect(await tier.read(at("unhashed", "c1"))).toEqual({ revision: 0 });
    expect(await idsOf(tier, "unhashed")).toEqual([]);
    await tier.append(put("unhashed", "c2", "c1"));
    expect(await idsOf(tier, "unhashed")).toEqual(["c2"]);
    expect(await client.zcard(index("unhashed"))).toBe(1);
  });
});

describe("calls", () => {
  test("peek, read, append, appendWrites: one round trip each, but for the first write in a second", async () => {
    const sent: string[] = [];
    const counting: RedisClient = {
      callBuffer: async (command, args) => {
        sent.push(command);
        return await client.callBuffer(command, args);
      },
    };
    const tier = open();
    const counted = redis({ client: counting, prefix: keyPrefix });
    await tier.append(put("calls", "c1", undefined, [blob("v")]));
    const batch = { ...at("calls", "c1"), taskId: "t", blobs: [], body: Buffer.from(""), newBlobs: [] };
    // Load the scripts.
    await counted.peek(root("calls"));
    await counted.appendWrites(batch);
    const cost = async (work: Promise<unknown>) => {
      await work;
      return sent.splice(0).join(" ");
    };
    sent.length = 0;
    expect(await cost(counted.peek(root("calls")))).toBe("EVALSHA");
    expect(await cost(counted.read(root("calls")))).toBe("EVALSHA");
    expect(await cost(counted.appendWrites(batch))).toMatch(/^EVALSHA( ZADD){0,2}$/);
    // The first write to a thread that isn't idle: what it puts into the index of open threads comes before it, without waiting.
    const begins = put("begins", "c1");
    expect(await cost(counted.append(begins))).toMatch(/^ZADD EVALSHA( ZADD){0,2}$/);
    const appends = [];
    for (let n = 1; n < 20; n += 1)
      appends.push(await cost(counted.append(put("calls", `c${n + 1}`, `c${n}`))));
    expect(appends.filter((commands) => commands === "EVALSHA").length).toBeGreaterThan(10);
    expect(appends.filter((commands) => !/^EVALSHA( ZADD){0,2}$/.test(commands))).toEqual([]);
  });

  test("large blobs come straight, not through the script", async () => {
    const tier = open();
    const [whole, small] = [blob("large", 100_000), blob("small", 100)];
    const patch = { ...blob("patch", 40_000), base: whole.hash };
    await tier.append(put("large", "c1", undefined, [whole]));
    const { revision } = await tier.append(put("large", "c2", "c1", [patch, small]));
    const expected = new Map([patch, small, whole].map((one) => [one.hash, { base: undefined, ...one }]));
    const plain = (stored: { blobs: ReadonlyMap<string, unknown> } | undefined) => new Map(stored?.blobs);
    expect(plain((await tier.read(root("large"))).checkpoint)).toEqual(expected);
    for await (const listed of tier.list({ threadId: "large" })) expect(plain(listed)).toEqual(expected);
    expect((await tier.blobs("large")).sort((a, b) => a.size - b.size)).toEqual(
      [small, patch, whole].map(({ hash, bytes, ...rest }) => ({
        base: undefined,
        ...rest,
        hash,
        size: bytes.length,
      })),
    );
    expect(await client.hkeys(thread("large"))).toContain(`B${whole.hash}`);
    const rewritten = { ...blob("patch", 300), hash: patch.hash };
    const done = await tier.remove({
      threadId: "large",
      revision,
      checkpoints: [at("large", "c1")],
      dropBlobs: [whole.hash],
      replaceBlobs: [rewritten],
      heads: [],
    });
    expect(done).toBe(true);
    expect(plain((await tier.read(root("large"))).checkpoint).get(patch.hash)).toEqual({
      base: undefined,
      ...rewritten,
    });
  });

  test.runIf(allRounds)("an import of more blobs than a call has arguments", async () => {
    const tier = open({ commandTimeout: "2m" });
    const blobs = Array.from({ length: 60_000 }, (_, n) => blob(`many ${n}`, 10));
    await tier.append(put("many", "c1", undefined, blobs));
    expect((await tier.read(root("many"))).checkpoint?.blobs.size).toBe(60_000);
    expect(await tier.copyThread("many", "many too")).toBe(true);
    expect(await tier.blobs("many too")).toHaveLength(60_000);
  });

  test("a server that forgot its scripts is taught them again", async () => {
    const tier = open();
    await tier.append(put("forgot", "c1"));
    await client.script("FLUSH");
    expect((await tier.read(root("forgot"))).head).toBe("c1");
  });
});
