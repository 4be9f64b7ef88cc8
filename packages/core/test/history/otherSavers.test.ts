import { emptyCheckpoint, type CheckpointMetadata } from "@langchain/langgraph-checkpoint";
import { MemoryTier, TierSaver } from "@stratigraph/core";
import { describe, expect, test } from "vitest";
import { text } from "../contract/support.ts";

const metadata: CheckpointMetadata = { source: "loop", step: 0, parents: {} };
const configOf = (checkpoint_id?: string) => ({
  configurable: { thread_id: "t", checkpoint_ns: "", ...(checkpoint_id === undefined ? {} : { checkpoint_id }) },
});

/** Puts `id` with one channel whose version is `version`. */
async function put(
  saver: TierSaver,
  id: string,
  parent: string | undefined,
  value: unknown,
  version: number,
): Promise<void> {
  const versions = { log: version };
  const checkpoint = { ...emptyCheckpoint(), id, channel_values: { log: value }, channel_versions: versions };
  await saver.put(configOf(parent), checkpoint, metadata, versions);
}

async function valueOf(tier: MemoryTier, id?: string): Promise<unknown> {
  return (await new TierSaver(tier).getTuple(configOf(id)))?.checkpoint.channel_values["log"];
}

const [a, b] = [text("a", 4), text("b", 4)];

describe("what a saver remembers of a thread, another one removed", () => {
  test("a value that comes back after a pruning is stored again", async () => {
    const tier = new MemoryTier();
    const [saver, other] = [new TierSaver(tier), new TierSaver(tier)];
    await put(saver, "c1", undefined, a, 1);
    await put(saver, "c2", "c1", b, 2);
    await other.prune(["t"]);
    // It reads the thread as it is now, and still knows what it put before.
    await saver.getTuple(configOf());
    await put(saver, "c3", "c2", a, 3);
    expect(await valueOf(tier)).toBe(a);
  });

  test("a value that comes back after a deletion, in a thread begun anew, is stored again", async () => {
    const tier = new MemoryTier();
    const [saver, other] = [new TierSaver(tier), new TierSaver(tier)];
    await put(saver, "c1", undefined, a, 1);
    await other.deleteThread("t");
    await saver.getTuple(configOf());
    await put(saver, "c2", undefined, a, 1);
    expect(await valueOf(tier)).toBe(a);
    await other.deleteThread("t");
    await put(other, "c3", undefined, b, 1);
    await saver.getTuple(configOf());
    await put(saver, "c4", "c3", a, 2);
    expect(await valueOf(tier)).toBe(a);
  });

  test("so is one in a pending write", async () => {
    const tier = new MemoryTier();
    const [saver, other] = [new TierSaver(tier), new TierSaver(tier)];
    await put(saver, "c1", undefined, a, 1);
    await put(saver, "c2", "c1", b, 2);
    await other.prune(["t"]);
    await saver.getTuple(configOf());
    await saver.putWrites(configOf("c2"), [["log", a]], "task");
    expect((await new TierSaver(tier).getTuple(configOf()))?.pendingWrites).toEqual([["task", "log", a]]);
  });

  test("a writer that is late stays late, whatever it remembers", async () => {
    const tier = new MemoryTier();
    const [saver, other] = [new TierSaver(tier), new TierSaver(tier)];
    await put(saver, "c1", undefined, a, 1);
    await saver.getTuple(configOf());
    await other.deleteThread("t");
    await put(other, "c1", undefined, b, 1);
    await expect(put(saver, "c2", "c1", [a], 2)).rejects.toMatchObject({ code: "THREAD_DELETED" });
    expect(await valueOf(tier)).toBe(b);
  });
});

describe("pending writes that came before their checkpoint", () => {
  test("don't lose the bytes they share with what a pruning removes", async () => {
    const tier = new MemoryTier();
    const [saver, other] = [new TierSaver(tier), new TierSaver(tier)];
    await put(saver, "c1", undefined, a, 1);
    await put(saver, "c2", "c1", b, 2);
    await saver.putWrites(configOf("c3"), [["log", a]], "task");
    await other.prune(["t"]);
    await saver.getTuple(configOf());
    await put(saver, "c3", "c2", [b], 3);
    expect((await new TierSaver(tier).getTuple(configOf()))?.pendingWrites).toEqual([["task", "log", a]]);
  });
});
