import { InMemoryStore, type BaseStore, type Operation } from "@langchain/langgraph-checkpoint";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { expect, test } from "vitest";

/** Namespaces of which some begin or end like others, or have labels that a database could take for patterns. */
const namespaces = [
  ["tenant", "a"],
  ["tenant", "a", "notes"],
  ["tenant", "a", "alice"],
  ["tenant", "ab"],
  ["tenant", "ab", "alice"],
  ["tenant", "langgraph"],
  ["tenant", "mylanggraph"],
  ["alice"],
  ["users", "alice"],
  ["users", "malice"],
  ["users", "alice2"],
  ["stars", "*"],
  ["stars", "*", "leaf"],
  ["stars", "other"],
  ["wild", "v1"],
  ["wild", "one", "v1"],
  ["wild", "one", "v1", "child"],
  ["wild", "one", "two", "v1"],
  ["wild", "one", "v10"],
  ["wild", "one", "v1\n"],
  ["wild", "star*", "v1"],
  ["wild", "starX", "v1"],
  ["wild", "a[b](c)+?$^|", "v1"],
];

const listings = [
  {},
  { prefix: [], suffix: [] },
  { prefix: ["missing"] },
  { prefix: ["tenant", "a"] },
  { suffix: ["alice"] },
  { suffix: ["langgraph"] },
  { prefix: ["tenant", "a"], suffix: ["alice"] },
  { prefix: ["tenant", "*"], suffix: ["alice"] },
  { prefix: ["tenant"], suffix: ["*", "alice"] },
  { prefix: ["stars", "*"] },
  { prefix: ["wild", "*", "v1"] },
  { suffix: ["wild", "*", "v1"] },
  { prefix: ["wild", "*", "*", "v1"] },
  { suffix: ["*", "v1"] },
  { prefix: ["*"], suffix: ["*", "v1"] },
  { prefix: ["wild", "star*"], suffix: ["*", "v1"] },
  { prefix: ["wild", "star*", "*"] },
  { prefix: ["wild", "a[b](c)+?$^|", "*"] },
  { suffix: ["*", "v1\n"] },
  { maxDepth: 1 },
  { prefix: ["wild"], maxDepth: 2 },
  { suffix: ["v1"], maxDepth: 2 },
];

/**
 * What LangGraph's own stores promise: what the tests of InMemoryStore, PostgresStore and RedisStore look at, and the faults that were
 * reported of them.
 */
export function testLangGraphStores(
  open: () => Promise<{ readonly store: BaseStore; readonly other: BaseStore }>,
): void {
  const filled = async () => {
    const pair = await open();
    const memory = new InMemoryStore();
    for (const labels of namespaces)
      for (const store of [pair.store, memory])
        await store.put(labels, labels.join("-"), { depth: labels.length });
    return { ...pair, memory };
  };

  test("listings by whole labels, with stars for any label, are InMemoryStore's", async () => {
    const { other, memory } = await filled();
    const texts = async (store: BaseStore, options: object): Promise<string[]> =>
      (await store.listNamespaces({ limit: 100, ...options }))
        .map((labels) => JSON.stringify(labels))
        .toSorted();
    for (const options of listings) expect(await texts(other, options)).toEqual(await texts(memory, options));
    expect(await other.listNamespaces({ limit: 100 })).toHaveLength(namespaces.length);
  });

  test("pages of a listing hold each namespace once, in one order", async () => {
    const { store, other } = await filled();
    for (const options of [{}, { suffix: ["*", "alice"] }, { prefix: ["wild"], maxDepth: 2 }]) {
      const whole = await store.listNamespaces({ ...options, limit: 100 });
      const pages: string[][] = [];
      for (let offset = 0; offset <= whole.length; offset += 2)
        pages.push(...(await other.listNamespaces({ ...options, limit: 2, offset })));
      expect(pages).toEqual(whole);
    }
  });

  test("a search finds what is below whole labels, however it is narrowed; stars are labels like others", async () => {
    const { store } = await filled();
    const found = async (prefix: string[], options: object = {}): Promise<string[]> =>
      (await store.search(prefix, { limit: 100, ...options })).map(({ key }) => key).toSorted();
    expect(await found(["tenant", "a"])).toEqual(["tenant-a", "tenant-a-alice", "tenant-a-notes"]);
    expect(await found(["stars", "*"])).toEqual(["stars-*", "stars-*-leaf"]);
    for (const prefix of namespaces) {
      const below = namespaces.filter((labels) => prefix.every((label, n) => labels[n] === label));
      const keys = (most: number): string[] =>
        below.flatMap((labels) => (labels.length <= most ? [labels.join("-")] : [])).toSorted();
      expect(await found(prefix)).toEqual(keys(9));
      expect(await found(prefix, { filter: { depth: { $lt: 4 } } })).toEqual(keys(3));
      expect(await found(prefix, { filter: { depth: 9 } })).toEqual([]);
    }
    expect(await store.search(["tenant", "a"], { limit: 1, offset: 2 })).toHaveLength(1);
    expect(await store.search(["tenant", "a"], { limit: 1, offset: 3 })).toEqual([]);
    expect(await store.get(["tenant", "a"], "tenant-ab")).toBeNull();
  });

  test("wrong namespaces of a put are refused as by LangGraph, and nothing is stored", async () => {
    const { store } = await open();
    for (const labels of [
      [],
      ["the", "thing.about"],
      ["some", ""],
      ["langgraph", "foo"],
      ["some", 123 as never],
    ])
      await expect(store.put(labels, "k", {})).rejects.toMatchObject({ name: "InvalidNamespaceError" });
    expect(await store.listNamespaces()).toEqual([]);
    const below = ["foo", "langgraph", "foo"];
    await store.put(below, "k", { n: 1 });
    expect(await store.get(below, "k")).toMatchObject({ value: { n: 1 }, namespace: below });
    expect(await store.search(below)).toMatchObject([{ value: { n: 1 } }]);
    await store.delete(below, "k");
    expect(await store.get(below, "k")).toBeNull();
  });

  test("a batch refuses wrong namespaces of all its operations, whatever else is in it", async () => {
    const { store } = await open();
    const good: Operation = { namespace: ["good"], key: "k", value: { n: 1 } };
    for (const labels of [[], [""], ["a", ""], ["a\0b"], [5 as never], "text" as never, undefined as never]) {
      const wrong: Operation[] = [
        { namespace: labels, key: "k", value: {} },
        { namespace: labels, key: "k", value: null },
        { namespace: labels, key: "k" },
        { matchConditions: [{ matchType: "suffix", path: labels }], limit: 1, offset: 0 },
        { namespacePrefix: labels },
      ];
      // Below no label is everything.
      for (const operation of Array.isArray(labels) && labels.length === 0 ? wrong.slice(0, 3) : wrong)
        await expect(store.batch([good, operation])).rejects.toMatchObject({ code: "INVALID_ADDRESS" });
    }
    expect(await store.listNamespaces()).toEqual([]);
  });

  test("labels that LangGraph keeps for itself are kept apart, should a batch have them", async () => {
    const { store, other } = await open();
    const tenants = [
      ["a", "b"],
      ["a.b"],
      ["a:b"],
      ["a", "b", "c"],
      ["a.b", "c"],
      ["a:b:c"],
      ["langgraph"],
      ["anna@example.com"],
    ];
    await store.batch(tenants.map((namespace, n) => ({ namespace, key: "k", value: { n } })));
    const read = await other.batch(tenants.map((namespace) => ({ namespace, key: "k" })));
    expect(read).toMatchObject(tenants.map((namespace, n) => ({ namespace, value: { n } })));
    const [below] = await other.batch([{ namespacePrefix: ["a"] }]);
    expect((below as { value: unknown }[]).map(({ value }) => value)).toEqual([{ n: 3 }, { n: 0 }]);
  });

  test("results of a batch stand in the order of its operations", async () => {
    const { store } = await open();
    await store.put(["batch", "test"], "one", { n: 1 });
    await store.put(["batch", "other"], "two", { n: 2 });
    const results = await store.batch([
      { namespace: ["batch", "test"], key: "one" },
      { namespace: ["batch", "test"], key: "three", value: { n: 3 } },
      { namespacePrefix: ["batch"], filter: { n: 2 }, limit: 10, offset: 0 },
      { matchConditions: [{ matchType: "prefix", path: ["batch"] }], limit: 10, offset: 0 },
      { namespace: ["batch", "test"], key: "none" },
      { namespace: ["batch", "other"], key: "two", value: null },
    ] as Operation[]);
    expect(results).toMatchObject([
      { key: "one", value: { n: 1 } },
      undefined,
      [{ key: "two" }],
      [
        ["batch", "other"],
        ["batch", "test"],
      ],
      null,
      undefined,
    ]);
    expect(await store.get(["batch", "test"], "three")).toMatchObject({ value: { n: 3 } });
    expect(await store.get(["batch", "other"], "two")).toBeNull();
    expect(await store.batch([])).toEqual([]);
  });

  test("filters of several conditions on several fields hold all at once", async () => {
    const { store } = await open();
    const products: Record<string, Record<string, unknown>> = {
      laptop: { price: 1200, stock: 10, tags: ["computer"], on: true, specs: { ram: 16 } },
      tablet: { price: 800, stock: 5, tags: ["computer", "light"], on: false, specs: { ram: 8 } },
      phone: { price: 600, stock: 20, tags: ["mobile"], on: true },
      chair: { price: 250, stock: 15, material: "leather", on: true },
    };
    for (const [key, value] of Object.entries(products)) await store.put(["products", key], key, value);
    const found = async (filter: Record<string, unknown>): Promise<string> =>
      (await store.search(["products"], { filter }))
        .map(({ key }) => key)
        .toSorted()
        .join(" ");
    expect(await found({ price: { $gte: 600, $lte: 800 } })).toBe("phone tablet");
    expect(await found({ price: { $gt: 250, $ne: 800 }, on: true })).toBe("laptop phone");
    expect(await found({ stock: { $in: [5, 15], $lt: 10 } })).toBe("tablet");
    expect(await found({ material: { $exists: false }, price: { $nin: [600] } })).toBe("laptop tablet");
    expect(await found({ on: false })).toBe("tablet");
    expect(await found({ specs: { ram: 8 } })).toBe("tablet");
    // A field is the name of a field, no path, and a list is compared as a whole.
    expect(await found({ "specs.ram": 8 })).toBe("");
    expect(await found({ tags: "computer" })).toBe("");
  });

  test("options that only PostgresStore or RedisStore has are refused, unless they ask for what is done anyway", async () => {
    const { store } = await open();
    const put = store.put.bind(store) as (...args: unknown[]) => Promise<void>;
    const search = store.search.bind(store) as (...args: unknown[]) => Promise<unknown[]>;
    await expect(put(["a"], "k", {}, undefined, { ttl: 5 })).rejects.toMatchObject({
      data: { field: "options" },
    });
    expect(await store.get(["a"], "k")).toBeNull();
    await put(["a"], "k", { text: "tea" }, undefined, undefined);
    for (const mode of [undefined, "auto", "text"])
      expect(await search(["a"], { query: "tea", mode })).toHaveLength(1);
    const refused = { mode: "vector", similarityThreshold: 0.5, distanceMetric: "l2", vectorWeight: 1 };
    for (const [field, value] of Object.entries({ ...refused, refreshTtl: true, limits: 5 }))
      await expect(search(["a"], { query: "tea", [field]: value })).rejects.toMatchObject({
        data: { field },
      });
    await expect(search(["a"], "tea")).rejects.toMatchObject({ data: { field: "options" } });
  });

  test("long and nested values come back whole", async () => {
    const { store, other } = await open();
    const value = {
      text: "emoji 🎉, äöü, quotes ' \" and \\",
      list: [1, "two", [3, [null]], { four: { five: true } }],
      many: Array.from({ length: 1000 }, (_, id) => ({ id, data: `item-${id}`, nested: { value: id * 2 } })),
    };
    await store.put(["long"], "k", value);
    expect((await other.get(["long"], "k"))!.value).toEqual(value);
  });

  test("inside a graph, calls of one moment are made together; a listing is the store's own", async () => {
    const { store, other } = await open();
    const seen: unknown[] = [];
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("work", async (_state, runtime) => {
        const inside = runtime.store!;
        await Promise.all(["x", "y"].map((key) => inside.put(["graph", key], "k", { key })));
        const [x, none, found] = await Promise.all([
          inside.get(["graph", "x"], "k"),
          inside.get(["graph", "z"], "k"),
          inside.search(["graph"], { filter: { key: "y" } }),
        ]);
        seen.push(
          x!.value,
          none,
          found.map(({ key, value }) => [key, value]),
        );
        // LangGraph's wrapper has no listing: the node asks the store that it was compiled with.
        seen.push(await store.listNamespaces({ prefix: ["graph"] }));
        return {};
      })
      .addEdge(START, "work")
      .addEdge("work", END)
      .compile({ store });
    await graph.invoke({ messages: [] });
    expect(seen).toEqual([
      { key: "x" },
      null,
      [["k", { key: "y" }]],
      [
        ["graph", "x"],
        ["graph", "y"],
      ],
    ]);
    expect(await other.search(["graph"])).toHaveLength(2);
  });
}
