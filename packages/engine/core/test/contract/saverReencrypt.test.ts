import { randomBytes } from "node:crypto";
import { emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import {
  MemoryTier,
  StratigraphError,
  TierSaver,
  type EncryptionOptions,
  type Tier,
} from "@stratigraph/core";
import type { MaybeAddress } from "@stratigraph/core/tier";
import { describe, expect, test } from "vitest";
import { Storage, historyOf, replacing, stepsBy, twoSteps } from "./support.ts";

const hashKey = randomBytes(32);
const [one, two] = [randomBytes(32), randomBytes(32)];
const old: EncryptionOptions = { keys: { one }, activeKey: "one", hashKey };
const rotated: EncryptionOptions = { keys: { one, two }, activeKey: "two", hashKey };
const thread = (thread_id = "t") => ({ configurable: { thread_id } });

async function fill(tier: Tier, threadIds: readonly string[], encryption = old): Promise<void> {
  const graph = twoSteps(new TierSaver(tier, { encryption }));
  for (const id of threadIds)
    for (const who of ["a", "b"]) await graph.invoke({ who, note: who.repeat(2000) }, thread(id));
}

async function keysOf(tier: Tier): Promise<string[]> {
  const { keys } = await new TierSaver(tier).keysInUse();
  return keys.map(({ keyId, threads }) => `${keyId ?? "plain"}: ${threads}`);
}

describe("keysInUse", () => {
  test("tells what is under which key, without having any", async () => {
    const tier = new MemoryTier();
    expect(await new TierSaver(tier).keysInUse()).toEqual({ keys: [], unlisted: 0 });
    await fill(tier, ["t"]);
    await twoSteps(new TierSaver(tier)).invoke({ who: "c" }, thread("plain"));
    await twoSteps(new TierSaver(tier, { encryption: rotated })).invoke({ who: "c" }, thread());
    const { keys, unlisted } = await new TierSaver(tier).keysInUse();
    expect(unlisted).toBe(0);
    expect(keys.map(({ keyId, threads }) => [keyId, threads])).toEqual([
      [undefined, 1],
      ["one", 1],
      ["two", 1],
    ]);
    let [records, writes] = [0, 0];
    for await (const listed of tier.list({})) {
      records += 1;
      writes += listed.writes.length;
    }
    const blobs = (await tier.blobs("t")).length + (await tier.blobs("plain")).length;
    const total = (name: "records" | "writes" | "blobs") => keys.reduce((sum, use) => sum + use[name], 0);
    expect([total("records"), total("writes"), total("blobs")]).toEqual([records, writes, blobs]);
    const { keys: only } = await new TierSaver(tier).keysInUse({ threadIds: ["plain", "none"] });
    expect(only).toMatchObject([{ threads: 1 }]);
    expect(only[0]).not.toHaveProperty("keyId");
  });

  test("counts pending writes whose checkpoint isn't there", async () => {
    const tier = new MemoryTier();
    await fill(tier, ["t"]);
    const at = { configurable: { thread_id: "t", checkpoint_id: "none" } };
    await new TierSaver(tier).putWrites(at, [["a", 1]], "task");
    expect(await keysOf(tier)).toEqual(["plain: 1", "one: 1"]);
    const saver = new TierSaver(tier, { encryption: rotated });
    await saver.reencrypt();
    expect(await keysOf(tier)).toEqual(["two: 1"]);
    const { writes } = await tier.peek({ threadId: "t", namespace: "", checkpointId: "none" });
    expect(
      await saver.coder.writes.decode(
        { threadId: "t", namespace: "", checkpointId: "none" },
        writes,
        new Map(),
      ),
    ).toMatchObject([{ taskId: "task", channel: "a", value: 1 }]);
  });
});

describe("reencrypt beside others", () => {
  test("a writer in between loses nothing, and the thread is done in a further look", async () => {
    const storage = new Storage();
    await fill(storage.tier, ["t"]);
    const { saver, door } = storage.open({ encryption: rotated });
    const hold = door.hold("replaceBytes");
    const working = saver.reencrypt();
    await hold.reached;
    await twoSteps(storage.open({ encryption: old }).saver).invoke({ who: "c" }, thread());
    hold.release();
    expect(await working).toMatchObject({ threads: 1, failures: 0 });
    expect(await keysOf(storage.tier)).toEqual(["two: 1"]);
    const strict = storage.open({ encryption: { ...rotated, keys: { two } } }).saver;
    expect((await twoSteps(strict).getState(thread())).values.log).toEqual(["a", "b", "c"].flatMap(stepsBy));
  });

  test("a run under way goes on, though all that it relies on was encrypted anew", async () => {
    const storage = new Storage();
    await fill(storage.tier, ["t"]);
    const { saver, door } = storage.open({ encryption: rotated });
    const hold = door.hold("append");
    const running = twoSteps(saver).invoke({ who: "c" }, { ...thread(), durability: "sync" });
    await hold.reached;
    await storage.open({ encryption: rotated }).saver.reencrypt();
    hold.release();
    expect(await running).toMatchObject({ log: ["a", "b", "c"].flatMap(stepsBy) });
    expect(await keysOf(storage.tier)).toEqual(["two: 1"]);
  });

  test("a thread that is written to again and again is reported, and the others are done", async () => {
    const tier = new MemoryTier();
    await fill(tier, ["busy", "idle"]);
    const writer = new TierSaver(tier, { encryption: rotated });
    const busy = replacing(tier, {
      peek: async (at: MaybeAddress) => {
        const answer = await tier.peek(at);
        if (at.threadId === "busy") {
          const config = { configurable: { thread_id: "busy", checkpoint_id: "x" } };
          await writer.putWrites(config, [["a", 1]], "task");
        }
        return answer;
      },
    });
    const report = await new TierSaver(busy, { encryption: rotated }).reencrypt();
    expect(report).toMatchObject({
      threads: 2,
      failures: 1,
      failed: [{ threadId: "busy", error: { code: "OVERLOADED" } }],
    });
    expect(await keysOf(tier)).toEqual(["one: 1", "two: 2"]);
    expect(await writer.reencrypt()).toMatchObject({ failures: 0 });
    expect(await keysOf(tier)).toEqual(["two: 2"]);
  });

  test("blobs that no checkpoint names go", async () => {
    const tier = new MemoryTier();
    await fill(tier, ["t"]);
    const { head } = await tier.peek({ threadId: "t", namespace: "" });
    const { checkpoint } = await tier.read({ threadId: "t", namespace: "" });
    const blob = { hash: "ab".repeat(20), bytes: [...checkpoint!.blobs.values()][0]!.bytes };
    const heads = [{ namespace: "", to: head!, expected: [head!] }];
    await tier.append({ threadId: "t", records: [], blobs: [blob], heads, onConflict: "refuse" });
    expect(await new TierSaver(tier).keysInUse()).toMatchObject({ unlisted: 1 });
    const saver = new TierSaver(tier, { encryption: rotated });
    expect(await saver.reencrypt()).toMatchObject({ dropped: 1, unlisted: 0 });
    expect(await saver.keysInUse()).toMatchObject({ keys: [{ keyId: "two" }], unlisted: 0 });
  });
});

describe("reencrypt of many threads", () => {
  const ids = ["a", "b", "c", "d", "e"];

  test("stops after a number of them, and goes on where it stopped", async () => {
    const tier = new MemoryTier();
    await fill(tier, ids);
    const saver = new TierSaver(tier, { encryption: rotated });
    for (const only of [undefined, ids]) {
      let cursor: string | undefined;
      const seen: number[] = [];
      do {
        const report = await saver.reencrypt({ limit: 2, cursor, threadIds: only });
        seen.push(report.threads);
        cursor = report.cursor;
      } while (cursor !== undefined);
      expect(seen).toEqual([2, 2, 1]);
      expect(await keysOf(tier)).toEqual(["two: 5"]);
    }
  });

  test("one that can't be opened is reported, and the others are done", async () => {
    const tier = new MemoryTier();
    await fill(tier, ["a", "c"]);
    const lost: EncryptionOptions = { keys: { lost: randomBytes(32) }, activeKey: "lost", hashKey };
    await fill(tier, ["b"], lost);
    const states = async () => await historyOf(new TierSaver(tier, { encryption: rotated }), "a");
    const before = await states();
    const report = await new TierSaver(tier, { encryption: rotated }).reencrypt();
    expect(report).toMatchObject({
      threads: 3,
      failures: 1,
      failed: [{ threadId: "b", error: { code: "KEY_MISSING", data: { keyId: "lost", threadId: "b" } } }],
    });
    expect(await keysOf(tier)).toEqual(["lost: 1", "two: 2"]);
    expect(await states()).toEqual(before);
  });

  test("an outage ends it; the next call does the rest", async () => {
    const storage = new Storage();
    await fill(storage.tier, ids);
    const { saver, door } = storage.open({ encryption: rotated });
    const away = door.failWhen(({ method, args }) =>
      method === "replaceBytes" && (args[0] as { threadId: string }).threadId === "c"
        ? new StratigraphError("UNAVAILABLE", "the server is away")
        : undefined,
    );
    await expect(saver.reencrypt()).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(await keysOf(storage.tier)).toEqual(["one: 3", "two: 2"]);
    away();
    expect(await saver.reencrypt()).toMatchObject({ threads: 5, failures: 0 });
    expect(await keysOf(storage.tier)).toEqual(["two: 5"]);
  });

  test("a large thread is done in steps that are bounded", async () => {
    const storage = new Storage();
    const writer = storage.open({ encryption: old, patchMemory: "0b" }).saver;
    let config: object = thread();
    for (let n = 1; n <= 6; n += 1) {
      const value = randomBytes(1_500_000);
      const checkpoint = { ...emptyCheckpoint(), channel_values: { value }, channel_versions: { value: n } };
      config = await writer.put(config, checkpoint, { source: "loop", step: n, parents: {} }, { value: n });
    }
    const { saver, door } = storage.open({ encryption: rotated });
    await saver.reencrypt();
    const sizes = door.calls.flatMap(({ method, args }) =>
      method === "replaceBytes"
        ? [
            (args[0] as { blobs: { bytes: Uint8Array }[] }).blobs.reduce(
              (sum, { bytes }) => sum + bytes.length,
              0,
            ),
          ]
        : [],
    );
    expect(sizes.length).toBe(3);
    expect(Math.max(...sizes)).toBeLessThan(4 * 1024 * 1024);
    expect(await keysOf(storage.tier)).toEqual(["two: 1"]);
  });
});

describe("refused", () => {
  test.each<[string, () => Promise<unknown>, string]>([
    ["no encryption", () => new TierSaver(new MemoryTier()).reencrypt(), "encryption"],
    [
      "a tier that can't",
      () =>
        new TierSaver(replacing(new MemoryTier(), { replaceBytes: undefined }), {
          encryption: old,
        }).reencrypt(),
      "tier",
    ],
    [
      "a limit of 0",
      () => new TierSaver(new MemoryTier(), { encryption: old }).reencrypt({ limit: 0 }),
      "limit",
    ],
    [
      "another cursor",
      () => new TierSaver(new MemoryTier(), { encryption: old }).reencrypt({ cursor: "x" }),
      "cursor",
    ],
    [
      "text for a list",
      () => new TierSaver(new MemoryTier()).keysInUse({ threadIds: "t" as unknown as string[] }),
      "threadIds",
    ],
    [
      "an unknown option",
      () => new TierSaver(new MemoryTier()).keysInUse({ threads: ["t"] } as object),
      "threads",
    ],
  ])("%s", async (_, call, field) => {
    await expect(call()).rejects.toMatchObject({ code: "INVALID_OPTION", data: { field } });
  });

  test.each([
    { owner: -1 },
    { owner: 1 },
    { owner: 0.5 },
    { owner: 0, after: "x" },
    { owner: 0, after: { threadId: 5 } },
    { owner: 0, done: -1 },
    { owner: 0, items: { before: 5 } },
    { owner: 1, items: { before: "x" } },
    { owner: 1, items: { workspace: "w" } },
    { owner: 1, items: 5 },
    null,
  ])("a cursor of another saver or list, %j: it would skip threads", async (place) => {
    const saver = new TierSaver(new MemoryTier(), { encryption: old });
    const cursor = Buffer.from(JSON.stringify(place)).toString("base64url");
    for (const threadIds of [undefined, ["t"]])
      await expect(saver.reencrypt({ cursor, threadIds })).rejects.toMatchObject({
        code: "INVALID_OPTION",
        data: { field: "cursor" },
      });
  });
});
