import type { RunnableConfig } from "@langchain/core/runnables";
import type { CheckpointListOptions } from "@langchain/langgraph-checkpoint";
import type { ConformingSaver } from "../clause.ts";
import { at, listAll, listIds, makeMetadata } from "../fixtures.ts";
import { type Calls, checkpointAt, idAt } from "./call.ts";

const validation = "checkpoint-validation/src/spec";
const embed = "langgraph-api/src/experimental/embed/threads.mts";

/** Puts an input, a step and another step of a root, and returns the config of each. */
const putLine = async (saver: ConformingSaver, thread: string): Promise<RunnableConfig[]> => {
  const stored: RunnableConfig[] = [];
  for (const step of [-1, 0, 1]) {
    const metadata = makeMetadata({ source: step < 0 ? "input" : "loop", step, writes: null, of: thread });
    const versions = { n: step + 2 };
    const checkpoint = checkpointAt(step + 2, { channel_values: { n: step }, channel_versions: versions });
    stored.push(await saver.put(stored.at(-1) ?? at(thread), checkpoint, metadata, versions));
  }
  await saver.putWrites(stored[1] ?? {}, [["n", 1]], "task");
  return stored;
};

/** The ids in each of several lists of one thread. */
const lists = async (
  saver: ConformingSaver,
  thread: string,
  options: Readonly<Record<string, CheckpointListOptions | undefined>>,
): Promise<Record<string, readonly string[]>> => {
  await putLine(saver, thread);
  const found: Record<string, readonly string[]> = {};
  for (const [name, each] of Object.entries(options)) found[name] = await listIds(saver, at(thread), each);
  return found;
};

/** `get`, `getTuple` and `list`. */
export const readCalls: Calls = {
  get: {
    from: [
      "langgraph-core/src/tests/pregel.test.ts: obtain correct channel values from checkpointer",
      `${validation}/put.ts: success cases (beforeEach)`,
    ],
    make: async (saver, thread) => {
      const unknown = await saver.get(at(thread));
      await putLine(saver, thread);
      return {
        unknown,
        latest: await saver.get({ configurable: { thread_id: thread } }),
        byId: await saver.get(at(thread, { id: idAt(1) })),
        unknownId: await saver.get(at(thread, { id: "nowhere" })),
        otherNamespace: await saver.get(at(thread, { ns: "child", id: idAt(1) })),
      };
    },
  },

  get_tuple_without_a_thread: {
    from: [
      `${validation}/get_tuple.ts: should return undefined if the thread_id is undefined`,
      "langgraph-core/src/pregel/loop.ts: initialize, of a run whose config names no thread",
    ],
    make: async (saver, thread) => {
      await putLine(saver, thread);
      return [
        await saver.getTuple({}),
        await saver.getTuple({ configurable: {} }),
        await saver.getTuple({ configurable: { thread_id: undefined, user: "ada" } }),
        await saver.getTuple({ configurable: { checkpoint_ns: "", checkpoint_id: idAt(1) } }),
      ];
    },
  },

  get_tuple_where_the_id_is_left_out: {
    from: [
      "langgraph-core/src/pregel/loop.ts: initialize, patchConfigurable(config, { checkpoint_ns: '', checkpoint_id: undefined })",
      "langgraph-api/src/schemas.mts: CheckpointSchema",
      "checkpoint/src/base.ts: getCheckpointId, which takes an empty id for none",
    ],
    make: async (saver, thread) => {
      await putLine(saver, thread);
      const answers: unknown[] = [];
      for (const checkpoint_id of [undefined, null, ""])
        for (const checkpoint_ns of [undefined, null, ""])
          answers.push(
            await saver.getTuple({ configurable: { thread_id: thread, checkpoint_ns, checkpoint_id } }),
          );
      return answers;
    },
  },

  get_tuple_by_the_older_name_of_the_id: {
    from: ["checkpoint/src/base.ts: getCheckpointId", "langgraph-api/src/schemas.mts: AssistantConfigurable"],
    make: async (saver, thread) => {
      await putLine(saver, thread);
      const ids: unknown[] = [];
      for (const checkpoint_id of [undefined, null, "", idAt(2)]) {
        const configurable = { thread_id: thread, checkpoint_ns: "", checkpoint_id, thread_ts: idAt(1) };
        ids.push((await saver.getTuple({ configurable }))?.checkpoint.id);
      }
      return ids;
    },
  },

  get_tuple_with_whatever_a_config_holds: {
    from: [
      "langgraph-core/src/pregel/index.ts: getState of a subgraph, which passes the checkpoint_map and the saver",
      "langgraph-core/src/tests/pregel.test.ts: should wait for slow checkpointer errors",
    ],
    make: async (saver, thread) => {
      await putLine(saver, thread);
      const configurable = {
        thread_id: thread,
        checkpoint_map: { "": idAt(1) },
        shouldThrow: false,
        __pregel_checkpointer: saver,
        __pregel_read: () => undefined,
      };
      return await saver.getTuple({ configurable, metadata: { user: 1 }, tags: ["a"], recursionLimit: 25 });
    },
  },

  list_without_options: {
    from: [
      `${validation}/list.ts: should return all tuples when no config or options are specified`,
      "langgraph-core/src/tests/delta_channel_fork.test.ts: snapshottedCheckpoints",
    ],
    make: async (saver, thread) => {
      await putLine(saver, thread);
      return {
        none: await listAll(saver, at(thread)),
        undefined: await listAll(saver, { configurable: { thread_id: thread } }, undefined),
        empty: await listAll(saver, at(thread), {}),
      };
    },
  },

  /** The filter excludes all other threads. */
  list_without_a_thread: {
    from: [`${validation}/list.ts: should return … when thread_id is not specified, …`],
    make: async (saver, thread) => {
      await putLine(saver, thread);
      const filter = { of: thread };
      return [
        await listIds(saver, {}, { filter }),
        await listIds(saver, { configurable: {} }, { filter, limit: 1 }),
        await listIds(
          saver,
          { configurable: { thread_id: undefined, checkpoint_ns: undefined } },
          { filter },
        ),
        await listIds(saver, { configurable: { checkpoint_ns: "child" } }, { filter }),
      ];
    },
  },

  list_with_undefined_options: {
    from: [
      `${validation}/list.ts: … limit is undefined, before is not specified, and filter is undefined`,
      `${embed}: POST /threads/:thread_id/history`,
    ],
    make: (saver, thread) =>
      lists(saver, thread, { all: { limit: undefined, before: undefined, filter: undefined } as object }),
  },

  list_with_limits: {
    from: [
      `${validation}/list.ts: … limit is 1, … limit is 2`,
      "langgraph-core/src/pregel/replay.ts: getCheckpoint",
    ],
    make: (saver, thread) =>
      lists(saver, thread, { 0: { limit: 0 }, 1: { limit: 1 }, 2: { limit: 2 }, 9: { limit: 9 } }),
  },

  list_with_before: {
    from: [
      `${validation}/list.ts: … before parent checkpoint, … before child checkpoint`,
      "langgraph-core/src/pregel/replay.ts: getCheckpoint, whose before has the id alone",
      `${embed}: POST /threads/:thread_id/history, whose before may have no id`,
    ],
    make: (saver, thread) =>
      lists(saver, thread, {
        whole: { before: at(thread, { id: idAt(3) }) },
        idAlone: { before: { configurable: { checkpoint_id: idAt(3) } }, limit: 1 },
        oldest: { before: { configurable: { checkpoint_id: idAt(1) } } },
        newer: { before: { configurable: { checkpoint_id: "2" } } },
        noId: { before: at(thread) },
        undefinedId: { before: { configurable: { checkpoint_id: undefined } } },
        emptyId: { before: { configurable: { checkpoint_id: "" } } },
        empty: { before: {} },
        emptyConfigurable: { before: { configurable: {} }, limit: 2 },
      }),
  },

  list_with_filters: {
    from: [
      `${validation}/list.ts: … filter is an empty object, … metadata.source matches "input"`,
      "checkpoint-mongodb/src/tests/checkpoints.test.ts: should allow primitive filter values",
    ],
    make: (saver, thread) =>
      lists(saver, thread, {
        empty: { filter: {} },
        source: { filter: { source: "loop" } },
        two: { filter: { source: "loop", step: 1 } },
        none: { filter: { source: "input", step: 1 } },
        null: { filter: { writes: null } },
        nullOfNone: { filter: { absent: null } },
        undefinedOfNone: { filter: { absent: undefined } },
        limited: { filter: { source: "loop" }, limit: 1 },
        before: { filter: { source: "loop" }, before: at(thread, { id: idAt(3) }), limit: 5 },
      }),
  },

  list_with_a_filter_by_an_object: {
    from: [
      "checkpoint-sqlite/src/tests/checkpoints.test.ts: should save and retrieve checkpoints correctly (list)",
    ],
    make: (saver, thread) => lists(saver, thread, { parents: { filter: { step: 0, parents: {} } } }),
    instead: {
      answer: { parents: [idAt(2)] },
      reason: "MemorySaver compares by identity, so no object in a filter ever matches.",
    },
  },

  list_with_a_filter_that_leaves_a_value_out: {
    from: [`${embed}: POST /threads/:thread_id/history, whose metadata is JSON`],
    make: (saver, thread) => lists(saver, thread, { undefined: { filter: { source: undefined, step: 0 } } }),
    instead: {
      answer: { undefined: [idAt(2)] },
      reason:
        "MemorySaver looks for metadata without the key. In JSON, as the official PostgresSaver sends it, it asks nothing.",
    },
  },

  list_at_a_checkpoint: {
    from: [
      "langgraph-core/src/pregel/index.ts: getStateHistory of a config that names a checkpoint",
      `${embed}: POST /threads/:thread_id/history with a checkpoint`,
    ],
    make: async (saver, thread) => {
      await putLine(saver, thread);
      const found: unknown[] = [];
      for (const checkpoint_id of [idAt(2), undefined, null, "", "nowhere"])
        found.push(
          await listIds(saver, { configurable: { thread_id: thread, checkpoint_ns: "", checkpoint_id } }),
        );
      return found;
    },
  },

  list_with_whatever_a_config_holds: {
    from: [
      "langgraph-core/src/pregel/index.ts: getStateHistory, mergeConfigs(this.config, config)",
      `${validation}/list.ts: should return no tuples when thread_id does not match pushed checkpoint(s)`,
    ],
    make: async (saver, thread) => {
      await putLine(saver, thread);
      const configurable = { thread_id: thread, checkpoint_ns: "", user: "ada", f: () => undefined };
      return [
        await listIds(saver, { configurable, metadata: { user: 1 }, tags: [], recursionLimit: 25 }),
        await listIds(saver, at(thread, { ns: "child" })),
        await listIds(saver, at(`not ${thread}`)),
      ];
    },
  },
};
