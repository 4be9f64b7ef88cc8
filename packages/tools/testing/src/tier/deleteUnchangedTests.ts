import type { Tier } from "@stratigraph/core";
import { deletesUnchanged } from "@stratigraph/core/internal";
import type { UnchangedDeleter } from "@stratigraph/core/tier";
import { describe, expect, test, type TestContext } from "vitest";
import { thrown, type TierContext } from "./context.ts";
import { at, batch, blob, line, listedIds, put } from "./fixtures.ts";

/** UnchangedDeleter, the optional part that deletes a thread unless somebody has written to it. */
export function deleteUnchangedTests(context: TierContext): void {
  const deleter = (test: TestContext): Tier & UnchangedDeleter => {
    const { tier } = context;
    if (!deletesUnchanged(tier)) {
      context.need(test, false, "deleteUnchanged");
      throw new Error("unreachable: need ends the test");
    }
    return tier;
  };
  const written = async (): Promise<{ threadId: string; revision: number }> => {
    const threadId = context.thread();
    await line(context.tier, threadId, ["c1", "c2"], { names: [blob("value")] });
    await line(context.tier, threadId, ["s1"], { namespace: "sub" });
    const { revision } = await context.tier.peek({ threadId, namespace: "" });
    return { threadId, revision };
  };

  describe("deleteUnchanged (optional)", () => {
    test("a thread at the given revision is deleted as by deleteThread, and leaves a tombstone", async (test) => {
      const tier = deleter(test);
      const { threadId, revision } = await written();
      expect(await tier.deleteUnchanged(threadId, revision)).toBe(true);
      for (const namespace of ["", "sub"])
        expect((await tier.peek({ threadId, namespace })).head).toBeUndefined();
      expect([await listedIds(tier, { threadId }), await tier.blobs(threadId)]).toEqual([[], []]);
      const late = put(threadId, "c3", { parentId: "c2", seen: revision });
      await thrown(tier.append(late), "THREAD_DELETED");
      expect((await tier.append(put(threadId, "d1"))).heads[0]!.moved).toBe(true);
    });

    test("a thread that got a checkpoint or pending writes, or was evicted, is kept: false", async (test) => {
      const tier = deleter(test);
      for (const change of [
        (threadId: string) => tier.append(put(threadId, "c3", { parentId: "c2" })),
        (threadId: string) => tier.appendWrites(batch(at(threadId, "c2"), "task")),
        (threadId: string, revision: number) => tier.evict(threadId, revision),
      ]) {
        const { threadId, revision } = await written();
        await change(threadId, revision);
        for (const stale of [revision, 0, revision + 1000])
          expect(await tier.deleteUnchanged(threadId, stale)).toBe(false);
        expect((await tier.peek({ threadId, namespace: "" })).head).toMatch(/^c[23]$/);
      }
    });

    test("an unknown or deleted thread: false, and nothing changes", async (test) => {
      const tier = deleter(test);
      const unknown = context.thread();
      expect(await tier.deleteUnchanged(unknown, 1)).toBe(false);
      expect((await tier.peek({ threadId: unknown, namespace: "" })).revision).toBe(0);
      const { threadId, revision } = await written();
      await tier.deleteThread(threadId);
      expect(await tier.deleteUnchanged(threadId, revision)).toBe(false);
    });

    test("racing with a write, one of the two is refused", async (test) => {
      const tier = deleter(test);
      for (let round = 0; round < 10; round += 1) {
        const { threadId, revision } = await written();
        const [deleted, appended] = await Promise.all([
          tier.deleteUnchanged(threadId, revision),
          tier.append(put(threadId, "c3", { parentId: "c2", seen: revision })).then(
            () => true,
            () => false,
          ),
        ]);
        expect(appended).toBe(!deleted);
        const { head } = await tier.peek({ threadId, namespace: "" });
        expect(head).toBe(deleted ? undefined : "c3");
      }
    });

    test("the revision that threads() answers can be used to delete a thread", async (test) => {
      const tier = deleter(test);
      const { threadId } = await written();
      for await (const thread of tier.threads({ order: "newest" })) {
        if (thread.threadId !== threadId) continue;
        expect(await tier.deleteUnchanged(threadId, thread.revision)).toBe(true);
      }
      expect((await tier.peek({ threadId, namespace: "" })).head).toBeUndefined();
    });
  });
}
