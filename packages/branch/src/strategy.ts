import { InvalidOptionError } from "@stratigraph/core";
import type { Side } from "./side.ts";

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
 * - "union": messages and other items by id, keys of objects, members of sets; see {@link unionValues}
 * - "reducer": the source's updates since the base are fed to the graph's own reducer, onto our value
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

const names: readonly unknown[] = ["ours", "theirs", "union", "reducer", "manual"];

/** Strategy per channel. @throws InvalidOptionError */
export function strategyOf(strategies: Strategies | undefined): (channel: string) => Strategy | undefined {
  const byChannel: Readonly<Record<string, Strategy>> =
    typeof strategies === "object" ? strategies : strategies === undefined ? {} : { "*": strategies };
  for (const [channel, strategy] of Object.entries(byChannel)) {
    if (typeof strategy === "function" || names.includes(strategy)) continue;
    throw new InvalidOptionError(
      `strategy.${channel}`,
      strategy,
      'Use "ours", "theirs", "union", "reducer", "manual" or a function.',
    );
  }
  return (channel) => (Object.hasOwn(byChannel, channel) ? byChannel[channel] : byChannel["*"]);
}

/** Key by which a side's additions are put in order: when its work since the base began. */
export function beganAt(line: readonly { readonly checkpointId: string }[], side: Side): string {
  return line[0]?.checkpointId ?? side.at.checkpointId;
}
