import { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { at, listAll, makeMetadata, putWritesAt } from "../fixtures.ts";
import { type Calls, checkpointAt, idAt, putFour } from "./call.ts";

const redisWrites = "checkpoint-redis/src/tests/putWrites.test.ts";
const deltaTest = "langgraph-core/src/tests/delta_channel.test.ts";

/** `putWrites`, `deleteThread`, `getDeltaChannelHistory` and the methods of the base class. */
export const otherCalls: Calls = {
  put_writes_before_the_checkpoint: {
    from: [
      "langgraph-core/src/pregel/loop.ts: putWrites under durability async",
      "checkpoint-redis/src/tests/checkpoint.int.test.ts: should preserve pendingWrites when putWrites is called before put …",
    ],
    make: async (saver, thread) => {
      const config = at(thread, { id: idAt(1) });
      await saver.putWrites(
        config,
        [["__interrupt__", { value: "asked", resumable: true }]],
        "task-interrupt",
      );
      const early = [
        await saver.getTuple(config),
        await saver.getTuple(at(thread)),
        await listAll(saver, at(thread)),
      ];
      await putFour(saver, at(thread), checkpointAt(1, { channel_values: { messages: ["hello"] } }));
      return [early, await saver.getTuple(config)];
    },
  },

  put_writes_of_nothing: {
    from: ["langgraph-core/src/pregel/loop.ts: putWrites of a task that wrote only untracked channels"],
    make: async (saver, thread) => {
      const stored = await saver.put(at(thread), checkpointAt(1), makeMetadata(), {});
      await saver.putWrites(stored, [], "task");
      await putWritesAt(saver, stored, [], "task", "~__pregel_pull, node");
      return await saver.getTuple(stored);
    },
  },

  put_writes_of_any_value: {
    from: [
      "langgraph-core/src/pregel/runner.ts: commit of a task that wrote nothing, failed or asked",
      `${redisWrites}: restores a missing write value as undefined instead of parsing it as JSON`,
    ],
    make: async (saver, thread) => {
      const stored = await saver.put(at(thread), checkpointAt(1), makeMetadata(), {});
      const writes: [string, unknown][] = [
        ["undefined", undefined],
        ["null", null],
        ["empty", ""],
        ["list", [1, [2, null]]],
        ["__no_writes__", null],
        ["branch:to:node", null],
        ["__error__", { name: "Error", message: "failed" }],
        ["__interrupt__", [{ id: "a", value: { question: "?" } }]],
      ];
      for (const [n, write] of writes.entries()) await saver.putWrites(stored, [write], `task ${n}`);
      return (await saver.getTuple(stored))?.pendingWrites;
    },
  },

  put_writes_of_special_channels_among_others: {
    from: [
      `${redisWrites}: uses fixed negative indices for special channels mixed with regular writes, and NX-guards the inserts`,
      `${redisWrites}: uses unguarded JSON.SET when every write is a special channel …`,
    ],
    make: async (saver, thread) => {
      const stored = await saver.put(at(thread), checkpointAt(1), makeMetadata(), {});
      const batches: [string, unknown][][] = [
        [["__resume__", "carry on"]],
        [["__interrupt__", "paused"]],
        [["__error__", "failed"]],
        [
          ["foo", "first"],
          ["bar", "first"],
        ],
        [["foo", "second"]],
        [["__resume__", "again"]],
      ];
      for (const batch of batches) await saver.putWrites(stored, batch, "task_A");
      // Before checkpoint 1.2.1, the official MemorySaver returns them in the order in which they came.
      return (await saver.getTuple(stored))?.pendingWrites?.map(([, ...write]) => write.join()).toSorted();
    },
  },

  put_writes_with_and_without_a_path: {
    from: [
      "langgraph-core/src/pregel/loop.ts: putWrites, with a path since 1.5, and with '' for writes of no task",
      "langgraph-core/src/tests/durability.persistence_failure.test.ts: FailingWritesSaver, which passes three arguments on",
    ],
    make: async (saver, thread) => {
      const stored = await saver.put(at(thread), checkpointAt(1), makeMetadata(), {});
      const putWrites = saver.putWrites.bind(saver) as (...args: unknown[]) => Promise<void>;
      await putWrites(stored, [["a", 1]], "00000000-0000-0000-0000-000000000000");
      await putWrites(stored, [["b", 2]], "not a uuid", undefined);
      await putWrites(stored, [["c", 3]], "task", "");
      await putWrites(stored, [["d", 4]], "x", "~__pregel_pull, node");
      return (await saver.getTuple(stored))?.pendingWrites;
    },
  },

  delete_thread: {
    from: [
      "checkpoint/src/tests/checkpoints.test.ts: should delete thread",
      "checkpoint-validation/src/spec/delete_thread.ts: should delete thread",
    ],
    make: async (saver, thread) => {
      const other = `${thread} other`;
      await saver.deleteThread(`nobody knows ${thread}`);
      await saver.putWrites(await putFour(saver, at(thread), checkpointAt(1)), [["channel", 1]], "task");
      await putFour(saver, at(thread, { ns: "child" }), checkpointAt(2));
      await putFour(saver, at(other), checkpointAt(1));
      await saver.deleteThread(thread);
      const deleted = [await saver.getTuple(at(thread)), await saver.getTuple(at(thread, { ns: "child" }))];
      await saver.deleteThread(thread);
      const begunAnew = await putFour(saver, at(thread), checkpointAt(3));
      const left = await saver.getTuple(at(other));
      return [deleted, begunAnew, await listAll(saver, at(thread)), left];
    },
  },

  delta_history: {
    from: [
      `${deltaTest}: walks ancestors collecting writes oldest→newest with a snapshot seed, base default implementation agrees …`,
      "checkpoint-validation/src/spec/delta_channel_history.ts: omits the seed when no ancestor stored a value",
    ],
    make: async (saver, thread) => {
      const root = checkpointAt(1, { channel_values: { plain: [0], null: null } });
      const first = await putFour(saver, at(thread), root);
      await saver.putWrites(first, [["plain", [1]]], "task0");
      await saver.putWrites(first, [["none", [2]]], "task1");
      const second = await saver.put(first, checkpointAt(2), makeMetadata({ step: 1 }), {});
      await saver.putWrites(second, [["plain", [3]]], "task2");
      const options = { config: second, channels: ["plain", "null", "none", "unknown"] };
      return {
        own: await saver.getDeltaChannelHistory(options),
        base: await BaseCheckpointSaver.prototype.getDeltaChannelHistory.call(saver, options),
        ofTheFirst: await saver.getDeltaChannelHistory({ config: first, channels: ["plain"] }),
      };
    },
  },

  delta_history_of_no_checkpoint: {
    from: ["checkpoint/src/base.ts: getDeltaChannelHistory, which returns an entry for every requested name"],
    make: async (saver, thread) => {
      await putFour(saver, at(thread), checkpointAt(1));
      const channels = ["a", "b"];
      return {
        noChannels: await saver.getDeltaChannelHistory({ config: {}, channels: [] }),
        noThread: await saver.getDeltaChannelHistory({ config: { configurable: {} }, channels }),
        unknownThread: await saver.getDeltaChannelHistory({ config: at(`not ${thread}`), channels }),
        unknownId: await saver.getDeltaChannelHistory({ config: at(thread, { id: "nowhere" }), channels }),
      };
    },
  },

  delta_history_of_the_latest_checkpoint: {
    from: ["checkpoint/src/tests/memory-ordering.test.ts: uses descending code-unit order in namespace %j"],
    make: async (saver, thread) => {
      const values = { channel_values: { messages: ["seed"] } };
      const root = await putFour(saver, at(thread), checkpointAt(1, values));
      await saver.putWrites(root, [["messages", ["write"]]], "task");
      await putFour(saver, root, checkpointAt(2, values));
      return await saver.getDeltaChannelHistory({ config: at(thread), channels: ["messages"] });
    },
    instead: {
      answer: { messages: { seed: ["seed"], writes: [["task", "messages", ["write"]]] } },
      reason:
        "Until checkpoint 1.2.1, MemorySaver returns nothing where the config has no id. Its base class never did.",
    },
  },

  base_class: {
    from: [
      "checkpoint/src/tests/checkpoints.test.ts: BaseCheckpointSaver.toJSON avoids backend client traversal",
      "langgraph-core/src/pregel/loop.ts: checkpointerGetNextVersion",
    ],
    make: async (saver) => {
      const next = saver.getNextVersion.bind(saver) as (current?: number) => number;
      const text = JSON.stringify({ configurable: { checkpointer: saver } });
      const { name } = saver.constructor;
      return [
        next(undefined),
        next(3),
        text === JSON.stringify({ configurable: { checkpointer: `[${name}]` } }),
      ];
    },
  },
};
