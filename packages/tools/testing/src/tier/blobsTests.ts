import { describe, expect, test } from "vitest";
import type { TierContext } from "./context.ts";
import { at, batch, blob, noise, put, shown } from "./fixtures.ts";

/** Tier.blobs, and how blobs are kept. */
export function blobsTests(context: TierContext): void {
  describe("blobs", () => {
    test("none of a thread never written", async () => {
      expect(await context.tier.blobs(context.thread())).toEqual([]);
    });

    test("every blob of the thread once, with base and size, of records and of writes", async () => {
      const { tier } = context;
      const threadId = context.thread();
      const whole = blob("whole");
      const patch = blob("a patch", whole);
      const written = blob(noise(1000));
      const empty = blob("");
      await tier.append(put(threadId, "c1", { names: [whole, empty] }));
      await tier.append(
        put(threadId, "c2", { parentId: "c1", names: [patch, whole], brings: [patch, whole] }),
      );
      await tier.appendWrites(batch(at(threadId, "c2"), "task", { names: [written] }));
      const infos = (await tier.blobs(threadId)).map(({ hash, base, size }) => ({
        hash,
        base: base ?? null,
        size,
      }));
      const made = [
        { hash: whole.hash, base: null, size: 5 },
        { hash: patch.hash, base: whole.hash, size: 7 },
        { hash: written.hash, base: null, size: 1000 },
        { hash: empty.hash, base: null, size: 0 },
      ];
      const byHash = (a: { hash: string }, b: { hash: string }): number => (a.hash < b.hash ? -1 : 1);
      expect(infos.sort(byHash)).toEqual(made.sort(byHash));
    });

    test("those that are asked for, and perhaps others", async () => {
      const { tier } = context;
      const threadId = context.thread();
      const [one, other] = [blob("one"), blob("other")];
      await tier.append(put(threadId, "c1", { names: [one, other] }));
      const found = await tier.blobs(threadId, [other.hash, blob("missing").hash]);
      expect(found).toContainEqual(expect.objectContaining({ hash: other.hash, size: 5 }));
      const known = [one.hash, other.hash];
      expect(known).toEqual(expect.arrayContaining(found.map(({ hash }) => hash)));
    });

    test("belong to one thread only", async () => {
      const { tier } = context;
      const [here, there] = [context.thread(), context.thread()];
      const value = blob("shared by content");
      await tier.append(put(here, "c1", { names: [value] }));
      await tier.append(put(there, "c1", { names: [value] }));
      await tier.deleteThread(here);
      expect(await tier.blobs(here)).toEqual([]);
      expect(await tier.blobs(there)).toHaveLength(1);
      const reading = await tier.read({ threadId: there, namespace: "" });
      expect(shown(reading.checkpoint!.blobs.get(value.hash)!.bytes)).toBe(shown(value.bytes));
    });

    test("the first blob written under a name stays, whatever is written later", async () => {
      const { tier } = context;
      const threadId = context.thread();
      const base = blob("base");
      const first = blob("first");
      const second = { hash: first.hash, base: base.hash, bytes: blob("second").bytes };
      await tier.append(put(threadId, "c1", { names: [first, base] }));
      await tier.append(put(threadId, "c2", { parentId: "c1", names: [second] }));
      await tier.appendWrites(batch(at(threadId, "c2"), "task", { names: [second] }));
      const { checkpoint } = await tier.read({ threadId, namespace: "" });
      expect(shown(checkpoint!.blobs.get(first.hash)!.bytes)).toBe(shown(first.bytes));
      expect(checkpoint!.blobs.get(first.hash)!.base).toBeUndefined();
    });

    test("the same name twice in one append makes one blob", async () => {
      const { tier } = context;
      const threadId = context.thread();
      const value = blob("value");
      await tier.append(put(threadId, "c1", { names: [value, value] }));
      expect(await tier.blobs(threadId)).toHaveLength(1);
      const { checkpoint } = await tier.read({ threadId, namespace: "" });
      expect(checkpoint!.record.blobs).toEqual([value.hash, value.hash]);
    });
  });
}
