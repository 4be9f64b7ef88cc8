import type { Tier } from "@stratigraph/core";
import { copiesThreads } from "@stratigraph/core/internal";
import type { ListedCheckpoint } from "@stratigraph/core/tier";
import { describe, expect, test, type TestContext } from "vitest";
import type { TierContext } from "./context.ts";
import { at, batch, blob, line, listed, plainRecord, plainWrites, put, shown } from "./fixtures.ts";

/** A listing in a form that can be compared with that of another thread. */
function plain(items: readonly ListedCheckpoint[]): unknown[] {
  return items
    .map((item) => ({
      ...plainRecord(item.record),
      threadId: "",
      head: item.head,
      writes: plainWrites(item.writes),
      blobs: item.record.blobs.map((hash) => [
        hash,
        item.blobs.get(hash)?.base ?? null,
        shown(item.blobs.get(hash)!.bytes),
      ]),
    }))
    .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}

/** ThreadCopier, the optional fast path for copies. */
export function copyThreadTests(context: TierContext): void {
  const copy = async (test: TestContext, source: string, target: string): Promise<boolean> => {
    const { tier } = context;
    if (!copiesThreads(tier)) {
      context.need(test, false, "copyThread");
      return false;
    }
    return await tier.copyThread(source, target);
  };
  const family = async (tier: Tier, threadId: string): Promise<void> => {
    const whole = blob("whole");
    await tier.append(put(threadId, "c1", { names: [whole], runId: "run", terms: [1] }));
    await tier.append(put(threadId, "c2", { parentId: "c1", names: [blob("patch", whole)] }));
    await tier.append(put(threadId, "c3", { parentId: "c1", onConflict: "branch" }));
    await line(tier, threadId, ["s1", "s2"], { namespace: "sub:1" });
    for (const task of ["t9", "t1", "t5"]) await tier.appendWrites(batch(at(threadId, "c2"), task));
    await tier.appendWrites(batch(at(threadId, "early"), "task"));
  };

  describe("copyThread (optional)", () => {
    test("the copy has the source's ids, order, heads, side branches, blobs and writes", async (test) => {
      const { tier } = context;
      const [source, target] = [context.thread(), context.thread()];
      await family(tier, source);
      expect(await copy(test, source, target)).toBe(true);
      const copied = await listed(tier, { threadId: target });
      expect(copied.map(({ record }) => record.threadId)).toEqual(copied.map(() => target));
      expect(plain(copied)).toEqual(plain(await listed(tier, { threadId: source })));
      expect(copied).toHaveLength(5);
      expect((await tier.peek({ threadId: target, namespace: "sub:1" })).head).toBe("s2");
      const [mine, theirs] = await Promise.all([tier.blobs(target), tier.blobs(source)]);
      expect(mine.map(({ hash }) => hash).sort()).toEqual(theirs.map(({ hash }) => hash).sort());
    });

    test("the copy is independent of the source", async (test) => {
      const { tier } = context;
      const [source, target] = [context.thread(), context.thread()];
      await family(tier, source);
      await copy(test, source, target);
      await tier.deleteThread(source);
      const answer = await tier.append(put(target, "c4", { parentId: "c2", names: [blob("new")] }));
      expect(answer.heads[0]!.moved).toBe(true);
      await tier.appendWrites(batch(at(target, "c2"), "later"));
      const { checkpoint } = await tier.read(at(target, "c2"));
      expect(plainWrites(checkpoint!.writes).map((line) => line.split(":")[0])).toEqual([
        "t9",
        "t1",
        "t5",
        "later",
      ]);
      expect(checkpoint!.blobs.has(blob("whole").hash)).toBe(true);
      const known = new Map<string, number>();
      for await (const info of tier.threads({})) known.set(info.threadId, info.revision);
      expect(known.has(source)).toBe(false);
      expect(known.get(target)).toBe((await tier.peek({ threadId: target, namespace: "" })).revision);
    });

    test("an unknown or deleted source: false, and no target is made", async (test) => {
      const { tier } = context;
      const [source, target] = [context.thread(), context.thread()];
      expect(await copy(test, source, target)).toBe(false);
      await family(tier, source);
      await tier.deleteThread(source);
      expect(await copy(test, source, target)).toBe(false);
      expect((await tier.peek({ threadId: target, namespace: "" })).head).toBeUndefined();
      expect(await listed(tier, { threadId: target })).toEqual([]);
    });

    test("the target may be a deleted thread", async (test) => {
      const { tier } = context;
      const [source, target] = [context.thread(), context.thread()];
      await family(tier, source);
      const { revision } = await tier.append(put(target, "x1"));
      await tier.deleteThread(target);
      expect(await copy(test, source, target)).toBe(true);
      const peek = await tier.peek({ threadId: target, namespace: "" });
      expect(peek.head).toBe("c2");
      expect(peek.revision).toBeGreaterThan(revision);
      expect(await listed(tier, { threadId: target, checkpointId: "x1" })).toEqual([]);
    });
  });
}
