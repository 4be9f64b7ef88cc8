import { strict as assert } from "node:assert";
import { clauseGroup, extended } from "./clause.ts";
import { deltaMetadata, putDeltaLine, snapshot } from "./deltaLine.ts";
import { reconstruct } from "./deltaReconstructionClauses.ts";
import { at, idOf, listIds, mustGet, newThread, putOne } from "./fixtures.ts";

const latest = { strategy: "keep_latest" } as const;
const write = (step: number): number[] => [step];

/**
 * What `prune` must keep so that DeltaChannels can be rebuilt. Python has a method that returns that set; these clauses look at what
 * is left after pruning.
 */
export const deltaKeepsetClauses = clauseGroup(
  "delta_channel_keepset",
  {
    keepset_no_delta_channels_keeps_target_only: async ({ saver }) => {
      const stored = await putDeltaLine(saver, newThread(), { steps: 4, seeds: {} });
      const thread = String(stored[0]?.configurable?.["thread_id"]);
      await extended(saver, "prune")([thread], latest);
      assert.deepEqual(await listIds(saver, at(thread)), [idOf(stored[3])]);
    },

    keepset_snapshot_at_target: async ({ saver }) => {
      const thread = newThread();
      const seeds = { ch: { 0: snapshot(["a"]), 3: snapshot(["a", 0, 1, 2]) } };
      const stored = await putDeltaLine(saver, thread, { steps: 4, seeds, write });
      await extended(saver, "prune")([thread], latest);
      assert.deepEqual(await listIds(saver, at(thread)), [idOf(stored[3])]);
    },

    keepset_snapshot_n_back: async ({ saver, reopen }) => {
      const thread = newThread();
      const seeds = { ch: { 2: snapshot(["seed"]) } };
      const stored = await putDeltaLine(saver, thread, { steps: 6, seeds, write });
      await extended(saver, "prune")([thread], latest);
      const other = await reopen();
      assert.deepEqual(await listIds(other, at(thread)), stored.slice(2).map(idOf).toReversed());
      assert.deepEqual(await reconstruct(other, stored[5], "ch"), ["seed", 2, 3, 4]);
    },

    keepset_multi_channel_union: async ({ saver, reopen }) => {
      const thread = newThread();
      const seeds = { a: { 3: snapshot(["a"]) }, b: { 1: snapshot(["b"]) } };
      const stored = await putDeltaLine(saver, thread, { steps: 6, seeds, write });
      await extended(saver, "prune")([thread], latest);
      const other = await reopen();
      assert.deepEqual(await listIds(other, at(thread)), stored.slice(1).map(idOf).toReversed());
      assert.deepEqual(await reconstruct(other, stored[5], "a"), ["a", 3, 4]);
      assert.deepEqual(await reconstruct(other, stored[5], "b"), ["b", 1, 2, 3, 4]);
    },

    keepset_walk_to_root: async ({ saver, reopen }) => {
      const thread = newThread();
      const stored = await putDeltaLine(saver, thread, { steps: 4, seeds: { ch: {} }, write });
      await extended(saver, "prune")([thread], latest);
      const other = await reopen();
      assert.equal((await listIds(other, at(thread))).length, 4);
      assert.deepEqual(await reconstruct(other, stored[3], "ch"), [0, 1, 2]);
    },

    keepset_deterministic: async ({ saver }) => {
      const thread = newThread();
      await putDeltaLine(saver, thread, { steps: 5, seeds: { ch: { 2: snapshot([]) } }, write });
      await extended(saver, "prune")([thread], latest);
      const once = await listIds(saver, at(thread));
      await extended(saver, "prune")([thread], latest);
      assert.deepEqual(await listIds(saver, at(thread)), once);
    },

    /** The ancestors of the head are kept; those of another branch aren't. */
    keepset_drops_other_branches: async ({ saver, reopen }) => {
      const thread = newThread();
      const stored = await putDeltaLine(saver, thread, { steps: 3, seeds: { ch: {} }, write });
      await mustGet(saver, at(thread));
      await mustGet(saver, stored[1] ?? {});
      const metadata = deltaMetadata({ ch: {} }, 2);
      const head = await putOne(saver, thread, { parent: idOf(stored[1]), versions: { ch: 3 }, metadata });
      await extended(saver, "prune")([thread], latest);
      const other = await reopen();
      assert.deepEqual(await listIds(other, at(thread)), [idOf(head), idOf(stored[1]), idOf(stored[0])]);
      assert.deepEqual(await reconstruct(other, head, "ch"), [0, 1]);
    },
  },
  "prune",
);
