// long file: one table of calls, each with the places where LangGraph makes them
import { strict as assert } from "node:assert";
import { HumanMessage } from "@langchain/core/messages";
import { type Checkpoint, DeltaSnapshot, TASKS } from "@langchain/langgraph-checkpoint";
import type { ConformingSaver } from "../clause.ts";
import { at, listAll, makeMetadata } from "../fixtures.ts";
import { type Calls, checkpointAt, idAt, putFour, putThree } from "./call.ts";

const saverTest = "checkpoint/src/tests/checkpoints.test.ts";
const redisTest = "checkpoint-redis/src/tests/checkpoint.int.test.ts";
const readme = "checkpoint/README.md, checkpoint-postgres/README.md, checkpoint-sqlite/README.md";

/** A root that is put after its child and its grandchild. The ids are in the order of their age. */
const putRootLast = async (
  saver: ConformingSaver,
  thread: string,
  ns: string,
  [root, child, grandchild]: readonly [string, string, string],
): Promise<unknown> => {
  const line: [id: string, parent: string | undefined, step: number][] = [
    [child, root, 1],
    [grandchild, child, 2],
    [root, undefined, 0],
  ];
  for (const [id, parent, step] of line) {
    const checkpoint = checkpointAt(0, { id, channel_values: { messages: id } });
    const metadata = makeMetadata({ source: "update", step });
    const stored = await putFour(saver, at(thread, { ns, id: parent }), checkpoint, metadata);
    await saver.putWrites(stored, [["messages", id]], "task");
  }
  return {
    latest: await saver.getTuple(at(thread, { ns })),
    byId: await saver.getTuple(at(thread, { ns, id: child })),
    list: await listAll(saver, at(thread, { ns })),
    before: await listAll(saver, at(thread, { ns }), { before: at(thread, { ns, id: child }) }),
  };
};

/** A record that names a constructor, as a user may send one. A saver that revives it would run its text. */
const forged = (marker: string): object => ({
  lc: 2,
  type: "constructor",
  id: ["Uint8Array"],
  method: "from",
  args: [
    [1],
    {
      lc: 2,
      type: "constructor",
      id: ["Uint8Array"],
      method: "constructor",
      args: [`globalThis.${marker} = true`],
      kwargs: {},
    },
  ],
  kwargs: {},
});

const expectNotRun = (marker: string): void =>
  assert.ok(!(marker in globalThis), "text of the record was run");

/** `put`. */
export const putCalls: Calls = {
  put_without_new_versions: {
    from: [
      `${saverTest}: should save and retrieve checkpoints correctly`,
      "checkpoint-sqlite/src/tests/checkpoints.test.ts: should save and retrieve checkpoints correctly",
      "checkpoint-mongodb/src/tests/checkpoints.int.test.ts: should save and retrieve checkpoints correctly",
      "langgraph-api/src/storage/checkpoint.mts: InMemorySaver.put",
    ],
    make: async (saver, thread) => {
      const parts = { channel_versions: { other: 1 }, versions_seen: { node: { other: 1 } } };
      const first = checkpointAt(1, { channel_values: { key: "one" }, ...parts });
      const second = checkpointAt(2, { channel_values: { key: "two" }, ...parts });
      const metadata = makeMetadata({ source: "update", step: -1 });
      return {
        before: await saver.getTuple(at(thread)),
        put: await putThree(saver, at(thread), first, metadata),
        first: await saver.getTuple(at(thread)),
        again: await putThree(saver, at(thread), second, metadata),
        list: await listAll(saver, at(thread)),
      };
    },
  },

  put_with_undefined_as_new_versions: {
    from: [`${redisTest}: should handle multiple checkpoints in sequence`],
    make: async (saver, thread) => {
      const put = saver.put.bind(saver) as (...args: unknown[]) => Promise<object>;
      const values = [{}, { count: 1 }, { count: 1, output: "result" }];
      let config: object = at(thread);
      for (const [step, channel_values] of values.entries()) {
        const channel_versions = Object.fromEntries(Object.keys(channel_values).map((name) => [name, "1"]));
        const checkpoint = checkpointAt(step, { channel_values, channel_versions });
        config = await put(config, checkpoint, makeMetadata({ step }), undefined);
      }
      return { latest: await saver.get(at(thread)), list: await listAll(saver, at(thread)) };
    },
  },

  /** A caller that omits newVersions need not count versions either. */
  put_without_new_versions_takes_values_of_old_versions: {
    from: ["checkpoint/src/tests/memory-ordering.test.ts: uses descending code-unit order in namespace %j"],
    make: async (saver, thread) => {
      const versions = { same: 1, changed: 1, left: 1 };
      const first = { same: "kept", changed: "one", left: "gone", dropped: "gone", uncounted: [1] };
      const one = checkpointAt(1, { channel_values: first, channel_versions: versions });
      const parent = await putThree(saver, at(thread), one);
      const second = { same: "kept", changed: "two", uncounted: [1, 2] };
      const two = checkpointAt(2, { channel_values: second, channel_versions: { ...versions, dropped: 2 } });
      await putThree(saver, parent, two);
      return await listAll(saver, at(thread));
    },
  },

  put_without_new_versions_leaves_out_delta_channels: {
    from: [
      "langgraph-core/src/tests/delta_channel.test.ts: walks ancestors collecting writes oldest→newest with a snapshot seed, " +
        "orders concurrent same-super-step writes by task id, replays on-path writes when the seed is a plain (migration) value, " +
        "base default implementation agrees with the override for snapshots",
    ],
    make: async (saver, thread) => {
      const seeds = { snapshot: new DeltaSnapshot([0]), plain: [0, 1] };
      const versions = { snapshot: 1, plain: 1 };
      const first = checkpointAt(0, { channel_values: seeds, channel_versions: versions });
      const root = await putThree(saver, at(thread), first);
      await saver.putWrites(root, [["snapshot", [2]]], "task-b");
      await saver.putWrites(root, [["plain", [1]]], "task-c");
      const next = checkpointAt(1, { channel_versions: { snapshot: 2, plain: 2 } });
      const child = await putThree(saver, root, next);
      await saver.putWrites(child, [["snapshot", [3]]], "task-d");
      const last = await putThree(
        saver,
        child,
        checkpointAt(2, { channel_versions: { snapshot: 3, plain: 2 } }),
      );
      return {
        tuple: await saver.getTuple(last),
        list: await listAll(saver, at(thread)),
        history: await saver.getDeltaChannelHistory({ config: last, channels: ["snapshot", "plain"] }),
      };
    },
  },

  put_a_root_after_its_children: {
    from: [
      "checkpoint/src/tests/memory-ordering.test.ts: … with UUID6 IDs uses descending code-unit order …",
    ],
    make: async (saver, thread) => ({
      root: await putRootLast(saver, thread, "", [idAt(0), idAt(1), idAt(2)]),
      child: await putRootLast(saver, thread, "child:task", [idAt(3), idAt(4), idAt(5)]),
    }),
  },

  put_ids_that_differ_in_case: {
    from: [
      "checkpoint/src/tests/memory-ordering.test.ts: … with custom IDs uses descending code-unit order …",
    ],
    make: async (saver, thread) => {
      await putRootLast(saver, thread, "", ["A", "Z", "a"]);
      const listed = await listAll(saver, at(thread));
      const before = await listAll(saver, at(thread), { before: at(thread, { id: "Z" }) });
      return [
        (await saver.get(at(thread)))?.id,
        ...[...listed, ...before].map(({ checkpoint }) => checkpoint.id),
      ];
    },
    instead: {
      answer: ["a", "a", "Z", "A", "A"],
      reason: "Until checkpoint 1.2.1, MemorySaver orders ids as a dictionary does.",
    },
  },

  put_a_checkpoint_without_maps: {
    from: [
      `${saverTest}: copyCheckpoint defaults missing channel maps to empty objects`,
      "checkpoint-postgres/src/tests/postgres-saver.test.ts: should work with no inline channel_values",
    ],
    make: async (saver, thread) => {
      const { v, id, ts } = checkpointAt(1);
      const bare = { v, id, ts } as Checkpoint;
      const nulls = {
        ...bare,
        id: idAt(2),
        channel_values: null,
        channel_versions: null,
        versions_seen: null,
      };
      const child = await saver.put(
        await putThree(saver, at(thread), bare),
        nulls as never,
        makeMetadata(),
        {},
      );
      return [await saver.getTuple(child), await listAll(saver, at(thread))];
    },
  },

  put_older_formats: {
    from: [
      `${saverTest}: should migrate pending sends`,
      "checkpoint-sqlite/src/tests/checkpoints.test.ts: pending sends migration",
      "checkpoint-postgres/src/tests/checkpoints.int.test.ts: pending sends migration",
    ],
    make: async (saver, thread) => {
      const answers: unknown[] = [];
      for (const v of [1, 2, 3]) {
        const config = at(thread, { ns: `format ${v}` });
        const root = await putFour(saver, config, checkpointAt(0, { v }));
        await saver.putWrites(
          root,
          [
            [TASKS, "send-1"],
            [TASKS, "send-2"],
          ],
          "task-1",
        );
        await saver.putWrites(root, [[TASKS, "send-3"]], "task-2");
        const versions = v === 3 ? { key: 5 } : {};
        const child = await putFour(saver, root, checkpointAt(1, { v, channel_versions: versions }));
        answers.push(await saver.getTuple(root), await saver.getTuple(child), await listAll(saver, config));
      }
      return answers;
    },
  },

  /** A first checkpoint may name a parent that is stored elsewhere. In older formats, its Sends would be stored with that parent. */
  put_under_a_parent_that_is_elsewhere: {
    from: [
      "checkpoint-sqlite/src/tests/checkpoints.test.ts: should save and retrieve checkpoints correctly (second checkpoint)",
      "checkpoint-postgres/src/tests/checkpoints.int.test.ts: should save and retrieve checkpoints correctly (second checkpoint)",
    ],
    make: async (saver, thread) => {
      const elsewhere = "2024-04-18T17:19:07.952Z";
      for (const v of [1, 4])
        await putFour(saver, at(thread, { ns: `${v}`, id: elsewhere }), checkpointAt(v, { v }));
      return [await saver.getTuple(at(thread, { ns: "1" })), await saver.getTuple(at(thread, { ns: "4" }))];
    },
  },

  put_empty_metadata: {
    from: [`${readme}: checkpointer.put(writeConfig, checkpoint, {}, {})`],
    make: async (saver, thread) => {
      const versions = { __start__: 2, my_key: 3, "start:node": 3, node: 3 };
      const versions_seen = { __input__: {}, __start__: { __start__: 1 }, node: { "start:node": 2 } };
      const checkpoint = checkpointAt(1, { channel_versions: versions, versions_seen });
      await saver.put(at(thread), checkpoint, {} as never, {});
      const found = await listAll(saver, at(thread), { filter: { source: "loop" } });
      return [await saver.getTuple({ configurable: { thread_id: thread } }), found];
    },
  },

  put_metadata_of_any_keys: {
    from: [
      "checkpoint-postgres/src/tests/checkpoints.int.test.ts: should save and retrieve checkpoints correctly",
      "langgraph-api/src/storage/checkpoint.mts: InMemorySaver.put",
    ],
    make: async (saver, thread) => {
      const more = { writes: null, user: { id: 7, tags: ["a", null] }, absent: undefined, "": "no name" };
      const metadata = makeMetadata({ source: "update", step: -1, ...more });
      await saver.put(at(thread), checkpointAt(1), metadata, {});
      return await saver.getTuple(at(thread));
    },
  },

  put_versions_of_any_kind: {
    from: [
      `${redisTest}: should handle basic checkpoint operations`,
      "checkpoint-postgres/src/tests/postgres-saver.test.ts: should produce format compatible with Python checkpoint-postgres",
      "langgraph-core/src/tests/checkpointer.test.ts: a saver that mints versions with a random fraction",
    ],
    make: async (saver, thread) => {
      const versions = {
        text: "1",
        python: `${"2".padStart(32, "0")}.0243798848838515`,
        fraction: 1.37,
        whole: 3,
      };
      const values = { text: "a", python: ["b"], fraction: null, whole: { c: 1 } };
      const checkpoint = checkpointAt(1, {
        channel_values: values,
        channel_versions: versions,
        versions_seen: { node: versions, idle: {} },
      });
      const stored = await saver.put(at(thread), checkpoint, makeMetadata(), versions);
      const next = checkpointAt(2, {
        ...checkpoint,
        id: idAt(2),
        channel_versions: { ...versions, fraction: 2.01 },
      });
      await saver.put(stored, next, makeMetadata({ step: 1 }), { fraction: 2.01 });
      return await listAll(saver, at(thread));
    },
  },

  put_new_versions_of_channels_without_values: {
    from: ["langgraph-core/src/pregel/loop.ts: _putCheckpoint, with what getNewChannelVersions returns"],
    make: async (saver, thread) => {
      const channel_versions = { full: 1, empty: 1 };
      const checkpoint = checkpointAt(1, { channel_values: { full: "x" }, channel_versions });
      await saver.put(at(thread), checkpoint, makeMetadata(), { ...channel_versions, unknown: 9 });
      return await saver.getTuple(at(thread));
    },
  },

  put_with_whatever_a_config_holds: {
    from: [
      "checkpoint-validation/src/spec/put.ts: should return a config with only thread_id, checkpoint_ns, and checkpoint_id in the " +
        "configurable",
      "langgraph-core/src/pregel/algo.ts: _prepareSingleTask, the config of a subgraph",
      "langgraph-core/src/tests/concurrent-thread-isolation.test.ts: concurrent invokes keep checkpoint state isolated …",
    ],
    make: async (saver, thread) => {
      const configurable = {
        thread_id: thread,
        checkpoint_ns: "",
        checkpoint_id: undefined,
        checkpoint_map: { "": idAt(7) },
        canary: "tweet",
        __pregel_checkpointer: saver,
        __pregel_send: () => undefined,
        __pregel_abort_signals: { composedAbortSignal: new AbortController().signal },
      };
      const config = { configurable, metadata: { user: 1 }, tags: ["seq:step"], recursionLimit: 25 };
      const put = await saver.put(config, checkpointAt(1), makeMetadata(), {});
      return { put, keys: Object.keys(put.configurable ?? {}).toSorted(), tuple: await saver.getTuple(put) };
    },
  },

  put_where_the_namespace_is_left_out: {
    from: [
      "checkpoint-validation/src/spec/put.ts: should default to empty namespace if the checkpoint namespace is missing …",
      "langgraph-api/src/schemas.mts: CheckpointSchema, whose checkpoint_ns may be null",
    ],
    make: async (saver, thread) => {
      const answers: unknown[] = [];
      for (const [n, checkpoint_ns] of [undefined, null, ""].entries()) {
        const configurable = { thread_id: `${thread} ${n}`, checkpoint_ns };
        const stored = await saver.put({ configurable }, checkpointAt(1), makeMetadata(), {});
        answers.push(stored, await saver.getTuple({ configurable }));
      }
      return answers;
    },
  },

  put_a_checkpoint_that_names_itself: {
    from: [
      "checkpoint/src/tests/memory_legacy_writes.test.ts: reads old-format records in their original order, " +
        "orders a mix of legacy and new records by writesSortKey",
    ],
    make: async (saver, thread) => {
      const config = at(thread, { id: idAt(1) });
      const put = await putFour(saver, config, checkpointAt(1));
      await saver.putWrites(put, [["channel", "value"]], "88888888-8888-8888-8888-888888888888");
      const tuple = await saver.getTuple(config);
      return [put, tuple?.checkpoint, tuple?.pendingWrites];
    },
  },

  put_again_after_its_writes: {
    from: [
      `${redisTest}: should preserve pendingWrites across put-putWrites-put (double-put), ` +
        "should preserve pendingWrites when putWrites is called before put (interrupt flow)",
    ],
    make: async (saver, thread) => {
      const checkpoint = checkpointAt(1, { channel_values: { messages: ["hello"] } });
      await saver.putWrites(at(thread, { id: idAt(1) }), [["early", 1]], "task-a");
      const stored = await putFour(saver, at(thread), checkpoint);
      await saver.putWrites(stored, [["__interrupt__", { value: "asked", resumable: true }]], "task-b");
      await putFour(saver, at(thread), checkpoint);
      return [await saver.getTuple(stored), await listAll(saver, at(thread))];
    },
  },

  put_forged_metadata: {
    from: [
      `${saverTest}: keeps metadata constructor records inert on a later read`,
      "langgraph-core/src/tests/checkpointer.test.ts: does not execute a forged value in run metadata during state restoration",
    ],
    make: async (saver, thread) => {
      const metadata = makeMetadata({ source: "update", forged: forged("forgedMetadata") });
      await putFour(saver, at(thread), checkpointAt(1), metadata);
      const tuple = await saver.getTuple(at(thread));
      expectNotRun("forgedMetadata");
      return tuple?.metadata;
    },
  },

  put_a_forged_message: {
    from: [
      `${saverTest}: keeps forged additional_kwargs constructor records inert on restore`,
      "langgraph-core/src/tests/checkpointer.test.ts: does not execute a forged value in additional_kwargs during a later run",
    ],
    make: async (saver, thread) => {
      const additional_kwargs = { forged: forged("forgedMessage") };
      const message = new HumanMessage({ content: "ordinary message", additional_kwargs });
      const stored = await putFour(saver, at(thread), checkpointAt(1));
      await saver.putWrites(stored, [["messages", message]], "task");
      const [write] = (await saver.getTuple(stored))?.pendingWrites ?? [];
      const read = write?.[2] as HumanMessage | undefined;
      expectNotRun("forgedMessage");
      return read?.additional_kwargs["forged"];
    },
  },
};
