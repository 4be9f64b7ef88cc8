import {
  InMemoryStore,
  type BaseStore,
  type IndexConfig,
  type Operation,
} from "@langchain/langgraph-checkpoint";
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { describe, expect, test } from "vitest";
import { WordEmbeddings } from "./wordEmbeddings.ts";

/** Opens a store on one storage, with these options. */
export type OpenStore = (options?: { readonly index?: IndexConfig }) => BaseStore;

const dims = 8;

const texts = [
  "Anna drinks green tea in the morning",
  "Anna drinks black coffee in the evening",
  "The team met on Monday",
  "Green is the colour of hope",
  "Tea ceremonies take hours",
];

/**
 * What users expect of a store's search by embeddings, on any storage.
 * @param opening opens a storage, for all tests: each empties it first
 */
export function testStoreIndex(name: string, opening: () => Promise<OpenStore>): void {
  let opened: Promise<OpenStore> | undefined;
  const open = async (): Promise<OpenStore> => {
    const storage = await (opened ??= opening());
    const store = storage();
    const items = await store.search([], { limit: 10_000 });
    await store.batch(items.map(({ namespace, key }) => ({ namespace, key, value: null })));
    return storage;
  };
  const withIndex = async (more: Partial<IndexConfig> = {}) => {
    const storage = await open();
    const embeddings = new WordEmbeddings(dims);
    return { storage, embeddings, store: storage({ index: { dims, embeddings, ...more } }) };
  };

  describe(`index of a store on ${name}`, () => {
    test("the most similar item comes first, as in LangGraph's InMemoryStore, page by page", async () => {
      const { store, embeddings } = await withIndex({ fields: ["text"] });
      const official = new InMemoryStore({ index: { dims, embeddings, fields: ["text"] } });
      let seed = 7;
      const random = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below;
      const words = texts.flatMap((text) => text.split(" "));
      const puts = Array.from({ length: 150 }, (_, n) => ({
        namespace: ["a", `u${n % 3}`],
        key: `k${n}`,
        value: {
          n,
          when: new Date(n),
          text: `${n} ${Array.from({ length: 6 }, () => words[random(words.length)]).join(" ")}`,
        },
      }));
      await store.batch(puts);
      await official.batch(puts);
      for (const [prefix, options] of [
        [["a"], { limit: 1000 }],
        [["a"], {}],
        [["a"], { limit: 7, offset: 130 }],
        [["a", "u1"], { limit: 20, offset: 3 }],
        [["a"], { limit: 20, filter: { n: { $lt: 40 } } }],
        [[], { limit: 20, filter: { n: { $in: [3, 5, 70] } } }],
      ] as const)
        for (const query of ["green tea", "Monday"]) {
          const [ours, theirs] = await Promise.all(
            [store, official].map((it) => it.search([...prefix], { ...options, query })),
          );
          expect(ours!.map(({ key }) => key)).toEqual(theirs!.map(({ key }) => key));
          for (const [place, { score }] of theirs!.entries())
            expect(ours![place]!.score).toBeCloseTo(score!, 5);
        }
      // Only the client can decide on dates: the search reads several pages.
      const dated = await store.search([], { query: "tea", filter: { when: new Date(88) } });
      expect(dated.map(({ key }) => key)).toEqual(["k88"]);
      expect((await store.search([], { limit: 2 })).map(({ key }) => key)).toEqual(["k149", "k148"]);
    });

    test("PostgresStore's mode may ask for what an index does anyway", async () => {
      const { store } = await withIndex({ fields: ["text"] });
      const search = async (mode: string): Promise<unknown[]> =>
        await store.search([], { query: "tea", mode } as object);
      expect([await search("auto"), await search("vector")]).toEqual([[], []]);
      for (const mode of ["text", "hybrid"])
        await expect(search(mode)).rejects.toMatchObject({ data: { field: "mode" } });
    });

    test("an item with several texts is found by its best one", async () => {
      const { store } = await withIndex({ fields: ["notes[*]"] });
      await store.put(["a"], "many", { notes: [texts[2], texts[0], texts[2]] });
      await store.put(["a"], "one", { notes: [`${texts[0]} and evening`] });
      const found = await store.search(["a"], { query: texts[0]! });
      expect(found.map(({ key }) => key)).toEqual(["many", "one"]);
      expect(found[0]!.score).toBeCloseTo(1, 6);
    });

    test("items without a vector come last, newest first and without a score", async () => {
      const { storage, store } = await withIndex({ fields: ["text"] });
      await storage().put(["a"], "before", { text: texts[0] });
      await store.put(["a"], "hidden", { text: texts[0] }, false);
      await store.put(["a"], "titled", { text: texts[2], title: texts[0] }, ["title"]);
      await store.put(["a"], "empty", { text: "", n: 1 });
      await store.put(["a"], "other", { text: texts[3] });
      const keys = async (options: object): Promise<string[]> =>
        (await store.search(["a"], { query: texts[0]!, ...options })).map(({ key }) => key);
      expect(await keys({})).toEqual(["titled", "other", "empty", "hidden", "before"]);
      expect(await keys({ limit: 2, offset: 1 })).toEqual(["other", "empty"]);
      expect(await keys({ limit: 2, offset: 3 })).toEqual(["hidden", "before"]);
      expect(await keys({ filter: { n: 1 } })).toEqual(["empty"]);
      expect(await keys({ limit: 0 })).toEqual([]);
      expect((await store.search(["a"], { query: "tea" })).map(({ score }) => typeof score)).toEqual([
        "number",
        "number",
        "undefined",
        "undefined",
        "undefined",
      ]);
      // Without a query, and in a store without an index, all is as ever.
      expect((await store.search(["a"], { query: "" })).map(({ key }) => key)[0]).toBe("other");
      expect(await storage().search(["a"], { query: "hope" })).toMatchObject([{ key: "other", score: 1 }]);
    });

    test("a value is never found by the text of an earlier one (langgraph#8300)", async () => {
      const { storage, store } = await withIndex({ fields: ["text"] });
      const scores = async (): Promise<unknown[]> =>
        (await store.search(["a"], { query: texts[0]! })).map(({ score }) => score?.toFixed(3));
      const change: (() => Promise<void>)[] = [
        () => store.put(["a"], "k", { title: "no text any more" }),
        () => store.put(["a"], "k", { text: texts[0], n: 1 }, false),
        () => storage().put(["a"], "k", { text: texts[0], n: 2 }),
      ];
      for (const put of change) {
        await store.put(["a"], "k", { text: texts[0] });
        expect(await scores()).toEqual(["1.000"]);
        await put();
        expect(await scores()).toEqual([undefined]);
      }
      await store.put(["a"], "k", { text: texts[0] });
      await store.delete(["a"], "k");
      expect(await scores()).toEqual([]);
      await storage().put(["a"], "k", {});
      expect(await scores()).toEqual([undefined]);
    });

    test("a batch embeds its texts in one call, each text once, and each query once", async () => {
      const { store, embeddings } = await withIndex({ fields: ["text", "title"] });
      const put = (key: string, value: object): Operation => ({ namespace: ["a"], key, value });
      const results = await store.batch([
        put("lost", { text: "a value that a later put of the batch replaces" }),
        put("k1", { text: "one", title: "two" }),
        { namespacePrefix: ["a"], query: "tea" },
        put("k2", { text: "two", title: "__proto__" }),
        { namespacePrefix: ["b"], query: "tea" },
        put("lost", { text: "one" }),
        { namespacePrefix: ["a"], query: "other" },
        put("k3", { n: 1 }),
      ]);
      expect(results[2]).toEqual([]);
      expect(embeddings.documents.map((call) => call.toSorted())).toEqual([["__proto__", "one", "two"]]);
      expect(embeddings.queries.toSorted()).toEqual(["other", "tea"]);
      await store.put(["a"], "k3", { n: 2 });
      await store.delete(["a"], "k3");
      await store.get(["a"], "k1");
      await store.search(["a"], {});
      expect(embeddings.documents).toHaveLength(1);
      expect(embeddings.queries).toHaveLength(2);
    });

    test("if the embeddings fail, nothing is stored, and the error says why", async () => {
      const { storage, store } = await withIndex();
      await store.put(["a"], "k", { n: 1 });
      const failing = (give: (texts: string[]) => unknown): BaseStore => {
        const embeddings = new WordEmbeddings(dims);
        embeddings.embedDocuments = async (given) => (await give(given)) as number[][];
        embeddings.embedQuery = async (given) => (await give([given])) as number[];
        return storage({ index: { dims, embeddings } });
      };
      const own = new Error("401 wrong key");
      const throwing = failing(() => {
        throw own;
      });
      await expect(throwing.put(["a"], "k", { n: 2 })).rejects.toBe(own);
      await expect(throwing.search(["a"], { query: "tea" })).rejects.toBe(own);
      for (const [vectors, field] of [
        [[[1, 2, 3]], "index.dims"],
        [[], "index.embeddings"],
        [undefined, "index.embeddings"],
        [[[1, 2, 3, 4, 5, 6, 7, NaN]], "index.embeddings"],
        [[[1, 2, 3, 4, 5, 6, 7, "8"]], "index.embeddings"],
        [["vector"], "index.embeddings"],
      ] as const) {
        const wrong = { code: "INVALID_OPTION", data: { field } };
        const putting = failing(() => vectors).batch([
          { namespace: ["a"], key: "k", value: { n: 2 } },
          { namespace: ["a"], key: "l", value: null },
        ]);
        await expect(putting).rejects.toMatchObject(wrong);
        const searching = failing(() => vectors?.[0]).search(["a"], { query: "tea" });
        await expect(searching).rejects.toMatchObject(wrong);
      }
      expect((await store.search([])).map(({ value }) => value)).toEqual([{ n: 1 }]);
      const circle: Record<string, unknown> = {};
      circle["self"] = circle;
      await expect(store.put(["a"], "k", circle)).rejects.toMatchObject({ code: "SERIALIZATION" });
      await expect(store.put(["a"], "k", {}, "text" as never)).rejects.toMatchObject({
        data: { field: "index" },
      });
      // What JSON doesn't have is still text.
      await store.put(["a"], "big", { big: 12n, tiny: 1e-300, text: texts[0] });
      expect((await store.search(["a"], { query: texts[0]! }))[0]!.key).toBe("big");
    });

    test("vectors of any size are compared by direction only", async () => {
      const storage = await open();
      const embeddings = new WordEmbeddings(2);
      const vectors: Record<string, number[]> = {
        huge: [1e300, 1e300],
        tiny: [1e-40, 0.5e-40],
        zero: [0, 0],
        away: [-1, -1],
        query: [3, 3],
      };
      embeddings.embedDocuments = async (given) => given.map((text) => vectors[text]!);
      embeddings.embedQuery = async (text) => vectors[text]!;
      const store = storage({ index: { dims: 2, embeddings, fields: ["text"] } });
      for (const text of ["away", "zero", "tiny", "huge"]) await store.put(["a"], text, { text });
      const found = await store.search(["a"], { query: "query" });
      expect(found.map(({ key, score }) => `${key} ${score!.toFixed(3)}`)).toEqual([
        "huge 1.000",
        "tiny 0.949",
        "zero 0.000",
        "away -1.000",
      ]);
    });

    test("stores of different dims on one storage each find their own, and the others' last", async () => {
      const { storage, store } = await withIndex({ fields: ["text"] });
      const embeddings = new WordEmbeddings(3);
      const other = storage({ index: { dims: 3, embeddings, fields: ["text"] } });
      await store.put(["a"], "eight", { text: texts[0] });
      await other.put(["a"], "three", { text: texts[0] });
      const found = async (by: BaseStore): Promise<string[]> =>
        (await by.search(["a"], { query: texts[0]! })).map(({ key, score }) => `${key} ${score?.toFixed(2)}`);
      expect(await found(store)).toEqual(["eight 1.00", "three undefined"]);
      expect(await found(other)).toEqual(["three 1.00", "eight undefined"]);
      await other.put(["a"], "eight", { text: texts[2] });
      expect((await found(store)).toSorted()).toEqual(["eight undefined", "three undefined"]);
    });

    test("tenants whose names look like each other never find each other's items", async () => {
      const { store } = await withIndex({ fields: ["text"] });
      const users = ["anna", "anna%", "anna_", "an\\na", "ann", "🦊", "ANNA", "a'n\"na", "{vector}"];
      for (const user of users) await store.put(["users", user], user, { text: texts[0], user });
      for (const user of users)
        expect(await store.search(["users", user], { query: "tea" })).toMatchObject([{ value: { user } }]);
      expect(await store.search(["users", "an"], { query: "tea" })).toEqual([]);
      expect(await store.search([], { query: "tea" })).toHaveLength(users.length);
      // Of equal ones the newest change comes first.
      expect((await store.search(["users"], { query: "tea" })).map(({ key }) => key)).toEqual(
        users.toReversed(),
      );
    });

    test("a node of a graph searches by meaning", async () => {
      const { store } = await withIndex({ fields: ["text"] });
      const graph = new StateGraph(Annotation.Root({ found: Annotation<string> }))
        .addNode("recall", async (_, { store: memory }) => {
          await Promise.all(texts.map((text, n) => memory!.put(["facts"], `k${n}`, { text })));
          const [best] = await memory!.search(["facts"], { query: "drinks green tea", limit: 1 });
          return { found: best!.value["text"] as string };
        })
        .addEdge(START, "recall")
        .addEdge("recall", END)
        .compile({ store });
      expect(await graph.invoke({})).toEqual({ found: texts[0] });
    });
  });
}
