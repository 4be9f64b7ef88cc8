import { testStore } from "../../../../tools/testing/src/store/testStore.ts";
import { testWorkspaceTier } from "../../../../tools/testing/src/store/testWorkspaceTier.ts";
import { WordEmbeddings } from "../../../../tools/testing/src/store/wordEmbeddings.ts";
import { expect, test } from "vitest";
import type { Items, ItemSearch } from "../../src/tier.ts";
import { replacing } from "../contract/support.ts";
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

test("a get begins an item's time anew where the rule says so, once a tenth of it has passed", async () => {
  let nowMs = 0;
  const tier = new MemoryTier(() => nowMs);
  const store = new TierSaver(tier).store({
    ttl: [
      { namespace: ["cache"], ttl: "100m", refreshOnRead: true },
      { namespace: ["other"], ttl: "100m" },
    ],
  });
  await store.put(["cache"], "read", {});
  await store.put(["cache"], "unread", {});
  await store.put(["other"], "read", {});
  const get = async (minutes: number) => {
    nowMs = minutes * 60_000;
    const [first, second] = await Promise.all([store.get(["cache"], "read"), store.get(["other"], "read")]);
    await store.search(["cache"]);
    return [first, second].map((item) => item?.updatedAt.getTime());
  };
  expect(await get(9)).toEqual([0, 0]);
  expect(await get(99)).toEqual([0, 0]);
  expect((await store.listNamespaces({ prefix: ["cache"] })).length).toBe(1);
  expect(await get(198)).toEqual([0, undefined]);
  expect((await store.search([])).map(({ key }) => key)).toEqual(["read"]);
  expect(await get(298)).toEqual([undefined, undefined]);
});

test("a search ends, however many items come while it reads", async () => {
  const tier = new MemoryTier();
  const writer = new TierSaver(tier).store();
  const keys = Array.from({ length: 100 }, (_, n) => `k${n}`);
  await writer.batch(keys.map((key) => ({ namespace: ["a"], key, value: { n: 1 } })));
  let pages = 0;
  const items: Items = Object.assign(Object.create(tier.items) as Items, {
    search: async (search: ItemSearch) => {
      const page = await tier.items.search(search);
      // A thousand are enough to tell a search that never ends.
      if ((pages += 1) <= 1000) await writer.put(["a"], `new ${pages}`, { n: 1 });
      return page;
    },
  });
  const store = new TierSaver(replacing(tier, { items })).store();
  const found = await store.search(["a"], { filter: { n: 1 }, limit: 2000 });
  expect(new Set(found.map(({ key }) => key)).size).toBe(found.length);
  expect(found.length).toBeGreaterThan(90);
  expect(pages).toBeLessThan(100);
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
    [{ ttl: [{ namespace: ["a"], ttl: "1h", refreshOnRead: 1 }] }, "ttl[0].refreshOnRead"],
    [{ ttl: [{ namespace: ["a"], ttl: "1h", refresh: true }] }, "ttl[0].refresh"],
    [{ ttl: [null] }, "ttl[0]"],
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
