import { InvalidOptionError } from "@stratigraph/core";
import { didYouMean } from "@stratigraph/core/internal";
import { checkChoice } from "./checkChoice.ts";
import { kindOfValue } from "./checkSaver.ts";
import type { MergeSide } from "./mergeSide.ts";

/** The values of a channel that both sides changed. `undefined` means that there is no value. */
export interface ChannelConflict {
  readonly name: string;
  readonly base: unknown;
  readonly ours: unknown;
  readonly theirs: unknown;
}

/**
 * What happens to a channel that both sides changed since the merge base:
 * - "ours", "theirs": the channel gets the target's ("ours") or the source's ("theirs") value
 * - "union": the changes of both sides are combined: of lists by the ids of messages or other items, of objects by key, of sets by
 *   member; see {@link unionValues}. If both sides added something at the same place, the additions of the side that began its work
 *   first come first, so the source's may come before the target's
 * - "reducer": the graph's own reducer applies the source's updates since the base to the target's value. So the target's updates come
 *   first, whenever they were made
 * - a function: the channel gets its result, or no value if that is `undefined`
 * - "manual": always a conflict, for a person to settle
 *
 * Default: "union" for lists of items with ids (messages), "manual" for everything else. A channel that both sides changed to the same
 * value gets that value, unless the strategy is "reducer" or a function: if each side added one to a counter, together they added two.
 */
export type Strategy =
  | "ours"
  | "theirs"
  | "union"
  | "reducer"
  | "manual"
  | ((conflict: ChannelConflict) => unknown);

/** One strategy for all channels, or strategies by channel name. `"*"` is for the channels that aren't named. */
export type Strategies = Strategy | Readonly<Record<string, Strategy>>;

const names: readonly string[] = ["ours", "theirs", "union", "reducer", "manual"];

/**
 * Refuses strategies for channels that don't exist. They would be ignored, and the channel that was meant would be settled differently.
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

/** Checks strategies. @returns a function that returns the strategy of a channel. @throws InvalidOptionError */
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

/** The sort key of a side's additions: the id of its first checkpoint since the base. Ids sort by time, so it shows when work began. */
export function beganAt(path: readonly { readonly checkpointId: string }[], side: MergeSide): string {
  return path[0]?.checkpointId ?? side.at.checkpointId;
}
