// long file: what users and operators live through with keys, told as one piece
import { randomBytes } from "node:crypto";
import {
  MemoryTier,
  StratigraphError,
  TierSaver,
  type EncryptionOptions,
  type Tier,
} from "@stratigraph/core";
import { lookOnly, readThread } from "@stratigraph/core/internal";
import type { Diagnosis } from "@stratigraph/core/tier";
import { describe, expect, test } from "vitest";
import { replacing, twoSteps, withoutKeyChecks } from "./support.ts";

const thread = { configurable: { thread_id: "t" } };
const hashKey = randomBytes(32);
const [keyA, keyB] = [randomBytes(32), randomBytes(32)];
const right: EncryptionOptions = { keys: { a: keyA }, activeKey: "a", hashKey };
const wrongKey: EncryptionOptions = { ...right, keys: { a: randomBytes(32) } };
const wrongHashKey: EncryptionOptions = { ...right, hashKey: randomBytes(32) };

const refusedKey = {
  name: "StratigraphError",
  code: "KEY_MISMATCH",
  retryable: false,
  data: { field: 'encryption.keys["a"]', keyId: "a", tier: "memory", role: "warm" },
  message: expect.stringMatching(
    /^encryption\.keys\["a"\] .*storage memory.*Set the right secret/s,
  ) as string,
};
const refusedHashKey = {
  code: "KEY_MISMATCH",
  data: { field: "encryption.hashKey", tier: "memory", role: "warm" },
  message: expect.stringMatching(/^encryption\.hashKey .*storage memory.*must never change/s) as string,
};

function saverOf(tier: Tier, encryption: EncryptionOptions = right): TierSaver {
  return new TierSaver(tier, { encryption, threadTags: ["user"] });
}

async function opened(tier: Tier, encryption: EncryptionOptions = right): Promise<TierSaver> {
  const saver = saverOf(tier, encryption);
  await saver.setup();
  return saver;
}

async function say(saver: TierSaver, who: string, threadId = "t"): Promise<void> {
  const config = { configurable: { thread_id: threadId, user: who } };
  await twoSteps(saver).invoke({ who, note: "n".repeat(2000) + who }, config);
}

async function logOf(saver: TierSaver, threadId = "t"): Promise<string[]> {
  const state = await twoSteps(saver).getState({ configurable: { thread_id: threadId } });
  return (state.values as { log: string[] }).log;
}

/** The tier, for somebody who may only read. */
function readOnly(tier: MemoryTier): Tier {
  return replacing(tier, {
    claimKeyCheck: async () => {
      throw new StratigraphError("ACCESS_DENIED", "may not write");
    },
  });
}

const names = ["hash", "key a", "key b"];

/** How many check values are stored. */
async function stored(tier: MemoryTier): Promise<number> {
  return (await tier.keyChecks(names)).size;
}

async function filled(encryption: EncryptionOptions = right): Promise<MemoryTier> {
  const tier = new MemoryTier();
  await say(await opened(tier, encryption), "anna");
  return tier;
}

/** Filled by a version that stored no check values. */
async function filledBefore(encryption: EncryptionOptions = right): Promise<MemoryTier> {
  const tier = new MemoryTier();
  await say(saverOf(withoutKeyChecks(tier), encryption), "anna");
  expect(await stored(tier)).toBe(0);
  return tier;
}

describe("a storage that was opened with its keys before", () => {
  test("I open it again with the same keys, and go on", async () => {
    const tier = await filled();
    const saver = await opened(tier);
    await say(saver, "anna");
    expect(await logOf(saver)).toHaveLength(4);
  });

  test("one deployment has another secret under the same id: it is refused at its start, and the others go on", async () => {
    const tier = await filled();
    const refused = await opened(tier, wrongKey).catch((error: unknown) => error as StratigraphError);
    expect(refused).toMatchObject(refusedKey);
    const shown = JSON.stringify(refused) + String(refused);
    for (const form of ["hex", "base64", "base64url"] as const)
      expect(shown).not.toContain(Buffer.from(wrongKey.keys["a"] as Uint8Array).toString(form));
    await say(await opened(tier), "anna");
    expect((await saverOf(tier).keysInUse()).keys).toHaveLength(1);
  });

  test("… or another hash key", async () => {
    await expect(opened(await filled(), wrongHashKey)).rejects.toMatchObject(refusedHashKey);
  });

  test("it never calls setup(): its first call is refused, and stores nothing", async () => {
    const tier = await filled();
    const { revision } = await tier.peek({ threadId: "t", namespace: "" });
    for (const [encryption, refused] of [
      [wrongKey, refusedKey],
      [wrongHashKey, refusedHashKey],
    ] as const) {
      await expect(say(saverOf(tier, encryption), "anna")).rejects.toMatchObject(refused);
      await expect(say(saverOf(tier, encryption), "bob", "new")).rejects.toMatchObject(refused);
      await expect(saverOf(tier, encryption).getTuple(thread)).rejects.toMatchObject(refused);
    }
    expect((await tier.peek({ threadId: "t", namespace: "" })).revision).toBe(revision);
    expect((await tier.peek({ threadId: "new", namespace: "" })).revision).toBe(0);
  });

  test("a deletion by tag with another hash key is refused, rather than reporting that nobody had a thread", async () => {
    const tier = await filled();
    const wrong = saverOf(tier, wrongHashKey);
    await expect(wrong.deleteThreads({ tag: { user: "anna" } })).rejects.toMatchObject(refusedHashKey);
    await expect(wrong.listThreads({ tag: { user: "anna" } })).rejects.toMatchObject(refusedHashKey);
    await expect(wrong.tagThread("t", { user: "bob" })).rejects.toMatchObject(refusedHashKey);
    await expect(wrong.untagThread("t", { user: "anna" })).rejects.toMatchObject(refusedHashKey);
    expect((await saverOf(tier).deleteThreads({ tag: { user: "anna" } })).threads).toHaveLength(1);
  });

  test("who only looks is refused alike", async () => {
    const tier = await filled();
    await lookOnly(async () => {
      await expect(saverOf(tier, wrongKey).getTuple(thread)).rejects.toMatchObject(refusedKey);
    });
  });

  test("doctor names it", async () => {
    const tier = await filled();
    const found = async (encryption: EncryptionOptions): Promise<readonly Diagnosis[]> =>
      await saverOf(tier, encryption).diagnoseKeys({ timeoutMs: 10_000 });
    expect(await found(wrongKey)).toEqual([
      { tier: "memory", role: "warm", check: "keys", status: "problem", found: refusedKey.message },
    ]);
    expect(await found(wrongHashKey)).toMatchObject([{ status: "problem", found: refusedHashKey.message }]);
    expect(await found(right)).toMatchObject([{ status: "ok" }]);
    expect(await new TierSaver(tier).diagnoseKeys({ timeoutMs: 10_000 })).toEqual([]);
  });

  test("all check values are lost, as with FLUSHALL: the next process stores its own", async () => {
    const saver = await opened(new MemoryTier());
    await say(saver, "anna");
    const emptied = new MemoryTier();
    await say(await opened(emptied), "bob", "u");
    expect(await stored(emptied)).toBe(2);
  });
});

describe("two processes that open an empty storage with different keys", () => {
  for (const [what, other] of [
    ["key", wrongKey],
    ["hash key", wrongHashKey],
  ] as const) {
    test(`another ${what}: one wins, and the other leaves nothing`, async () => {
      const tier = new MemoryTier();
      const encryption = { ...other, keys: { ...other.keys, b: keyB } };
      const outcomes = await Promise.allSettled([opened(tier), opened(tier, encryption)]);
      expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
      expect(await stored(tier)).toBe(2);
    });
  }
});

describe("rotation", () => {
  const both: EncryptionOptions = { keys: { a: keyA, b: keyB }, activeKey: "b", hashKey };
  const onlyB: EncryptionOptions = { keys: { b: keyB }, activeKey: "b", hashKey };

  test("a new key under a new id is taken, and what was encrypted anew needs the old one no more", async () => {
    const tier = await filled();
    const saver = await opened(tier, both);
    await saver.reencrypt();
    const after = await opened(tier, onlyB);
    await say(after, "anna");
    expect(await logOf(after)).toHaveLength(4);
    const swapped = { ...onlyB, keys: { b: keyA } };
    await expect(opened(tier, swapped)).rejects.toMatchObject({ data: { keyId: "b" } });
  });

  test("another key under the old id is refused, even for reading only, and even after that id was retired", async () => {
    const tier = await filled();
    await (await opened(tier, both)).reencrypt();
    await opened(tier, onlyB);
    const wrong = { a: randomBytes(32), b: keyB };
    await expect(opened(tier, { ...both, keys: wrong })).rejects.toMatchObject(refusedKey);
    await expect(opened(tier, wrongKey)).rejects.toMatchObject(refusedKey);
  });

  test("a process that is refused for one key doesn't make its other keys known", async () => {
    const tier = await filled();
    const wrong = { keys: { a: randomBytes(32), b: randomBytes(32) }, activeKey: "b", hashKey };
    await expect(opened(tier, wrong)).rejects.toMatchObject(refusedKey);
    await expect(say(saverOf(tier, { ...wrong, hashKey: randomBytes(32) }), "anna")).rejects.toMatchObject(
      refusedHashKey,
    );
    await opened(tier, both);
  });
});

test("a key that was destroyed: the storage goes on under a new one, and what the old one sealed can be deleted, unread", async () => {
  const tier = await filled();
  const onlyB: EncryptionOptions = { keys: { b: keyB }, activeKey: "b", hashKey };
  const saver = await opened(tier, onlyB);
  await say(saver, "bob", "u");
  await expect(saver.getTuple(thread)).rejects.toMatchObject({ code: "KEY_MISSING", data: { keyId: "a" } });
  expect(await logOf(saver, "u")).toHaveLength(2);
  expect(await saver.deleteThreads({ tag: { user: "anna" } })).toMatchObject({ complete: true });
  expect((await saver.keysInUse()).keys).toMatchObject([{ keyId: "b" }]);
  // The id of a destroyed key gets no other meaning.
  await expect(opened(tier, wrongKey)).rejects.toMatchObject(refusedKey);
});

test("a copy in another storage that knows another key under the id is read by nobody, and nobody is misled", async () => {
  const [tier, target] = [await filled(), new MemoryTier()];
  const other = await opened(target, { ...wrongKey });
  await target.append({ threadId: "t", ...(await readThread(tier, "t")), onConflict: "refuse" });
  await expect(other.getTuple(thread)).rejects.toMatchObject({
    code: "CORRUPT",
    message: expect.stringContaining("Check the key first") as string,
  });
  await expect(opened(target)).rejects.toMatchObject(refusedKey);
});

describe("a storage from before there were check values", () => {
  test("the right key becomes the known one", async () => {
    const tier = await filledBefore();
    await opened(tier);
    expect(await stored(tier)).toBe(2);
    await expect(opened(tier, wrongKey)).rejects.toMatchObject(refusedKey);
  });

  test("another key doesn't, as it opens nothing of what is stored under its id", async () => {
    for (const [encryption, refused] of [
      [wrongKey, refusedKey],
      [wrongHashKey, refusedHashKey],
    ] as const) {
      const tier = await filledBefore();
      await expect(opened(tier, encryption)).rejects.toMatchObject(refused);
      await expect(say(saverOf(tier, encryption), "bob", "new")).rejects.toMatchObject(refused);
      const [found] = await saverOf(tier, encryption).diagnoseKeys({ timeoutMs: 10_000 });
      expect(found).toMatchObject({ status: "problem", found: refused.message });
      expect(await stored(tier)).toBe(0);
      await opened(tier);
    }
  });

  test("an old key, behind a new one under which nothing is stored yet, is proven and becomes known too", async () => {
    const tier = await filledBefore();
    const both = { keys: { a: keyA, b: keyB }, activeKey: "b", hashKey };
    await expect(opened(tier, { ...both, keys: { ...both.keys, a: randomBytes(32) } })).rejects.toMatchObject(
      refusedKey,
    );
    await opened(tier, both);
    expect(await stored(tier)).toBe(3);
  });

  test("an old key of which nothing is found isn't made known: nobody proved it", async () => {
    const tier = new MemoryTier();
    await opened(tier, { keys: { a: randomBytes(32), b: keyB }, activeKey: "b", hashKey });
    expect([...(await tier.keyChecks(names)).keys()].sort()).toEqual(["hash", "key b"]);
  });

  test("it holds only what isn't encrypted: any key becomes the known one", async () => {
    const tier = new MemoryTier();
    await say(new TierSaver(tier), "anna");
    const saver = await opened(tier);
    await say(saver, "anna");
    expect(await logOf(saver)).toHaveLength(4);
  });

  test("one damaged checkpoint is no proof against the key", async () => {
    const tier = await filledBefore();
    await say(saverOf(withoutKeyChecks(tier)), "bob", "damaged");
    const { checkpoint } = await tier.read({ threadId: "damaged", namespace: "" });
    checkpoint!.record.body[checkpoint!.record.body.length - 1]! ^= 1;
    await opened(tier);
    expect(await stored(tier)).toBe(2);
  });

  test("who only looks, or may only read, opens it and stores nothing", async () => {
    const tier = await filledBefore();
    const looking = saverOf(tier);
    await lookOnly(async () => {
      expect(await logOf(looking)).toHaveLength(2);
      // A dry run may encrypt what it doesn't store.
      await looking.coder.blobs.envelope.wrap(randomBytes(8), "address");
    });
    const reader = await opened(readOnly(tier));
    expect(await logOf(reader)).toHaveLength(2);
    expect(await stored(tier)).toBe(0);
    const [found] = await reader.diagnoseKeys({ timeoutMs: 10_000 });
    expect(found).toMatchObject({ status: "warning", advice: expect.stringContaining("setup") as string });
  });
});

describe("a key service that is down at the start", () => {
  function service(key: Uint8Array) {
    const state = { down: true, asked: 0 };
    const encryption: EncryptionOptions = {
      ...right,
      keys: {
        a: () => {
          state.asked += 1;
          if (state.down) throw new Error("KMS is down");
          return key;
        },
      },
    };
    return { state, encryption };
  }

  test("is no outage: the process starts, and works when the service is back", async () => {
    const tier = await filled();
    const { state, encryption } = service(keyA);
    const saver = await opened(tier, encryption);
    await expect(saver.getTuple(thread)).rejects.toMatchObject({
      code: "KEY_UNAVAILABLE",
      data: { keyId: "a" },
    });
    state.down = false;
    await say(saver, "anna");
    expect(await logOf(saver)).toHaveLength(4);
  });

  test("and if it comes back with another key, that is refused then", async () => {
    const tier = await filled();
    const { state, encryption } = service(randomBytes(32));
    const saver = await opened(tier, encryption);
    state.down = false;
    await expect(saver.getTuple(thread)).rejects.toMatchObject(refusedKey);
    await expect(say(saver, "bob", "new")).rejects.toMatchObject(refusedKey);
  });

  test("a key is fetched once, however often it is compared", async () => {
    const { state, encryption } = service(keyA);
    state.down = false;
    await say(await opened(await filled(), encryption), "anna");
    expect(state.asked).toBe(1);
  });
});

test("check values cost one request at the opening, and none in puts and gets", async () => {
  const tier = await filled();
  const asked: string[] = [];
  const counting = new Proxy(tier, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]): unknown => {
        asked.push(String(name));
        return value.apply(target, args) as unknown;
      };
    },
  });
  const saver = await opened(counting);
  expect(asked.filter((name) => name !== "setup")).toEqual(["keyChecks"]);
  for (let turn = 0; turn < 3; turn += 1) await say(saver, "anna");
  await logOf(saver);
  expect(asked.filter((name) => /keycheck/i.test(name))).toEqual(["keyChecks"]);
});
