import { randomBytes } from "node:crypto";
import { Command } from "@langchain/langgraph";
import { TierSaver, MemoryTier, type EncryptionOptions, type Tier } from "@stratigraph/core";
import { postgres } from "@stratigraph/postgres";
import { redis } from "@stratigraph/redis";
import { folder, s3 } from "@stratigraph/s3";
import { TieredSaver } from "@stratigraph/tiered";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { openBucket } from "../../../s3/test/support/bucket.ts";
import { freshDatabase, sharedRedis } from "../../../../../test/servers/shared.ts";
import { agentGraph, answerTurn, askTurn, historyOf } from "./support/agentGraph.ts";

// Encrypting anew, on every storage and through a stack: threads of an agent that asks, answers, was wound back and asked again,
// with patches, side by side tasks and pending writes.

const hashKey = randomBytes(32);
const [one, two] = [randomBytes(32), randomBytes(32)];
const old: EncryptionOptions = { keys: { one }, activeKey: "one", hashKey };
const rotated: EncryptionOptions = { keys: { one, two }, activeKey: "two", hashKey };
const onlyNew: EncryptionOptions = { keys: { two }, activeKey: "two", hashKey, refusePlaintext: true };

/** Tiers of one storage each, and how to close them. */
const storages: Readonly<Record<string, () => Promise<() => Tier>>> = {
  memory: async () => {
    const tier = new MemoryTier();
    return () => tier;
  },
  postgres: async () => {
    const { url } = await freshDatabase();
    return () => postgres({ url });
  },
  redis: async () => {
    const shared = await sharedRedis();
    return () => redis({ ...shared });
  },
  s3: async () => {
    const { client, bucket } = await openBucket();
    return () => s3({ client, bucket });
  },
  folder: async () => {
    const path = await mkdtemp(join(tmpdir(), "reencrypt-"));
    onTestFinished(() => rm(path, { recursive: true }));
    return () => folder({ path });
  },
};

/** Two turns that are answered and taken back by promote; the first is answered otherwise, the second waits. */
async function converse(saver: TierSaver, config: { configurable: { thread_id: string } }): Promise<void> {
  const open = () => saver;
  await askTurn(open, config, 1);
  const asked = (await agentGraph(saver).getState(config)).config;
  await answerTurn(open, config, 1);
  await saver.promote(asked);
  await answerTurn(open, config, 3);
  await askTurn(open, config, 4);
  const waiting = (await agentGraph(saver).getState(config)).config;
  await answerTurn(open, config, 7);
  await saver.promote(waiting);
}

async function finish(saver: TierSaver, config: { configurable: { thread_id: string } }): Promise<void> {
  await agentGraph(saver).invoke(new Command({ resume: 4 }), config);
}

/** How many batches of pending writes a tier lists with each checkpoint of a thread, newest first. */
async function batchesIn(tier: Pick<Tier, "list">, threadId: string): Promise<number[]> {
  const counts: number[] = [];
  for await (const { writes } of tier.list({ threadId })) counts.push(writes.length);
  return counts;
}

const sum = (counts: readonly { records: number; writes: number; blobs: number }[]): number =>
  counts.reduce((total, { records, writes, blobs }) => total + records + writes + blobs, 0);

describe.each(Object.keys(storages))("%s", (name) => {
  test("everything is encrypted with the new key, and keeps its content", async () => {
    const open = await storages[name]!();
    const tier = open();
    await tier.setup?.();
    onTestFinished(() => tier.end?.());
    const [plain, sealed] = ["plain", "sealed"].map((kind) => ({
      configurable: { thread_id: `${kind} ${randomBytes(4).toString("hex")}` },
    }));
    const threadIds = [plain!.configurable.thread_id, sealed!.configurable.thread_id];
    await converse(new TierSaver(tier), plain!);
    await converse(new TierSaver(tier, { encryption: old }), sealed!);
    const before = await Promise.all(
      [plain, sealed].map((config) => historyOf(new TierSaver(tier, { encryption: rotated }), config!)),
    );
    expect(before[0]).toEqual(before[1]);
    expect(before[0]!.find(({ questions }) => questions.length > 0)?.questions).toEqual(["go on with 4?"]);
    const saver = new TierSaver(tier, { encryption: rotated });
    const used = await saver.keysInUse({ threadIds });
    expect(used.keys.map(({ keyId, threads }) => [keyId, threads])).toEqual([
      [undefined, 1],
      ["one", 1],
    ]);
    const report = await saver.reencrypt({ threadIds });
    expect(report).toMatchObject({ threads: 2, failed: [], failures: 0, unlisted: 0 });
    expect(sum([report])).toBe(sum(used.keys));
    const after = await saver.keysInUse({ threadIds });
    expect(after.keys).toMatchObject([{ keyId: "two", threads: 2 }]);
    expect(sum(after.keys)).toBe(sum(used.keys));
    const strict = new TierSaver(tier, { encryption: onlyNew });
    for (const [position, config] of [plain, sealed].entries()) {
      expect((await agentGraph(strict).getState(config!)).next).toEqual(["ask"]);
      expect(await historyOf(strict, config!)).toEqual(before[position]);
      await finish(strict, config!);
      const state = await agentGraph(strict).getState(config!);
      expect(state.values.log.at(-1)).toContain("answer 4");
      expect(state.next).toEqual([]);
    }
    expect(await saver.reencrypt({ threadIds })).toMatchObject({ records: 0, writes: 0, blobs: 0 });
  });
});

test("redis>postgres>s3: archived threads, those that came back in part, and the copies", async () => {
  const [{ url }, shared, { client, bucket }] = await Promise.all([
    freshDatabase(),
    sharedRedis(),
    openBucket(),
  ]);
  const open = (encryption: EncryptionOptions): TieredSaver => {
    const saver = new TieredSaver(
      {
        hot: redis({ ...shared, ttl: "5m" }),
        warm: postgres({ url }),
        cold: s3({ client, bucket }),
        archiveAfter: "0s",
        pause: "0ms",
        encryption,
      },
      () => Date.now() + 120_000,
    );
    onTestFinished(() => saver.end());
    return saver;
  };
  const config = { configurable: { thread_id: `t ${randomBytes(4).toString("hex")}` } };
  const saver = open(old);
  await saver.setup();
  await converse(saver, config);
  const archive = async (by: TieredSaver): Promise<void> => {
    expect(await by.maintain()).toMatchObject({ steps: [{ what: "archive", done: true }] });
  };
  await archive(saver);
  const expected = await historyOf(saver, config);
  // Comes back, and goes on: a part is in both tiers.
  await finish(saver, config);
  const before = await historyOf(saver, config);
  // The head isn't the first any more, as it isn't set back any more.
  expect(before.slice(-expected.length)).toEqual(expect.arrayContaining(expected));
  const rotating = open(rotated);
  const used = await rotating.keysInUse();
  expect(used.keys).toMatchObject([{ keyId: "one", threads: 2 }]);
  expect(await rotating.reencrypt()).toMatchObject({ threads: 2, failures: 0, unlisted: 0 });
  expect((await rotating.keysInUse()).keys).toMatchObject([{ keyId: "two", threads: 2 }]);
  const hot = redis({ ...shared });
  onTestFinished(() => hot.end());
  for await (const listed of hot.list({ threadId: config.configurable.thread_id }))
    expect.fail(`redis still has ${listed.record.checkpointId}`);
  const strict = open(onlyNew);
  expect(await historyOf(strict, config)).toEqual(before);
  await archive(strict);
  expect(await historyOf(strict, config)).toEqual(before);
  expect((await strict.keysInUse()).keys).toMatchObject([{ keyId: "two" }]);
});

test("data that is archived when only one of two tiers is done isn't there twice", async () => {
  const archived = async (between: (warm: MemoryTier) => Promise<unknown>): Promise<number[]> => {
    const [warm, cold] = [new MemoryTier(), new MemoryTier()];
    const saver = new TieredSaver(
      { warm, cold, archiveAfter: "0s", pause: "0ms", encryption: rotated },
      () => Date.now() + 120_000,
    );
    const config = { configurable: { thread_id: "t" } };
    await converse(new TierSaver(warm, { encryption: old }), config);
    await saver.maintain();
    await agentGraph(saver).updateState(config, { topic: 5 });
    const before = await historyOf(saver, config);
    await between(warm);
    expect(await saver.maintain()).toMatchObject({ steps: [{ what: "archive", done: true }] });
    expect(await historyOf(saver, config)).toEqual(before);
    return await batchesIn(cold, "t");
  };
  const usual = await archived(async () => {});
  expect(Math.max(...usual)).toBeGreaterThan(3);
  const rewritten = await archived((warm) => new TierSaver(warm, { encryption: rotated }).reencrypt());
  expect(rewritten).toEqual(usual);
});
