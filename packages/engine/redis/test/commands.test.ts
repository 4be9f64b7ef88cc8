import { Redis } from "ioredis";
import { emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import { startRedis } from "../../../../test/servers/redis.ts";
import { RedisSaver } from "../src/index.ts";

// A server of its own: Redis counts every command that it ran, those of scripts too.

/** All that the tier asks of Redis, of 6.2 or older: none looks through all keys, none is a module's. HSCAN stays in one thread, ZSCAN in one tag. */
const known = new Set(
  (
    "hello ping info time eval evalsha exists del unlink pexpire smembers sadd srem srandmember hget hset hsetnx hmget hdel hexists hincrby hkeys hlen hscan " +
    "hstrlen rename zadd zrem zcard zcount zlexcount zmscore zscore zrange zrangebylex zrangebyscore zremrangebyrank zrevrange " +
    "zrevrangebylex zrevrangebyscore zrandmember zscan publish " +
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
    expect(calls).toBe("2");
  } finally {
    await saver.end();
    client.disconnect();
    await server.stop();
  }
});
