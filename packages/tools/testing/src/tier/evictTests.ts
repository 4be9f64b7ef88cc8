import { describe, expect, test } from "vitest";
import { thrown, type TierContext } from "./context.ts";
import { at, batch, blob, line, listedIds, put } from "./fixtures.ts";

/** Tier.evict. */
export function evictTests(context: TierContext): void {
  /** An evicted thread with two namespaces. */
  const evicted = async (): Promise<{ threadId: string; revision: number }> => {
    const { tier } = context;
    const threadId = context.thread();
    await line(tier, threadId, ["c1", "c2"], { names: [blob("value")] });
    await line(tier, threadId, ["s1"], { namespace: "sub" });
    await tier.appendWrites(batch(at(threadId, "c2"), "task"));
    const { revision } = await tier.peek({ threadId, namespace: "" });
    expect(await tier.evict(threadId, revision)).toBe(true);
    return { threadId, revision };
  };

  describe("evict", () => {
    test("drops bytes, keeps heads", async () => {
      const { tier } = context;
      const { threadId, revision } = await evicted();
      const reading = await tier.read({ threadId, namespace: "" });
      expect(reading.head).toBe("c2");
      expect(reading.checkpoint).toBeUndefined();
      expect(reading.revision).toBeGreaterThan(revision);
      const peek = await tier.peek({ threadId, namespace: "" });
      expect([peek.head, peek.checkpointId, peek.revision]).toEqual(["c2", "c2", reading.revision]);
      expect(peek.writes).toEqual([]);
      expect((await tier.peek({ threadId, namespace: "sub" })).head).toBe("s1");
      expect(await tier.blobs(threadId)).toEqual([]);
      expect(await listedIds(tier, { threadId })).toEqual([]);
      expect((await tier.read(at(threadId, "c1"))).checkpoint).toBeUndefined();
    });

    test("does nothing if the thread has changed since", async () => {
      const { tier } = context;
      const threadId = context.thread();
      const { revision } = await tier.append(put(threadId, "c1", { names: [blob("value")] }));
      await tier.append(put(threadId, "c2", { parentId: "c1" }));
      for (const stale of [revision, 0, revision + 1000])
        expect(await tier.evict(threadId, stale)).toBe(false);
      expect(await listedIds(tier, { threadId })).toEqual(["c2", "c1"]);
      expect(await tier.blobs(threadId)).toHaveLength(1);
      expect((await tier.read({ threadId, namespace: "" })).checkpoint).toBeDefined();
    });

    test("a thread never written: false", async () => {
      expect(await context.tier.evict(context.thread(), 1)).toBe(false);
    });

    test("appends to an evicted thread are checked against its heads", async () => {
      const { tier } = context;
      const { threadId } = await evicted();
      const error = await thrown(tier.append(put(threadId, "c3", { expected: [] })), "CHECKPOINT_CONFLICT");
      expect(error.data["head"]).toBe("c2");
      const next = await tier.append(put(threadId, "c3", { parentId: "c2" }));
      expect(next.heads).toEqual([{ namespace: "", head: "c3", moved: true }]);
      expect(await listedIds(tier, { threadId })).toEqual(["c3"]);
    });

    test("a writer that relies on what it read before must read again", async () => {
      const { tier } = context;
      const { threadId, revision } = await evicted();
      const parts = { parentId: "c2", names: [blob("value")], brings: [], relies: true, seen: revision };
      await thrown(tier.append(put(threadId, "c3", parts)), "STALE_READ");
      await thrown(
        tier.appendWrites(batch(at(threadId, "c2"), "task", { relies: true, seen: revision })),
        "STALE_READ",
      );
    });

    test("a restored thread is as it was, and isn't listed as evicted any more", async () => {
      const { tier } = context;
      const { threadId } = await evicted();
      await tier.append(put(threadId, "c2", { parentId: "c1", names: [blob("value")] }));
      const reading = await tier.read({ threadId, namespace: "" });
      expect(reading.checkpoint!.record.checkpointId).toBe("c2");
      for await (const info of tier.threads({}))
        if (info.threadId === threadId) expect(info.evicted).toBe(false);
    });

    test("deleting an evicted thread deletes its heads too", async () => {
      const { tier } = context;
      const { threadId } = await evicted();
      await tier.deleteThread(threadId);
      expect((await tier.peek({ threadId, namespace: "" })).head).toBeUndefined();
      expect((await tier.peek({ threadId, namespace: "sub" })).head).toBeUndefined();
    });
  });
}
