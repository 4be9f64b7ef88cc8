import { strict as assert } from "node:assert";
import { randomUUID } from "node:crypto";
import { ERROR, INTERRUPT, RESUME } from "@langchain/langgraph-checkpoint";
import { clauseGroup } from "./clause.ts";
import { at, idOf, makeCheckpoint, makeMetadata, mustGet, newThread, putOne, writesOf } from "./fixtures.ts";

/** `putWrites`, and the pending writes that `getTuple` returns after it. */
export const putWritesClauses = clauseGroup("put_writes", {
  put_writes_basic: async ({ saver }) => {
    const stored = await putOne(saver, newThread());
    const task = randomUUID();
    await saver.putWrites(stored, [["channel1", "value1"]], task);
    assert.deepEqual((await mustGet(saver, stored)).pendingWrites, [[task, "channel1", "value1"]]);
  },

  put_writes_multiple_writes_same_task: async ({ saver }) => {
    const stored = await putOne(saver, newThread());
    const writes: [string, unknown][] = [
      ["ch1", "v1"],
      ["ch2", "v2"],
      ["ch1", "again"],
      ["ch3", "v3"],
    ];
    await saver.putWrites(stored, writes, randomUUID());
    assert.deepEqual(writesOf(await mustGet(saver, stored)), writes);
  },

  put_writes_multiple_tasks: async ({ saver }) => {
    const stored = await putOne(saver, newThread());
    const [one, two] = [randomUUID(), randomUUID()];
    await saver.putWrites(stored, [["ch", "from one"]], one);
    await saver.putWrites(stored, [["ch", "from two"]], two);
    const writes = (await mustGet(saver, stored)).pendingWrites ?? [];
    assert.deepEqual(
      writes.toSorted(([a], [b]) => (a === one ? -1 : b === one ? 1 : 0)),
      [
        [one, "ch", "from one"],
        [two, "ch", "from two"],
      ],
    );
  },

  put_writes_preserves_task_id: async ({ saver }) => {
    const stored = await putOne(saver, newThread());
    const task = randomUUID();
    await saver.putWrites(stored, [["ch", "val"]], task);
    assert.deepEqual(
      (await mustGet(saver, stored)).pendingWrites?.map(([id]) => id),
      [task],
    );
  },

  put_writes_preserves_channel_and_value: async ({ saver }) => {
    const stored = await putOne(saver, newThread());
    const values = [{ data: 123 }, null, [], "", 0, false, "ü😀"];
    await saver.putWrites(
      stored,
      values.map((value, index) => [`my channel ${index}`, value]),
      randomUUID(),
    );
    assert.deepEqual(
      writesOf(await mustGet(saver, stored)),
      values.map((value, index) => [`my channel ${index}`, value]),
    );
  },

  put_writes_idempotent: async ({ saver }) => {
    const stored = await putOne(saver, newThread());
    const task = randomUUID();
    await saver.putWrites(stored, [["ch", "val"]], task);
    await saver.putWrites(stored, [["ch", "other"]], task);
    assert.deepEqual((await mustGet(saver, stored)).pendingWrites, [[task, "ch", "val"]]);
  },

  put_writes_idempotent_across_restart: async ({ saver, reopen }) => {
    const stored = await putOne(saver, newThread());
    const task = randomUUID();
    await saver.putWrites(stored, [["ch", "val"]], task);
    const other = await reopen();
    await other.putWrites(stored, [["ch", "val"]], task);
    assert.deepEqual((await mustGet(other, stored)).pendingWrites, [[task, "ch", "val"]]);
  },

  put_writes_special_channels: async ({ saver }) => {
    const stored = await putOne(saver, newThread());
    const writes: [string, unknown][] = [
      [ERROR, "something went wrong"],
      [INTERRUPT, { reason: "human_input" }],
    ];
    await saver.putWrites(stored, writes, randomUUID());
    const read = writesOf(await mustGet(saver, stored));
    assert.deepEqual(new Map(read), new Map(writes));
    assert.equal(read.length, 2);
  },

  put_writes_special_channels_replace: async ({ saver }) => {
    const stored = await putOne(saver, newThread());
    const task = randomUUID();
    await saver.putWrites(stored, [[RESUME, "first"]], task);
    await saver.putWrites(stored, [[RESUME, "second"]], task);
    assert.deepEqual(writesOf(await mustGet(saver, stored)), [[RESUME, "second"]]);
  },

  put_writes_across_namespaces: async ({ saver }) => {
    const thread = newThread();
    const root = await putOne(saver, thread, { ns: "" });
    const child = await putOne(saver, thread, { ns: "child:1" });
    await saver.putWrites(root, [["ch", "root"]], randomUUID());
    await saver.putWrites(child, [["ch", "child"]], randomUUID());
    assert.deepEqual(writesOf(await mustGet(saver, root)), [["ch", "root"]]);
    assert.deepEqual(writesOf(await mustGet(saver, child)), [["ch", "child"]]);
  },

  put_writes_cleared_on_next_checkpoint: async ({ saver }) => {
    const thread = newThread();
    const first = await putOne(saver, thread);
    await saver.putWrites(first, [["ch", "old"]], randomUUID());
    const second = await putOne(saver, thread, { parent: idOf(first) });
    assert.deepEqual(writesOf(await mustGet(saver, second)), []);
    assert.deepEqual(writesOf(await mustGet(saver, first)), [["ch", "old"]]);
  },

  /** For LangGraph.js: with durability "async", writes may arrive before their checkpoint. */
  put_writes_before_their_checkpoint: async ({ saver }) => {
    const thread = newThread();
    const checkpoint = makeCheckpoint();
    await saver.putWrites(at(thread, { id: checkpoint.id }), [["ch", "early"]], randomUUID());
    const stored = await saver.put(at(thread), checkpoint, makeMetadata(), {});
    assert.deepEqual(writesOf(await mustGet(saver, stored)), [["ch", "early"]]);
  },

  put_writes_default_namespace: async ({ saver }) => {
    const thread = newThread();
    const stored = await putOne(saver, thread);
    const config = { configurable: { thread_id: thread, checkpoint_id: idOf(stored) } };
    await saver.putWrites(config, [["ch", "v"]], randomUUID());
    assert.deepEqual(writesOf(await mustGet(saver, stored)), [["ch", "v"]]);
  },
});
