import {
  emptyCheckpoint,
  type CheckpointMetadata,
  type CheckpointTuple,
} from "@langchain/langgraph-checkpoint";
import {
  CorruptionError,
  MemoryTier,
  StratigraphError,
  TierSaver,
  type EncryptionOptions,
} from "@stratigraph/core";
import type { Blob, Reading, StoredCheckpoint } from "@stratigraph/core/tier";
import { describe, expect, test } from "vitest";
import { replacing, text } from "./support.ts";

const thread = { configurable: { thread_id: "t" } };
const metadata: CheckpointMetadata = { source: "input", step: 0, parents: {} };
const encryption: EncryptionOptions = {
  keys: { k: new Uint8Array(32).fill(7) },
  activeKey: "k",
  hashKey: new Uint8Array(32).fill(9),
};

/** A checkpoint c2 with a whole value, a patched one, a small one and pending writes. */
async function filled(options: { encryption?: EncryptionOptions } = {}): Promise<MemoryTier> {
  const tier = new MemoryTier();
  const saver = new TierSaver(tier, options);
  const put = async (id: string, parent: string | undefined, values: Record<string, unknown>) => {
    const versions = Object.fromEntries(Object.keys(values).map((channel) => [channel, Number(id.slice(1))]));
    const config = { configurable: { ...thread.configurable, checkpoint_id: parent } };
    const checkpoint = { ...emptyCheckpoint(), id, channel_values: values, channel_versions: versions };
    await saver.put(config, checkpoint, metadata, versions);
  };
  const log = [text("log")];
  await put("c1", undefined, { log });
  await put("c2", "c1", { log: [...log, "more"], whole: text("whole"), small: 1 });
  const config = { configurable: { ...thread.configurable, checkpoint_id: "c2" } };
  await saver.putWrites(
    config,
    [
      ["small", 2],
      ["whole", text("written", 4)],
    ],
    "task",
  );
  return tier;
}

/** A saver that finds a stored checkpoint changed. */
function tampered(
  tier: MemoryTier,
  change: (stored: StoredCheckpoint) => StoredCheckpoint,
  options: { encryption?: EncryptionOptions } = {},
): TierSaver {
  const read = async (...args: Parameters<MemoryTier["read"]>): Promise<Reading> => {
    const { checkpoint, ...state } = await tier.read(...args);
    return checkpoint === undefined ? state : { ...state, checkpoint: change(checkpoint) };
  };
  return new TierSaver(replacing(tier, { read }), options);
}

function flipped(bytes: Uint8Array, position: number): Uint8Array {
  const changed = Uint8Array.from(bytes);
  changed[position]! ^= 1 << (position % 8);
  return changed;
}

/** The error names where the damage is. Where there is none, the tuple is what it was: zstd has bits that mean nothing. */
async function expectCorrupt(saver: TierSaver, channel?: string, harmless?: CheckpointTuple): Promise<void> {
  const outcome: unknown = await saver.getTuple(thread).catch((reason: unknown) => reason);
  if (harmless !== undefined && !(outcome instanceof Error)) {
    expect(outcome).toEqual(harmless);
    return;
  }
  if (!StratigraphError.is(outcome)) throw outcome ?? new Error("nothing was found");
  // Damage to the first bytes, which say how and with which key the rest is written, looks like another version or key.
  expect(["CORRUPT", "NEWER_FORMAT", "KEY_MISSING"]).toContain(outcome.code);
  expect(outcome.data).toMatchObject({ threadId: "t", namespace: "", checkpointId: "c2", channel });
  for (const named of ['"t"', "c2", ...(channel === undefined ? [] : [JSON.stringify(channel)])])
    expect(outcome.message).toContain(named);
}

for (const [how, options] of [
  ["plain", {}],
  ["encrypted", { encryption }],
] as const) {
  describe(`a flipped bit, ${how}`, () => {
    test("in any byte of the record", async () => {
      const tier = await filled(options);
      const intact = how === "plain" ? await new TierSaver(tier).getTuple(thread) : undefined;
      const { checkpoint } = await tier.read({ threadId: "t", namespace: "" });
      for (let at = 0; at < checkpoint!.record.body.length; at += 1) {
        const body = flipped(checkpoint!.record.body, at);
        await expectCorrupt(
          tampered(tier, (one) => ({ ...one, record: { ...one.record, body } }), options),
          undefined,
          intact,
        );
      }
    });

    test("in any byte of the pending writes", async () => {
      const tier = await filled(options);
      const intact = how === "plain" ? await new TierSaver(tier).getTuple(thread) : undefined;
      const { checkpoint } = await tier.read({ threadId: "t", namespace: "" });
      const [batch] = checkpoint!.writes;
      for (let at = 0; at < batch!.body.length; at += 1) {
        const writes = [{ ...batch!, body: flipped(batch!.body, at) }];
        await expectCorrupt(
          tampered(tier, (one) => ({ ...one, writes }), options),
          undefined,
          intact,
        );
      }
    });

    test("in any byte of a value: whole, patch, base of the patch, value of a pending write", async () => {
      const tier = await filled(options);
      const intact = how === "plain" ? await new TierSaver(tier).getTuple(thread) : undefined;
      const { checkpoint } = await tier.read({ threadId: "t", namespace: "" });
      const { blobs, record, writes } = checkpoint!;
      const patch = record.blobs.map((hash) => blobs.get(hash)!).find(({ base }) => base !== undefined)!;
      const whole = record.blobs.map((hash) => blobs.get(hash)!).find(({ base }) => base === undefined)!;
      const cases: readonly (readonly [channel: string, blob: Blob])[] = [
        ["log", patch],
        ["log", blobs.get(patch.base!)!],
        ["whole", whole],
        ["whole", blobs.get(writes[0]!.blobs[0]!)!],
      ];
      for (const [channel, blob] of cases) {
        const step = Math.max(1, Math.floor(blob.bytes.length / 37));
        for (let at = 0; at < blob.bytes.length; at += at < 32 ? 1 : step) {
          const changed = new Map([...blobs, [blob.hash, { ...blob, bytes: flipped(blob.bytes, at) }]]);
          await expectCorrupt(
            tampered(tier, (one) => ({ ...one, blobs: changed }), options),
            channel,
            intact,
          );
        }
      }
    });

    test("bytes cut short, and empty ones", async () => {
      const tier = await filled(options);
      const { checkpoint } = await tier.read({ threadId: "t", namespace: "" });
      const { blobs, record } = checkpoint!;
      for (const keep of [0, 1, 2, 10, -1]) {
        const body = record.body.slice(0, keep);
        await expectCorrupt(tampered(tier, (one) => ({ ...one, record: { ...one.record, body } }), options));
        const cut = new Map(
          [...blobs].map(([hash, blob]) => [hash, { ...blob, bytes: blob.bytes.slice(0, keep) }]),
        );
        await expectCorrupt(
          tampered(tier, (one) => ({ ...one, blobs: cut }), options),
          "log",
        );
      }
    });

    test("rows that changed places", async () => {
      const tier = await filled(options);
      const { checkpoint: older } = await tier.read({ threadId: "t", namespace: "", checkpointId: "c1" });
      const { checkpoint } = await tier.read({ threadId: "t", namespace: "" });
      const moved = { ...checkpoint!.record, body: older!.record.body, blobs: older!.record.blobs };
      await expectCorrupt(tampered(tier, (one) => ({ ...one, record: moved }), options));
      const values = [...checkpoint!.blobs.values()];
      const shuffled = new Map(
        values.map((blob, n) => [blob.hash, { ...values[(n + 1) % values.length]!, hash: blob.hash }]),
      );
      await expectCorrupt(
        tampered(tier, (one) => ({ ...one, blobs: shuffled }), options),
        "log",
      );
      const writes = checkpoint!.writes.map((batch) => ({ ...batch, taskId: "another" }));
      await expectCorrupt(tampered(tier, (one) => ({ ...one, writes }), options));
    });
  });
}

describe("a missing value", () => {
  const without = async (pick: (stored: StoredCheckpoint) => string): Promise<TierSaver> => {
    const tier = await filled();
    const { checkpoint, revision } = await tier.read({ threadId: "t", namespace: "" });
    const done = await tier.remove({
      threadId: "t",
      revision,
      checkpoints: [],
      dropBlobs: [pick(checkpoint!)],
      replaceBlobs: [],
      heads: [],
    });
    expect(done).toBe(true);
    return new TierSaver(tier);
  };
  const patchOf = ({ record, blobs }: StoredCheckpoint): Blob =>
    record.blobs.map((hash) => blobs.get(hash)!).find(({ base }) => base !== undefined)!;

  test("is an error that names the channel: itself, its base, a pending write's", async () => {
    await expectCorrupt(await without((stored) => patchOf(stored).hash), "log");
    await expectCorrupt(await without((stored) => patchOf(stored).base!), "log");
    await expectCorrupt(await without(({ writes }) => writes[0]!.blobs[0]!), "whole");
  });

  test("also where the checkpoint is asked for by its id, and in a listing", async () => {
    const saver = await without((stored) => patchOf(stored).hash);
    const config = { configurable: { ...thread.configurable, checkpoint_id: "c2" } };
    await expect(saver.getTuple(config)).rejects.toBeInstanceOf(CorruptionError);
    await expect(saver.list(thread).next()).rejects.toBeInstanceOf(CorruptionError);
    const older = { configurable: { ...thread.configurable, checkpoint_id: "c1" } };
    expect((await saver.getTuple(older))?.checkpoint.id).toBe("c1");
  });

  test("an evicted thread isn't corrupt: its head says that it is elsewhere", async () => {
    const tier = await filled();
    const { revision } = await tier.peek({ threadId: "t", namespace: "" });
    await tier.evict("t", revision);
    const error: unknown = await new TierSaver(tier).getTuple(thread).catch((reason: unknown) => reason);
    expect(StratigraphError.is(error, "EVICTED")).toBe(true);
  });
});
