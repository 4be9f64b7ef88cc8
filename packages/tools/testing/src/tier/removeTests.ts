import type { RemoveRequest } from "@stratigraph/core/tier";
import { describe, expect, test } from "vitest";
import { thrown, type TierContext } from "./context.ts";
import { at, batch, blob, line, listedIds, plainWrites, put, shown } from "./fixtures.ts";

/** Tier.remove. */
export function removeTests(context: TierContext): void {
  const removal = (threadId: string, revision: number, more: Partial<RemoveRequest> = {}): RemoveRequest => ({
    threadId,
    revision,
    checkpoints: [],
    dropBlobs: [],
    replaceBlobs: [],
    heads: [],
    ...more,
  });
  const revisionOf = async (threadId: string): Promise<number> =>
    (await context.tier.peek({ threadId, namespace: "" })).revision;

  describe("remove", () => {
    test("removes checkpoints with their pending writes, and nothing else", async () => {
      const { tier } = context;
      const threadId = context.thread();
      await line(tier, threadId, ["c1", "c2", "c3"]);
      await line(tier, threadId, ["c1"], { namespace: "sub" });
      for (const id of ["c1", "c2"]) await tier.appendWrites(batch(at(threadId, id), id));
      const checkpoints = [at(threadId, "c1")];
      expect(await tier.remove(removal(threadId, await revisionOf(threadId), { checkpoints }))).toBe(true);
      expect(await listedIds(tier, { threadId, namespace: "" })).toEqual(["c3", "c2"]);
      expect(await listedIds(tier, { threadId, namespace: "sub" })).toEqual(["c1"]);
      expect((await tier.peek(at(threadId, "c1"))).writes).toEqual([]);
      expect(plainWrites((await tier.peek(at(threadId, "c2"))).writes)).toEqual(["c2: writes of c2"]);
      expect((await tier.read(at(threadId, "c1"))).checkpoint).toBeUndefined();
      expect((await tier.read(at(threadId, "c2"))).checkpoint!.record.parentId).toBe("c1");
    });

    test("drops and replaces blobs", async () => {
      const { tier } = context;
      const threadId = context.thread();
      const base = blob("base");
      const patch = blob("patch", base);
      const other = blob("other");
      await tier.append(put(threadId, "c1", { names: [base, other] }));
      await tier.append(put(threadId, "c2", { parentId: "c1", names: [patch] }));
      const whole = { hash: patch.hash, bytes: blob("the patch, whole").bytes };
      const done = await tier.remove(
        removal(threadId, await revisionOf(threadId), {
          checkpoints: [at(threadId, "c1")],
          dropBlobs: [base.hash, other.hash],
          replaceBlobs: [whole],
        }),
      );
      expect(done).toBe(true);
      expect((await tier.blobs(threadId)).map(({ hash, base, size }) => [hash, base ?? null, size])).toEqual([
        [patch.hash, null, whole.bytes.length],
      ]);
      const { checkpoint } = await tier.read({ threadId, namespace: "" });
      expect(shown(checkpoint!.blobs.get(patch.hash)!.bytes)).toBe(shown(whole.bytes));
      expect(checkpoint!.blobs.get(patch.hash)!.base).toBeUndefined();
    });

    test("moves heads, and removes heads of namespaces", async () => {
      const { tier } = context;
      const threadId = context.thread();
      await line(tier, threadId, ["c1", "c2"]);
      await line(tier, threadId, ["s1"], { namespace: "sub" });
      const done = await tier.remove(
        removal(threadId, await revisionOf(threadId), {
          checkpoints: [at(threadId, "c2"), at(threadId, "s1", "sub")],
          heads: [{ namespace: "", to: "c1" }, { namespace: "sub" }],
        }),
      );
      expect(done).toBe(true);
      expect((await tier.read({ threadId, namespace: "" })).checkpoint!.record.checkpointId).toBe("c1");
      expect((await tier.peek({ threadId, namespace: "sub" })).head).toBeUndefined();
      const next = await tier.append(put(threadId, "s2", { namespace: "sub", expected: [] }));
      expect(next.heads[0]!.moved).toBe(true);
      await thrown(tier.append(put(threadId, "c3", { parentId: "c2" })), "CHECKPOINT_CONFLICT");
      await tier.append(put(threadId, "c3", { parentId: "c1" }));
    });

    test("a thread without any head isn't listed any more, and can begin anew", async () => {
      const { tier } = context;
      const threadId = context.thread();
      const { revision } = await tier.append(put(threadId, "c1"));
      const checkpoints = [at(threadId, "c1")];
      expect(
        await tier.remove(removal(threadId, revision, { checkpoints, heads: [{ namespace: "" }] })),
      ).toBe(true);
      const known: string[] = [];
      for await (const info of tier.threads({})) known.push(info.threadId);
      expect(known).not.toContain(threadId);
      expect(await revisionOf(threadId)).toBeGreaterThan(revision);
      expect((await tier.append(put(threadId, "c2"))).heads[0]!.moved).toBe(true);
    });

    test("does nothing if the revision has changed", async () => {
      const { tier } = context;
      const threadId = context.thread();
      const value = blob("value");
      const { revision } = await tier.append(put(threadId, "c1", { names: [value] }));
      await tier.appendWrites(batch(at(threadId, "c1"), "task"));
      const now = await revisionOf(threadId);
      for (const stale of [revision, now + 1, 0]) {
        const request = removal(threadId, stale, {
          checkpoints: [at(threadId, "c1")],
          dropBlobs: [value.hash],
          replaceBlobs: [blob("never")],
          heads: [{ namespace: "" }],
        });
        expect(await tier.remove(request)).toBe(false);
      }
      const reading = await tier.read({ threadId, namespace: "" });
      expect([reading.head, reading.revision]).toEqual(["c1", now]);
      expect(shown(reading.checkpoint!.blobs.get(value.hash)!.bytes)).toBe(shown(value.bytes));
      expect(await tier.blobs(threadId)).toHaveLength(1);
      expect(reading.checkpoint!.writes).toHaveLength(1);
    });

    test("a thread never written: false", async () => {
      expect(await context.tier.remove(removal(context.thread(), 1))).toBe(false);
    });

    test("of two removals that were decided at the same revision, one is done", async () => {
      const { tier } = context;
      const threadId = context.thread();
      await line(tier, threadId, ["c1", "c2", "c3"]);
      const revision = await revisionOf(threadId);
      const one = removal(threadId, revision, { checkpoints: [at(threadId, "c1")] });
      const two = removal(threadId, revision, { checkpoints: [at(threadId, "c2")] });
      const answers = await Promise.all([tier.remove(one), tier.remove(two)]);
      expect(answers.filter((done) => done)).toHaveLength(1);
      expect(await listedIds(tier, { threadId })).toHaveLength(2);
    });

    test("a writer that relies on what it read before must read again", async () => {
      const { tier } = context;
      const threadId = context.thread();
      const value = blob("value");
      const { revision: seen } = await tier.append(put(threadId, "c1", { names: [value] }));
      await tier.remove(removal(threadId, seen));
      const relying = { parentId: "c1", names: [value], brings: [], relies: true };
      await thrown(tier.append(put(threadId, "c2", { ...relying, seen })), "STALE_READ");
      await thrown(tier.append(put(threadId, "c2", relying)), "STALE_READ");
      await thrown(
        tier.append(put(threadId, "c2", { ...relying, seen, onConflict: "branch" })),
        "STALE_READ",
      );
      const writes = batch(at(threadId, "c1"), "task", { relies: true, seen });
      await thrown(tier.appendWrites({ ...writes, blobs: [value.hash] }), "STALE_READ");
      expect(await listedIds(tier, { threadId })).toEqual(["c1"]);
      expect((await tier.peek(at(threadId, "c1"))).writes).toEqual([]);
      const now = await revisionOf(threadId);
      await tier.appendWrites({ ...writes, blobs: [value.hash], seen: now });
      expect((await tier.append(put(threadId, "c2", { ...relying, seen: now }))).heads[0]!.moved).toBe(true);
    });

    test("a writer that relies on nothing doesn't have to read again", async () => {
      const { tier } = context;
      const threadId = context.thread();
      const { revision: seen } = await tier.append(put(threadId, "c1"));
      await tier.remove(removal(threadId, seen));
      await tier.appendWrites(batch(at(threadId, "c1"), "task", { seen }));
      await tier.append(put(threadId, "c2", { parentId: "c1", seen, relies: false }));
      expect(await listedIds(tier, { threadId })).toEqual(["c2", "c1"]);
    });
  });
}
