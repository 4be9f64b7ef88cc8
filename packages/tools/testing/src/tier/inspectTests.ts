import type { Tier } from "@stratigraph/core";
import { inspectsThreads } from "@stratigraph/core/internal";
import type { ThreadInspector } from "@stratigraph/core/tier";
import { describe, expect, test, type TestContext } from "vitest";
import type { TierContext } from "./context.ts";
import { at, batch, line, put } from "./fixtures.ts";

/** The optional part that finds data to which no checkpoint leads, for verifying threads. */
export function inspectTests(context: TierContext): void {
  const inspector = (test: TestContext): Tier & ThreadInspector => {
    const { tier } = context;
    if (!inspectsThreads(tier)) {
      context.need(test, false, "inspect");
      throw new Error("unreachable: need ends the test");
    }
    return tier;
  };

  describe("inspection of threads (optional)", () => {
    test("has nothing of a thread that never was", async (test) => {
      expect(await inspector(test).inspect(context.thread())).toBeUndefined();
    });

    test("shows the state of a thread and the heads of all namespaces", async (test) => {
      const tier = inspector(test);
      const threadId = context.thread();
      await line(tier, threadId, ["c1", "c2"]);
      const odd = "sub|\0'{}*😀";
      await tier.append(put(threadId, "d1", { namespace: odd }));
      const { revision } = await tier.peek({ threadId, namespace: "" });
      expect(await tier.inspect(threadId)).toEqual({
        ...{ revision, deleted: false, evicted: false, removedAt: 0, strays: [] },
        heads: new Map([
          ["", "c2"],
          [odd, "d1"],
        ]),
      });
    });

    test("shows checkpoints that have pending writes and no record", async (test) => {
      const tier = inspector(test);
      const threadId = context.thread();
      await line(tier, threadId, ["c1", "c2"]);
      await tier.appendWrites(batch(at(threadId, "c2"), "task"));
      expect((await tier.inspect(threadId))?.strays).toEqual([]);
      const odd = at(threadId, "c9\0'{}*😀", "n\0's");
      await tier.appendWrites(batch(odd, "task"));
      await tier.appendWrites(batch(at(threadId, "c3"), "task"));
      await tier.appendWrites(batch(at(threadId, "c3"), "other"));
      const strays = (await tier.inspect(threadId))!.strays;
      expect(strays).toHaveLength(2);
      expect(strays).toEqual(expect.arrayContaining([odd, at(threadId, "c3")]));
      await tier.append(put(threadId, "c3", { parentId: "c2" }));
      expect((await tier.inspect(threadId))?.strays).toEqual([odd]);
    });

    test("says what was removed, evicted and deleted", async (test) => {
      const tier = inspector(test);
      const threadId = context.thread();
      await line(tier, threadId, ["c1", "c2"]);
      const { revision } = await tier.peek({ threadId, namespace: "" });
      const request = { threadId, revision, dropBlobs: [], replaceBlobs: [] };
      await tier.remove({
        ...request,
        checkpoints: [at(threadId, "c2")],
        heads: [{ namespace: "", to: "c1" }],
      });
      const removed = (await tier.inspect(threadId))!;
      expect(removed).toMatchObject({ removedAt: removed.revision, heads: new Map([["", "c1"]]) });
      await tier.evict(threadId, removed.revision);
      expect(await tier.inspect(threadId)).toMatchObject({ evicted: true, heads: new Map([["", "c1"]]) });
      await tier.deleteThread(threadId);
      expect(await tier.inspect(threadId)).toMatchObject({ deleted: true, evicted: false, heads: new Map() });
      await tier.append(put(threadId, "c5"));
      expect(await tier.inspect(threadId)).toMatchObject({ deleted: false, heads: new Map([["", "c5"]]) });
    });
  });
}
