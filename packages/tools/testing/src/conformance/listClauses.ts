import { strict as assert } from "node:assert";
import { randomUUID } from "node:crypto";
import { type ConformingSaver, clauseGroup } from "./clause.ts";
import { at, idOf, listAll, listIds, newThread, putLine, putOne, writesOf } from "./fixtures.ts";

/** Puts four checkpoints whose sources alternate between "input" and "loop". The ids are oldest first. */
const fourSteps = async (saver: ConformingSaver): Promise<{ thread: string; ids: string[] }> => {
  const thread = newThread();
  const stored = await putLine(saver, thread, 4, (step) => ({
    metadata: { source: step % 2 === 0 ? "input" : "loop" },
  }));
  return { thread, ids: stored.map(idOf) };
};

/** `list`. */
export const listClauses = clauseGroup("list", {
  list_all: async ({ saver }) => {
    const { thread, ids } = await fourSteps(saver);
    assert.deepEqual((await listIds(saver, at(thread))).toSorted(), ids.toSorted());
  },

  list_by_thread: async ({ saver }) => {
    const { thread } = await fourSteps(saver);
    assert.deepEqual(await listIds(saver, at(newThread())), []);
    assert.equal((await listIds(saver, at(thread))).length, 4);
  },

  list_by_namespace: async ({ saver }) => {
    const thread = newThread();
    const root = await putOne(saver, thread, { ns: "" });
    const child = await putOne(saver, thread, { ns: "child:1" });
    assert.deepEqual(await listIds(saver, at(thread, { ns: "" })), [idOf(root)]);
    assert.deepEqual(await listIds(saver, at(thread, { ns: "child:1" })), [idOf(child)]);
  },

  list_ordering: async ({ saver, reopen }) => {
    const { thread, ids } = await fourSteps(saver);
    assert.deepEqual(await listIds(await reopen(), at(thread)), ids.toReversed());
  },

  list_uses_checkpoint_timestamp_not_id: async ({ saver, reopen }) => {
    const thread = newThread();
    await putOne(saver, thread, { checkpoint: { id: "z-older", ts: "2026-01-01T00:00:00.000Z" } });
    const fresh = { id: "a-newer", ts: "2026-01-01T00:00:01.000Z" };
    await putOne(saver, thread, { parent: "z-older", checkpoint: fresh });
    const other = await reopen();
    assert.deepEqual(await listIds(other, at(thread)), ["a-newer", "z-older"]);
    assert.deepEqual(await listIds(other, at(thread), { before: at(thread, { id: "a-newer" }) }), [
      "z-older",
    ]);
  },

  list_metadata_filter_single_key: async ({ saver }) => {
    const { thread, ids } = await fourSteps(saver);
    assert.deepEqual(await listIds(saver, at(thread), { filter: { source: "input" } }), [ids[2], ids[0]]);
  },

  list_metadata_filter_step: async ({ saver }) => {
    const { thread, ids } = await fourSteps(saver);
    assert.deepEqual(await listIds(saver, at(thread), { filter: { step: 1 } }), [ids[1]]);
  },

  list_metadata_filter_multiple_keys: async ({ saver }) => {
    const thread = newThread();
    const kinds = [
      { source: "input", step: 1 },
      { source: "loop", step: 1 },
      { source: "input", step: 2 },
    ];
    const stored = await putLine(saver, thread, 3, (step) => ({ metadata: kinds[step] ?? {} }));
    const filter = { source: "input", step: 2 };
    assert.deepEqual(await listIds(saver, at(thread), { filter }), [idOf(stored[2])]);
  },

  list_metadata_filter_no_match: async ({ saver }) => {
    const { thread } = await fourSteps(saver);
    assert.deepEqual(await listIds(saver, at(thread), { filter: { source: "update", step: 99 } }), []);
  },

  list_metadata_custom_keys: async ({ saver }) => {
    const thread = newThread();
    const scores = [42, 99];
    await putLine(saver, thread, 2, (step) => ({ metadata: { score: scores[step], run_id: `run-${step}` } }));
    const found = await listAll(saver, at(thread), { filter: { score: 42 } });
    assert.deepEqual(
      found.map((tuple) => [tuple.metadata?.step, (tuple.metadata as { score?: number } | undefined)?.score]),
      [[0, 42]],
    );
  },

  list_before: async ({ saver }) => {
    const { thread, ids } = await fourSteps(saver);
    const before = at(thread, { id: ids[2] });
    assert.deepEqual(await listIds(saver, at(thread), { before }), [ids[1], ids[0]]);
  },

  /** For LangGraph.js, whose loop passes a `before` with only a checkpoint id. */
  list_before_by_id_alone: async ({ saver }) => {
    const { thread, ids } = await fourSteps(saver);
    const before = { configurable: { checkpoint_id: ids[2] } };
    assert.deepEqual(await listIds(saver, at(thread), { before, limit: 1 }), [ids[1]]);
  },

  list_limit: async ({ saver }) => {
    const { thread, ids } = await fourSteps(saver);
    assert.deepEqual(await listIds(saver, at(thread), { limit: 1 }), [ids[3]]);
    assert.deepEqual(await listIds(saver, at(thread), { limit: 2 }), [ids[3], ids[2]]);
    assert.equal((await listIds(saver, at(thread), { limit: 100 })).length, 4);
  },

  list_limit_plus_before: async ({ saver }) => {
    const { thread, ids } = await fourSteps(saver);
    const before = at(thread, { id: ids[3] });
    assert.deepEqual(await listIds(saver, at(thread), { before, limit: 1 }), [ids[2]]);
  },

  list_limit_plus_filter: async ({ saver }) => {
    const { thread, ids } = await fourSteps(saver);
    assert.deepEqual(await listIds(saver, at(thread), { filter: { source: "input" }, limit: 1 }), [ids[2]]);
    const older = { filter: { source: "input" }, limit: 1, before: at(thread, { id: ids[2] }) };
    assert.deepEqual(await listIds(saver, at(thread), older), [ids[0]]);
  },

  list_combined_thread_and_filter: async ({ saver }) => {
    const { thread, ids } = await fourSteps(saver);
    await fourSteps(saver);
    assert.deepEqual(await listIds(saver, at(thread), { filter: { source: "loop" } }), [ids[3], ids[1]]);
  },

  list_empty_result: async ({ saver }) => {
    assert.deepEqual(await listIds(saver, at(newThread()), { filter: { source: "nonexistent" } }), []);
  },

  list_includes_pending_writes: async ({ saver }) => {
    const thread = newThread();
    const stored = await putOne(saver, thread, { values: { k: "v" } });
    await saver.putWrites(stored, [["ch", "val"]], randomUUID());
    const [tuple, ...more] = await listAll(saver, at(thread));
    assert.ok(tuple);
    assert.deepEqual(more, []);
    assert.deepEqual(writesOf(tuple), [["ch", "val"]]);
    assert.deepEqual(tuple.checkpoint.channel_values, { k: "v" });
  },

  list_multiple_namespaces: async ({ saver }) => {
    const thread = newThread();
    const stored = [];
    for (const ns of ["", "child:1", "child:2"]) stored.push(idOf(await putOne(saver, thread, { ns })));
    assert.deepEqual(await listIds(saver, at(thread, { ns: "" })), [stored[0]]);
    const all = await listIds(saver, { configurable: { thread_id: thread } });
    assert.deepEqual(all.toSorted(), stored.toSorted());
  },

  list_can_stop_early: async ({ saver }) => {
    const { thread, ids } = await fourSteps(saver);
    for await (const tuple of saver.list(at(thread))) {
      assert.equal(tuple.checkpoint.id, ids[3]);
      break;
    }
    assert.deepEqual(await listIds(saver, at(thread)), ids.toReversed());
  },
});
