import { strict as assert } from "node:assert";
import { randomUUID } from "node:crypto";
import { clauseGroup, extended } from "./clause.ts";
import { at, idOf, listIds, mustGet, newThread, putOne, writesOf } from "./fixtures.ts";

/** `deleteForRuns`. A checkpoint belongs to the run whose `run_id` is in the metadata passed to put. */
export const deleteForRunsClauses = clauseGroup(
  "delete_for_runs",
  {
    delete_for_runs_single: async ({ saver }) => {
      const [thread, run1, run2] = [newThread(), randomUUID(), randomUUID()];
      const first = await putOne(saver, thread, { metadata: { run_id: run1 } });
      const second = await putOne(saver, thread, { parent: idOf(first), metadata: { run_id: run2 } });
      assert.deepEqual(await listIds(saver, at(thread)), [idOf(second), idOf(first)]);
      await extended(saver, "deleteForRuns")([run1]);
      assert.deepEqual(await listIds(saver, at(thread)), [idOf(second)]);
      assert.equal(await saver.getTuple(first), undefined);
    },

    delete_for_runs_multiple: async ({ saver }) => {
      const thread = newThread();
      const runs = [randomUUID(), randomUUID(), randomUUID()];
      let parent: string | undefined;
      const ids = [];
      for (const run_id of runs)
        ids.push((parent = idOf(await putOne(saver, thread, { parent, metadata: { run_id } }))));
      await extended(saver, "deleteForRuns")(runs.slice(0, 2));
      assert.deepEqual(await listIds(saver, at(thread)), [ids[2]]);
    },

    delete_for_runs_preserves_other_runs: async ({ saver }) => {
      const [thread, other, keep, drop] = [newThread(), newThread(), randomUUID(), randomUUID()];
      const kept = await putOne(saver, thread, { metadata: { run_id: keep } });
      const without = await putOne(saver, thread, { parent: idOf(kept) });
      await putOne(saver, thread, { parent: idOf(without), metadata: { run_id: drop } });
      const elsewhere = await putOne(saver, other, { metadata: { run_id: keep } });
      await extended(saver, "deleteForRuns")([drop]);
      assert.deepEqual(await listIds(saver, at(thread)), [idOf(without), idOf(kept)]);
      assert.deepEqual(await listIds(saver, at(other)), [idOf(elsewhere)]);
    },

    delete_for_runs_removes_writes: async ({ saver }) => {
      const [thread, run_id] = [newThread(), randomUUID()];
      const stored = await putOne(saver, thread, { metadata: { run_id } });
      await saver.putWrites(stored, [["ch", "val"]], randomUUID());
      assert.equal(writesOf(await mustGet(saver, stored)).length, 1);
      await extended(saver, "deleteForRuns")([run_id]);
      assert.equal(await saver.getTuple(stored), undefined);
    },

    delete_for_runs_empty_list_noop: async ({ saver }) => {
      const stored = await putOne(saver, newThread(), { metadata: { run_id: randomUUID() } });
      await extended(saver, "deleteForRuns")([]);
      await mustGet(saver, stored);
    },

    delete_for_runs_nonexistent_noop: async ({ saver }) => {
      const stored = await putOne(saver, newThread(), { metadata: { run_id: randomUUID() } });
      await extended(saver, "deleteForRuns")([randomUUID()]);
      await mustGet(saver, stored);
    },

    delete_for_runs_across_namespaces: async ({ saver }) => {
      const [thread, run_id] = [newThread(), randomUUID()];
      for (const ns of ["", "child:1"]) await putOne(saver, thread, { ns, metadata: { run_id } });
      for (const ns of ["", "child:1"]) assert.equal((await listIds(saver, at(thread, { ns }))).length, 1);
      await extended(saver, "deleteForRuns")([run_id]);
      for (const ns of ["", "child:1"]) assert.deepEqual(await listIds(saver, at(thread, { ns })), []);
    },

    /** The next run starts from the checkpoint before the deleted run. */
    delete_for_runs_latest_is_the_newest_left: async ({ saver, reopen }) => {
      const [thread, keep, drop] = [newThread(), randomUUID(), randomUUID()];
      const first = await putOne(saver, thread, { values: { k: 1 }, metadata: { run_id: keep } });
      const parts = { values: { k: 2 }, versions: { k: 2 }, metadata: { run_id: drop } };
      await putOne(saver, thread, { parent: idOf(first), ...parts });
      await extended(saver, "deleteForRuns")([drop]);
      const other = await reopen();
      const tuple = await mustGet(other, at(thread));
      assert.deepEqual([tuple.checkpoint.id, tuple.checkpoint.channel_values], [idOf(first), { k: 1 }]);
      const next = await putOne(other, thread, { parent: idOf(first), values: { k: 3 }, versions: { k: 2 } });
      assert.deepEqual((await mustGet(saver, next)).checkpoint.channel_values, { k: 3 });
    },

    delete_for_runs_keeps_values_of_later_runs: async ({ saver, reopen }) => {
      const [thread, drop] = [newThread(), randomUUID()];
      const first = await putOne(saver, thread, { values: { k: "carried" }, metadata: { run_id: drop } });
      const second = await putOne(saver, thread, {
        parent: idOf(first),
        values: { k: "carried", n: 1 },
        versions: { k: 1, n: 2 },
        newVersions: { n: 2 },
      });
      await extended(saver, "deleteForRuns")([drop]);
      const values = (await mustGet(await reopen(), second)).checkpoint.channel_values;
      assert.deepEqual(values, { k: "carried", n: 1 });
    },
  },
  "deleteForRuns",
);
