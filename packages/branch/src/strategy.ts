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
 * - "union": what both sides did is combined: messages and other items by id, keys of objects, members of sets; see
 *   {@link unionValues}. Where both sides added something at one place, the side that began its work first comes first, so the
 *   source's additions may come before the target's
 * - "reducer": the graph's own reducer applies the source's updates since the base to the target's value, so the target's updates
 *   come first, whenever they were made
 * - a function: its result, or no value where that is `undefined`
 * - "manual": always a conflict, for a person to settle
 *
 * Default: "union" for lists of items with ids (messages), "manual" for everything else. A channel that both sides changed to the
 * same value has that value, unless the strategy is "reducer" or a function: where each side added one to a counter, they added
 * two.
 */
export type Strategy =
  | "ours"
  | "theirs"
  | "union"
  | "reducer"
  | "manual"
  | ((conflict: ChannelConflict) => unknown);

/** One strategy for all channels, or one for each by name; `"*"` stands for those not named. */
export type Strategies = Strategy | Readonly<Record<string, Strategy>>;

const names: readonly string[] = ["ours", "theirs", "union", "reducer", "manual"];

/**
 * Refuses strategies for channels that don't exist. They would be ignored, and the channel that was meant would be settled in
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

/** The function that tells the strategy of a channel. @throws InvalidOptionError */
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

/** The sort key of a side's additions: the id of its first checkpoint since the base, which tells when its work began. */
export function beganAt(path: readonly { readonly checkpointId: string }[], side: MergeSide): string {
  return path[0]?.checkpointId ?? side.at.checkpointId;
}
