import { describe, expect, test } from "vitest";
import type { TierContext } from "./context.ts";
import { at, batch, blob, plainWrites, put, shown } from "./fixtures.ts";

/** Tier.appendWrites. */
export function appendWritesTests(context: TierContext): void {
  describe("appendWrites", () => {
    test("batches of several tasks come back in the order in which they were stored", async () => {
      const { tier } = context;
      const threadId = context.thread();
      await tier.append(put(threadId, "c1"));
      const tasks = ["t9", "t1", "t5", "t1", "t9", "T1"];
      for (const [n, task] of tasks.entries())
        await tier.appendWrites(batch(at(threadId, "c1"), task, { body: `batch ${n}` }));
      const expected = tasks.map((task, n) => `${task}: batch ${n}`);
      const peek = await tier.peek({ threadId, namespace: "" });
      expect(plainWrites(peek.writes)).toEqual(expected);
      const orders = peek.writes.map(({ order }) => order);
      expect(orders).toEqual([...new Set(orders)].sort((a, b) => a - b));
      expect(plainWrites((await tier.read(at(threadId, "c1"))).checkpoint!.writes)).toEqual(expected);
    });

    test("may be stored before their checkpoint, which then has them", async () => {
      const { tier } = context;
      const threadId = context.thread();
      const value = blob("early value");
      await tier.append(put(threadId, "c1"));
      await tier.appendWrites(batch(at(threadId, "c2"), "task", { names: [value] }));
      await tier.append(put(threadId, "c2", { parentId: "c1" }));
      const { checkpoint } = await tier.read({ threadId, namespace: "" });
      expect(plainWrites(checkpoint!.writes)).toEqual(["task: writes of task"]);
      expect(shown(checkpoint!.blobs.get(value.hash)!.bytes)).toBe(shown(value.bytes));
    });

    test("appended writes and writes of an append have one common order", async () => {
      const { tier } = context;
      const threadId = context.thread();
      const c1 = at(threadId, "c1");
      await tier.appendWrites(batch(c1, "first"));
      await tier.append({
        ...put(threadId, "c1"),
        writes: ["second", "third"].map((task) => batch(c1, task)),
      });
      await tier.appendWrites(batch(c1, "fourth"));
      const { writes } = await tier.peek(c1);
      expect(writes.map(({ taskId }) => taskId)).toEqual(["first", "second", "third", "fourth"]);
    });

    test("belong to one checkpoint of one namespace", async () => {
      const { tier } = context;
      const threadId = context.thread();
      for (const namespace of ["", "sub"])
        for (const id of ["c1", "c2"])
          await tier.appendWrites(batch(at(threadId, id, namespace), `${namespace}/${id}`, { body: "" }));
      for (const namespace of ["", "sub"])
        for (const id of ["c1", "c2"])
          expect(plainWrites((await tier.peek(at(threadId, id, namespace))).writes)).toEqual([
            `${namespace}/${id}: `,
          ]);
    });

    test("don't move heads, but increment the revision", async () => {
      const { tier } = context;
      const threadId = context.thread();
      const { revision } = await tier.append(put(threadId, "c1"));
      await tier.appendWrites(batch(at(threadId, "c9"), "task"));
      const peek = await tier.peek({ threadId, namespace: "" });
      expect(peek.head).toBe("c1");
      expect(peek.writes).toEqual([]);
      expect(peek.revision).toBeGreaterThan(revision);
      expect(await tier.evict(threadId, revision)).toBe(false);
    });

    test("a repeated checkpoint keeps its writes", async () => {
      const { tier } = context;
      const threadId = context.thread();
      await tier.append(put(threadId, "c1"));
      await tier.appendWrites(batch(at(threadId, "c1"), "task"));
      await tier.append(put(threadId, "c1", { body: "again" }));
      expect(plainWrites((await tier.peek(at(threadId, "c1"))).writes)).toEqual(["task: writes of task"]);
    });

    test("each call makes a revision of its own, also of many at once", async () => {
      const { tier } = context;
      const threadId = context.thread();
      const { revision } = await tier.append(put(threadId, "c1"));
      const tasks = Array.from({ length: 20 }, (_, n) => `task ${n}`);
      await Promise.all(tasks.map((task) => tier.appendWrites(batch(at(threadId, "c1"), task))));
      expect((await tier.peek({ threadId, namespace: "" })).revision).toBeGreaterThanOrEqual(revision + 20);
    });
  });
}
