import { strict as assert } from "node:assert";
import type { RunnableConfig } from "@langchain/core/runnables";
import { type ConformingSaver, clauseGroup } from "./clause.ts";
import { putDeltaLine, seedValue, snapshot } from "./deltaLine.ts";
import { newThread } from "./fixtures.ts";

/** Rebuilds the value of a DeltaChannel of lists from its history: the seed with every write appended. */
export const reconstruct = async (
  saver: ConformingSaver,
  config: RunnableConfig | undefined,
  channel: string,
): Promise<unknown[]> => {
  const found = await saver.getDeltaChannelHistory({ config: config ?? {}, channels: [channel] });
  const base = (seedValue(found[channel]?.seed) ?? []) as unknown[];
  return [...base, ...(found[channel]?.writes ?? []).flatMap((write) => write[2] as unknown[])];
};

const write = (step: number): number[] => [step];

/** Values rebuilt from `getDeltaChannelHistory`, end to end through the saver's serializer. */
export const deltaReconstructionClauses = clauseGroup("delta_channel_reconstruction", {
  reconstruction_basic: async ({ saver, reopen }) => {
    const seeds = { msgs: { 0: snapshot(["seed"]) } };
    const stored = await putDeltaLine(saver, newThread(), { steps: 5, seeds, write });
    assert.deepEqual(await reconstruct(await reopen(), stored[4], "msgs"), ["seed", 0, 1, 2, 3]);
  },

  reconstruction_mid_chain_snapshot: async ({ saver, reopen }) => {
    const seeds = { msgs: { 0: snapshot(["first"]), 3: snapshot(["first", 0, 1, 2]) } };
    const stored = await putDeltaLine(saver, newThread(), { steps: 6, seeds, write });
    const other = await reopen();
    assert.deepEqual(await reconstruct(other, stored[5], "msgs"), ["first", 0, 1, 2, 3, 4]);
    assert.deepEqual(await reconstruct(other, stored[3], "msgs"), ["first", 0, 1, 2]);
  },

  reconstruction_no_snapshot: async ({ saver, reopen }) => {
    const stored = await putDeltaLine(saver, newThread(), { steps: 4, seeds: { msgs: {} }, write });
    assert.deepEqual(await reconstruct(await reopen(), stored[3], "msgs"), [0, 1, 2]);
  },

  reconstruction_of_a_long_chain: async ({ saver, reopen }) => {
    const steps = 120;
    const stored = await putDeltaLine(saver, newThread(), { steps, seeds: { msgs: {} }, write });
    const expected = Array.from({ length: steps - 1 }, (_, step) => step);
    assert.deepEqual(await reconstruct(await reopen(), stored.at(-1), "msgs"), expected);
  },
});
