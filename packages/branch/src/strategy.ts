import { didYouMean, InvalidOptionError } from "@stratigraph/core";
import { checkChoice } from "./checkChoice.ts";
import { kindOfValue } from "./checkSaver.ts";
import type { MergeSide } from "./mergeSide.ts";

/** The values of one channel that both sides changed. `undefined` stands for no value. */
export interface ChannelConflict {
  readonly name: string;
  readonly base: unknown;
  readonly ours: unknown;
  readonly theirs: unknown;
}

/**
 * What happens to a channel that both sides changed since the merge base:
 * - "ours", "theirs": that side's value
 * - "union": messages and other items by id, keys of objects, members of sets; see {@link unionValues}. What both sides
 *   added at one place stands in the order in which the sides began their work, so the source's may come before the target's
 * - "reducer": the source's updates since the base are fed to the graph's own reducer, onto our value: the target's come
 *   first, whenever they were made
 * - a function: its result, `undefined` for no value
 * - "manual": always a conflict for a person to settle
 *
 * Default: "union" for lists of items with ids (messages), "manual" for everything else. What both sides changed to the same
 * value has that value, unless the strategy is "reducer" or a function: two sides that each added one added two.
 */
export type Strategy =
  | "ours"
  | "theirs"
  | "union"
  | "reducer"
  | "manual"
  | ((conflict: ChannelConflict) => unknown);

/** One strategy for all channels, or one per channel; `"*"` for those not named. */
export type Strategies = Strategy | Readonly<Record<string, Strategy>>;

const names: readonly string[] = ["ours", "theirs", "union", "reducer", "manual"];

/**
 * Refuses strategies for channels that there aren't: they would be ignored, and the channel that was meant be settled in
 * another way.
 * @throws InvalidOptionError
 */
export function checkChannels(strategies: Strategies | undefined, channels: Iterable<string>): void {
  if (typeof strategies !== "object") return;
  const known = [...new Set(channels)].sort();
  for (const channel of Object.keys(strategies)) {
    if (channel === "*" || known.includes(channel)) continue;
    const meant = didYouMean(channel, known);
    const said = `The graph has no such channel.${meant === undefined ? "" : ` ${meant}`} Its channels: ${known.join(", ")}; "*" for those not named.`;
    throw new InvalidOptionError(`strategy.${channel}`, shownStrategy(strategies[channel]), said);
  }
}

function shownStrategy(strategy: unknown): string {
  return typeof strategy === "string" ? strategy : kindOfValue(strategy);
}

/** Strategy per channel. @throws InvalidOptionError */
export function strategyOf(strategies: Strategies | undefined): (channel: string) => Strategy | undefined {
  const advice = 'Use "ours", "theirs", "union", "reducer", "manual" or a function.';
  const check = (field: string, strategy: unknown): void => {
    if (typeof strategy !== "function") checkChoice(field, strategy, names, advice);
  };
  if (typeof strategies !== "object") {
    if (strategies !== undefined) check("strategy", strategies);
    return () => strategies;
  }
  const given: unknown = strategies;
  if (given === null || Array.isArray(given))
    throw new InvalidOptionError(
      "strategy",
      kindOfValue(given),
      `${advice} Or an object of one per channel.`,
    );
  const byChannel: Readonly<Record<string, Strategy>> = strategies;
  for (const [channel, strategy] of Object.entries(byChannel))
    if (strategy !== undefined) check(`strategy.${channel}`, strategy);
  return (channel) => (Object.hasOwn(byChannel, channel) ? byChannel[channel] : byChannel["*"]);
}

/** Key by which a side's additions are put in order: when its work since the base began. */
export function beganAt(line: readonly { readonly checkpointId: string }[], side: MergeSide): string {
  return line[0]?.checkpointId ?? side.at.checkpointId;
}
