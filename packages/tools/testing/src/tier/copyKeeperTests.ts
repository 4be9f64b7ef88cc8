import type { Tier } from "@stratigraph/core";
import { keepsCopies } from "@stratigraph/core/internal";
import type { CopyKeeper, NamespaceCopy } from "@stratigraph/core/tier";
import { describe, expect, test, type TestContext } from "vitest";
import type { TierContext } from "./context.ts";
import { at, batch, blob, bytes, plainRecord, plainWrites, put, record, shown } from "./fixtures.ts";

const hour = 3_600_000;

/** CopyKeeper, the optional part that a hot tier needs to answer in place of the owner. */
export function copyKeeperTests(context: TierContext): void {
  /** The tier, if it keeps copies. Otherwise the test ends. */
  const keeper = (test: TestContext): Tier & CopyKeeper => {
    const { tier } = context;
    if (!keepsCopies(tier)) {
      context.need(test, false, "copies");
      throw new Error("unreachable: need ends the test");
    }
    return tier;
  };
  const copy = (threadId: string, revision: number, more: Partial<NamespaceCopy> = {}): NamespaceCopy => ({
    threadId,
    namespace: "",
    revision,
    head: "c1",
    writes: [{ taskId: "task", blobs: [], body: bytes("adopted"), order: revision }],
    record: record(threadId, "c1", { names: [blob("value")] }),
    blobs: [blob("value")],
    untilMs: Date.now() + hour,
    ...more,
  });
  const believed = async (tier: Tier, threadId: string): Promise<number | undefined> => {
    const [peek, reading] = [
      await tier.peek({ threadId, namespace: "" }),
      await tier.read({ threadId, namespace: "" }),
    ];
    expect(reading.copy).toEqual(peek.copy);
    return peek.copy?.revision;
  };

  describe("copies (optional)", () => {
    test("an adopted copy is answered as one, with head, writes, record and blobs", async (test) => {
      const tier = keeper(test);
      const threadId = context.thread();
      const adopted = copy(threadId, 40);
      await tier.adopt(adopted);
      const reading = await tier.read({ threadId, namespace: "" });
      expect(reading.head).toBe("c1");
      expect(reading.copy).toEqual({ revision: 40, untilMs: adopted.untilMs });
      expect(plainRecord(reading.checkpoint!.record)).toEqual(plainRecord(adopted.record!));
      expect(plainWrites(reading.checkpoint!.writes)).toEqual(["task: adopted"]);
      expect(shown(reading.checkpoint!.blobs.get(blob("value").hash)!.bytes)).toBe(shown(bytes("value")));
      expect(plainWrites((await tier.peek({ threadId, namespace: "" })).writes)).toEqual(["task: adopted"]);
      expect(await believed(tier, threadId)).toBe(40);
    });

    test("a namespace that was never adopted isn't answered as a copy", async (test) => {
      const tier = keeper(test);
      const threadId = context.thread();
      await tier.append(put(threadId, "c1", { namespace: "sub" }));
      await tier.adopt(copy(threadId, 40));
      expect((await tier.peek({ threadId, namespace: "sub" })).copy).toBeUndefined();
      expect(await believed(tier, context.thread())).toBeUndefined();
    });

    test("a copy may say that the namespace has no head", async (test) => {
      const tier = keeper(test);
      const threadId = context.thread();
      await tier.adopt(copy(threadId, 40));
      await tier.adopt({ ...copy(threadId, 41), head: undefined, record: undefined, writes: [], blobs: [] });
      expect((await tier.peek({ threadId, namespace: "" })).head).toBeUndefined();
      expect(await believed(tier, threadId)).toBe(41);
    });

    test("a later copy replaces an earlier one, not the reverse; without a record it keeps the one that is here", async (test) => {
      const tier = keeper(test);
      const threadId = context.thread();
      const writes = [{ taskId: "later", blobs: [], body: bytes("adopted"), order: 41 }];
      await tier.adopt(copy(threadId, 40));
      await tier.adopt(copy(threadId, 41, { writes, record: undefined, blobs: [] }));
      await tier.adopt(copy(threadId, 39, { head: "c0" }));
      const reading = await tier.read({ threadId, namespace: "" });
      expect([reading.head, reading.copy?.revision]).toEqual(["c1", 41]);
      expect(plainWrites(reading.checkpoint!.writes)).toEqual(["later: adopted"]);
    });

    test("a copy may be trusted until its time and no longer", async (test) => {
      const tier = keeper(test);
      const threadId = context.thread();
      await tier.adopt(copy(threadId, 40, { untilMs: Date.now() - 1 }));
      expect(await believed(tier, threadId)).toBeUndefined();
      expect((await tier.peek({ threadId, namespace: "" })).head).toBe("c1");
    });

    test("an invalidated copy isn't trusted, but one that is adopted later is", async (test) => {
      const tier = keeper(test);
      const threadId = context.thread();
      await tier.adopt(copy(threadId, 40));
      await tier.adopt(copy(threadId, 40, { namespace: "sub" }));
      await tier.invalidate(threadId);
      expect(await believed(tier, threadId)).toBeUndefined();
      expect((await tier.peek({ threadId, namespace: "sub" })).copy).toBeUndefined();
      await tier.adopt(copy(threadId, 41));
      expect(await believed(tier, threadId)).toBe(41);
    });

    test("copies older than an invalidation names can't be adopted, even if the thread was unknown", async (test) => {
      const tier = keeper(test);
      const threadId = context.thread();
      await tier.invalidate(threadId, 42);
      await tier.adopt(copy(threadId, 41));
      expect(await believed(tier, threadId)).toBeUndefined();
      expect((await tier.peek({ threadId, namespace: "" })).head).toBeUndefined();
      await tier.adopt(copy(threadId, 42));
      expect(await believed(tier, threadId)).toBe(42);
    });

    test("any other write to the namespace ends the trust in the copy", async (test) => {
      const tier = keeper(test);
      const writes: readonly ((threadId: string) => Promise<unknown>)[] = [
        (threadId) => tier.append(put(threadId, "c2", { parentId: "c1" })),
        (threadId) => tier.appendWrites(batch(at(threadId, "c1"), "another")),
        (threadId) => tier.deleteThread(threadId),
        async (threadId) => tier.evict(threadId, (await tier.peek({ threadId, namespace: "" })).revision),
      ];
      for (const write of writes) {
        const threadId = context.thread();
        await tier.adopt(copy(threadId, 40));
        await write(threadId);
        expect(await believed(tier, threadId), String(write)).toBeUndefined();
      }
    });

    test("a tombstone doesn't keep a copy from being adopted, because the owner decides", async (test) => {
      const tier = keeper(test);
      const threadId = context.thread();
      await tier.append(put(threadId, "c1"));
      await tier.deleteThread(threadId);
      await tier.adopt(copy(threadId, 40));
      expect((await tier.read({ threadId, namespace: "" })).checkpoint?.record.checkpointId).toBe("c1");
      expect(await believed(tier, threadId)).toBe(40);
    });
  });
}
