import { messageOf } from "@stratigraph/core/internal";
import type { ChannelSpec } from "./langgraph.ts";
import { isMessage, sameValue } from "./plainValue.ts";
import type { StepWrites } from "./readStepWrites.ts";
import type { ThreeWay, Union } from "./union.ts";
import { idOf } from "./unionById.ts";

/** Applies the writes of each step to a channel, as LangGraph's loop does. */
function replay(spec: ChannelSpec, name: string, from: unknown, steps: StepWrites): ChannelSpec {
  const channel = spec.fromCheckpoint(from);
  for (const step of steps) {
    const values = step.filter((write) => write.channel === name);
    channel.update(values.map(({ value }) => value));
  }
  return channel;
}

function stored(channel: ChannelSpec): unknown {
  if (channel.lc_graph_name === "DeltaChannel") return channel.get();
  return channel.isAvailable() || channel.lc_graph_name === "Topic" ? channel.checkpoint() : undefined;
}

/**
 * Applies the source's updates to the target's value with the channel's own reducer. It applies them to the base first: if that doesn't
 * give the source's value, some updates weren't recorded (durability "exit" records none), and the merged value would be wrong.
 * @param steps undefined if the writes of a step are gone
 */
export function mergeByReducer(
  spec: ChannelSpec,
  name: string,
  { base, ours, theirs }: ThreeWay,
  steps: StepWrites | undefined,
): Union {
  if (steps === undefined) return { unsettled: "checkpoints between the merge base and the source are gone" };
  try {
    // Count before replaying, and copy the values: a reducer may set ids on the recorded messages, or change its arguments in place.
    const bare = withoutIds(name, steps);
    const again = stored(replay(spec, name, copied(base), steps));
    if (!sameValue(again, theirs)) return { unsettled: whyNot(again, theirs, bare) };
    return { value: stored(replay(spec, name, copied(ours), steps)) };
  } catch (error) {
    return { unsettled: `the reducer failed: ${messageOf(error)}` };
  }
}

/** How many ids the reason for a conflict names at most. */
const namedIds = 5;

/** How many messages without an id were written to a channel. */
function withoutIds(name: string, steps: StepWrites): number {
  const writes = steps.flat().filter(({ channel }) => channel === name);
  return writes.flatMap(({ value }) => value).filter((item) => isMessage(item) && idOf(item) === undefined)
    .length;
}

/** Explains why replaying the updates doesn't give the source's value. */
function whyNot(again: unknown, theirs: unknown, bare: number): string {
  const reason = "the updates on record don't add up to the source's value";
  if (bare > 0)
    return `${reason}: ${bare} of the messages on record have no id, so the reducer makes up others each time; give messages ids, or use "union"`;
  const ids = (value: unknown): Set<string> =>
    new Set((Array.isArray(value) ? value : []).flatMap((item) => idOf(item) ?? []));
  const [made, had] = [ids(again), ids(theirs)];
  const differ = [...[...had].filter((id) => !made.has(id)), ...[...made].filter((id) => !had.has(id))];
  if (differ.length === 0) return reason;
  const more = differ.length > namedIds ? ` and ${differ.length - namedIds} more` : "";
  return `${reason}: ${differ.slice(0, namedIds).join(", ")}${more} differ`;
}

/** Copies the arrays and objects that a reducer might change in place, but not messages and other instances. */
function copied(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copied);
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype)
    return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, copied(item)]));
}
