import { testStore } from "../../../../tools/testing/src/store/testStore.ts";
import { testWorkspaceTier } from "../../../../tools/testing/src/store/testWorkspaceTier.ts";
import { WordEmbeddings } from "../../../../tools/testing/src/store/wordEmbeddings.ts";
import { expect, test } from "vitest";
import { MemorySaver, MemoryTier, StratigraphSerializer, TierSaver } from "../../src/index.ts";

testStore("memory", async () => {
  const tier = new MemoryTier();
  return { store: new TierSaver(tier).store(), other: new TierSaver(tier).store() };
});

testWorkspaceTier("memory", async () => {
  const tier = new MemoryTier();
  return { tier, other: tier };
});

testStore("MemorySaver", async () => {
  const saver = new MemorySaver();
  return { store: saver.store(), other: saver.store() };
});

test("an item stays as long as the rule that names most labels of its namespace says", async () => {
  let nowMs = 0;
  const tier = new MemoryTier(() => nowMs);
  const store = new TierSaver(tier).store({
    ttl: [
      { namespace: [], ttl: "3h" },
      { namespace: ["cache", "short"], ttl: "1m" },
      { namespace: ["cache"], ttl: "1h" },
    ],
  });
  await store.put(["cache", "short"], "k", {});
  await store.put(["cache", "other"], "k", {});
  await store.put(["memories"], "k", {});
  const left = async (): Promise<string[]> =>
    (await store.listNamespaces()).map((labels) => labels.join("/"));
  nowMs = 59_999;
  expect(await left()).toEqual(["cache/other", "cache/short", "memories"]);
  nowMs = 60_000;
  expect(await left()).toEqual(["cache/other", "memories"]);
  expect(await store.get(["cache", "short"], "k")).toBeNull();
  nowMs = 3_600_000;
  expect(await left()).toEqual(["memories"]);
  await tier.sweep(0);
  await store.put(["memories"], "k", {});
  nowMs = 14_399_999;
  expect(await left()).toEqual(["memories"]);
});

test("wrong options of a store are refused by name", () => {
  const saver = new MemorySaver();
  const embeddings = new WordEmbeddings(2);
  for (const [options, field] of [
    [{ ttl: "soon" }, "ttl"],
    [{ ttl: "0s" }, "ttl"],
    [{ ttl: "1000000000000d" }, "ttl"],
    [{ ttl: [{ namespace: "a", ttl: "1h" }] }, "ttl[0].namespace"],
    [{ ttl: [{ namespace: ["a"], ttl: 5 }] }, "ttl[0].ttl"],
    [{ index: 5 }, "index"],
    [{ index: {} }, "index.dims"],
    [{ index: { dims: 0, embeddings } }, "index.dims"],
    [{ index: { dims: 1e9, embeddings } }, "index.dims"],
    [{ index: { dims: 2 } }, "index.embeddings"],
    [{ index: { dims: 2, embeddings: { embedQuery: embeddings.embedQuery } } }, "index.embeddings"],
    [{ index: { dims: 2, embeddings, fields: "text" } }, "index.fields"],
    [{ index: { dims: 2, embeddings, fields: [5] } }, "index.fields"],
    [{ index: { dims: 2, embed: embeddings } }, "index.embed"],
  ] as const)
    expect(() => saver.store(options as never)).toThrow(
      expect.objectContaining({ data: expect.objectContaining({ field }) }),
    );
});

test("a value that couldn't be read back is refused, and nothing of its batch is stored", async () => {
  const store = new MemorySaver({ maxValueSize: 2000 }).store();
  const batch = store.batch([
    { namespace: ["a"], key: "short", value: {} },
    { namespace: ["a"], key: "long", value: { text: "x".repeat(2000) } },
  ]);
  await expect(batch).rejects.toMatchObject({ code: "SERIALIZATION", data: { key: "long" } });
  expect(await store.search([])).toEqual([]);
});

test("a serializer of one's own is asked, and one that can't revive a value is no damage", async () => {
  class Stamping extends StratigraphSerializer {
    revives = true;
    override async dumpsTyped(value: unknown): Promise<[string, Uint8Array]> {
      return await super.dumpsTyped({ ...(value as object), stamped: true });
    }
    override async loadsTyped(type: string, data: Uint8Array | string): Promise<unknown> {
      if (this.revives) return (await super.loadsTyped(type, data)) as unknown;
      throw new Error("no such class");
    }
  }
  const serde = new Stamping();
  const store = new MemorySaver({ serde }).store();
  await store.put(["a"], "k", { n: 1 });
  expect((await store.get(["a"], "k"))!.value).toEqual({ n: 1, stamped: true });
  serde.revives = false;
  await expect(store.get(["a"], "k")).rejects.toMatchObject({ code: "SERIALIZATION", data: { key: "k" } });
});

test("after the saver's end, the store refuses", async () => {
  const saver = new MemorySaver();
  const store = saver.store();
  await saver.end();
  await expect(store.get(["a"], "k")).rejects.toMatchObject({ code: "CLOSED" });
});
