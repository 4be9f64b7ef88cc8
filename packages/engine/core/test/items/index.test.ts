import { InMemoryStore } from "@langchain/langgraph-checkpoint";
import { expect, test, vi } from "vitest";
import { WordEmbeddings } from "../../../../tools/testing/src/store/wordEmbeddings.ts";
import { testStoreIndex } from "../../../../tools/testing/src/store/testStoreIndex.ts";
import { MemorySaver, MemoryTier, TierSaver } from "../../src/index.ts";

testStoreIndex("memory", async () => {
  const tier = new MemoryTier();
  return (options) => new TierSaver(tier).store(options);
});

testStoreIndex("MemorySaver", async () => {
  const saver = new MemorySaver();
  return (options) => saver.store(options);
});

const dims = 2;

test("paths of fields name the same texts as in LangGraph's InMemoryStore", async () => {
  const value = {
    title: "t",
    meta: { title: "m", none: null, deep: { x: [1, true] } },
    chapters: [{ content: "c0" }, { content: "c1", by: [{ name: "n" }] }, "c2"],
    $: "dollar",
  };
  for (const fields of [
    undefined,
    ["$"],
    ["title", "meta.title"],
    ["chapters[*].content", "chapters[-1]", "chapters[0].content", "chapters[9]", "chapters[x]"],
    ["meta", "meta.deep.x", "meta.deep.x[*]", "meta.none", "missing", "title.length"],
    ["{title,meta.title}", "*", "chapters[*].by[0].name", "meta.*", "[0]", "{meta}.title"],
    ["", "$.title", "a[", "{"],
  ]) {
    const embeddings = new WordEmbeddings(dims);
    const store = new MemorySaver().store({ index: { dims, embeddings, ...(fields && { fields }) } });
    const official = new WordEmbeddings(dims);
    const theirs = new InMemoryStore({
      index: { dims, embeddings: official, ...(fields && { fields }) },
    });
    for (const index of [undefined, ["meta.title", "chapters[*]"]]) {
      await store.put(["a"], "k", value, index);
      await theirs.put(["a"], "k", value, index);
    }
    expect(embeddings.documents.map((texts) => texts.toSorted())).toEqual(
      official.documents.map((texts) => texts.toSorted()),
    );
  }
});

test("embeddings that never answer end in an error, and nothing is stored", async () => {
  vi.useFakeTimers();
  try {
    const embeddings = new WordEmbeddings(dims);
    const saver = new MemorySaver();
    const store = saver.store({ index: { dims, embeddings } });
    const silent = () => new Promise<never>(() => {});
    embeddings.embedDocuments = silent;
    embeddings.embedQuery = silent;
    const calls = [store.put(["a"], "k", {}), store.search(["a"], { query: "tea" })].map((call) =>
      expect(call).rejects.toMatchObject({ code: "UNAVAILABLE", data: { timeoutMs: 300_000 } }),
    );
    await vi.advanceTimersByTimeAsync(301_000);
    await Promise.all(calls);
    expect(await saver.store().get(["a"], "k")).toBeNull();
  } finally {
    vi.useRealTimers();
  }
});

test("an item whose time has passed isn't found by its vector", async () => {
  let nowMs = 0;
  const tier = new MemoryTier(() => nowMs);
  const index = { dims, embeddings: new WordEmbeddings(dims), fields: ["text"] };
  const store = new TierSaver(tier).store({ index, ttl: [{ namespace: ["cache"], ttl: "1m" }] });
  await store.put(["cache"], "short", { text: "tea" });
  await store.put(["kept"], "long", { text: "coffee" });
  const found = async (): Promise<string[]> =>
    (await store.search([], { query: "tea" })).map(({ key }) => key);
  expect(await found()).toEqual(["short", "long"]);
  nowMs = 60_000;
  expect(await found()).toEqual(["long"]);
  await store.put(["cache"], "short", {});
  expect((await store.search(["cache"], { query: "tea" }))[0]!.score).toBeUndefined();
});

test("an item with more texts than can be indexed is refused", async () => {
  const embeddings = new WordEmbeddings(dims);
  const store = new MemorySaver().store({ index: { dims, embeddings, fields: ["notes[*]"] } });
  const notes = (count: number): number[] => Array.from({ length: count }, (_, n) => n);
  await store.put(["a"], "k", { notes: notes(1000) });
  await expect(store.put(["a"], "k", { notes: notes(1001) })).rejects.toMatchObject({
    code: "INVALID_OPTION",
    data: { field: "index" },
  });
});
