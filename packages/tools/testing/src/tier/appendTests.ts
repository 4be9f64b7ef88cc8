import type { AppendRequest } from "@stratigraph/core/tier";
import { describe, expect, test } from "vitest";
import { thrown, type TierContext } from "./context.ts";
import {
  at,
  blob,
  bytes,
  listed,
  listedIds,
  plainRecord,
  plainWrites,
  put,
  record,
  shown,
} from "./fixtures.ts";

/** Tier.append: heads, conflicts, repeated appends. */
export function appendTests(context: TierContext): void {
  const headOf = async (threadId: string, namespace = ""): Promise<string | undefined> =>
    (await context.tier.peek({ threadId, namespace })).head;

  describe("append", () => {
    test("moves the head and answers where it is", async () => {
      const { tier } = context;
      const threadId = context.thread();
      const first = await tier.append(put(threadId, "c1"));
      expect(first.heads).toEqual([{ namespace: "", head: "c1", moved: true }]);
      const second = await tier.append(put(threadId, "c2", { parentId: "c1" }));
      expect(second.heads).toEqual([{ namespace: "", head: "c2", moved: true }]);
      expect(second.revision).toBeGreaterThan(first.revision);
      expect(await headOf(threadId)).toBe("c2");
    });

    test("the head moves if it is the expected one, whatever the order of ids", async () => {
      const { tier } = context;
      const threadId = context.thread();
      await tier.append(put(threadId, "c9"));
      await tier.append(put(threadId, "c1", { parentId: "c9" }));
      expect(await headOf(threadId)).toBe("c1");
    });

    test("refuse: nothing of a conflicting append is stored, and the error names the winner", async () => {
      const { tier } = context;
      const threadId = context.thread();
      await tier.append(put(threadId, "c1"));
      const { revision } = await tier.append(put(threadId, "c2", { parentId: "c1" }));
      const request: AppendRequest = {
        ...put(threadId, "c3", { parentId: "c1", names: [blob("loser's")] }),
        writes: [{ ...at(threadId, "c3"), taskId: "task", blobs: [], body: bytes("loser's") }],
      };
      const error = await thrown(tier.append(request), "CHECKPOINT_CONFLICT");
      expect(error.data).toMatchObject({
        threadId,
        namespace: "",
        checkpointId: "c3",
        parentId: "c1",
        head: "c2",
        expected: ["c1"],
      });
      expect(await listedIds(tier, { threadId })).toEqual(["c2", "c1"]);
      expect(await tier.blobs(threadId)).toEqual([]);
      const peek = await tier.peek(at(threadId, "c3"));
      expect(peek.writes).toEqual([]);
      expect(peek.head).toBe("c2");
      expect(peek.revision).toBe(revision);
    });

    test("branch: a conflicting append is stored beside the head and marked with the winner", async () => {
      const { tier } = context;
      const threadId = context.thread();
      await tier.append(put(threadId, "c1"));
      await tier.append(put(threadId, "c2", { parentId: "c1" }));
      const value = blob("loser's");
      const parts = { parentId: "c1", names: [value], onConflict: "branch" } as const;
      const answer = await tier.append(put(threadId, "c3", parts));
      expect(answer.heads).toEqual([{ namespace: "", head: "c2", moved: false }]);
      expect(await headOf(threadId)).toBe("c2");
      const { checkpoint } = await tier.read(at(threadId, "c3"));
      expect(plainRecord(checkpoint!.record)).toEqual(
        plainRecord(record(threadId, "c3", { ...parts, lostTo: "c2" })),
      );
      expect(shown(checkpoint!.blobs.get(value.hash)!.bytes)).toBe(shown(value.bytes));
      const next = await tier.append(put(threadId, "c4", { parentId: "c3", onConflict: "branch" }));
      expect(next.heads[0]!.moved).toBe(false);
      expect((await tier.read(at(threadId, "c4"))).checkpoint!.record.lostTo).toBe("c2");
      expect((await tier.read(at(threadId, "c2"))).checkpoint!.record.lostTo).toBeUndefined();
    });

    test("expected: none is the head, one of several is, any", async () => {
      const { tier } = context;
      const threadId = context.thread();
      await tier.append(put(threadId, "c1", { expected: ["x", "y"] }));
      expect(await headOf(threadId), "none yet is always allowed").toBe("c1");
      await thrown(tier.append(put(threadId, "c2", { expected: [] })), "CHECKPOINT_CONFLICT");
      await thrown(tier.append(put(threadId, "c2", { expected: ["x", "C1", "c1 "] })), "CHECKPOINT_CONFLICT");
      await tier.append(put(threadId, "c2", { parentId: "c0", expected: ["x", "c1", "y"] }));
      expect(await headOf(threadId)).toBe("c2");
      await tier.append(put(threadId, "c3", { expected: "any" }));
      expect(await headOf(threadId)).toBe("c3");
      await thrown(tier.append(put(threadId, "c4", { expected: ["any"] })), "CHECKPOINT_CONFLICT");
    });

    test("repeating an append changes nothing", async () => {
      const { tier } = context;
      for (const onConflict of ["refuse", "branch"] as const) {
        const threadId = context.thread();
        const request = put(threadId, "c1", { names: [blob("value")], onConflict });
        await tier.append(request);
        const again = await tier.append(request);
        expect(again.heads.map(({ head }) => head)).toEqual(["c1"]);
        expect(await listedIds(tier, { threadId })).toEqual(["c1"]);
        expect(await tier.blobs(threadId)).toHaveLength(1);
        expect(await headOf(threadId)).toBe("c1");
        expect((await tier.read(at(threadId, "c1"))).checkpoint!.record.lostTo).toBeUndefined();
      }
    });

    test("repeating an append after the head moved on: no conflict, and the head isn't moved back", async () => {
      const { tier } = context;
      for (const onConflict of ["refuse", "branch"] as const) {
        const threadId = context.thread();
        await tier.append(put(threadId, "c1"));
        const request = put(threadId, "c2", { parentId: "c1", onConflict });
        await tier.append(request);
        await tier.append(put(threadId, "c3", { parentId: "c2" }));
        const again = await tier.append(request);
        expect(again.heads).toEqual([{ namespace: "", head: "c3", moved: false }]);
        expect(await headOf(threadId)).toBe("c3");
        expect(await listedIds(tier, { threadId })).toEqual(["c3", "c2", "c1"]);
        expect((await tier.read(at(threadId, "c2"))).checkpoint!.record.lostTo).toBeUndefined();
      }
    });

    test("repeating an append that lost: it still lost to the first winner", async () => {
      const { tier } = context;
      const threadId = context.thread();
      await tier.append(put(threadId, "c1"));
      await tier.append(put(threadId, "c2", { parentId: "c1" }));
      const loser = put(threadId, "c3", { parentId: "c1", onConflict: "branch" });
      await tier.append(loser);
      await tier.append(put(threadId, "c4", { parentId: "c2" }));
      expect((await tier.append(loser)).heads).toEqual([{ namespace: "", head: "c4", moved: false }]);
      expect((await tier.read(at(threadId, "c3"))).checkpoint!.record.lostTo).toBe("c2");
      expect(await listedIds(tier, { threadId })).toEqual(["c4", "c3", "c2", "c1"]);
    });

    test("an append that its own child overtook: it is stored, the head stays, and neither lost", async () => {
      const { tier } = context;
      for (const onConflict of ["refuse", "branch"] as const) {
        const threadId = context.thread();
        await tier.append(put(threadId, "c1"));
        await tier.append(put(threadId, "c3", { parentId: "c2", expected: ["c1"], onConflict }));
        const late = await tier.append(put(threadId, "c2", { parentId: "c1", onConflict }));
        expect(late.heads).toEqual([{ namespace: "", head: "c3", moved: false }]);
        expect(await listedIds(tier, { threadId })).toEqual(["c3", "c2", "c1"]);
        expect(await listedIds(tier, { threadId, lost: true })).toEqual([]);
        await thrown(tier.append(put(threadId, "c2x", { parentId: "c1" })), "CHECKPOINT_CONFLICT");
        await thrown(tier.append(put(threadId, "c0", { expected: [] })), "CHECKPOINT_CONFLICT");
      }
    });

    test("the same id with another body replaces it", async () => {
      const { tier } = context;
      const threadId = context.thread();
      await tier.append(put(threadId, "c1", { body: "before", names: [blob("one")], terms: [1] }));
      const after = { body: "after", names: [blob("two")], terms: [2], runId: "run" };
      await tier.append(put(threadId, "c1", after));
      const found = await listed(tier, { threadId });
      expect(found.map((item) => plainRecord(item.record))).toEqual([
        plainRecord(record(threadId, "c1", after)),
      ]);
      expect(await listedIds(tier, { threadId, terms: [2], runIds: ["run"] })).toEqual(["c1"]);
      expect(await listedIds(tier, { threadId, terms: [1] })).toEqual([]);
    });

    test("a record without a head move is stored and keeps its own lostTo", async () => {
      const { tier } = context;
      const threadId = context.thread();
      await tier.append(put(threadId, "c1"));
      await tier.append({
        ...put(threadId, "c2", { parentId: "c1", lostTo: "c9" }),
        heads: [],
      });
      expect(await headOf(threadId)).toBe("c1");
      expect((await tier.read(at(threadId, "c2"))).checkpoint!.record.lostTo).toBe("c9");
    });

    test("a whole thread in one append, with side branches, writes and heads", async () => {
      const { tier } = context;
      const threadId = context.thread();
      const sub = { namespace: "sub" };
      await tier.append({
        threadId,
        records: [
          record(threadId, "c1"),
          record(threadId, "c2", { parentId: "c1" }),
          record(threadId, "c3", { parentId: "c1", lostTo: "c2" }),
          record(threadId, "s1", sub),
        ],
        blobs: [],
        writes: [
          { ...at(threadId, "c2"), taskId: "t2", blobs: [], body: bytes("first") },
          { ...at(threadId, "c2"), taskId: "t1", blobs: [], body: bytes("second") },
          { ...at(threadId, "s1", "sub"), taskId: "t3", blobs: [], body: bytes("third") },
        ],
        heads: [
          { namespace: "", to: "c2", expected: [] },
          { namespace: "sub", to: "s1", expected: [] },
        ],
        onConflict: "refuse",
      });
      expect([await headOf(threadId), await headOf(threadId, "sub")]).toEqual(["c2", "s1"]);
      const lost = (await listed(tier, { threadId })).map((item) => [
        item.record.checkpointId,
        item.record.lostTo,
      ]);
      expect(lost).toEqual([
        ["s1", undefined],
        ["c3", "c2"],
        ["c2", undefined],
        ["c1", undefined],
      ]);
      expect(plainWrites((await tier.peek(at(threadId, "c2"))).writes)).toEqual(["t2: first", "t1: second"]);
      expect(plainWrites((await tier.peek(at(threadId, "s1", "sub"))).writes)).toEqual(["t3: third"]);
    });

    test("an append that moves the head to a loser removes its lostTo", async () => {
      const { tier } = context;
      const threadId = context.thread();
      await tier.append(put(threadId, "c1"));
      await tier.append(put(threadId, "c2", { parentId: "c1" }));
      await tier.append(put(threadId, "c3", { parentId: "c1", onConflict: "branch" }));
      await tier.append(put(threadId, "c3", { parentId: "c1", expected: ["c2"] }));
      expect(await headOf(threadId)).toBe("c3");
      expect(await listedIds(tier, { threadId, lost: true })).toEqual([]);
    });

    test("several heads: all or nothing", async () => {
      const { tier } = context;
      const threadId = context.thread();
      await tier.append(put(threadId, "c1"));
      await tier.append(put(threadId, "s1", { namespace: "sub" }));
      const both = (subExpected: string): AppendRequest => ({
        threadId,
        records: [
          record(threadId, "c2", { parentId: "c1", names: [blob("value")] }),
          record(threadId, "s2", { parentId: "s1", namespace: "sub" }),
        ],
        blobs: [blob("value")],
        heads: [
          { namespace: "", to: "c2", expected: ["c1"] },
          { namespace: "sub", to: "s2", expected: [subExpected] },
        ],
        onConflict: "refuse",
      });
      const error = await thrown(tier.append(both("another")), "CHECKPOINT_CONFLICT");
      expect(error.data).toMatchObject({ namespace: "sub", checkpointId: "s2", head: "s1" });
      expect([await headOf(threadId), await headOf(threadId, "sub")]).toEqual(["c1", "s1"]);
      expect(await listedIds(tier, { threadId })).toEqual(["s1", "c1"]);
      expect(await tier.blobs(threadId)).toEqual([]);
      const answer = await tier.append(both("s1"));
      expect([...answer.heads].sort((a, b) => (a.namespace < b.namespace ? -1 : 1))).toEqual([
        { namespace: "", head: "c2", moved: true },
        { namespace: "sub", head: "s2", moved: true },
      ]);
      expect([await headOf(threadId), await headOf(threadId, "sub")]).toEqual(["c2", "s2"]);
    });

    test("several heads with branch: each namespace is decided separately", async () => {
      const { tier } = context;
      const threadId = context.thread();
      await tier.append(put(threadId, "s1", { namespace: "sub" }));
      const answer = await tier.append({
        threadId,
        records: [record(threadId, "c1"), record(threadId, "s2", { namespace: "sub" })],
        blobs: [],
        heads: [
          { namespace: "", to: "c1", expected: [] },
          { namespace: "sub", to: "s2", expected: [] },
        ],
        onConflict: "branch",
      });
      expect(new Map(answer.heads.map(({ namespace, moved }) => [namespace, moved]))).toEqual(
        new Map([
          ["", true],
          ["sub", false],
        ]),
      );
      expect((await tier.read(at(threadId, "c1"))).checkpoint!.record.lostTo).toBeUndefined();
      expect((await tier.read(at(threadId, "s2", "sub"))).checkpoint!.record.lostTo).toBe("s1");
    });
  });
}
