import { randomBytes } from "node:crypto";
import { deserialize, serialize } from "node:v8";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { TierSaver, type EncryptionOptions, type MemoryTier } from "@stratigraph/core";
import { describe, expect, test } from "vitest";
import { Storage, historyOf, logOf, stepsBy, text, twoSteps } from "./support.ts";

const thread = { configurable: { thread_id: "t" } };
const [key1, key2, hashKey] = [randomBytes(32), randomBytes(32), randomBytes(32)];

async function turn(saver: TierSaver, who: string): Promise<void> {
  await twoSteps(saver).invoke({ who, log: [text(who, 2)], note: `secret of ${who}` }, thread);
}

/** Everything a tier holds of the thread, as one text of single bytes. */
async function stored(tier: MemoryTier): Promise<string> {
  const bytes: Uint8Array[] = [];
  for await (const { record, blobs, writes } of tier.list({ threadId: "t" }))
    bytes.push(
      record.body,
      ...writes.map(({ body }) => body),
      ...[...blobs.values()].map((blob) => blob.bytes),
    );
  return Buffer.concat(bytes).toString("latin1");
}

describe("encryption", () => {
  const first: EncryptionOptions = { keys: { one: key1 }, activeKey: "one", hashKey };
  const rotated: EncryptionOptions = { keys: { one: key1, two: () => key2 }, activeKey: "two", hashKey };

  test("everything but ids is sealed", async () => {
    const [plain, sealed] = [new Storage(), new Storage()];
    await turn(plain.open().saver, "a");
    await turn(sealed.open({ encryption: first }).saver, "a");
    expect((await stored(plain.tier)).includes("one by a")).toBe(true);
    const bytes = await stored(sealed.tier);
    expect(
      ["one by a", "two by a", "secret", "branch:to"].filter((secret) => bytes.includes(secret)),
    ).toEqual([]);
    const reader = sealed.open({ encryption: first }).saver;
    expect((await twoSteps(reader).getState(thread)).values.log).toEqual(logOf("a"));
    const hashes = async (tier: MemoryTier) => new Set((await tier.blobs("t")).map(({ hash }) => hash));
    const plainHashes = await hashes(plain.tier);
    for (const hash of await hashes(sealed.tier)) expect(plainHashes.has(hash)).toBe(false);
  });

  test("keys are rotated while a thread goes on", async () => {
    const storage = new Storage();
    await turn(storage.open({ encryption: first }).saver, "a");
    const before = await historyOf(storage.open({ encryption: first }).saver);
    await turn(storage.open({ encryption: rotated }).saver, "b");
    const { saver } = storage.open({ encryption: rotated });
    const history = await historyOf(saver);
    expect(history[0]!.values.log).toEqual(logOf("a", "b"));
    expect(history.slice(-before.length)).toEqual(before);
    const withoutNew = storage.open({ encryption: first }).saver;
    await expect(withoutNew.getTuple(thread)).rejects.toMatchObject({
      code: "KEY_MISSING",
      data: { threadId: "t", keyId: "two" },
      message: expect.stringContaining('Key "two" is not in encryption.keys'),
    });
    const other = { ...rotated, keys: { one: key1, two: randomBytes(32) } };
    await expect(storage.open({ encryption: other }).saver.getTuple(thread)).rejects.toMatchObject({
      code: "KEY_MISMATCH",
      data: { keyId: "two" },
    });
    await expect(storage.open().saver.getTuple(thread)).rejects.toMatchObject({
      code: "KEY_MISSING",
      data: { threadId: "t", keyId: "two" },
      message: expect.stringContaining("no option encryption"),
    });
  });

  test("it is switched on over a plaintext thread, and plaintext refused afterwards", async () => {
    const storage = new Storage();
    await turn(storage.open().saver, "a");
    const before = await historyOf(storage.open().saver);
    await turn(storage.open({ encryption: first }).saver, "b");
    const history = await historyOf(storage.open({ encryption: first }).saver);
    expect(history[0]!.values).toMatchObject({ log: logOf("a", "b"), note: "secret of b" });
    expect(history.slice(-before.length)).toEqual(before);
    const bytes = await stored(storage.tier);
    expect(["one by a", "one by b"].map((part) => bytes.includes(part))).toEqual([true, false]);
    const strict = storage.open({ encryption: { ...first, refusePlaintext: true } }).saver;
    const old = before[0]!.config;
    await expect(strict.getTuple(old)).rejects.toMatchObject({
      code: "PLAINTEXT_REFUSED",
      message: expect.stringContaining("refusePlaintext is on"),
    });
    const fresh = { configurable: { thread_id: "fresh" } };
    await twoSteps(strict).invoke({ who: "c" }, fresh);
    expect((await twoSteps(strict).getState(fresh)).values.log).toEqual(stepsBy("c"));
  });

  test("copies and pruned threads stay readable", async () => {
    const storage = new Storage();
    const { saver } = storage.open({ encryption: first });
    await turn(saver, "a");
    await turn(saver, "b");
    await saver.copyThread("t", "copy");
    await saver.prune(["t"], { strategy: "keep_latest" });
    const { saver: reader } = storage.open({ encryption: rotated });
    for (const thread_id of ["t", "copy"]) {
      const state = await twoSteps(reader).getState({ configurable: { thread_id } });
      expect(state.values.log).toEqual(logOf("a", "b"));
    }
  });
});

describe("a serde of one's own", () => {
  const binary = {
    async dumpsTyped(value: unknown): Promise<[string, Uint8Array]> {
      return ["v8+deflate", deflateRawSync(serialize(value))];
    },
    async loadsTyped(type: string, data: Uint8Array | string): Promise<unknown> {
      if (type !== "v8+deflate" || typeof data === "string") throw new TypeError(`unexpected ${type}`);
      return deserialize(inflateRawSync(data)) as unknown;
    },
  };

  test("that is binary and compresses: a graph's whole history", async () => {
    const [storage, other] = [new Storage(), new Storage()];
    for (const who of ["a", "b", "c"]) {
      await turn(storage.open({ serde: binary }).saver, who);
      await turn(other.open().saver, who);
    }
    const history = await historyOf(storage.open({ serde: binary }).saver);
    expect(history[0]!.values.log).toEqual(logOf("a", "b", "c"));
    expect(history.map(({ values, next }) => ({ values, next }))).toEqual(
      (await historyOf(other.open().saver)).map(({ values, next }) => ({ values, next })),
    );
  });

  test("that throws: an error that names thread and channel", async () => {
    const failing = {
      ...binary,
      dumpsTyped: (): never => {
        throw new TypeError("no form");
      },
    };
    const run = turn(new TierSaver(new Storage().tier, { serde: failing }), "a");
    await expect(run).rejects.toMatchObject({ code: "SERIALIZATION", data: { threadId: "t" } });
  });
});

describe("patchMemory", () => {
  test('"0b" stores every value whole; the default patches', async () => {
    for (const [options, patched] of [
      [{ patchMemory: "0b" }, false],
      [{}, true],
    ] as const) {
      const storage = new Storage();
      const { saver } = storage.open(options);
      for (const who of ["a", "b", "c"]) await turn(saver, who);
      const blobs = await storage.tier.blobs("t");
      expect(blobs.some(({ base }) => base !== undefined)).toBe(patched);
      expect((await historyOf(storage.open().saver))[0]!.values.log).toEqual(logOf("a", "b", "c"));
    }
  });
});

describe("options", () => {
  test("are checked when a saver is made", () => {
    const { tier } = new Storage();
    const bad: readonly (readonly [field: string, options: object])[] = [
      ["conflict", { conflict: "ignore" }],
      ["serde", { serde: {} }],
      ["patchMemory", { patchMemory: "many" }],
      ["patchMemory", { patchMemory: -1 }],
      ["maxValueSize", { maxValueSize: "1tb" }],
      ["encryption.activeKey", { encryption: { keys: { a: key1 }, activeKey: "b", hashKey } }],
    ];
    for (const [field, options] of bad) {
      expect(() => new TierSaver(tier, options)).toThrow(
        expect.objectContaining({ data: expect.objectContaining({ field }) }),
      );
    }
  });
});
