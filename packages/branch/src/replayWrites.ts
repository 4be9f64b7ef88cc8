import type { DecodedWrite, TierSaver } from "@stratigraph/core";
import type { HistoryNode } from "./history.ts";
import { ERROR, INTERRUPT, RESUME, type ChannelSpec } from "./langgraph.ts";
import { sameValue } from "./plainValue.ts";

/** Pending writes that were applied to no channel. */
const notApplied: ReadonlySet<string> = new Set([ERROR, INTERRUPT, RESUME]);

/** What each step of a side wrote since the base, oldest step first. */
export type Steps = readonly (readonly DecodedWrite[])[];

/**
 * The writes of the steps that made the checkpoints of `line`: those stored with each one's parent. What a merge made it
 * made of the others. Undefined where a step's writes are gone.
 */
export async function stepsOf(
  saver: TierSaver,
  nodes: ReadonlyMap<string, HistoryNode>,
  line: readonly HistoryNode[],
): Promise<Steps | undefined> {
  const wanted = new Map<string, Set<string>>();
  const steps: { readonly threadId: string; readonly parent: string }[] = [];
  for (const { parents, threadIds } of line) {
    const [parent, ...merged] = parents;
    if (merged.length > 0) continue;
    // A run's first checkpoint has no writes before it.
    if (parent === undefined) continue;
    const threadId = threadIds.find((id) => nodes.get(parent)?.threadIds.includes(id));
    if (threadId === undefined) return undefined;
    wanted.set(threadId, (wanted.get(threadId) ?? new Set()).add(parent));
    steps.push({ threadId, parent });
  }
  const found = new Map<string, readonly DecodedWrite[]>();
  for (const [threadId, ids] of wanted) {
    let left = ids.size;
    for await (const { record, writes, blobs } of saver.tier.list({ threadId, namespace: "" })) {
      if (!ids.has(record.checkpointId)) continue;
      const decoded = await saver.coder.decodeWrites(record, writes, blobs);
      found.set(
        keyOf(threadId, record.checkpointId),
        decoded.filter(({ channel }) => !notApplied.has(channel)),
      );
      left -= 1;
      if (left === 0) break;
    }
    if (left > 0) return undefined;
  }
  return steps.map(({ threadId, parent }) => found.get(keyOf(threadId, parent))!);
}

function keyOf(...parts: readonly string[]): string {
  return JSON.stringify(parts);
}

/** Feeds the writes of each step to a channel, as LangGraph's loop does. */
function replay(spec: ChannelSpec, name: string, from: unknown, steps: Steps): ChannelSpec {
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
 * The source's updates applied to our value by the channel's own reducer. First they are applied to the base: where that
 * doesn't give the source's value, not all updates are on record (durability "exit" keeps none), and the result would be
 * wrong.
 */
export function reduced(
  spec: ChannelSpec,
  name: string,
  { base, ours, theirs }: { base: unknown; ours: unknown; theirs: unknown },
  steps: Steps | undefined,
): { readonly value: unknown } | { readonly unsettled: string } {
  if (steps === undefined) return { unsettled: "checkpoints between the merge base and the source are gone" };
  try {
    // Values are copied: a reducer may change what it is given.
    if (!sameValue(stored(replay(spec, name, structured(base), steps)), theirs))
      return { unsettled: "the updates on record don't add up to the source's value" };
    return { value: stored(replay(spec, name, structured(ours), steps)) };
  } catch (error) {
    return { unsettled: `the reducer failed: ${error instanceof Error ? error.message : String(error)}` };
  }
}

/** Copies the arrays and objects a reducer might change in place; messages and other instances stay. */
function structured(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(structured);
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype)
    return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, structured(item)]));
}
