import { randomBytes, randomUUID } from "node:crypto";
import { Annotation, Command, interrupt, Send, START, StateGraph } from "@langchain/langgraph";
import { describe, expect, test, vi } from "vitest";
import { testCache } from "../../../../tools/testing/src/store/testCache.ts";
import { tracedWhile } from "../../../../../test/tracedWhile.ts";
import { resolveCacheOptions } from "../../src/cache/cacheOptions.ts";
import { TierCache } from "../../src/cache/tierCache.ts";
import { MemoryTier, TierSaver } from "../../src/index.ts";

testCache(
  "memory",
  async () => {
    const tier = new MemoryTier();
    const open = (options = {}) => new TierSaver(tier).cache(options);
    return { cache: open, other: open };
  },
  tracedWhile,
);

test("values are encrypted; those under another key, or of another place, count as missing", async () => {
  const tier = new MemoryTier();
  const hashKey = randomBytes(32);
  const cacheUnder = (activeKey: string, cached: MemoryTier = tier) =>
    new TierSaver(cached, {
      encryption: { keys: { [activeKey]: randomBytes(32) }, activeKey, hashKey },
    }).cache({ wait: "0s" });
  const [one, two] = [cacheUnder("one"), cacheUnder("two")];
  const key: [string[], string] = [["docs"], "summary"];
  await one.set([{ key, value: "secret words" }]);
  expect(await one.get([key])).toEqual([{ key, value: "secret words" }]);
  const stored = await bytesOf(tier);
  expect(Buffer.from(stored).includes("secret words")).toBe(false);
  const events = await tracedWhile(async () => expect(await two.get([key])).toEqual([]));
  expect(events).toContainEqual(
    expect.objectContaining({
      result: "unreadable",
      error: expect.objectContaining({ code: "KEY_MISSING" }),
    }),
  );

  async function bytesOf(of: MemoryTier): Promise<Uint8Array> {
    const seen: Uint8Array[] = [];
    const { read } = of.caches;
    of.caches.read = async (...args) => {
      const reads = await read.call(of.caches, ...args);
      seen.push(...reads.flatMap(({ value }) => value ?? []));
      return reads;
    };
    await one.get([key]);
    of.caches.read = read;
    return seen[0]!;
  }
});

test("a value that was stored between a look and a claim isn't computed again, and the lease is given back", async () => {
  const tier = new MemoryTier();
  const [cache, other] = [tier, tier].map((on) => new TierSaver(on).cache());
  const key: [string[], string] = [["docs"], "summary"];
  const lease = tier.lease.bind(tier);
  const asked: number[] = [];
  tier.lease = async (...args) => {
    if (asked.push(args[2]) === 1) await other!.set([{ key: [["docs"], "summary"], value: "by another" }]);
    return await lease(...args);
  };
  expect(await cache!.get([key])).toEqual([{ key, value: "by another" }]);
  expect(asked).toEqual([10_000, 0]);
});

test("nobody waits for more than two leases, however many ask and none stores", async () => {
  const tier = new MemoryTier();
  const lease = tier.lease.bind(tier);
  let given = 0;
  tier.lease = async (...args) => {
    const isGiven = await lease(...args);
    if (isGiven && args[2] > 0) given += 1;
    return isGiven;
  };
  const cache = new TierSaver(tier).cache({ wait: "40ms" });
  await Promise.all(Array.from({ length: 12 }, () => cache.get([[["docs"], "summary"]])));
  expect(given).toBeGreaterThan(1);
  expect(given).toBeLessThan(6);
});

test("a storage that failed is left alone for five seconds, and then asked again", async () => {
  const tier = new MemoryTier();
  const cache = new TierSaver(tier).cache({ wait: "0s" });
  const key: [string[], string] = [["docs"], "summary"];
  await cache.set([{ key, value: "kept" }]);
  const read = tier.caches.read.bind(tier.caches);
  let calls = 0;
  tier.caches.read = async (...args) => {
    if ((calls += 1) === 1) throw new Error("the server is down");
    return await read(...args);
  };
  const events = await tracedWhile(async () => {
    for (let n = 0; n < 3; n += 1) expect(await cache.get([key])).toEqual([]);
  });
  expect(events.filter((event) => event.type === "cache" && event.result === "failed")).toHaveLength(1);
  const now = performance.now.bind(performance);
  const clock = vi.spyOn(performance, "now").mockImplementation(() => now() + 5001);
  expect(await cache.get([key])).toEqual([{ key, value: "kept" }]);
  expect(calls).toBe(2);
  clock.mockRestore();
});

test("a nearer storage isn't filled with what was cleared meanwhile", async () => {
  const [hot, warm] = [new MemoryTier(), new MemoryTier()];
  const { itemCoder } = new TierSaver(warm);
  const cache = new TierCache([hot, warm], itemCoder, resolveCacheOptions({ wait: "0s" }));
  const key: [string[], string] = [["docs"], "summary"];
  const read = warm.caches.read.bind(warm.caches);
  const fill = async (clears: boolean): Promise<unknown> => {
    await new TierCache([warm], itemCoder, resolveCacheOptions({})).set([{ key, value: "old" }]);
    warm.caches.read = async (...args) => {
      const reads = await read(...args);
      if (clears) await cache.clear([]);
      return reads;
    };
    expect(await cache.get([key])).toEqual([{ key, value: "old" }]);
    await cache.end();
    return await new TierCache([hot], itemCoder, resolveCacheOptions({ wait: "0s" })).get([key]);
  };
  expect(await fill(true)).toEqual([]);
  expect(await fill(false)).toEqual([{ key, value: "old" }]);
});

describe("a run with a checkpointer that stopped keeps nobody waiting", () => {
  const tier = new MemoryTier();
  const saver = new TierSaver(tier);
  const Asked = Annotation.Root({
    topic: Annotation<string>,
    said: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  });
  const cached = { cachePolicy: true } as const;

  /** A graph whose only node is cached, and what starts it on a new thread. Without a way out, all wait for an hour. */
  function on(
    saver: TierSaver,
    name: string,
    node: (topic: string, signal?: AbortSignal) => unknown,
    nested = false,
  ) {
    const inner = new StateGraph(Asked)
      .addNode("ask", async ({ topic }, { signal }) => ({ said: [await node(topic, signal)] }), cached)
      .addEdge(START, "ask");
    const cache = saver.cache({ name, wait: "1h" });
    const graph = nested
      ? new StateGraph(Asked)
          .addNode("agent", inner.compile({ cache }), cached)
          .addEdge(START, "agent")
          .compile({ checkpointer: saver, cache })
      : inner.compile({ checkpointer: saver, cache });
    const configurable = { thread_id: randomUUID() };
    return {
      run: (input: unknown, options: object = {}) =>
        graph.invoke(input as never, { configurable, ...options }) as Promise<{ said: string[] }>,
    };
  }

  test.each([
    ["a node", false, "async"],
    ["a cached subgraph", true, "async"],
    ["a node whose run stores nothing before its end", false, "exit"],
  ] as const)("a question in %s, its answer, and others that ask", async (_, nested, durability) => {
    const name = randomUUID();
    const ask = (): unknown => interrupt("really?");
    const one = on(saver, name, ask, nested);
    await one.run({ topic: "tea" }, { durability });
    if (durability !== "exit") {
      const asked = await on(new TierSaver(tier), name, ask, nested).run({ topic: "tea" });
      expect(asked).toHaveProperty("__interrupt__");
    }
    expect((await one.run(new Command({ resume: "yes" }), { durability })).said).toEqual(["yes"]);
    expect((await on(saver, name, ask, nested).run({ topic: "tea" })).said, "it is cached").toEqual(["yes"]);
  });

  test("a node that threw, and one that was aborted, started again", async () => {
    let times = 0;
    const failing = on(saver, randomUUID(), () => {
      times += 1;
      if (times === 1) throw new Error("down");
      return "up";
    });
    await expect(failing.run({ topic: "tea" })).rejects.toThrow("down");
    expect((await failing.run(null)).said).toEqual(["up"]);

    const stop = new AbortController();
    const stopped = on(saver, randomUUID(), async (_, signal) => {
      if (stop.signal.aborted) return "again";
      stop.abort();
      await new Promise((_resolve, reject) => signal!.addEventListener("abort", reject));
      return "never";
    });
    await expect(stopped.run({ topic: "tea" }, { signal: stop.signal })).rejects.toThrow();
    expect((await stopped.run({ topic: "tea" })).said).toEqual(["again"]);
  });

  test("branches of one run still wait for each other's value", async () => {
    let ran = 0;
    const cache = saver.cache({ name: randomUUID(), wait: "1h" });
    let computing!: () => void;
    const computes = new Promise<void>((resolve) => (computing = resolve));
    let asked = 0;
    const get = cache.get.bind(cache);
    cache.get = async (keys) => {
      asked += 1;
      return await get(keys);
    };
    const search = new StateGraph(Asked)
      .addNode(
        "search",
        async () => {
          ran += 1;
          computing();
          await vi.waitUntil(() => asked === 3);
          return { said: [String(ran)] };
        },
        cached,
      )
      .addEdge(START, "search")
      .compile({ cache });
    const graph = new StateGraph(Asked)
      .addNode("branch", async ({ topic }: typeof Asked.State) => {
        if (topic !== "1") await computes;
        return { said: (await search.invoke({ topic: "tea" })).said };
      })
      .addConditionalEdges(START, () => ["1", "2", "3"].map((topic) => new Send("branch", { topic })))
      .compile({ checkpointer: saver, cache });
    const { said } = await graph.invoke({ topic: "" }, { configurable: { thread_id: randomUUID() } });
    expect(said).toEqual(["1", "1", "1"]);
  });
});
