import { describe, expect, test } from "vitest";
import { thrown, type TierContext } from "./context.ts";
import { at, batch, blob, line, listedIds, plainWrites, put } from "./fixtures.ts";

/** Tier.deleteThread and its tombstone. */
export function deleteThreadTests(context: TierContext): void {
  /** A thread that was written, then read at revision `seen`, then deleted. `now` is its revision afterwards. */
  const deleted = async (): Promise<{ threadId: string; seen: number; now: number }> => {
    const { tier } = context;
    const threadId = context.thread();
    await line(tier, threadId, ["c1", "c2"], { names: [blob("value")] });
    await line(tier, threadId, ["s1"], { namespace: "sub" });
    await tier.appendWrites(batch(at(threadId, "c2"), "task"));
    const { revision: seen } = await tier.peek({ threadId, namespace: "" });
    await tier.deleteThread(threadId);
    const { revision: now } = await tier.peek({ threadId, namespace: "" });
    return { threadId, seen, now };
  };
  const expectGone = async (threadId: string): Promise<void> => {
    const { tier } = context;
    for (const namespace of ["", "sub"]) {
      const reading = await tier.read({ threadId, namespace });
      expect([reading.head, reading.checkpoint]).toEqual([undefined, undefined]);
    }
    expect(await listedIds(tier, { threadId })).toEqual([]);
    expect(await tier.blobs(threadId)).toEqual([]);
    expect((await tier.peek(at(threadId, "c2"))).writes).toEqual([]);
  };

  describe("deleteThread", () => {
    test("deletes heads, checkpoints, blobs and writes of all namespaces, and increments the revision", async () => {
      const { threadId, seen, now } = await deleted();
      await expectGone(threadId);
      expect(now).toBeGreaterThan(seen);
    });

    test("leaves other threads alone", async () => {
      const { tier } = context;
      const [gone, kept] = [context.thread(), context.thread()];
      for (const threadId of [gone, kept])
        await line(tier, threadId, ["c1", "c2"], { names: [blob("value")] });
      await tier.deleteThread(gone);
      expect(await listedIds(tier, { threadId: kept })).toEqual(["c2", "c1"]);
      expect((await tier.read({ threadId: kept, namespace: "" })).checkpoint!.blobs.size).toBe(1);
    });

    test("deleting an unknown thread, or one thread twice, is no error", async () => {
      const { tier } = context;
      const unknown = context.thread();
      await tier.deleteThread(unknown);
      expect((await tier.append(put(unknown, "c1"))).heads[0]!.moved).toBe(true);
      const { threadId } = await deleted();
      await tier.deleteThread(threadId);
      await expectGone(threadId);
    });

    test("who read a thread before it began is late once it was deleted, and who reads it then isn't", async () => {
      const { tier } = context;
      for (const threadId of [context.thread(), `${"long".repeat(200)} ${context.thread()}`]) {
        const { revision: seen } = await tier.peek({ threadId, namespace: "" });
        await tier.deleteThread(threadId);
        await thrown(tier.append(put(threadId, "c1", { seen })), "THREAD_DELETED");
        await thrown(tier.appendWrites(batch(at(threadId, "c1"), "task", { seen })), "THREAD_DELETED");
        await expectGone(threadId);
        const { revision: now } = await tier.peek({ threadId, namespace: "" });
        expect((await tier.append(put(threadId, "c1", { seen: now }))).heads[0]!.moved).toBe(true);
        expect(await listedIds(tier, { threadId })).toEqual(["c1"]);
      }
    });

    test("a late append is refused: with a parent, without one, as a branch, as an import", async () => {
      const { tier } = context;
      const { threadId, seen } = await deleted();
      const late = [
        put(threadId, "c3", { parentId: "c2", seen }),
        put(threadId, "c3", { parentId: "c2", seen, onConflict: "branch" }),
        put(threadId, "c3", { seen }),
        put(threadId, "c3", { seen, expected: "any" }),
        put(threadId, "c2", { parentId: "c1", seen }),
      ];
      for (const request of late) {
        const error = await thrown(tier.append(request), "THREAD_DELETED");
        expect(error.data["threadId"]).toBe(threadId);
      }
      await expectGone(threadId);
    });

    test("an import of a thread that was deleted comes in parts, whose heads move with the last", async () => {
      const { tier } = context;
      const { threadId, seen, now } = await deleted();
      const part = (id: string, more: Partial<Parameters<typeof put>[2]> = {}) => ({
        ...put(threadId, id, { seen: now, ...more }),
        heads: [],
      });
      await tier.append(part("i1"));
      // The previous part came from somebody else's import, which was killed.
      await tier.append(part("i2", { parentId: "i1" }));
      await thrown(tier.append(part("i3", { parentId: "i2", seen })), "THREAD_DELETED");
      const moves = { ...part("i2"), records: [], heads: [{ namespace: "", to: "i2", expected: [] }] };
      await thrown(tier.append({ ...moves, seen }), "THREAD_DELETED");
      const { heads } = await tier.append(moves);
      expect(heads).toMatchObject([{ head: "i2", moved: true }]);
      expect(await listedIds(tier, { threadId })).toEqual(["i2", "i1"]);
    });

    test("an append that continues a deleted checkpoint is refused, whatever its writer saw", async () => {
      const { tier } = context;
      const { threadId, now } = await deleted();
      await thrown(tier.append(put(threadId, "c3", { parentId: "c2" })), "THREAD_DELETED");
      await thrown(tier.append(put(threadId, "c3", { parentId: "c2", seen: now })), "THREAD_DELETED");
      await expectGone(threadId);
    });

    test("late pending writes are refused", async () => {
      const { tier } = context;
      const { threadId, seen } = await deleted();
      const value = blob("late");
      await thrown(
        tier.appendWrites(batch(at(threadId, "c2"), "task", { seen, names: [value] })),
        "THREAD_DELETED",
      );
      await thrown(
        tier.appendWrites(batch(at(threadId, "c2"), "task", { names: [value] })),
        "THREAD_DELETED",
      );
      await expectGone(threadId);
    });

    test("an append without a parent may begin the thread anew, if its writer saw the deletion or never read the thread", async () => {
      const { tier } = context;
      for (const known of [true, false]) {
        const { threadId, seen, now } = await deleted();
        const answer = await tier.append(put(threadId, "d1", known ? { seen: now } : {}));
        expect(answer.heads).toEqual([{ namespace: "", head: "d1", moved: true }]);
        expect(answer.revision).toBeGreaterThan(now);
        await tier.append(put(threadId, "d2", { parentId: "d1", seen: answer.revision }));
        expect(await listedIds(tier, { threadId })).toEqual(["d2", "d1"]);
        await thrown(
          tier.append(put(threadId, "c3", { parentId: "c2", seen, onConflict: "branch" })),
          "THREAD_DELETED",
        );
        await thrown(tier.appendWrites(batch(at(threadId, "c2"), "task", { seen })), "THREAD_DELETED");
        expect(await listedIds(tier, { threadId })).toEqual(["d2", "d1"]);
      }
    });

    test("pending writes of a new run may be stored before its first checkpoint", async () => {
      const { tier } = context;
      const { threadId, now } = await deleted();
      await tier.appendWrites(batch(at(threadId, "d1"), "early", { seen: now }));
      await tier.append(put(threadId, "d1", { seen: now }));
      const { checkpoint } = await tier.read({ threadId, namespace: "" });
      expect(plainWrites(checkpoint!.writes)).toEqual(["early: writes of early"]);
    });

    test("an import is accepted, even with parents that aren't here", async () => {
      const { tier } = context;
      const { threadId } = await deleted();
      const answer = await tier.append(put(threadId, "d2", { parentId: "d1", expected: "any" }));
      expect(answer.heads[0]!.moved).toBe(true);
      expect(await listedIds(tier, { threadId })).toEqual(["d2"]);
    });

    test("evict and remove that were decided before the deletion do nothing", async () => {
      const { tier } = context;
      const { threadId, seen } = await deleted();
      expect(await tier.evict(threadId, seen)).toBe(false);
      const done = await tier.remove({
        threadId,
        revision: seen,
        checkpoints: [],
        dropBlobs: [],
        replaceBlobs: [blob("never")],
        heads: [{ namespace: "", to: "c1" }],
      });
      expect(done).toBe(false);
      await expectGone(threadId);
    });
  });
}
