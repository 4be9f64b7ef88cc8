import { readsAncestry } from "@stratigraph/core/internal";
import type { StoredCheckpoint } from "@stratigraph/core/tier";
import { describe, expect, test, type TestContext } from "vitest";
import type { TierContext } from "./context.ts";
import { at, batch, blob, plainRecord, plainWrites, put, record, shown } from "./fixtures.ts";

const ids = (found: readonly StoredCheckpoint[]): string[] => found.map((item) => item.record.checkpointId);

/** AncestryReader, the optional fast path for parent chains. */
export function ancestryTests(context: TierContext): void {
  const ancestry = (
    test: TestContext,
    threadId: string,
    from: string,
    seedTerms: readonly number[],
    limit = 100,
  ): Promise<readonly StoredCheckpoint[]> => {
    const { tier } = context;
    if (!readsAncestry(tier)) {
      context.need(test, false, "ancestry");
      return Promise.resolve([]);
    }
    return tier.ancestry(at(threadId, from), seedTerms, limit);
  };

  /** c1 (seed 1) ← c2 (seed 2) ← c3 ← c4, and a fork c3x of c2. */
  const family = async (): Promise<string> => {
    const { tier } = context;
    const threadId = context.thread();
    const seed = blob("seed");
    await tier.append(put(threadId, "c1", { terms: [1, 50], names: [seed] }));
    await tier.append(put(threadId, "c2", { parentId: "c1", terms: [2], names: [blob("patch", seed)] }));
    await tier.append(put(threadId, "c3x", { parentId: "c2", terms: [1] }));
    await tier.append(put(threadId, "c3", { parentId: "c2", expected: ["c3x"], terms: [60] }));
    await tier.append(put(threadId, "c4", { parentId: "c3" }));
    await tier.appendWrites(batch(at(threadId, "c3"), "t2"));
    await tier.appendWrites(batch(at(threadId, "c3"), "t1"));
    return threadId;
  };

  describe("ancestry (optional)", () => {
    test("nearest first, without the checkpoint itself, only on its own branch", async (test) => {
      const threadId = await family();
      expect(ids(await ancestry(test, threadId, "c4", [99]))).toEqual(["c3", "c2", "c1"]);
      expect(ids(await ancestry(test, threadId, "c3x", [99]))).toEqual(["c2", "c1"]);
      expect(ids(await ancestry(test, threadId, "c1", [99]))).toEqual([]);
      expect(ids(await ancestry(test, threadId, "nobody", [99]))).toEqual([]);
    });

    test("ends when each seed term was found once", async (test) => {
      const threadId = await family();
      expect(ids(await ancestry(test, threadId, "c4", [2]))).toEqual(["c3", "c2"]);
      expect(ids(await ancestry(test, threadId, "c4", [1]))).toEqual(["c3", "c2", "c1"]);
      expect(ids(await ancestry(test, threadId, "c4", [2, 1]))).toEqual(["c3", "c2", "c1"]);
      expect(ids(await ancestry(test, threadId, "c4", [2, 60]))).toEqual(["c3", "c2"]);
    });

    test("records and writes are complete, and seeds come with their blobs", async (test) => {
      const threadId = await family();
      const [third, second] = await ancestry(test, threadId, "c4", [2]);
      const patch = blob("patch", blob("seed"));
      expect(plainWrites(third!.writes)).toEqual(["t2: writes of t2", "t1: writes of t1"]);
      expect(plainRecord(second!.record)).toEqual(
        plainRecord(record(threadId, "c2", { parentId: "c1", terms: [2], names: [patch] })),
      );
      for (const made of [patch, blob("seed")])
        expect(shown(second!.blobs.get(made.hash)!.bytes)).toBe(shown(made.bytes));
    });

    test("no more than the limit", async (test) => {
      const threadId = await family();
      expect(ids(await ancestry(test, threadId, "c4", [99], 2))).toEqual(["c3", "c2"]);
    });

    test("a removed ancestor ends the chain", async (test) => {
      const { tier } = context;
      const threadId = await family();
      const { revision } = await tier.peek({ threadId, namespace: "" });
      await tier.remove({
        threadId,
        revision,
        checkpoints: [at(threadId, "c2")],
        dropBlobs: [],
        replaceBlobs: [],
        heads: [],
      });
      expect(ids(await ancestry(test, threadId, "c4", [99]))).toEqual(["c3"]);
    });
  });
}
