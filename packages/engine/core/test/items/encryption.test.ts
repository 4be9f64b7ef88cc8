import { randomBytes } from "node:crypto";
import { FakeEmbeddings } from "@langchain/core/utils/testing";
import { describe, expect, test } from "vitest";
import { testStore } from "../../../../tools/testing/src/store/testStore.ts";
import { keyIdOf } from "../../src/codec/index.ts";
import { MemoryTier, StratigraphError, TierSaver, type EncryptionOptions } from "../../src/index.ts";
import type { Items } from "../../src/tier.ts";
import { replacing, withoutKeyChecks } from "../contract/support.ts";

const hashKey = randomBytes(32);
const [one, two] = [randomBytes(32), randomBytes(32)];
const old: EncryptionOptions = { keys: { one }, activeKey: "one", hashKey };
const rotated: EncryptionOptions = { keys: { one, two }, activeKey: "two", hashKey };

testStore("memory, encrypted", async () => {
  const tier = new MemoryTier();
  const open = () => new TierSaver(tier, { encryption: old }).store();
  return { store: open(), other: open() };
});

/** How many items are under which key. */
async function keysOf(saver: TierSaver): Promise<string[]> {
  const { keys } = await saver.keysInUse();
  return keys.map(({ keyId, items }) => `${keyId ?? "plain"}: ${items}`);
}

async function filled(count: number, encryption: EncryptionOptions | undefined): Promise<MemoryTier> {
  const tier = new MemoryTier();
  const store = new TierSaver(tier, { encryption }).store();
  const puts = Array.from({ length: count }, (_, n) => ({ namespace: ["a"], key: `k${n}`, value: { n } }));
  await store.batch(puts);
  return tier;
}

/** A tier whose items are changed just before a page of them is replaced, by somebody who looked at none. */
function interrupted(tier: MemoryTier, before: (values: Parameters<Items["replace"]>[0]) => Promise<void>) {
  const { items } = tier;
  const replace: Items["replace"] = async (values) => {
    await before(values);
    return await items.replace(values);
  };
  return replacing(tier, {
    items: { all: items.all.bind(items), replace } satisfies Partial<Items>,
  });
}

test("embeddings of encrypted values are refused: they would tell what the values say", () => {
  const index = { dims: 1, embeddings: new FakeEmbeddings() };
  expect(() => new TierSaver(new MemoryTier(), { encryption: old }).store({ index })).toThrow(
    expect.objectContaining({ code: "INVALID_OPTION", data: expect.objectContaining({ field: "index" }) }),
  );
});

describe("values", () => {
  test("are for those who have the key: others are told which one is missing", async () => {
    const tier = await filled(1, old);
    const { items } = await tier.items.all({ limit: 1 });
    expect(keyIdOf(items[0]!.value)).toBe("one");
    const plain = new TierSaver(tier).store();
    const missing = { code: "KEY_MISSING", data: { keyId: "one", namespace: ["a"], key: "k0" } };
    await expect(plain.get(["a"], "k0")).rejects.toMatchObject(missing);
    await expect(plain.search(["a"], { filter: { n: 0 } })).rejects.toMatchObject(missing);
  });

  test("don't open in another item's place, even where both have the same value", async () => {
    const tier = await filled(2, old);
    const { items } = await tier.items.all({ limit: 2 });
    await tier.items.replace(items.map((item, n) => ({ ...item, value: items[1 - n]!.value })));
    await expect(new TierSaver(tier, { encryption: old }).store().get(["a"], "k0")).rejects.toMatchObject({
      code: "CORRUPT",
      data: { namespace: ["a"], key: "k0" },
      cause: { reason: "tampered" },
    });
  });

  test("that aren't encrypted are refused where plain text is", async () => {
    const tier = await filled(1, undefined);
    const read = async (encryption: EncryptionOptions) =>
      await new TierSaver(tier, { encryption }).store().search([]);
    expect(await read(old)).toMatchObject([{ value: { n: 0 } }]);
    await expect(read({ ...old, refusePlaintext: true })).rejects.toMatchObject({
      code: "PLAINTEXT_REFUSED",
      data: { key: "k0" },
    });
    await new TierSaver(tier, { encryption: old }).reencrypt();
    expect(await read({ ...old, refusePlaintext: true })).toMatchObject([{ value: { n: 0 } }]);
  });

  test("show that a key is a wrong one, in a storage that has nothing else", async () => {
    const tier = new MemoryTier();
    // By a version that stored no check values.
    await new TierSaver(withoutKeyChecks(tier), { encryption: old }).store().put(["a"], "k", {});
    const wrong = new TierSaver(tier, { encryption: { ...old, keys: { one: two } } });
    await expect(wrong.setup()).rejects.toMatchObject({ code: "KEY_MISMATCH", data: { keyId: "one" } });
    await new TierSaver(tier, { encryption: old }).setup();
  });
});

describe("rotation", () => {
  test("goes through items a page at a time, after the threads, and is repeated without effect", async () => {
    const tier = await filled(1200, undefined);
    await new TierSaver(tier, { encryption: old }).store().put(["b"], "later", { n: 0 });
    expect(await keysOf(new TierSaver(tier))).toEqual(["plain: 1200", "one: 1"]);
    const before = (await tier.items.all({ limit: 2000 })).items;
    const saver = new TierSaver(tier, { encryption: rotated });
    const steps: number[] = [];
    let cursor: string | undefined;
    do {
      const report = await saver.reencrypt({ limit: 1, cursor });
      steps.push(report.items);
      expect(report).toMatchObject({ threads: 0, failures: 0 });
      ({ cursor } = report);
    } while (cursor !== undefined);
    expect(steps).toEqual([500, 500, 201]);
    expect(await keysOf(new TierSaver(tier))).toEqual(["two: 1201"]);
    const after = (await tier.items.all({ limit: 2000 })).items;
    const known = (items: typeof after) => items.map((item) => ({ ...item, value: undefined }));
    expect(known(after)).toEqual(known(before));
    expect(await saver.store().search(["a"], { filter: { n: 7 } })).toMatchObject([
      { key: "k7", value: { n: 7 } },
    ]);
    expect(await saver.reencrypt()).toMatchObject({ items: 0, failures: 0 });
    expect(await saver.reencrypt({ threadIds: ["t"] })).toMatchObject({ threads: 1, items: 0 });
    expect((await saver.keysInUse({ threadIds: ["t"] })).keys).toEqual([]);
  });

  test("never takes back what is written meanwhile", async () => {
    const tier = await filled(3, old);
    const writer = new TierSaver(tier, { encryption: old }).store();
    let writes = 0;
    const door = interrupted(tier, async () => {
      if ((writes += 1) > 1) return;
      await writer.put(["a"], "k1", { n: "newer" });
      await writer.delete(["a"], "k2");
    });
    expect(await new TierSaver(door, { encryption: rotated }).reencrypt()).toMatchObject({ items: 2 });
    const items = await new TierSaver(tier, { encryption: rotated }).store().search([]);
    expect(items.map(({ key, value }) => [key, value["n"]])).toEqual([
      ["k1", "newer"],
      ["k0", 0],
    ]);
  });

  test("reports items that don't open or are always being changed, and does the others", async () => {
    const tier = await filled(3, old);
    const lost: EncryptionOptions = { keys: { lost: randomBytes(32) }, activeKey: "lost", hashKey };
    await new TierSaver(withoutKeyChecks(tier), { encryption: lost }).store().put(["a"], "k1", { n: 1 });
    const { items } = await tier.items.all({ limit: 1 });
    const report = await new TierSaver(tier, { encryption: rotated }).reencrypt();
    expect(report).toMatchObject({ items: 2, failures: 1 });
    expect(report.failed).toMatchObject([
      { error: { code: "KEY_MISSING", data: { keyId: "lost", namespace: ["a"], key: "k1" } } },
    ]);
    expect(await keysOf(new TierSaver(tier))).toEqual(["lost: 1", "two: 2"]);

    await tier.items.replace([{ ...items[0]!, value: items[0]!.value.subarray(0, 3) }]);
    const told: StratigraphError[] = [];
    const { keys } = await new TierSaver(tier).keysInUse({ onDamaged: (error) => void told.push(error) });
    expect(keys).toMatchObject([{ keyId: "two", items: 2 }]);
    expect(told).toMatchObject([{ data: { namespace: ["a"], key: "k1" } }]);
    await expect(new TierSaver(tier).keysInUse()).rejects.toBeInstanceOf(StratigraphError);

    const busy = await filled(2, old);
    const locked = replacing(busy, {
      items: { all: busy.items.all.bind(busy.items), replace: async () => 0 } satisfies Partial<Items>,
    });
    expect(await new TierSaver(locked, { encryption: rotated }).reencrypt()).toMatchObject({
      items: 0,
      failures: 1,
      failed: [{ error: { code: "OVERLOADED" } }],
    });
  });

  test("an outage ends it; the next call does the rest", async () => {
    const tier = await filled(3, old);
    const away = interrupted(tier, async () => {
      throw new StratigraphError("UNAVAILABLE", "the server is away");
    });
    const saver = new TierSaver(away, { encryption: rotated });
    await expect(saver.reencrypt()).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(await new TierSaver(tier, { encryption: rotated }).reencrypt()).toMatchObject({ items: 3 });
  });
});
