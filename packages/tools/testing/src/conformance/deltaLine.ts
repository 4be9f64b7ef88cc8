import type { RunnableConfig } from "@langchain/core/runnables";
import { DeltaSnapshot, type ChannelVersions, isDeltaSnapshot } from "@langchain/langgraph-checkpoint";
import type { ConformingSaver } from "./clause.ts";
import { putLine } from "./fixtures.ts";

/** What `putDeltaLine` stores. */
export interface DeltaLine {
  steps: number;
  /** By channel and step: the values that the step's checkpoint stores. */
  seeds: Readonly<Record<string, Readonly<Record<number, unknown>>>>;
  /** The write to a channel that is stored with each step's checkpoint. Default: the step's number. */
  write?: (step: number, channel: string) => unknown;
}

/** A stored value in the form that LangGraph writes for a DeltaChannel. */
export const snapshot = (value: unknown): DeltaSnapshot => new DeltaSnapshot(value);

/** The value of a seed, which is a snapshot, or a plain value if the channel wasn't a DeltaChannel before. */
export const seedValue = (seed: unknown): unknown => (isDeltaSnapshot(seed) ? seed.value : seed);

/** LangGraph's counters of updates and supersteps since each channel's last snapshot, as put's metadata. */
export const deltaMetadata = (seeds: DeltaLine["seeds"], step: number): Record<string, unknown> => {
  const counters = Object.entries(seeds).flatMap(([channel, values]) => {
    const last = Math.max(
      -1,
      ...Object.keys(values)
        .map(Number)
        .filter((seed) => seed <= step),
    );
    return last === step ? [] : [[channel, [step - last, step - last]]];
  });
  return counters.length === 0 ? {} : { counters_since_delta_snapshot: Object.fromEntries(counters) };
};

/**
 * Puts a line of checkpoints as LangGraph.js does for DeltaChannels: every checkpoint has a version of the channel, a few have a value,
 * and each is stored with the writes that lead to the next one. All writes to a channel are of one task. Returns the configs, oldest
 * first.
 */
export const putDeltaLine = async (
  saver: ConformingSaver,
  threadId: string,
  { steps, seeds, write = (step) => step }: DeltaLine,
): Promise<RunnableConfig[]> => {
  const channels = Object.keys(seeds);
  const stored = await putLine(saver, threadId, steps, (step) => {
    const versions: ChannelVersions = Object.fromEntries(channels.map((channel) => [channel, step + 1]));
    const held = channels.filter((channel) => seeds[channel] !== undefined && step in seeds[channel]);
    return {
      metadata: deltaMetadata(seeds, step),
      values: Object.fromEntries(held.map((channel) => [channel, seeds[channel]?.[step]])),
      versions,
    };
  });
  for (const [step, config] of stored.entries()) {
    const writes = channels.map((channel): [string, unknown] => [channel, write(step, channel)]);
    await saver.putWrites(config, writes, `task-${step}`);
  }
  return stored;
};
