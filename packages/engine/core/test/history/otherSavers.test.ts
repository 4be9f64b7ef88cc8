import { emptyCheckpoint, type CheckpointMetadata } from "@langchain/langgraph-checkpoint";
import { MemoryTier, TierSaver } from "@stratigraph/core";
import { describe, expect, test } from "vitest";
import { text } from "../contract/support.ts";

const metadata: CheckpointMetadata = { source: "loop", step: 0, parents: {} };
const configOf = (checkpoint_id?: string) => ({
  configurable: {
    thread_id: "t",
    checkpoint_ns: "",
    ...(checkpoint_id === undefined ? {} : { checkpoint_id }),
  },
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
    await other.prune(["t"], { strategy: "keep_latest" });
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
    await other.prune(["t"], { strategy: "keep_latest" });
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
    await other.prune(["t"], { strategy: "keep_latest" });
    await saver.getTuple(configOf());
    await put(saver, "c3", "c2", [b], 3);
    expect((await new TierSaver(tier).getTuple(configOf()))?.pendingWrites).toEqual([["task", "log", a]]);
  });
});

describe("a serde that hands on bytes as they are", () => {
  /** LangGraph's own does so with a Uint8Array. */
  const serde = {
    dumpsTyped: async (value: unknown): Promise<[string, Uint8Array]> =>
      value instanceof Uint8Array
        ? ["bytes", value]
        : ["json", new TextEncoder().encode(JSON.stringify(value))],
    loadsTyped: async (type: string, data: Uint8Array | string): Promise<unknown> =>
      type === "bytes" ? data : JSON.parse(Buffer.from(data).toString()),
  };

  test.each([40, 5_000])(
    "a value of %i bytes that a graph changes in place changes nothing stored",
    async (length) => {
      const tier = new MemoryTier();
      const saver = new TierSaver(tier, { serde });
      const given = new Uint8Array(length).fill(1);
      await put(saver, "c1", undefined, given, 1);
      given.fill(2);
      const versions = { log: 1 };
      const carried = { ...emptyCheckpoint(), id: "c2", channel_values: {}, channel_versions: versions };
      await saver.put(configOf("c1"), carried, metadata, {});
      const stored = new Uint8Array(length).fill(1);
      for (const reader of [saver, new TierSaver(tier, { serde })]) {
        const first = (await reader.getTuple(configOf("c2")))!.checkpoint.channel_values["log"] as Uint8Array;
        expect(first).toEqual(stored);
        first.fill(3);
        for await (const tuple of reader.list(configOf())) {
          expect(tuple.checkpoint.channel_values["log"]).toEqual(stored);
          (tuple.checkpoint.channel_values["log"] as Uint8Array).fill(4);
        }
      }
      const next = new Uint8Array(length + 10).fill(1);
      await put(saver, "c3", "c2", next, 2);
      const third = await new TierSaver(tier, { serde }).getTuple(configOf("c3"));
      expect(third?.checkpoint.channel_values["log"]).toEqual(next);
    },
  );
});
