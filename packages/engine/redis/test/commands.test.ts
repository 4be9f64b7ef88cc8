import { Redis } from "ioredis";
import { emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import { startRedis } from "../../../../test/servers/redis.ts";
import { statusTerms } from "@stratigraph/core/internal";
import { RedisSaver } from "../src/index.ts";

// A server of its own: Redis counts every command that it ran, those of scripts too.

/** All that the tier asks of Redis, of 6.2 or older: none looks through all keys, none is a module's. HSCAN stays in one thread, ZSCAN in one tag, SSCAN among the names of tags. */
const known = new Set(
  (
    "hello ping info time eval evalsha exists del unlink pexpire smembers sadd srem srandmember hget hset hsetnx hmget hdel hexists hincrby hkeys hlen hscan " +
    "hstrlen rename zadd zrem zcard zcount zlexcount zmscore zscore zrange zrangebylex zrangebyscore zremrangebyrank zrevrange " +
    "zrevrangebylex zrevrangebyscore zrandmember zscan sscan publish " +
    // Which ioredis sends where the server has it: Redis 7.2 and later, Valkey.
    "client|setinfo"
  ).split(" "),
);

test("no KEYS, no SCAN, no command of a module, whatever the saver is asked", async () => {
  const server = await startRedis();
  const client = new Redis(server.url);
  const saver = new RedisSaver({ client, ttl: "1m", threadTags: ["user_id"] });
  try {
    const thread = (id: string) => ({
      configurable: { thread_id: id, checkpoint_ns: "", user_id: "anna" },
    });
    for (const id of ["one", "two", "*"]) {
      let at = thread(id) as Awaited<ReturnType<typeof saver.put>>;
      for (let step = 0; step < 3; step += 1) {
        const checkpoint = { ...emptyCheckpoint(), channel_values: { text: `${id} ${step} `.repeat(300) } };
        at = await saver.put(at, checkpoint, { source: "loop", step, parents: {}, run_id: "run" } as never, {
          text: step,
        });
        await saver.putWrites(at, [["text", "pending"]], "task");
      }
      expect((await saver.getTuple(thread(id)))?.pendingWrites).toHaveLength(1);
    }
    for await (const _ of saver.list({ configurable: {} }, { filter: { step: 1 } })) continue;
    for await (const _ of saver.list(thread("one"), { limit: 1 })) continue;
    await saver.listThreads();
    await saver.listThreads({ filter: { step: 1 } });
    await saver.copyThread("one", "copy");
    await saver.prune(["copy"], { strategy: "keep_latest" });
    await saver.deleteForRuns(["run"]);
    await saver.deleteThread("one");
    await saver.untagThread("two", { user_id: "ben" });
    expect((await saver.deleteThreads({ tag: { user_id: "anna" } })).complete).toBe(true);
    await saver.tier.sweep(0);
    const store = saver.store();
    for (const key of ["k", "l"]) await store.put(["a"], key, { key });
    expect(await store.search([])).toHaveLength(2);
    expect(await store.search(["a"], { limit: 1 })).toHaveLength(1);
    expect(await store.listNamespaces()).toEqual([["a"]]);
    await store.delete(["a"], "k");
    const { workspaces } = saver.tier;
    const change = { namespace: ["a"], key: "k", value: Buffer.from("v"), note: Buffer.from("n") };
    await workspaces.commit("w", [{ id: "0".repeat(32), checks: [], changes: [change] }]);
    const { version } = await workspaces.log("w", {
      prefixes: [["a"]],
      limit: 1,
      newestFirst: true,
      untilMs: 1e15,
    });
    expect((await workspaces.itemsAt("w", { version, prefixes: [[]], limit: 1 })).items).toHaveLength(1);
    await workspaces.trim("w", version);
    expect(await workspaces.delete("w", version)).toBe(true);
    const stats = await client.info("commandstats");
    const ran = [...stats.matchAll(/^cmdstat_([^:]+):/gm)].map(([, name]) => name!);
    expect(ran).toContain("hget");
    expect(ran.filter((name) => !known.has(name))).toEqual([]);
  } finally {
    client.disconnect();
    await server.stop();
  }
});

test("names of threads that expired are looked for when a thread begins, and not with each of its writes", async () => {
  const server = await startRedis();
  const client = new Redis(server.url);
  const saver = new RedisSaver({ client, ttl: "1m" });
  try {
    for (const thread_id of ["one", "two"]) {
      let at = { configurable: { thread_id, checkpoint_ns: "" } } as Awaited<ReturnType<typeof saver.put>>;
      for (let step = 0; step < 20; step += 1)
        at = await saver.put(at, emptyCheckpoint(), { source: "loop", step, parents: {} }, {});
    }
    const [, calls] = /cmdstat_zrandmember:calls=(\d+)/.exec(await client.info("commandstats"))!;
    // Per thread, two names of the index of all threads, and two of that of open ones.
    expect(calls).toBe("4");
  } finally {
    await saver.end();
    client.disconnect();
    await server.stop();
  }
});

test("threads that wait come from an index of the open ones, once every thread was looked at", async () => {
  const server = await startRedis();
  const client = new Redis(server.url);
  const saver = new RedisSaver({ client });
  const looks = async () =>
    Number(/cmdstat_hmget:calls=(\d+)/.exec(await client.info("commandstats"))?.[1] ?? 0);
  const waiting = async () => {
    const before = await looks();
    const { threads } = await saver.listThreads({ status: "waiting" });
    return { ids: threads.map(({ threadId }) => threadId).toSorted(), looked: (await looks()) - before };
  };
  try {
    for (let n = 0; n < 60; n += 1) {
      const at = { configurable: { thread_id: `t${n}`, checkpoint_ns: "" } };
      const put = await saver.put(at, emptyCheckpoint(), { source: "input", step: -1, parents: {} }, {});
      if (n % 30 === 0) await saver.putWrites(put, [["__interrupt__", { value: "?" }]], "task");
    }
    // As threads of an older version: the index doesn't know them.
    await client.unlink("stratigraph:open");
    await client.hdel("stratigraph:t:{t30}", "q");
    const first = await waiting();
    expect(first.ids).toEqual(["t0", "t30"]);
    expect(first.looked).toBeGreaterThanOrEqual(60);
    await saver.maintain();
    for (let n = 0; n < 60; n += 1) if (n % 30 !== 0) await saver.deleteThread(`t${n}`);
    for (let n = 100; n < 160; n += 1) {
      const at = { configurable: { thread_id: `t${n}`, checkpoint_ns: "" } };
      const { tier } = saver;
      await tier.append({
        threadId: at.configurable.thread_id,
        records: [
          {
            threadId: at.configurable.thread_id,
            namespace: "",
            checkpointId: "c",
            terms: [statusTerms.idle],
            blobs: [],
            body: Buffer.from("b"),
          },
        ],
        blobs: [],
        heads: [{ namespace: "", to: "c", expected: [] }],
        onConflict: "refuse",
      });
    }
    // 62 threads, 60 of which are idle.
    expect(await waiting()).toEqual({ ids: ["t0", "t30"], looked: 2 });
  } finally {
    await saver.end();
    client.disconnect();
    await server.stop();
  }
});
