// long file: what users expect of a cache, one short story after another
import { randomBytes, randomUUID } from "node:crypto";
import { HumanMessage } from "@langchain/core/messages";
import { Annotation, END, entrypoint, Send, START, StateGraph, task } from "@langchain/langgraph";
import type { CacheOptions, TierCache, TraceEvent } from "@stratigraph/core";
import { describe, expect, test } from "vitest";

/** Opens a cache on the storage; `other` does so on the same, as another process. */
export interface CacheOpeners {
  readonly cache: (options?: CacheOptions) => TierCache;
  readonly other: (options?: CacheOptions) => TierCache;
  /** Makes entries seem used two minutes longer ago, where uses are noted by the minute. */
  readonly later?: () => Promise<void>;
  /** Several storages have a limit each, and note uses of their own. */
  readonly limits?: "of each storage";
}

type Key = [string[], string];

const State = Annotation.Root({
  topic: Annotation<string>,
  notes: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});

/** A promise, and its end. */
function gate() {
  let open!: () => void;
  const passed = new Promise<void>((resolve) => (open = resolve));
  return { passed, open };
}

function searching(cache: TierCache, search: (topic: string) => string | Promise<string>, ttl?: number) {
  return new StateGraph(State)
    .addNode("search", async ({ topic }) => ({ notes: [await search(topic)] }), {
      cachePolicy: ttl === undefined ? true : { ttl },
    })
    .addEdge(START, "search")
    .addEdge("search", END)
    .compile({ cache });
}

/**
 * What users expect of a cache, on any storage.
 * @param tracedWhile what was traced while some work was done
 */
export function testCache(
  name: string,
  opening: () => Promise<CacheOpeners>,
  tracedWhile: (work: (events: readonly TraceEvent[]) => Promise<unknown>) => Promise<TraceEvent[]>,
): void {
  let opened: Promise<CacheOpeners> | undefined;
  /** Two caches of a name that no other test has. */
  const open = async (options: CacheOptions = {}) => {
    const { cache, other, later, limits } = await (opened ??= opening());
    const own = { name: randomUUID(), ...options };
    return { cache: cache(own), other: other(own), later, limits };
  };

  describe(`cache on ${name}`, () => {
    test("values come back in the order asked for, in another process too; what is missing is left out", async () => {
      const { cache, other } = await open();
      const [one, two, none] = [[["docs"], "1"] as Key, [["docs", "eu"], "1"] as Key, [["docs"], "2"] as Key];
      await cache.set([
        { key: one, value: "first", ttl: 1000 },
        { key: two, value: "second" },
      ]);
      expect(await other.get([two, none, one, two])).toEqual([
        { key: two, value: "second" },
        { key: one, value: "first" },
        { key: two, value: "second" },
      ]);
      await other.set([{ key: one, value: "third" }]);
      expect(await cache.get([one])).toEqual([{ key: one, value: "third" }]);
      expect(await cache.get([])).toEqual([]);
      expect(await cache.set([])).toBeUndefined();
      expect(await cache.clear([])).toBeUndefined();
      expect(await cache.get([one, two])).toEqual([]);
    });

    test("namespaces and keys of any text are kept apart, and cleared exactly", async () => {
      const { cache } = await open({ wait: "0s" });
      const namespaces = [
        ["a,b"],
        ["a", "b"],
        [],
        [""],
        ["a,", ""],
        ["a", "", ""],
        ["a"],
        ['a,"b"'],
        ["用户,文档"],
        ["\0"],
        ["\ud800"],
      ];
      const keys = ["", "k", "__proto__", "constructor", "a,b", '["a","b"]', "\0", "🦊"];
      const pairs = namespaces.flatMap((namespace) =>
        keys.map((key) => ({ key: [namespace, key] as Key, value: JSON.stringify([namespace, key]) })),
      );
      await cache.set(pairs);
      expect(await cache.get(pairs.map(({ key }) => key))).toEqual(pairs);
      await cache.clear([["a"], ["a,b"]]);
      const left = pairs.filter(({ key: [namespace] }) => !["a", "a,b"].includes(namespace.join("/")));
      expect(await cache.get(pairs.map(({ key }) => key))).toEqual(left);
    });

    test("a ttl is in seconds; one of 0 or less, or of another kind, removes; the default is for those without", async () => {
      const { cache, other } = await open({ ttl: "40ms", wait: "0s" });
      const key = (n: number): Key => [["a"], String(n)];
      const keys = [1, 2, 3, 4, 5].map(key);
      await cache.set(keys.map((at) => ({ key: at, value: 1, ttl: 1000 })));
      await other.set([
        { key: key(1), value: 2 },
        { key: key(2), value: 2, ttl: 0 },
        { key: key(3), value: 2, ttl: Infinity },
        { key: key(5), value: 2, ttl: Number.MAX_SAFE_INTEGER },
      ]);
      const refused = await tracedWhile(async () => {
        await other.set([{ key: key(4), value: 2, ttl: "5m" as never }]);
      });
      expect(refused).toContainEqual(
        expect.objectContaining({ type: "cache", result: "unstored", error: expect.anything() }),
      );
      await expect.poll(() => cache.get(keys)).toEqual([3, 5].map((n) => ({ key: key(n), value: 2 })));
    });

    test("values come back as they were at the call, whatever they are", async () => {
      const { cache, other } = await open();
      const value = [
        [
          "notes",
          { at: new Date(5), map: new Map([[1n, undefined]]), said: new HumanMessage("hi"), none: undefined },
        ],
      ];
      const key: Key = [["a"], "k"];
      const before = structuredClone((value[0]![1] as { at: Date }).at);
      const setting = cache.set([{ key, value }]);
      (value[0]![1] as { at: Date }).at = new Date(0);
      await setting;
      const [found] = await other.get([key]);
      (value[0]![1] as { at: Date }).at = before;
      expect(found!.value).toEqual(value);
      (found!.value as unknown[]).push("changed by a reader");
      expect((await other.get([key]))[0]!.value).toHaveLength(1);
    });

    test("where there is no room, the entries go that weren't used for longest; what doesn't fit isn't stored", async () => {
      const { cache, later, limits } = await open({ maxEntries: 3, maxBytes: "20kb", wait: "0s" });
      const key = (n: string): Key => [["a"], n];
      for (const n of ["1", "2", "3"]) await cache.set([{ key: key(n), value: n }]);
      await later?.();
      await cache.get([key("1")]);
      await cache.set([{ key: key("4"), value: "4" }]);
      const keys = ["1", "2", "3", "4"].map(key);
      const kept = (await cache.get(keys)).map(({ value }) => value);
      expect(kept).toEqual(limits === undefined ? ["1", "3", "4"] : expect.arrayContaining(["1", "4"]));
      const noise = (length: number) => new Uint8Array(randomBytes(length));
      await cache.set([{ key: key("1"), value: noise(12_000) }]);
      await cache.set([{ key: key("3"), value: noise(12_000) }]);
      expect((await cache.get(keys)).map(({ key: [, n] }) => n)).toEqual(["3"]);
      const events = await tracedWhile(() => cache.set([{ key: key("2"), value: noise(64_000) }]));
      expect(events).toContainEqual(expect.objectContaining({ type: "cache", result: "unstored" }));
      expect(await cache.get([key("2"), key("3")])).toMatchObject([{ key: key("3") }]);
    });

    test("a graph's node is computed once, also for another process, until the cache is cleared", async () => {
      const { cache, other } = await open();
      const asked: string[] = [];
      const search = (topic: string): string => `${topic} ${asked.push(topic)}`;
      const [here, there] = [searching(cache, search), searching(other, search, 100)];
      expect(await here.invoke({ topic: "tea" })).toMatchObject({ notes: ["tea 1"] });
      expect(await there.invoke({ topic: "tea" })).toMatchObject({ notes: ["tea 1"] });
      const events: unknown[] = [];
      for await (const event of await there.stream({ topic: "tea" }, { streamMode: "updates" }))
        events.push(event);
      expect(events).toMatchObject([{ search: { notes: ["tea 1"] }, __metadata__: { cached: true } }]);
      expect(await there.invoke({ topic: "milk" })).toMatchObject({ notes: ["milk 2"] });
      await here.clearCache();
      expect(await there.invoke({ topic: "tea" })).toMatchObject({ notes: ["tea 3"] });
    });

    test("two versions of an application keep their values apart by the name", async () => {
      const { cache } = await (opened ??= opening());
      const id = randomUUID();
      const [old, next] = [cache({ name: `${id}-1` }), cache({ name: `${id}-2` })];
      await searching(old, () => "old").invoke({ topic: "tea" });
      expect(await searching(next, () => "new").invoke({ topic: "tea" })).toMatchObject({ notes: ["new"] });
      await next.clear([]);
      expect(await searching(old, () => "again").invoke({ topic: "tea" })).toMatchObject({ notes: ["old"] });
    });

    test("tasks are computed once, those of one run at once too", async () => {
      const { cache, other } = await open();
      let computed = 0;
      const flowOn = (over: TierCache) => {
        const double = task({ name: "double", cachePolicy: {} }, async (n: number) => {
          computed += 1;
          return 2 * n;
        });
        return entrypoint(
          { name: "flow", cache: over },
          async (ns: number[]) => await Promise.all(ns.map((n) => double(n))),
        );
      };
      expect(await flowOn(cache).invoke([1, 2, 3])).toEqual([2, 4, 6]);
      expect(computed).toBe(3);
      const both = await Promise.all([flowOn(cache).invoke([4, 5]), flowOn(other).invoke([4, 5])]);
      expect(both).toEqual([
        [8, 10],
        [8, 10],
      ]);
      expect(computed).toBe(5);
    });

    test("of many that ask at once one computes, in this process and another, and the others get its value", async () => {
      const { cache, other } = await open({ wait: "30s" });
      const { passed, open: finish } = gate();
      let computed = 0;
      const search = async (topic: string): Promise<string> => {
        computed += 1;
        await passed;
        return `${topic} ${computed}`;
      };
      const events = await tracedWhile(async () => {
        const runs = [cache, cache, other, other].map((each) =>
          searching(each, search).invoke({ topic: "tea" }),
        );
        await expect.poll(() => computed).toBe(1);
        finish();
        for (const { notes } of await Promise.all(runs)) expect(notes).toEqual(["tea 1"]);
        expect(computed).toBe(1);
      });
      const results = events.flatMap((event) => (event.type === "cache" ? [event.result] : []));
      // One that asked when the value was there already didn't wait.
      const others = results.toSorted().filter((result) => result !== "miss");
      expect(others).toHaveLength(3);
      expect(["hit", "waited"]).toEqual(expect.arrayContaining(others));
    });

    test("a hundred that wait for what their own process computes send nothing, and then little", async () => {
      const { cache } = await open({ wait: "1h" });
      const asked = (): Key => [["docs"], "summary"];
      const key = asked();
      expect(await cache.get([key])).toEqual([]);
      const sent = (events: readonly TraceEvent[]): number =>
        events.filter(({ type }) => type === "call-start").length;
      await tracedWhile(async (events) => {
        const waiting = Promise.all(Array.from({ length: 100 }, () => cache.get([asked()])));
        for (let n = 0; n < 20; n += 1) await new Promise((resolve) => setImmediate(resolve));
        expect(sent(events)).toBe(0);
        await cache.set([{ key, value: "computed" }]);
        for (const found of await waiting) expect(found).toEqual([{ key, value: "computed" }]);
        // The value, the lease, and one look; in a stack each storage, and copies.
        expect(sent(events)).toBeLessThan(12);
      });
    });

    test("one whose computation fails keeps others waiting for a bounded time; then the next computes, and the rest get that", async () => {
      const { cache, other } = await open({ wait: "300ms" });
      const { passed, open: finish } = gate();
      let computed = 0;
      const search = async (topic: string): Promise<string> => {
        computed += 1;
        if (computed > 1) return topic;
        await passed;
        throw new Error("the model is down");
      };
      const first = searching(cache, search).invoke({ topic: "tea" });
      await expect.poll(() => computed).toBe(1);
      const rest = [cache, other, other].map((each) => searching(each, search).invoke({ topic: "tea" }));
      finish();
      await expect(first).rejects.toThrow("the model is down");
      for (const { notes } of await Promise.all(rest)) expect(notes).toEqual(["tea"]);
      expect(computed).toBe(2);
    });

    test("steps that need the same values in another order don't wait for each other", async () => {
      const { cache, other } = await open({ wait: "30s" });
      const counts: Record<string, number> = {};
      const graphOn = (over: TierCache, topics: string[]) =>
        new StateGraph(State)
          .addNode(
            "search",
            async ({ topic }: typeof State.State) => {
              counts[topic] = (counts[topic] ?? 0) + 1;
              return { notes: [topic] };
            },
            { cachePolicy: true },
          )
          .addConditionalEdges(START, () => topics.map((topic) => new Send("search", { topic })))
          .compile({ cache: over });
      const runs = [
        ["a", "b", "c"],
        ["c", "b", "a"],
        ["b", "d"],
        ["d", "a"],
      ].flatMap((topics) =>
        [cache, other].map(async (over) => ({
          topics,
          notes: (await graphOn(over, topics).invoke({})).notes,
        })),
      );
      for (const { topics, notes } of await Promise.all(runs)) expect(notes).toEqual(topics);
      expect(counts).toEqual({ a: 1, b: 1, c: 1, d: 1 });
    });

    test("a step that asks for one value twice neither waits for itself nor gets it doubled", async () => {
      const { cache } = await open({ wait: "30s" });
      const graph = new StateGraph(State)
        .addNode("search", async ({ topic }: typeof State.State) => ({ notes: [topic] }), {
          cachePolicy: true,
        })
        .addConditionalEdges(START, () => [1, 2].map(() => new Send("search", { topic: "tea" })))
        .compile({ cache });
      expect((await graph.invoke({})).notes).toEqual(["tea", "tea"]);
      expect((await graph.invoke({})).notes).toEqual(["tea", "tea"]);
    });

    test("what was being computed when the cache was cleared isn't stored", async () => {
      const { cache, other } = await open({ wait: "30s" });
      for (const namespaces of [[], [["__pregel_ns_writes", "__dynamic__", "search"]]]) {
        const { passed, open: finish } = gate();
        let version = "old";
        let computed = 0;
        const search = async (): Promise<string> => {
          computed += 1;
          const read = version;
          if (computed === 1) await passed;
          return read;
        };
        await cache.clear([]);
        const run = searching(cache, search).invoke({ topic: "tea" });
        await expect.poll(() => computed).toBe(1);
        version = "new";
        await other.clear(namespaces);
        finish();
        expect((await run).notes).toEqual(["old"]);
        expect((await searching(other, search).invoke({ topic: "tea" })).notes).toEqual(["new"]);
      }
    });

    test("a value that can't be stored ends no run, and is traced", async () => {
      const { cache } = await open();
      const events = await tracedWhile(async () => {
        const odd = searching(cache, (() => () => "a function") as never);
        expect((await odd.invoke({ topic: "tea" })).notes).toHaveLength(1);
      });
      expect(events).toContainEqual(
        expect.objectContaining({
          type: "cache",
          result: "unstored",
          error: expect.objectContaining({ code: "SERIALIZATION" }),
        }),
      );
    });

    test("what is no key is refused, by name", async () => {
      const { cache } = await open();
      const field = (name: string) => ({ code: "INVALID_OPTION", data: { field: name } });
      await expect(cache.get("k" as never)).rejects.toMatchObject(field("keys"));
      await expect(cache.get([["a", "k"] as never])).rejects.toMatchObject(field("keys[0][0]"));
      await expect(cache.get([[["a"], 1] as never])).rejects.toMatchObject(field("keys[0]"));
      await expect(cache.set([{ key: [[1], "k"] as never, value: 1 }])).rejects.toMatchObject(
        field("pairs[0].key[0]"),
      );
      await expect(cache.clear(["a"] as never)).rejects.toMatchObject(field("namespaces[0]"));
    });
  });
}
