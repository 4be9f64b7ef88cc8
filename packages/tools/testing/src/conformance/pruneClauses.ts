import { strict as assert } from "node:assert";
import { randomUUID } from "node:crypto";
import { INTERRUPT, RESUME } from "@langchain/langgraph-checkpoint";
import { clauseGroup, extended } from "./clause.ts";
import { at, idOf, listIds, mustGet, newThread, putLine, putOne, writesOf } from "./fixtures.ts";

const latest = { strategy: "keep_latest" } as const;

/** `prune`. */
export const pruneClauses = clauseGroup(
  "prune",
  {
    prune_keep_latest_single_thread: async ({ saver, reopen }) => {
      const thread = newThread();
      const stored = await putLine(saver, thread, 4);
      await extended(saver, "prune")([thread], latest);
      assert.deepEqual(await listIds(await reopen(), at(thread)), [idOf(stored[3])]);
    },

    prune_keep_latest_multiple_threads: async ({ saver }) => {
      const [one, two] = [newThread(), newThread()];
      const first = await putLine(saver, one, 3);
      const second = await putLine(saver, two, 2);
      await extended(saver, "prune")([one, two], latest);
      assert.deepEqual(await listIds(saver, at(one)), [idOf(first[2])]);
      assert.deepEqual(await listIds(saver, at(two)), [idOf(second[1])]);
    },

    prune_keep_latest_across_namespaces: async ({ saver }) => {
      const thread = newThread();
      const root = await putLine(saver, thread, 3);
      const child = await putLine(saver, thread, 2, () => ({ ns: "child:1" }));
      await extended(saver, "prune")([thread], latest);
      assert.deepEqual(await listIds(saver, at(thread, { ns: "" })), [idOf(root[2])]);
      assert.deepEqual(await listIds(saver, at(thread, { ns: "child:1" })), [idOf(child[1])]);
    },

    prune_keep_latest_preserves_writes: async ({ saver }) => {
      const thread = newThread();
      const stored = await putLine(saver, thread, 3);
      await saver.putWrites(stored[2] ?? {}, [["ch", "val"]], randomUUID());
      await extended(saver, "prune")([thread], latest);
      assert.deepEqual(writesOf(await mustGet(saver, at(thread))), [["ch", "val"]]);
    },

    /** Values that a removed ancestor had stored can still be read. */
    prune_keep_latest_preserves_values: async ({ saver, reopen }) => {
      const thread = newThread();
      await putLine(saver, thread, 5, (step) => ({
        values: {
          old: "from step 0",
          grows: Array.from({ length: step + 1 }, (_, index) => `item ${index}`),
        },
        versions: { old: 1, grows: step + 1 },
        newVersions: step === 0 ? { old: 1, grows: 1 } : { grows: step + 1 },
      }));
      await extended(saver, "prune")([thread], latest);
      assert.deepEqual((await mustGet(await reopen(), at(thread))).checkpoint.channel_values, {
        old: "from step 0",
        grows: ["item 0", "item 1", "item 2", "item 3", "item 4"],
      });
    },

    prune_keep_last_n: async ({ saver }) => {
      const thread = newThread();
      const ids = (await putLine(saver, thread, 5)).map(idOf);
      await extended(saver, "prune")([thread], { strategy: "keep_latest", keepLast: 2 });
      assert.deepEqual(await listIds(saver, at(thread)), [ids[4], ids[3]]);
      await extended(saver, "prune")([thread], { strategy: "keep_latest", keepLast: 9 });
      assert.deepEqual(await listIds(saver, at(thread)), [ids[4], ids[3]]);
    },

    /** An unanswered question at the end of a branch that isn't the latest can still be answered. */
    prune_keep_latest_keeps_unresolved_interrupts: async ({ saver }) => {
      const thread = newThread();
      const base = await putOne(saver, thread);
      const asking = await putOne(saver, thread, { parent: idOf(base) });
      const task = randomUUID();
      await saver.putWrites(asking, [[INTERRUPT, { value: "sure?" }]], task);
      await mustGet(saver, at(thread));
      await mustGet(saver, base);
      const head = await putOne(saver, thread, { parent: idOf(base) });
      await extended(saver, "prune")([thread], latest);
      assert.equal((await mustGet(saver, at(thread))).checkpoint.id, idOf(head));
      assert.deepEqual((await mustGet(saver, asking)).pendingWrites, [[task, INTERRUPT, { value: "sure?" }]]);
      assert.equal(await saver.getTuple(base), undefined);
    },

    prune_keep_latest_drops_answered_interrupts: async ({ saver }) => {
      const thread = newThread();
      const asking = await putOne(saver, thread);
      const task = randomUUID();
      await saver.putWrites(asking, [[INTERRUPT, { value: "sure?" }]], task);
      await saver.putWrites(asking, [[RESUME, ["yes"]]], task);
      await saver.putWrites(asking, [["answers", "yes"]], task);
      const head = await putOne(saver, thread, { parent: idOf(asking) });
      await extended(saver, "prune")([thread], latest);
      assert.deepEqual(await listIds(saver, at(thread)), [idOf(head)]);
    },

    prune_delete_all: async ({ saver }) => {
      const thread = newThread();
      await putLine(saver, thread, 3);
      await putOne(saver, thread, { ns: "child:1" });
      await extended(saver, "prune")([thread], { strategy: "delete" });
      assert.deepEqual(await listIds(saver, { configurable: { thread_id: thread } }), []);
      assert.equal(await saver.getTuple(at(thread)), undefined);
    },

    prune_preserves_other_threads: async ({ saver }) => {
      const [one, two] = [newThread(), newThread()];
      await putLine(saver, one, 3);
      const kept = await putLine(saver, two, 2);
      await extended(saver, "prune")([one], latest);
      assert.deepEqual(await listIds(saver, at(two)), kept.map(idOf).toReversed());
    },

    prune_empty_list_noop: async ({ saver }) => {
      const thread = newThread();
      await putLine(saver, thread, 2);
      await extended(saver, "prune")([], latest);
      await extended(saver, "prune")([], { strategy: "delete" });
      assert.equal((await listIds(saver, at(thread))).length, 2);
    },

    prune_nonexistent_noop: async ({ saver }) => {
      await extended(saver, "prune")([newThread()], latest);
      await extended(saver, "prune")([newThread()], { strategy: "delete" });
    },

    /** A pruned thread continues as if nothing had happened. */
    prune_then_put: async ({ saver, reopen }) => {
      const thread = newThread();
      const stored = await putLine(saver, thread, 3, (step) => ({
        values: { step },
        versions: { step: step + 1 },
      }));
      await extended(saver, "prune")([thread], latest);
      const other = await reopen();
      await mustGet(other, at(thread));
      const next = await putOne(other, thread, {
        parent: idOf(stored[2]),
        values: { step: 3 },
        versions: { step: 4 },
      });
      assert.deepEqual(await listIds(saver, at(thread)), [idOf(next), idOf(stored[2])]);
      assert.deepEqual((await mustGet(saver, at(thread))).checkpoint.channel_values, { step: 3 });
    },
  },
  "prune",
);
