import { strict as assert } from "node:assert";
import type { RunnableConfig } from "@langchain/core/runnables";
import { ERROR, INTERRUPT, RESUME } from "@langchain/langgraph-checkpoint";
import { type ConformingSaver, clauseGroup } from "./clause.ts";
import { idOf, listAll, mustGet, newThread, putOne, putWritesAt, threadOf } from "./fixtures.ts";

// LangGraph applies the writes of one superstep in the order of its tasks' paths, whichever task finishes first, and since 1.5 it passes
// the path with them. Savers must return them in that order, so that values rebuilt from them are those that the run had.

/** `[task, path]` in an order that is neither the expected one nor its reverse. `expected` are the tasks sorted by path, then task. */
const tasks: readonly (readonly [task: string, path: string | undefined])[] = [
  ["9-task", "~__pregel_pull, alpha"],
  ["5-task", undefined],
  ["1-task", "~__pregel_push, 0000000002"],
  ["7-task", "~__pregel_pull, bravo"],
  ["8-task", "~__pregel_pull, alpha"],
  ["2-task", "~__pregel_push, 0000000010"],
  ["4-task", ""],
];
const expected = ["4-task", "5-task", "8-task", "9-task", "7-task", "1-task", "2-task"];

/**
 * Paths sorted by code point. Sorted by UTF-16 code units, U+1F600 would come before U+E000, because it begins
 * with 0xD83D. The collation of a language would sort digits, capitals and small letters in another order.
 */
const byCodePoint = [
  "",
  "!",
  "10",
  "9",
  "B",
  "Bb",
  "a",
  "ä",
  "中",
  "\ue000",
  "\uffff",
  "😀",
  "😀a",
  "\u{10ffff}",
];

/** The same in another order. */
const shuffled = byCodePoint.map((_, index) => byCodePoint[(index * 5 + 3) % byCodePoint.length] ?? "");

/** The pending writes of a checkpoint. Asserts that `getTuple` by id, `getTuple` of the latest and `list` agree on them. */
const pendingWrites = async (saver: ConformingSaver, stored: RunnableConfig) => {
  const { pendingWrites: writes = [] } = await mustGet(saver, stored);
  assert.deepEqual((await mustGet(saver, threadOf(stored))).pendingWrites, writes, "of the latest");
  const [listed] = await listAll(saver, threadOf(stored));
  assert.deepEqual(listed?.pendingWrites, writes, "as listed");
  return writes;
};

const tasksOf = (writes: readonly (readonly [string, string, unknown])[]): string[] =>
  writes.map(([task]) => task);

/** The order of pending writes: by task path, then by task, then by index. */
export const writesOrderClauses = clauseGroup("writes_order", {
  order_by_task_path_then_task: async ({ saver, reopen }) => {
    const stored = await putOne(saver, newThread());
    for (const [task, path] of tasks) await putWritesAt(saver, stored, [["ch", task]], task, path);
    assert.deepEqual(tasksOf(await pendingWrites(saver, stored)), expected);
    assert.deepEqual(tasksOf(await pendingWrites(await reopen(), stored)), expected);
  },

  order_when_written_at_once: async ({ saver, reopen }) => {
    const stored = await putOne(saver, newThread());
    await Promise.all(tasks.map(([task, path]) => putWritesAt(saver, stored, [["ch", task]], task, path)));
    assert.deepEqual(tasksOf(await pendingWrites(await reopen(), stored)), expected);
  },

  order_by_several_writers: async ({ saver, reopen }) => {
    const stored = await putOne(saver, newThread());
    for (const [task, path] of tasks) await putWritesAt(await reopen(), stored, [["ch", task]], task, path);
    assert.deepEqual(tasksOf(await pendingWrites(await reopen(), stored)), expected);
  },

  order_without_path_comes_first: async ({ saver, reopen }) => {
    const stored = await putOne(saver, newThread());
    await putWritesAt(saver, stored, [["ch", "with"]], "a-task", "~__pregel_pull, a");
    await saver.putWrites(stored, [["ch", "without"]], "z-task");
    assert.deepEqual(tasksOf(await pendingWrites(await reopen(), stored)), ["z-task", "a-task"]);
  },

  /** LangGraph before 1.5 passes no paths. */
  order_without_any_path_is_by_task: async ({ saver, reopen }) => {
    const stored = await putOne(saver, newThread());
    for (const task of ["f-task", "0-task", "c-task", "a-task"])
      await saver.putWrites(stored, [["ch", task]], task);
    const writes = await pendingWrites(await reopen(), stored);
    assert.deepEqual(tasksOf(writes), ["0-task", "a-task", "c-task", "f-task"]);
  },

  order_of_paths_by_code_point: async ({ saver, reopen }) => {
    const stored = await putOne(saver, newThread());
    for (const [index, path] of shuffled.entries())
      await putWritesAt(saver, stored, [["ch", path]], `task-${index}`, path);
    const paths = (await pendingWrites(await reopen(), stored)).map(([, , value]) => value);
    assert.deepEqual(paths, byCodePoint);
  },

  order_of_tasks_by_code_point: async ({ saver, reopen }) => {
    const stored = await putOne(saver, newThread());
    const named = shuffled.map((name) => `task ${name}`);
    for (const task of named) await putWritesAt(saver, stored, [["ch", task]], task, "~p");
    const writes = await pendingWrites(await reopen(), stored);
    assert.deepEqual(
      tasksOf(writes),
      byCodePoint.map((name) => `task ${name}`),
    );
  },

  order_of_one_task_is_that_of_its_writes: async ({ saver, reopen }) => {
    const stored = await putOne(saver, newThread());
    const writes = Array.from({ length: 12 }, (_, index): [string, unknown] => [`ch${index % 3}`, index]);
    await putWritesAt(saver, stored, writes, "task", "~p");
    assert.deepEqual(
      (await pendingWrites(await reopen(), stored)).map(([, , value]) => value),
      writes.map(([, value]) => value),
    );
  },

  /** Special channels have indexes below zero: -4, -3 and -1. */
  order_of_special_channels_before_others: async ({ saver, reopen }) => {
    const stored = await putOne(saver, newThread());
    const special: [string, unknown][] = [
      [ERROR, { message: "e" }],
      [INTERRUPT, { value: "i" }],
      [RESUME, ["r"]],
    ];
    await putWritesAt(saver, stored, [["ch", "regular"]], "a-task", "~b");
    for (const write of special) await putWritesAt(saver, stored, [write], "a-task", "~b");
    await putWritesAt(saver, stored, [["ch", "of the first path"]], "z-task", "~a");
    const channels = (await pendingWrites(await reopen(), stored)).map(([task, channel]) => [task, channel]);
    assert.deepEqual(channels, [
      ["z-task", "ch"],
      ["a-task", RESUME],
      ["a-task", INTERRUPT],
      ["a-task", ERROR],
      ["a-task", "ch"],
    ]);
  },

  order_keeps_the_first_of_repeated_writes: async ({ saver, reopen }) => {
    const stored = await putOne(saver, newThread());
    await putWritesAt(saver, stored, [["ch", "other"]], "a-task", "~c");
    await putWritesAt(saver, stored, [["ch", "first"]], "b-task", "~b");
    await putWritesAt(saver, stored, [["ch", "second"]], "b-task", "~b");
    assert.deepEqual(await pendingWrites(await reopen(), stored), [
      ["b-task", "ch", "first"],
      ["a-task", "ch", "other"],
    ]);
  },

  order_keeps_the_last_of_repeated_special_writes: async ({ saver, reopen }) => {
    const stored = await putOne(saver, newThread());
    await putWritesAt(saver, stored, [["ch", "other"]], "a-task", "~c");
    await putWritesAt(saver, stored, [[RESUME, "first"]], "b-task", "~b");
    await putWritesAt(saver, stored, [[RESUME, "second"]], "b-task", "~b");
    assert.deepEqual(await pendingWrites(await reopen(), stored), [
      ["b-task", RESUME, "second"],
      ["a-task", "ch", "other"],
    ]);
  },

  order_of_a_delta_channels_history: async ({ saver, reopen }) => {
    const thread = newThread();
    const first = await putOne(saver, thread);
    const second = await putOne(saver, thread, { parent: idOf(first) });
    const third = await putOne(saver, thread, { parent: idOf(second) });
    for (const [stored, step] of [
      [second, 2],
      [first, 1],
    ] as const) {
      for (const [task, path] of tasks)
        await putWritesAt(
          saver,
          stored,
          [
            ["ch", `${step} ${task}`],
            ["other", 0],
          ],
          task,
          path,
        );
    }
    const history = await (await reopen()).getDeltaChannelHistory({ config: third, channels: ["ch"] });
    assert.deepEqual(
      history["ch"]?.writes.map(([, , value]) => value),
      [1, 2].flatMap((step) => expected.map((task) => `${step} ${task}`)),
    );
  },

  order_of_a_delta_channels_history_by_code_point: async ({ saver, reopen }) => {
    const thread = newThread();
    const first = await putOne(saver, thread);
    const second = await putOne(saver, thread, { parent: idOf(first) });
    for (const [index, path] of shuffled.entries())
      await putWritesAt(saver, first, [["ch", path]], `task-${index}`, path);
    const history = await (await reopen()).getDeltaChannelHistory({ config: second, channels: ["ch"] });
    assert.deepEqual(
      history["ch"]?.writes.map(([, , value]) => value),
      byCodePoint,
    );
  },
});
