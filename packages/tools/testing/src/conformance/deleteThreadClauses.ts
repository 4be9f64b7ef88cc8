import { strict as assert } from "node:assert";
import { randomUUID } from "node:crypto";
import { clauseGroup } from "./clause.ts";
import {
  at,
  listIds,
  makeCheckpoint,
  makeMetadata,
  mustGet,
  newThread,
  putLine,
  putOne,
  writesOf,
} from "./fixtures.ts";

/** `deleteThread`. */
export const deleteThreadClauses = clauseGroup("delete_thread", {
  delete_thread_removes_checkpoints: async ({ saver, reopen }) => {
    const thread = newThread();
    const [first] = await putLine(saver, thread, 3);
    await mustGet(saver, at(thread));
    await saver.deleteThread(thread);
    for (const reader of [saver, await reopen()]) {
      assert.equal(await reader.getTuple(at(thread)), undefined);
      assert.equal(await reader.getTuple(first ?? {}), undefined);
      assert.deepEqual(await listIds(reader, at(thread)), []);
    }
  },

  delete_thread_removes_writes: async ({ saver }) => {
    const thread = newThread();
    const stored = await putOne(saver, thread);
    await saver.putWrites(stored, [["ch", "val"]], randomUUID());
    assert.equal(writesOf(await mustGet(saver, at(thread))).length, 1);
    await saver.deleteThread(thread);
    assert.equal(await saver.getTuple(stored), undefined);
  },

  delete_thread_removes_all_namespaces: async ({ saver }) => {
    const thread = newThread();
    for (const ns of ["", "child:1"]) await putOne(saver, thread, { ns });
    for (const ns of ["", "child:1"]) await mustGet(saver, at(thread, { ns }));
    await saver.deleteThread(thread);
    for (const ns of ["", "child:1"]) assert.equal(await saver.getTuple(at(thread, { ns })), undefined);
  },

  delete_thread_preserves_other_threads: async ({ saver }) => {
    const thread = newThread();
    const others = [newThread(), `${thread}x`, thread.slice(0, -1), thread.toUpperCase()];
    for (const id of [thread, ...others]) await putOne(saver, id, { values: { id } });
    await saver.deleteThread(thread);
    assert.equal(await saver.getTuple(at(thread)), undefined);
    for (const id of others)
      assert.deepEqual((await mustGet(saver, at(id))).checkpoint.channel_values, { id });
  },

  delete_thread_nonexistent_noop: async ({ saver }) => {
    await saver.deleteThread(newThread());
  },

  /** Late calls may reject or do nothing, but the thread must stay deleted. */
  delete_thread_blocks_late_writes: async ({ saver, reopen }) => {
    const thread = newThread();
    const stored = await putOne(saver, thread, { values: { k: "v" } });
    await saver.deleteThread(thread);
    const late = makeCheckpoint({ channel_values: { k: "late" }, channel_versions: { k: 2 } });
    await Promise.allSettled([
      saver.put(stored, late, makeMetadata({ step: 99 }), { k: 2 }),
      saver.putWrites(stored, [["ch", "late-write"]], randomUUID()),
    ]);
    for (const reader of [saver, await reopen()]) {
      assert.equal(await reader.getTuple(at(thread)), undefined);
      assert.deepEqual(await listIds(reader, at(thread)), []);
    }
  },
});
