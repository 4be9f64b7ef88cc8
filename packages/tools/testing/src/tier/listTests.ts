import { describe, expect, test } from "vitest";
import type { TierContext } from "./context.ts";
import {
  at,
  batch,
  blob,
  line,
  listed,
  listedIds,
  plainRecord,
  plainWrites,
  put,
  record,
  shown,
} from "./fixtures.ts";

const numbered = (count: number, prefix = "c"): string[] =>
  Array.from({ length: count }, (_, n) => `${prefix}${String(n).padStart(4, "0")}`);

/** Tier.list. */
export function listTests(context: TierContext): void {
  describe("list", () => {
    test("nothing of a thread never written", async () => {
      expect(await listedIds(context.tier, { threadId: context.thread() })).toEqual([]);
    });

    test("newest first: by checkpoint id, descending, in whatever order they were stored", async () => {
      const { tier } = context;
      const threadId = context.thread();
      for (const id of ["c3", "c1", "c2", "B", "a", "c10"])
        await tier.append(put(threadId, id, { expected: "any" }));
      expect(await listedIds(tier, { threadId })).toEqual(["c3", "c2", "c10", "c1", "a", "B"]);
    });

    test("each item has its record, blobs, writes and head", async () => {
      const { tier } = context;
      const threadId = context.thread();
      const whole = blob("whole");
      const patch = blob("patch", whole);
      await tier.append(put(threadId, "c1", { names: [whole], runId: "r", terms: [3] }));
      await tier.append(put(threadId, "c2", { parentId: "c1", names: [patch] }));
      await tier.appendWrites(batch(at(threadId, "c1"), "task"));
      const [second, first] = await listed(tier, { threadId });
      expect(plainRecord(first!.record)).toEqual(
        plainRecord(record(threadId, "c1", { names: [whole], runId: "r", terms: [3] })),
      );
      expect(plainWrites(first!.writes)).toEqual(["task: writes of task"]);
      expect(shown(first!.blobs.get(whole.hash)!.bytes)).toBe(shown(whole.bytes));
      expect(plainRecord(second!.record)).toEqual(
        plainRecord(record(threadId, "c2", { parentId: "c1", names: [patch] })),
      );
      expect(second!.writes).toEqual([]);
      for (const made of [whole, patch])
        expect(shown(second!.blobs.get(made.hash)!.bytes)).toBe(shown(made.bytes));
      expect(second!.blobs.get(patch.hash)!.base).toBe(whole.hash);
      expect([first!.head, second!.head]).toEqual(["c2", "c2"]);
    });

    test("recordsOnly: everything but blobs", async () => {
      const { tier } = context;
      const threadId = context.thread();
      await tier.append(put(threadId, "c1", { names: [blob("value")] }));
      await tier.appendWrites(batch(at(threadId, "c1"), "task"));
      const [found] = await listed(tier, { threadId, recordsOnly: true });
      expect(found!.blobs.size).toBe(0);
      expect(plainWrites(found!.writes)).toEqual(["task: writes of task"]);
      expect(found!.record.blobs).toEqual([blob("value").hash]);
      expect(found!.head).toBe("c1");
    });

    test("by namespace, by checkpoint, and all namespaces at once", async () => {
      const { tier } = context;
      const threadId = context.thread();
      for (const namespace of ["", "sub:1", "sub:2"]) await line(tier, threadId, ["c1", "c2"], { namespace });
      expect(await listedIds(tier, { threadId, namespace: "sub:1" })).toEqual(["c2", "c1"]);
      expect(await listedIds(tier, { threadId, namespace: "" })).toEqual(["c2", "c1"]);
      expect(await listedIds(tier, { threadId, namespace: "sub" })).toEqual([]);
      const everywhere = await listed(tier, { threadId, checkpointId: "c1" });
      expect(everywhere.map((found) => found.record.namespace).sort()).toEqual(["", "sub:1", "sub:2"]);
      expect(await listedIds(tier, { threadId })).toEqual(["c2", "c2", "c2", "c1", "c1", "c1"]);
      expect(await listedIds(tier, { threadId, namespace: "sub:2", checkpointId: "c2" })).toEqual(["c2"]);
    });

    test("each item has the head of its own namespace", async () => {
      const { tier } = context;
      const threadId = context.thread();
      await line(tier, threadId, ["c1", "c2"]);
      await line(tier, threadId, ["s1"], { namespace: "sub" });
      const heads = (await listed(tier, { threadId })).map((found) => [
        found.record.checkpointId,
        found.head,
      ]);
      expect(heads).toEqual([
        ["s1", "s1"],
        ["c2", "c2"],
        ["c1", "c2"],
      ]);
    });

    test("before and limit", async () => {
      const { tier } = context;
      const threadId = context.thread();
      await line(tier, threadId, ["c1", "c2", "c3", "c4"]);
      expect(await listedIds(tier, { threadId, before: "c3" })).toEqual(["c2", "c1"]);
      expect(await listedIds(tier, { threadId, before: "c2x" })).toEqual(["c2", "c1"]);
      expect(await listedIds(tier, { threadId, before: "c1" })).toEqual([]);
      expect(await listedIds(tier, { threadId, limit: 2 })).toEqual(["c4", "c3"]);
      expect(await listedIds(tier, { threadId, before: "c4", limit: 1 })).toEqual(["c3"]);
      expect(await listedIds(tier, { threadId, limit: 100 })).toEqual(["c4", "c3", "c2", "c1"]);
    });

    test("by terms: items have all of them, and only these count for the limit", async () => {
      const { tier } = context;
      const threadId = context.thread();
      const terms: readonly (readonly number[])[] = [[1, 2], [2], [-3, 2, 1], []];
      for (const [n, some] of terms.entries())
        await tier.append(put(threadId, `c${n}`, { expected: "any", terms: some }));
      expect(await listedIds(tier, { threadId, terms: [1] })).toEqual(["c2", "c0"]);
      expect(await listedIds(tier, { threadId, terms: [2, 1] })).toEqual(["c2", "c0"]);
      expect(await listedIds(tier, { threadId, terms: [-3] })).toEqual(["c2"]);
      expect(await listedIds(tier, { threadId, terms: [9] })).toEqual([]);
      expect(await listedIds(tier, { threadId, terms: [] })).toEqual(["c3", "c2", "c1", "c0"]);
      expect(await listedIds(tier, { threadId, terms: [2], limit: 2 })).toEqual(["c2", "c1"]);
    });

    test("by runs, in one thread and in all", async () => {
      const { tier } = context;
      const [here, there] = [context.thread(), context.thread()];
      const [run, other] = [`run of ${here}`, `other run of ${here}`];
      await tier.append(put(here, "c1", { runId: run }));
      await tier.append(put(here, "c2", { parentId: "c1" }));
      await tier.append(put(here, "c3", { parentId: "c2", runId: other }));
      await tier.append(put(there, "d1", { runId: run }));
      expect(await listedIds(tier, { threadId: here, runIds: [run] })).toEqual(["c1"]);
      expect(await listedIds(tier, { threadId: here, runIds: [run, other] })).toEqual(["c3", "c1"]);
      expect((await listedIds(tier, { runIds: [run] })).sort()).toEqual(["c1", "d1"]);
      expect(await listedIds(tier, { runIds: [`${run}x`] })).toEqual([]);
      expect(await listedIds(tier, { threadId: here, runIds: [] })).toEqual([]);
    });

    test("only side branches", async () => {
      const { tier } = context;
      const threadId = context.thread();
      await line(tier, threadId, ["c1", "c2"]);
      await tier.append(put(threadId, "c3", { parentId: "c1", onConflict: "branch" }));
      expect(await listedIds(tier, { threadId, lost: true })).toEqual(["c3"]);
      expect(await listedIds(tier, { threadId, lost: false })).toEqual(["c3", "c2", "c1"]);
      expect(await listedIds(tier, { threadId })).toEqual(["c3", "c2", "c1"]);
    });

    test("all conditions are combined", async () => {
      const { tier } = context;
      const threadId = context.thread();
      for (const [n, id] of numbered(12).entries()) {
        const namespace = n % 2 === 0 ? "" : "sub";
        await tier.append(
          put(threadId, id, { namespace, expected: "any", terms: [n % 3], runId: `r${n % 4}` }),
        );
      }
      const query = { threadId, namespace: "", terms: [0], runIds: ["r0", "r1"], before: "c0010", limit: 5 };
      expect(await listedIds(tier, query)).toEqual(["c0000"]);
      expect(await listedIds(tier, { ...query, runIds: ["r0", "r2"] })).toEqual(["c0006", "c0000"]);
    });

    test("many checkpoints, page after page, each once", async () => {
      const { tier } = context;
      const threadId = context.thread();
      const ids = numbered(250);
      await tier.append({
        threadId,
        records: ids.map((id, n) => record(threadId, id, n === 0 ? {} : { parentId: ids[n - 1]! })),
        blobs: [],
        heads: [{ namespace: "", to: ids.at(-1)!, expected: [] }],
        onConflict: "refuse",
      });
      expect(await listedIds(tier, { threadId })).toEqual(ids.reverse());
    });

    test("all threads: thread by thread, each newest first", async () => {
      const { tier } = context;
      const own = [context.thread(), context.thread(), context.thread()];
      for (const id of ["c1", "c2"]) {
        for (const threadId of own) await tier.append(put(threadId, id, { expected: "any" }));
      }
      const found: string[] = [];
      const seen: string[] = [];
      for await (const { record } of tier.list({ recordsOnly: true })) {
        if (!own.includes(record.threadId)) continue;
        found.push(record.checkpointId);
        if (seen.at(-1) !== record.threadId) seen.push(record.threadId);
      }
      expect(seen.sort()).toEqual([...own].sort());
      expect(found).toEqual(["c2", "c1", "c2", "c1", "c2", "c1"]);
      const byId: string[] = [];
      for await (const { record } of tier.list({ checkpointId: "c1", recordsOnly: true }))
        if (own.includes(record.threadId)) byId.push(record.threadId);
      expect(byId.sort()).toEqual([...own].sort());
    });

    test("the limit is for all threads together", async () => {
      const { tier } = context;
      const own = [context.thread(), context.thread(), context.thread()];
      const runIds = [`run of ${own[0]}`];
      for (const threadId of own) {
        await tier.append(put(threadId, "c1", { runId: runIds[0]! }));
        await tier.append(put(threadId, "c2", { parentId: "c1", runId: runIds[0]! }));
      }
      for (const limit of [1, 2, 3, 5, 6, 7])
        expect(await listedIds(tier, { runIds, limit })).toHaveLength(Math.min(limit, 6));
    });

    test("a consumer may stop at any item, however often", async () => {
      const { tier } = context;
      const threadId = context.thread();
      await line(tier, threadId, numbered(20));
      for (let round = 0; round < 30; round += 1) {
        for await (const { record } of tier.list({ threadId })) {
          expect(record.checkpointId).toBe("c0019");
          break;
        }
      }
      const failing = async (): Promise<void> => {
        for await (const { record } of tier.list({ threadId })) throw new Error(record.checkpointId);
      };
      await expect(failing()).rejects.toThrow("c0019");
      expect(await listedIds(tier, { threadId, limit: 1 })).toEqual(["c0019"]);
    });

    test("writing while listing", async () => {
      const { tier } = context;
      const threadId = context.thread();
      await line(tier, threadId, ["c1", "c2", "c3"], { names: [blob("value")] });
      const found: string[] = [];
      for await (const { record } of tier.list({ threadId })) {
        found.push(record.checkpointId);
        await tier.append(put(threadId, `x${found.length}`, { expected: "any" }));
      }
      expect(found.filter((id) => id.startsWith("c"))).toEqual(["c3", "c2", "c1"]);
    });
  });
}
