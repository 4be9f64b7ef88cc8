import { strict as assert } from "node:assert";
import { randomUUID } from "node:crypto";
import { uuid6 } from "@langchain/langgraph-checkpoint";
import { clauseGroup } from "./clause.ts";
import { at, idOf, makeCheckpoint, makeMetadata, mustGet, newThread, putLine, putOne } from "./fixtures.ts";

/** `getTuple`. */
export const getTupleClauses = clauseGroup("get_tuple", {
  get_tuple_nonexistent_returns_none: async ({ saver }) => {
    assert.equal(await saver.getTuple(at(newThread())), undefined);
  },

  get_tuple_latest_when_no_checkpoint_id: async ({ saver }) => {
    const thread = newThread();
    const stored = await putLine(saver, thread, 3);
    const tuple = await mustGet(saver, at(thread));
    assert.deepEqual([tuple.checkpoint.id, tuple.metadata?.step], [idOf(stored[2]), 2]);
  },

  get_tuple_latest_uses_checkpoint_timestamp_not_id: async ({ saver, reopen }) => {
    const thread = newThread();
    const old = { id: "z-older", ts: "2026-01-01T00:00:00.000Z" };
    await putOne(saver, thread, { checkpoint: old, metadata: { step: 0 } });
    const fresh = { id: "a-newer", ts: "2026-01-01T00:00:01.000Z" };
    await putOne(saver, thread, { parent: old.id, checkpoint: fresh, metadata: { step: 1 } });
    const tuple = await mustGet(await reopen(), at(thread));
    assert.deepEqual([tuple.checkpoint.id, tuple.metadata?.step], ["a-newer", 1]);
  },

  get_tuple_specific_checkpoint_id: async ({ saver }) => {
    const [first] = await putLine(saver, newThread(), 2);
    assert.equal((await mustGet(saver, first ?? {})).checkpoint.id, idOf(first));
  },

  get_tuple_config_structure: async ({ saver }) => {
    const thread = newThread();
    const stored = await putOne(saver, thread);
    const exact = at(thread, { id: idOf(stored) });
    assert.deepEqual((await mustGet(saver, stored)).config, exact);
    assert.deepEqual((await mustGet(saver, at(thread))).config, exact);
  },

  get_tuple_checkpoint_fields: async ({ saver }) => {
    const checkpoint = makeCheckpoint({
      channel_values: { k: "v" },
      channel_versions: { k: 1 },
      versions_seen: { n: { k: 1 } },
    });
    const stored = await saver.put(at(newThread()), checkpoint, makeMetadata(), { k: 1 });
    assert.deepEqual((await mustGet(saver, stored)).checkpoint, checkpoint);
  },

  get_tuple_metadata: async ({ saver }) => {
    const stored = await putOne(saver, newThread(), { metadata: { source: "input", step: -1 } });
    assert.deepEqual((await mustGet(saver, stored)).metadata, { source: "input", step: -1, parents: {} });
  },

  get_tuple_parent_config: async ({ saver }) => {
    const [first, second] = await putLine(saver, newThread(), 2);
    assert.equal((await mustGet(saver, first ?? {})).parentConfig, undefined);
    assert.equal(idOf((await mustGet(saver, second ?? {})).parentConfig), idOf(first));
  },

  get_tuple_pending_writes: async ({ saver }) => {
    const thread = newThread();
    const stored = await putOne(saver, thread);
    const task = randomUUID();
    await saver.putWrites(stored, [["ch", "val"]], task);
    assert.deepEqual((await mustGet(saver, at(thread))).pendingWrites, [[task, "ch", "val"]]);
  },

  get_tuple_respects_namespace: async ({ saver }) => {
    const thread = newThread();
    const root = await putOne(saver, thread, { ns: "" });
    const child = await putOne(saver, thread, { ns: "child:1" });
    assert.equal((await mustGet(saver, at(thread, { ns: "" }))).checkpoint.id, idOf(root));
    assert.equal((await mustGet(saver, at(thread, { ns: "child:1" }))).checkpoint.id, idOf(child));
    assert.equal(await saver.getTuple(at(thread, { ns: "child" })), undefined);
    assert.equal(await saver.getTuple(at(thread, { ns: "child:1", id: idOf(root) })), undefined);
  },

  get_tuple_nonexistent_checkpoint_id: async ({ saver }) => {
    const thread = newThread();
    await putOne(saver, thread);
    assert.equal(await saver.getTuple(at(thread, { id: uuid6(0) })), undefined);
  },
});
