import { reservedNamespaces } from "@stratigraph/core/tier";
import { describe, expect, test } from "vitest";
import type { TierContext } from "./context.ts";
import { at, batch, blob, plainRecord, plainWrites, put } from "./fixtures.ts";

/** Tier.peek. */
export function peekTests(context: TierContext): void {
  describe("peek", () => {
    test("a thread never written: revision 0, no head, no writes", async () => {
      const peek = await context.tier.peek({ threadId: context.thread(), namespace: "" });
      expect(peek.revision).toBe(0);
      expect(peek.head).toBeUndefined();
      expect(peek.checkpointId).toBeUndefined();
      expect(peek.writes).toEqual([]);
    });

    test("answers for the head if no checkpoint is named", async () => {
      const { tier } = context;
      const threadId = context.thread();
      await tier.append(put(threadId, "c1"));
      await tier.append(put(threadId, "c2", { parentId: "c1" }));
      await tier.appendWrites(batch(at(threadId, "c1"), "old"));
      await tier.appendWrites(batch(at(threadId, "c2"), "new"));
      const peek = await tier.peek({ threadId, namespace: "" });
      expect(peek.head).toBe("c2");
      expect(peek.checkpointId).toBe("c2");
      expect(plainWrites(peek.writes)).toEqual(["new: writes of new"]);
    });

    test("answers the head, and the writes of the checkpoint that is named", async () => {
      const { tier } = context;
      const threadId = context.thread();
      await tier.append(put(threadId, "c1"));
      await tier.append(put(threadId, "c2", { parentId: "c1" }));
      await tier.appendWrites(batch(at(threadId, "c1"), "old"));
      const peek = await tier.peek(at(threadId, "c1"));
      expect(peek.head).toBe("c2");
      expect(peek.checkpointId).toBe("c1");
      expect(plainWrites(peek.writes)).toEqual(["old: writes of old"]);
    });

    test("answers writes of a checkpoint that doesn't exist yet", async () => {
      const { tier } = context;
      const threadId = context.thread();
      await tier.appendWrites(batch(at(threadId, "c1"), "early"));
      const peek = await tier.peek(at(threadId, "c1"));
      expect(peek.head).toBeUndefined();
      expect(plainWrites(peek.writes)).toEqual(["early: writes of early"]);
      expect(peek.revision).toBeGreaterThan(0);
    });

    test("the parts of a copy under way have lost no head, until the copy is whole", async () => {
      const { tier } = context;
      const threadId = context.thread();
      const { heads: _, ...part } = put(threadId, "c1");
      const root = { threadId, namespace: "" };
      for (const [to, headless] of [
        ["c1", false],
        ["whole", true],
      ] as const) {
        const mark = { namespace: reservedNamespaces.copy, to, expected: "any" as const };
        await tier.append({ ...part, heads: [mark] });
        for (const read of [await tier.peek(root), await tier.read(root)])
          expect([read.head, read.headless ?? false]).toEqual([undefined, headless]);
      }
    });

    test("a record, if any is answered, is that of the right checkpoint", async () => {
      const { tier } = context;
      const threadId = context.thread();
      await tier.append(put(threadId, "c1", { runId: "run", terms: [1], names: [blob("value")] }));
      await tier.append(put(threadId, "c2", { parentId: "c1" }));
      for (const checkpointId of ["c1", "c2", undefined]) {
        const { record } = await tier.peek({ threadId, namespace: "", checkpointId });
        const { checkpoint } = await tier.read({ threadId, namespace: "", checkpointId });
        if (record !== undefined) expect(plainRecord(record)).toEqual(plainRecord(checkpoint!.record));
      }
      expect((await tier.peek(at(threadId, "c9"))).record).toBeUndefined();
      await tier.evict(threadId, (await tier.peek({ threadId, namespace: "" })).revision);
      expect((await tier.peek({ threadId, namespace: "" })).record).toBeUndefined();
    });

    test("namespaces have heads of their own, and share the revision", async () => {
      const { tier } = context;
      const threadId = context.thread();
      await tier.append(put(threadId, "c1"));
      const { revision } = await tier.append(put(threadId, "s1", { namespace: "sub:1" }));
      const root = await tier.peek({ threadId, namespace: "" });
      const sub = await tier.peek({ threadId, namespace: "sub:1" });
      expect([root.head, sub.head]).toEqual(["c1", "s1"]);
      expect([root.revision, sub.revision]).toEqual([revision, revision]);
      expect((await tier.peek({ threadId, namespace: "sub" })).head).toBeUndefined();
    });

    test("the revision grows with every change, and with nothing else", async () => {
      const { tier } = context;
      const threadId = context.thread();
      const revisions: number[] = [0];
      const look = async (): Promise<void> => {
        const peek = await tier.peek({ threadId, namespace: "" });
        expect((await tier.read({ threadId, namespace: "" })).revision).toBe(peek.revision);
        revisions.push(peek.revision);
      };
      expect((await tier.append(put(threadId, "c1"))).revision).toBeGreaterThan(0);
      await look();
      await tier.appendWrites(batch(at(threadId, "c1"), "task"));
      await look();
      const { revision } = await tier.append(put(threadId, "c2", { parentId: "c1" }));
      await look();
      expect(revisions.at(-1)).toBe(revision);
      await tier.append(put(threadId, "c3", { parentId: "c1", onConflict: "branch" }));
      await look();
      await tier.remove({
        threadId,
        revision: revisions.at(-1)!,
        checkpoints: [at(threadId, "c1")],
        dropBlobs: [],
        replaceBlobs: [],
        heads: [],
      });
      await look();
      await tier.evict(threadId, revisions.at(-1)!);
      await look();
      await tier.deleteThread(threadId);
      await look();
      await tier.append(put(threadId, "c4"));
      await look();
      expect(revisions).toEqual([...new Set(revisions)].sort((a, b) => a - b));
      expect(revisions).toHaveLength(9);
      const [last] = revisions.slice(-1);
      await look();
      expect(revisions.at(-1)).toBe(last);
    });
  });
}
