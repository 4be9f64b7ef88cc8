import { strict as assert } from "node:assert";
import { randomUUID } from "node:crypto";
import type { CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { clauseGroup, extended } from "./clause.ts";
import { at, idOf, listAll, listIds, mustGet, newThread, putLine, putOne, writesOf } from "./fixtures.ts";

/** The parts of one checkpoint of a line: a value that changes at every step, and one that doesn't. */
const counting = (step: number) => ({
  values: { step, fixed: "same" },
  versions: { step: step + 1, fixed: 1 },
});

/** What must be equal in source and copy. */
const contentOf = ({ checkpoint, metadata, parentConfig, pendingWrites }: CheckpointTuple) => ({
  checkpoint,
  metadata,
  parent: parentConfig && idOf(parentConfig),
  pendingWrites,
});

/** `copyThread`. */
export const copyThreadClauses = clauseGroup(
  "copy_thread",
  {
    copy_thread_basic: async ({ saver, reopen }) => {
      const [source, target] = [newThread(), newThread()];
      const stored = await putLine(saver, source, 3, counting);
      await extended(saver, "copyThread")(source, target);
      const other = await reopen();
      assert.equal((await listIds(other, at(target))).length, 3);
      const tuple = await mustGet(other, at(target));
      assert.deepEqual(tuple.config, at(target, { id: idOf(stored[2]) }));
    },

    copy_thread_all_checkpoints: async ({ saver }) => {
      const [source, target] = [newThread(), newThread()];
      await putLine(saver, source, 3, counting);
      await extended(saver, "copyThread")(source, target);
      const copies = (await listAll(saver, at(target))).map(contentOf);
      assert.deepEqual(copies, (await listAll(saver, at(source))).map(contentOf));
      assert.deepEqual(
        copies.map((copy) => copy.checkpoint.channel_values["step"]),
        [2, 1, 0],
      );
    },

    copy_thread_preserves_metadata: async ({ saver }) => {
      const [source, target] = [newThread(), newThread()];
      await putLine(saver, source, 2, (step) => ({ metadata: { source: "input", custom: { step } } }));
      await extended(saver, "copyThread")(source, target);
      const metadata = (await listAll(saver, at(target))).map((tuple) => tuple.metadata);
      assert.deepEqual(metadata, [
        { source: "input", step: 1, parents: {}, custom: { step: 1 } },
        { source: "input", step: 0, parents: {}, custom: { step: 0 } },
      ]);
    },

    copy_thread_preserves_namespaces: async ({ saver }) => {
      const [source, target] = [newThread(), newThread()];
      for (const ns of ["", "child:1"]) await putOne(saver, source, { ns, values: { ns } });
      await extended(saver, "copyThread")(source, target);
      for (const ns of ["", "child:1"]) {
        const [tuple, ...more] = await listAll(saver, at(target, { ns }));
        assert.deepEqual(more, []);
        assert.deepEqual(tuple?.checkpoint.channel_values, { ns });
      }
    },

    copy_thread_preserves_writes: async ({ saver }) => {
      const [source, target] = [newThread(), newThread()];
      const stored = await putOne(saver, source);
      await saver.putWrites(stored, [["ch", "write_val"]], randomUUID());
      await extended(saver, "copyThread")(source, target);
      assert.deepEqual(writesOf(await mustGet(saver, at(target))), [["ch", "write_val"]]);
    },

    copy_thread_preserves_ordering: async ({ saver }) => {
      const [source, target] = [newThread(), newThread()];
      const stored = await putLine(saver, source, 4, counting);
      await extended(saver, "copyThread")(source, target);
      assert.deepEqual(await listIds(saver, at(target)), stored.map(idOf).toReversed());
    },

    copy_thread_source_unchanged: async ({ saver }) => {
      const [source, target] = [newThread(), newThread()];
      await putLine(saver, source, 2, counting);
      const before = (await listAll(saver, at(source))).map(contentOf);
      await extended(saver, "copyThread")(source, target);
      assert.deepEqual((await listAll(saver, at(source))).map(contentOf), before);
    },

    copy_thread_nonexistent_source: async ({ saver }) => {
      const target = newThread();
      const copy = extended(saver, "copyThread");
      // The saver may refuse this or do nothing.
      await copy(newThread(), target).catch(() => undefined);
      assert.deepEqual(await listIds(saver, at(target)), []);
    },

    /** Later changes of the source or the copy don't affect the other. */
    copy_thread_is_independent: async ({ saver, reopen }) => {
      const [source, target] = [newThread(), newThread()];
      const stored = await putLine(saver, source, 2, counting);
      await extended(saver, "copyThread")(source, target);
      const parent = idOf(stored[1]);
      await putOne(saver, target, { parent, values: { step: "in copy" }, versions: { step: 3 } });
      assert.deepEqual((await mustGet(saver, at(source))).checkpoint.channel_values, {
        step: 1,
        fixed: "same",
      });
      await saver.deleteThread(source);
      const other = await reopen();
      assert.deepEqual((await mustGet(other, at(target))).checkpoint.channel_values, { step: "in copy" });
      const first = await mustGet(other, at(target, { id: idOf(stored[0]) }));
      assert.deepEqual(first.checkpoint.channel_values, { step: 0, fixed: "same" });
    },
  },
  "copyThread",
);
