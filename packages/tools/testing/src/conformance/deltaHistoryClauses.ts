import { strict as assert } from "node:assert";
import type { RunnableConfig } from "@langchain/core/runnables";
import { type ConformingSaver, clauseGroup } from "./clause.ts";
import { putDeltaLine, seedValue, snapshot } from "./deltaLine.ts";
import { at, idOf, mustGet, newThread, putOne } from "./fixtures.ts";

/** The history of one channel, with only the values of the writes. */
const historyOf = async (saver: ConformingSaver, config: RunnableConfig | undefined, channel: string) => {
  const found = await saver.getDeltaChannelHistory({ config: config ?? {}, channels: [channel] });
  const history = found[channel];
  assert.ok(history, `no entry for ${channel}`);
  const values: unknown[] = history.writes.map((write) => write[2]);
  for (const write of history.writes) assert.equal(write[1], channel);
  return { hasSeed: "seed" in history, seed: seedValue(history.seed), values };
};

/** `getDeltaChannelHistory`. A stored value is the state before the writes stored with its checkpoint, so these come after it. */
export const deltaHistoryClauses = clauseGroup("delta_channel_history", {
  history_returns_writes_oldest_first: async ({ saver, reopen }) => {
    const stored = await putDeltaLine(saver, newThread(), { steps: 5, seeds: { ch: {} } });
    assert.deepEqual((await historyOf(await reopen(), stored[4], "ch")).values, [0, 1, 2, 3]);
  },

  history_seed_is_nearest_snapshot: async ({ saver, reopen }) => {
    const seeds = { ch: { 0: snapshot("at 0"), 3: snapshot("at 3") } };
    const stored = await putDeltaLine(saver, newThread(), { steps: 6, seeds });
    const other = await reopen();
    assert.deepEqual(await historyOf(other, stored[5], "ch"), {
      hasSeed: true,
      seed: "at 3",
      values: [3, 4],
    });
    assert.deepEqual(await historyOf(other, stored[3], "ch"), {
      hasSeed: true,
      seed: "at 0",
      values: [0, 1, 2],
    });
  },

  history_excludes_target_pending_writes: async ({ saver }) => {
    const seeds = { ch: { 0: snapshot("at 0") } };
    const stored = await putDeltaLine(saver, newThread(), { steps: 3, seeds });
    await saver.putWrites(stored[2] ?? {}, [["ch", "extra"]], "late-task");
    assert.deepEqual((await historyOf(saver, stored[2], "ch")).values, [0, 1]);
  },

  history_multi_channel: async ({ saver }) => {
    const seeds = { a: { 1: snapshot("snap a") }, b: { 3: snapshot("snap b") }, c: {} };
    const write = (step: number, channel: string) => `${channel}${step}`;
    const stored = await putDeltaLine(saver, newThread(), { steps: 5, seeds, write });
    const found = await saver.getDeltaChannelHistory({ config: stored[4] ?? {}, channels: ["a", "b", "c"] });
    const values = (channel: string) => found[channel]?.writes.map((entry) => entry[2]);
    assert.deepEqual(values("a"), ["a1", "a2", "a3"]);
    assert.deepEqual(values("b"), ["b3"]);
    assert.deepEqual(values("c"), ["c0", "c1", "c2", "c3"]);
    assert.deepEqual([seedValue(found["a"]?.seed), seedValue(found["b"]?.seed)], ["snap a", "snap b"]);
    assert.equal("seed" in (found["c"] ?? {}), false);
  },

  history_empty_channels_returns_empty: async ({ saver }) => {
    const stored = await putDeltaLine(saver, newThread(), { steps: 2, seeds: { ch: {} } });
    assert.deepEqual(await saver.getDeltaChannelHistory({ config: stored[1] ?? {}, channels: [] }), {});
  },

  history_of_unknown_channel_is_empty: async ({ saver }) => {
    const stored = await putDeltaLine(saver, newThread(), { steps: 2, seeds: { ch: {} } });
    assert.deepEqual(await historyOf(saver, stored[1], "other"), {
      hasSeed: false,
      seed: undefined,
      values: [],
    });
  },

  history_walk_to_root_no_seed: async ({ saver }) => {
    const stored = await putDeltaLine(saver, newThread(), { steps: 4, seeds: { ch: {} } });
    assert.equal((await historyOf(saver, stored[3], "ch")).hasSeed, false);
    assert.deepEqual(await historyOf(saver, stored[0], "ch"), {
      hasSeed: false,
      seed: undefined,
      values: [],
    });
  },

  history_migration_plain_value_as_seed: async ({ saver }) => {
    const stored = await putDeltaLine(saver, newThread(), { steps: 4, seeds: { ch: { 1: [10, 20, 30] } } });
    assert.deepEqual(await historyOf(saver, stored[3], "ch"), {
      hasSeed: true,
      seed: [10, 20, 30],
      values: [1, 2],
    });
  },

  history_seed_ancestor_own_writes_are_replayed: async ({ saver }) => {
    const names = ["older-than-seed", "at-seed", "after-seed", "pending-at-head"];
    const seeds = { ch: { 0: [10], 1: [10, 20] } };
    const stored = await putDeltaLine(saver, newThread(), { steps: 4, seeds, write: (step) => names[step] });
    const history = await historyOf(saver, stored[3], "ch");
    assert.deepEqual(history, { hasSeed: true, seed: [10, 20], values: ["at-seed", "after-seed"] });
  },

  /** LangGraph before 1.5 passes no task paths and applies writes in the order of task ids, so they are replayed in that order. */
  history_orders_parallel_writes_by_task_id: async ({ saver }) => {
    const thread = newThread();
    const first = await putOne(saver, thread);
    const second = await putOne(saver, thread, { parent: idOf(first) });
    for (const task of ["b-task", "c-task", "a-task"]) {
      const writes: [string, unknown][] = [
        ["ch", `${task} 1`],
        ["other", "x"],
        ["ch", `${task} 2`],
      ];
      await saver.putWrites(first, writes, task);
    }
    const { values } = await historyOf(saver, second, "ch");
    assert.deepEqual(
      values,
      ["a-task", "b-task", "c-task"].flatMap((task) => [`${task} 1`, `${task} 2`]),
    );
  },

  /** Only ancestors count, and not other older checkpoints of the thread. */
  history_follows_the_branch: async ({ saver, reopen }) => {
    const thread = newThread();
    const base = await putOne(saver, thread);
    await saver.putWrites(base, [["ch", "base"]], "task-base");
    const heads: RunnableConfig[] = [];
    for (const name of ["left", "right"]) {
      await mustGet(saver, at(thread));
      await mustGet(saver, base);
      const middle = await putOne(saver, thread, { parent: idOf(base) });
      await saver.putWrites(middle, [["ch", name]], `task-${name}`);
      heads.push(await putOne(saver, thread, { parent: idOf(middle) }));
    }
    const other = await reopen();
    assert.deepEqual((await historyOf(other, heads[0], "ch")).values, ["base", "left"]);
    assert.deepEqual((await historyOf(other, heads[1], "ch")).values, ["base", "right"]);
  },
});
