// long file: what users expect of a store, one short story after another
import { InMemoryStore, type BaseStore, type Operation } from "@langchain/langgraph-checkpoint";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { HumanMessage } from "@langchain/core/messages";
import { describe, expect, test } from "vitest";
import { testLangGraphStores } from "./testLangGraphStores.ts";

/** A store on its own storage, and a second one on the same, as another process has it. */
export interface StorePair {
  readonly store: BaseStore;
  readonly other: BaseStore;
}

const users = ["anna", "anna%", "anna_", "an\\na", "ann", "🦊", "ANNA", "a'n\"na"];

/**
 * What users expect of a store, on any storage.
 * @param opening opens a storage, for all tests: each empties it first
 */
export function testStore(name: string, opening: () => Promise<StorePair>): void {
  let opened: Promise<StorePair> | undefined;
  const open = async (): Promise<StorePair> => {
    const pair = await (opened ??= opening());
    const items = await pair.store.search([], { limit: 10_000 });
    await pair.store.batch(items.map(({ namespace, key }) => ({ namespace, key, value: null })));
    return pair;
  };
  describe(`store on ${name}`, () => {
    test("a value comes back as it was at the call, in another process too", async () => {
      const { store, other } = await open();
      const value = { text: "tea", at: new Date(5), nested: [{ big: 12n }], message: new HumanMessage("hi") };
      const putting = store.put(["users", "anna"], "drink", value);
      value.text = "coffee";
      await putting;
      const item = await other.get(["users", "anna"], "drink");
      expect(item).toMatchObject({ key: "drink", namespace: ["users", "anna"] });
      expect(item!.value).toEqual({ ...value, text: "tea" });
      expect(item!.createdAt).toBeInstanceOf(Date);
      expect(item!.updatedAt.getTime()).toBe(item!.createdAt.getTime());
      item!.value["text"] = "changed by a reader";
      expect((await store.get(["users", "anna"], "drink"))!.value["text"]).toBe("tea");
    });

    test("a second put keeps the time of creation; deleting ends it", async () => {
      const { store, other } = await open();
      await store.put(["a"], "k", { n: 1 });
      const first = await store.get(["a"], "k");
      await other.put(["a"], "k", { n: 2 });
      const second = await store.get(["a"], "k");
      expect(second!.value).toEqual({ n: 2 });
      expect(second!.createdAt).toEqual(first!.createdAt);
      expect(second!.updatedAt.getTime()).toBeGreaterThanOrEqual(first!.updatedAt.getTime());
      await store.delete(["a"], "k");
      expect(await other.get(["a"], "k")).toBeNull();
      expect(await other.listNamespaces()).toEqual([]);
      await store.delete(["a"], "k");
    });

    test("tenants whose names look like each other are kept apart, in get, search and listing", async () => {
      const { store } = await open();
      for (const user of users) await store.put(["users", user, "memories"], "k", { user });
      for (const user of users) {
        expect((await store.get(["users", user, "memories"], "k"))!.value).toEqual({ user });
        expect((await store.search(["users", user])).map(({ value }) => value)).toEqual([{ user }]);
        expect(await store.listNamespaces({ prefix: ["users", user] })).toEqual([
          ["users", user, "memories"],
        ]);
      }
      expect(await store.search(["users", "an"])).toEqual([]);
      expect(await store.search([], { limit: 100 })).toHaveLength(users.length);
    });

    test("keys are any text, of any length", async () => {
      const { store } = await open();
      const keys = [
        "/a.md",
        "/a.md/../b",
        "k".repeat(10_000),
        `${"k".repeat(9_999)}l`,
        "nul\0",
        "e\u0301",
        "\u00e9",
      ];
      for (const key of keys) await store.put(["files"], key, { key });
      for (const key of keys) expect((await store.get(["files"], key))!.value).toEqual({ key });
      const found = await store.search(["files"], { limit: 100 });
      expect(found.map(({ key }) => key).toSorted()).toEqual(keys.toSorted());
    });

    test("the newest change comes first, and pages join without gap or repetition", async () => {
      const { store } = await open();
      for (let n = 0; n < 150; n += 1) await store.put([n % 2 === 0 ? "even" : "odd"], `k${n}`, { n });
      await store.put(["even"], "k0", { n: 0 });
      const order = [0, ...Array.from({ length: 149 }, (_, n) => 149 - n)];
      const all = await store.search([], { limit: 1000 });
      expect(all.map(({ value }) => value["n"])).toEqual(order);
      const pages = [];
      for (let offset = 0; offset < 160; offset += 40)
        pages.push(...(await store.search([], { limit: 40, offset })));
      expect(pages.map(({ value }) => value["n"])).toEqual(order);
      const odd = await store.search([], { filter: { n: { $gte: 100 } }, limit: 5, offset: 48 });
      expect(odd.map(({ value }) => value["n"])).toEqual([101, 100]);
      expect(await store.search(["even"], { limit: 0 })).toEqual([]);
      expect(await store.search(["even"])).toHaveLength(10);
    });

    test("null is as if left out, as in JSON", async () => {
      const { store } = await open();
      const puts = Array.from({ length: 12 }, (_, n) => ({
        namespace: ["a", `${n}`],
        key: "k",
        value: { n },
      }));
      await store.batch(puts);
      const none = null as never;
      const search = { namespacePrefix: ["a"], filter: none, limit: none, offset: none, query: none };
      const list = { matchConditions: none, maxDepth: none, limit: none, offset: none };
      const [found, listed] = await store.batch([search, list] as [Operation, Operation]);
      expect(found).toHaveLength(10);
      expect(listed).toHaveLength(12);
    });

    test("of a batch, the last put is the newest", async () => {
      const { store } = await open();
      const keys = ["z", "a", "m", "k10", "k2"];
      await store.batch(keys.map((key) => ({ namespace: [key], key, value: { key } })));
      expect((await store.search([])).map(({ key }) => key)).toEqual(keys.toReversed());
    });

    test("a search finds all items that exist, also those that others change meanwhile", async () => {
      const { store, other } = await open();
      const keys = Array.from({ length: 700 }, (_, n) => `k${n}`);
      await store.batch(keys.map((key) => ({ namespace: ["a"], key, value: { n: 0, is: "kept" } })));
      const state = { searching: true };
      const changing = async (from: number): Promise<void> => {
        for (let n = from; state.searching; n += 7)
          await other.put(["a"], keys[(n * 31) % keys.length]!, { n, is: "kept" });
      };
      const changers = [0, 1, 2].map(changing);
      try {
        for (let round = 0; round < 3; round += 1) {
          const found = await store.search([], { limit: 5000, filter: { is: "kept" } });
          expect(new Set(found.map(({ key }) => key)).size).toBe(keys.length);
          expect(found).toHaveLength(keys.length);
        }
      } finally {
        state.searching = false;
      }
      await Promise.all(changers);
    });

    test("filters mean what they say", async () => {
      const { store } = await open();
      const values: Record<string, Record<string, unknown>> = {
        one: { kind: "fact", score: 1, when: "2026-01-02", tags: ["a"] },
        two: { kind: "rule", score: 2, when: "2026-03-01", deep: { x: 1 } },
        ten: { kind: "fact", score: 10, when: "2025-12-31", none: null },
        text: { kind: "f\0act", score: "7", long: "x".repeat(5000), surrogate: "\ud800", flag: true },
        date: { when: new Date("2026-02-01T00:00:00Z"), "a.b": 1, 'quo"te': 2, zero: -0 },
      };
      for (const [key, value] of Object.entries(values)) await store.put(["f"], key, value);
      const found = async (filter: Record<string, unknown>): Promise<string> =>
        (await store.search(["f"], { filter }))
          .map(({ key }) => key)
          .toSorted()
          .join(" ");
      expect(await found({ kind: "fact" })).toBe("one ten");
      expect(await found({ kind: "fact", score: { $gt: 1 } })).toBe("ten");
      expect(await found({ score: { $gte: 2, $lt: 10 } })).toBe("text two");
      expect(await found({ score: { $gt: 9 } })).toBe("ten");
      expect(await found({ when: { $gte: "2026-01-01" } })).toBe("one two");
      expect(await found({ when: { $gt: new Date("2026-01-15T00:00:00Z").getTime() } })).toBe("date");
      expect(await found({ kind: { $ne: "fact" } })).toBe("date text two");
      expect(await found({ kind: { $in: ["rule", "f\0act"] } })).toBe("text two");
      expect(await found({ kind: { $nin: ["rule", "fact"] } })).toBe("date text");
      expect(await found({ kind: { $in: [] } })).toBe("");
      expect(await found({ kind: { $in: [] }, score: 1 })).toBe("");
      expect(await found({ none: null })).toBe("ten");
      expect(await found({ none: { $exists: true } })).toBe("ten");
      expect(await found({ kind: { $exists: false } })).toBe("date");
      expect(await found({ kind: undefined })).toBe("date");
      expect(await found({ kind: { $eq: undefined } })).toBe("date");
      expect(await found({ deep: { x: 1 } })).toBe("two");
      expect(await found({ tags: ["a"] })).toBe("one");
      expect(await found({ long: "x".repeat(5000) })).toBe("text");
      expect(await found({ surrogate: "\ud800" })).toBe("text");
      expect(await found({ kind: "f\0act" })).toBe("text");
      expect(await found({ flag: true })).toBe("text");
      expect(await found({ "a.b": 1 })).toBe("date");
      expect(await found({ 'quo"te': { $lte: 2 } })).toBe("date");
      expect(await found({ zero: 0 })).toBe("date");
      expect(await found({ "nul\0": 1 })).toBe("");
      expect(await found({ score: { $lt: 1e21, $gt: -1e-7 } })).toBe("one ten text two");
      expect(await found({})).toBe("date one ten text two");
      expect(await found({ score: { $lt: Infinity } })).toBe("one ten text two");
      expect(await found({ score: { $gt: 9n } })).toBe("ten");
      const many = Array.from({ length: 20_000 }, (_, n) => n + 10);
      expect(await found({ score: { $in: many } })).toBe("ten");
      await expect(found({ $or: [{ score: 1 }] })).rejects.toMatchObject({ code: "INVALID_OPTION" });
      await expect(found(new Map([["score", 1]]) as never)).rejects.toMatchObject({ code: "INVALID_OPTION" });
      await expect(found({ score: { $near: 1 } })).rejects.toMatchObject({ code: "INVALID_OPTION" });
      await expect(found({ score: { $in: 1 } })).rejects.toMatchObject({ code: "INVALID_OPTION" });
    });

    test("text is searched by its words, best first", async () => {
      const { store } = await open();
      await store.put(["m"], "tea", { text: "Anna drinks green tea in the morning" });
      await store.put(["m"], "team", { text: "The team met" });
      await store.put(["m"], "both", { notes: ["green", { more: "Tea!" }], kind: "rule" });
      await store.put(["m"], "cat", { text: "私は猫が好きです" });
      const found = async (query: string, more: object = {}): Promise<string[]> =>
        (await store.search(["m"], { query, ...more })).map(({ key }) => key);
      expect(await found("tea")).toEqual(["both", "tea"]);
      expect(await found("green tea, morning?")).toEqual(["tea", "both"]);
      expect(await found("猫")).toEqual(["cat"]);
      expect(await found("tea", { filter: { kind: "rule" } })).toEqual(["both"]);
      expect(await found("green tea, morning?", { limit: 1, offset: 1 })).toEqual(["both"]);
      expect(await found("nothing of it")).toEqual([]);
      await store.put(["long"], "k", { text: `${"word ".repeat(40_000)}${"x".repeat(200_000)} end` });
      expect(await store.search(["long"], { query: "end" })).toHaveLength(1);
      const [best] = await store.search(["m"], { query: "green tea morning" });
      expect(best!.score).toBe(1);
    });

    test("namespaces are listed by first and last labels, to a depth, page by page", async () => {
      const { store } = await open();
      for (const labels of [["a", "b", "c"], ["a", "b", "d"], ["a", "x", "c"], ["b", "y"], ["a"]])
        await store.put(labels, "k", {});
      const list = async (options: object): Promise<string[]> =>
        (await store.listNamespaces(options)).map((labels) => labels.join("/"));
      expect(await list({})).toEqual(["a", "a/b/c", "a/b/d", "a/x/c", "b/y"]);
      expect(await list({ prefix: ["a"], maxDepth: 2 })).toEqual(["a", "a/b", "a/x"]);
      expect(await list({ suffix: ["c"] })).toEqual(["a/b/c", "a/x/c"]);
      expect(await list({ prefix: ["a", "*", "c"] })).toEqual(["a/b/c", "a/x/c"]);
      expect(await list({ limit: 2, offset: 1 })).toEqual(["a/b/c", "a/b/d"]);
      expect(await list({ prefix: ["a"], maxDepth: 2, limit: 1, offset: 2 })).toEqual(["a/x"]);
    });

    test("in one batch reads see what was there before, and the last put of an item counts", async () => {
      const { store } = await open();
      await store.put(["a"], "k", { n: 0 });
      const results = await store.batch([
        { namespace: ["a"], key: "k" },
        { namespace: ["a"], key: "k", value: { n: 1 } },
        { namespacePrefix: ["a"] },
        { namespace: ["a"], key: "k", value: { n: 2 } },
        { namespace: ["a"], key: "l", value: { n: 3 } },
        { namespace: ["a"], key: "l", value: null },
        { namespace: ["a"], key: "k" },
      ] as Operation[]);
      expect(results).toMatchObject([
        { value: { n: 0 } },
        undefined,
        [{ value: { n: 0 } }],
        undefined,
        undefined,
        undefined,
        { value: { n: 0 } },
      ]);
      expect((await store.search(["a"])).map(({ value }) => value)).toEqual([{ n: 2 }]);
    });

    test("a wrong call changes nothing, and says which argument is wrong", async () => {
      const { store } = await open();
      const wrong: [Operation, string][] = [
        [{ namespace: [], key: "k", value: {} }, "namespace"],
        [{ namespace: ["a", ""], key: "k", value: {} }, "namespace"],
        [{ namespace: ["a", 5 as never], key: "k", value: {} }, "namespace"],
        [{ namespace: ["x".repeat(3000)], key: "k", value: {} }, "namespace"],
        [{ namespace: ["a"], key: "", value: {} }, "key"],
        [{ namespace: ["a"], key: "k", value: "text" as never }, "value"],
        [{ namespace: ["a"], key: "k", value: undefined as never }, "value"],
        [{ namespacePrefix: ["a"], limit: -1 }, "limit"],
        [{ namespacePrefix: ["a"], offset: 0.5 }, "offset"],
        [{ namespace: ["a"], key: "k", value: [1] as never }, "value"],
        [{ key: "k", value: {} } as never, "operations[1]"],
        [null as never, "operations[1]"],
        [{ matchConditions: [null as never], limit: 1, offset: 0 }, "matchConditions[0].matchType"],
      ];
      for (const [operation, field] of wrong)
        await expect(
          store.batch([{ namespace: ["a"], key: "good", value: {} }, operation]),
        ).rejects.toMatchObject({ data: { field } });
      const value = { run: () => 1 };
      await expect(store.put(["a"], "k", value)).rejects.toMatchObject({ code: "SERIALIZATION" });
      expect(await store.search([])).toEqual([]);
    });

    test("many writers of one batch of items neither lose one nor wait for each other for ever", async () => {
      const { store, other } = await open();
      const keys = ["a", "b", "c", "d", "e"];
      await Promise.all(
        Array.from({ length: 20 }, async (_, n) => {
          const order = n % 2 === 0 ? keys : keys.toReversed();
          await (n % 3 === 0 ? other : store).batch(
            order.map((key) => ({ namespace: [key], key, value: n % 5 === 0 ? null : { n } })),
          );
        }),
      );
      await store.batch(keys.map((key) => ({ namespace: [key], key, value: { n: "last" } })));
      expect(await store.search([])).toHaveLength(keys.length);
    });

    test("random operations end as those of LangGraph's InMemoryStore", async () => {
      const { store, other } = await open();
      const official = new InMemoryStore();
      let seed = 7;
      const random = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below;
      const pick = <T>(list: readonly T[]): T => list[random(list.length)]!;
      const labels = ["a", "b", "c%", "🦊"];
      const namespace = (): string[] => Array.from({ length: 1 + random(3) }, () => pick(labels));
      const filters = [
        {},
        { n: 1 },
        { n: { $gt: 2 } },
        { n: { $lte: 3 }, s: "x" },
        { s: { $ne: "x" } },
        { s: { $in: ["x", "y"] } },
        { n: { $nin: [1, 2] } },
      ];
      for (let round = 0; round < 150; round += 1) {
        const at = namespace();
        const key = `k${random(4)}`;
        const mine = pick([store, other]);
        if (random(5) === 0) await Promise.all([mine.delete(at, key), official.delete(at, key)]);
        else {
          const value = { n: random(6), ...(random(3) === 0 ? {} : { s: pick(["x", "y", "z"]) }) };
          await Promise.all([mine.put(at, key, value), official.put(at, key, value)]);
        }
        const probe = namespace();
        const filter = pick(filters);
        const [ours, theirs] = await Promise.all(
          [mine, official].map(async (it) =>
            (await it.search(probe, { filter, limit: 1000 }))
              .map((item) => JSON.stringify([item.namespace, item.key, item.value]))
              .toSorted(),
          ),
        );
        expect(ours).toEqual(theirs);
      }
    });

    test("a compiled graph reads and writes it", async () => {
      const { store, other } = await open();
      const graph = new StateGraph(MessagesAnnotation)
        .addNode("remember", async (state, runtime) => {
          const memory = runtime.store!;
          const known = await memory.search(["memories", "anna"]);
          await memory.put(["memories", "anna"], `m${state.messages.length}`, { n: known.length });
          await memory.delete(["memories", "anna"], "old");
          return { messages: [new HumanMessage(`${known.length} known`)] };
        })
        .addEdge(START, "remember")
        .addEdge("remember", END)
        .compile({ store });
      await other.put(["memories", "anna"], "old", { n: -1 });
      await graph.invoke({ messages: [] });
      const { messages } = await graph.invoke({ messages: [new HumanMessage("again")] });
      expect(messages.at(-1)!.content).toBe("1 known");
      expect(await other.search(["memories"])).toHaveLength(2);
    });

    testLangGraphStores(open);
  });
}
