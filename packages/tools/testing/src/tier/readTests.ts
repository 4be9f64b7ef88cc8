import type { Blob, Reading } from "@stratigraph/core/tier";
import { describe, expect, test } from "vitest";
import type { TierContext } from "./context.ts";
import { at, batch, blob, noise, plainRecord, plainWrites, put, record, shown } from "./fixtures.ts";

function expectBlobs(reading: Reading, made: readonly Blob[]): void {
  for (const one of made) {
    const found = reading.checkpoint?.blobs.get(one.hash);
    expect(found, `blob ${one.hash}`).toBeDefined();
    expect(found!.hash).toBe(one.hash);
    expect(found!.base ?? null).toBe(one.base ?? null);
    expect(shown(found!.bytes)).toBe(shown(one.bytes));
  }
}

/** Tier.read. */
export function readTests(context: TierContext): void {
  describe("read", () => {
    test("a thread never written: revision 0, no head, no checkpoint", async () => {
      const reading = await context.tier.read({ threadId: context.thread(), namespace: "" });
      expect(reading.revision).toBe(0);
      expect(reading.head).toBeUndefined();
      expect(reading.checkpoint).toBeUndefined();
    });

    test("a record comes back as it was put, with its blobs and writes", async () => {
      const { tier } = context;
      const threadId = context.thread();
      const [one, two] = [blob("one"), blob("two")];
      const parts = {
        namespace: "ns",
        names: [two, one],
        runId: "run 1",
        terms: [5, -2_147_483_648, 2_147_483_647, 0, -1],
        body: noise(3000),
      };
      await tier.append(put(threadId, "c1", parts));
      const written = blob("written");
      await tier.appendWrites(batch(at(threadId, "c1", "ns"), "task", { names: [written] }));
      const reading = await tier.read({ threadId, namespace: "ns" });
      expect(plainRecord(reading.checkpoint!.record)).toEqual(plainRecord(record(threadId, "c1", parts)));
      expectBlobs(reading, [one, two, written]);
      expect(plainWrites(reading.checkpoint!.writes)).toEqual(["task: writes of task"]);
      expect(reading.checkpoint!.writes[0]!.blobs).toEqual([written.hash]);
    });

    test("answers the head, or the checkpoint that is named", async () => {
      const { tier } = context;
      const threadId = context.thread();
      await tier.append(put(threadId, "c1"));
      await tier.append(put(threadId, "c2", { parentId: "c1" }));
      const head = await tier.read({ threadId, namespace: "" });
      expect(head.checkpoint!.record.checkpointId).toBe("c2");
      expect(head.checkpoint!.record.parentId).toBe("c1");
      const older = await tier.read(at(threadId, "c1"));
      expect(older.checkpoint!.record.checkpointId).toBe("c1");
      expect(older.checkpoint!.record.parentId).toBeUndefined();
      expect(older.head).toBe("c2");
    });

    test("answers the head even if the named checkpoint isn't there", async () => {
      const { tier } = context;
      const threadId = context.thread();
      await tier.append(put(threadId, "c1"));
      const reading = await tier.read(at(threadId, "c9"));
      expect(reading.checkpoint).toBeUndefined();
      expect(reading.head).toBe("c1");
      expect((await tier.read(at(threadId, "c1", "other"))).checkpoint).toBeUndefined();
    });

    test("pending writes don't make a checkpoint", async () => {
      const { tier } = context;
      const threadId = context.thread();
      await tier.appendWrites(batch(at(threadId, "c1"), "early"));
      expect((await tier.read(at(threadId, "c1"))).checkpoint).toBeUndefined();
      expect((await tier.read({ threadId, namespace: "" })).head).toBeUndefined();
    });

    test("a chain of patches comes with all of its bases, named or not", async () => {
      const { tier } = context;
      const threadId = context.thread();
      const chain = [blob("whole")];
      for (let depth = 1; depth <= 40; depth += 1) chain.push(blob(`patch ${depth}`, chain.at(-1)!));
      for (const [n, link] of chain.entries()) {
        const parent = n === 0 ? {} : { parentId: `c${100 + n - 1}` };
        await tier.append(put(threadId, `c${100 + n}`, { ...parent, names: [link] }));
      }
      const reading = await tier.read({ threadId, namespace: "" });
      expect(reading.checkpoint!.record.blobs).toEqual([chain.at(-1)!.hash]);
      expectBlobs(reading, chain);
    });

    test("a pending write's blob comes with its bases", async () => {
      const { tier } = context;
      const threadId = context.thread();
      const whole = blob("whole");
      const patch = blob("patch", whole);
      await tier.append(put(threadId, "c1", { brings: [whole] }));
      await tier.appendWrites(batch(at(threadId, "c1"), "task", { names: [patch] }));
      expectBlobs(await tier.read({ threadId, namespace: "" }), [whole, patch]);
    });

    test("answers no checkpoint if a blob or a base of one is missing", async () => {
      const { tier } = context;
      for (const missing of [0, 1, 2]) {
        const threadId = context.thread();
        const whole = blob("whole");
        const middle = blob("middle", whole);
        const chain = [whole, middle, blob("last", middle)];
        await tier.append(put(threadId, "c1"));
        const { revision } = await tier.append(
          put(threadId, "c2", { parentId: "c1", names: [chain[2]!], brings: chain }),
        );
        expect((await tier.read({ threadId, namespace: "" })).checkpoint).toBeDefined();
        const removed = await tier.remove({
          threadId,
          revision,
          checkpoints: [],
          dropBlobs: [chain[missing]!.hash],
          replaceBlobs: [],
          heads: [],
        });
        expect(removed).toBe(true);
        const reading = await tier.read({ threadId, namespace: "" });
        expect(reading.head).toBe("c2");
        expect(reading.checkpoint).toBeUndefined();
        expect((await tier.read(at(threadId, "c1"))).checkpoint).toBeDefined();
      }
    });

    test("bytes come back unchanged: every byte value, no bytes, and 5 MB", async () => {
      const { tier } = context;
      const threadId = context.thread();
      const every = Uint8Array.from({ length: 256 }, (_, value) => value);
      const made = [
        blob(every),
        blob(new Uint8Array(0)),
        blob(new Uint8Array(1)),
        blob(noise(5 * 1024 * 1024)),
      ];
      await tier.append(put(threadId, "c1", { names: made, body: every }));
      await tier.appendWrites(batch(at(threadId, "c1"), "task", { body: every }));
      const reading = await tier.read({ threadId, namespace: "" });
      expectBlobs(reading, made);
      expect(shown(reading.checkpoint!.record.body)).toBe(shown(every));
      expect(shown(reading.checkpoint!.writes[0]!.body)).toBe(shown(every));
    });

    test("a thousand blobs in one append", async () => {
      const { tier } = context;
      const threadId = context.thread();
      const made = Array.from({ length: 1000 }, (_, n) => blob(`blob ${n}`));
      await tier.append(put(threadId, "c1", { names: made }));
      const reading = await tier.read({ threadId, namespace: "" });
      expect(reading.checkpoint!.record.blobs).toEqual(made.map(({ hash }) => hash));
      expectBlobs(reading, made);
    });

    test("later writes don't change what was read before", async () => {
      const { tier } = context;
      const threadId = context.thread();
      const value = blob("value");
      await tier.append(put(threadId, "c1", { names: [value] }));
      const reading = await tier.read({ threadId, namespace: "" });
      await tier.appendWrites(batch(at(threadId, "c1"), "later"));
      await tier.deleteThread(threadId);
      expectBlobs(reading, [value]);
      expect(reading.checkpoint!.writes).toEqual([]);
      expect(reading.head).toBe("c1");
    });

    test("later removals don't change what was read before", async () => {
      const { tier } = context;
      const threadId = context.thread();
      const value = blob("value");
      const { revision } = await tier.append(put(threadId, "c1", { names: [value] }));
      const reading = await tier.read({ threadId, namespace: "" });
      const other = { hash: value.hash, bytes: blob("rewritten").bytes };
      await tier.remove({
        threadId,
        revision,
        checkpoints: [],
        dropBlobs: [],
        replaceBlobs: [other],
        heads: [],
      });
      expectBlobs(reading, [value]);
      const again = await tier.read({ threadId, namespace: "" });
      expectBlobs(again, [{ ...other }]);
      await tier.evict(threadId, again.revision);
      expectBlobs(again, [{ ...other }]);
    });
  });
}
