import { ERROR, INTERRUPT, RESUME } from "@langchain/langgraph-checkpoint";
import type { DecodedBody, DecodedWrite, TierSaver } from "@stratigraph/core";
import type { HistoryNode } from "./history.ts";
import type { ChannelSpec } from "./langgraph.ts";
import { isMessage, sameValue } from "./plainValue.ts";
import { idOf } from "./unionValues.ts";

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
  const steps: { readonly threadId: string; readonly parent: string; readonly child: string }[] = [];
  for (const { checkpointId, parents, threadIds } of line) {
    const [parent, ...merged] = parents;
    if (merged.length > 0) continue;
    // A run's first checkpoint has no writes before it.
    if (parent === undefined) continue;
    const threadId = threadIds.find((id) => nodes.get(parent)?.threadIds.includes(id));
    if (threadId === undefined) return undefined;
    wanted.set(threadId, (wanted.get(threadId) ?? new Set()).add(parent));
    steps.push({ threadId, parent, child: checkpointId });
  }
  const found = new Map<string, readonly DecodedWrite[]>();
  const children = new Set(steps.map(({ threadId, child }) => keyOf(threadId, child)));
  const consumed = new Map<string, DecodedBody["consumed"]>();
  for (const [threadId, ids] of wanted) {
    let left = ids.size;
    for await (const { record, writes, blobs } of saver.tier.list({ threadId, namespace: "" })) {
      const key = keyOf(threadId, record.checkpointId);
      // Children come first: they are newer.
      if (children.has(key)) consumed.set(key, (await saver.coder.decodeBody(record)).consumed);
      if (!ids.has(record.checkpointId)) continue;
      for (const { child } of steps.filter(
        (step) => step.threadId === threadId && step.parent === record.checkpointId,
      )) {
        const made = { child: { checkpointId: child, consumed: consumed.get(keyOf(threadId, child)) } };
        const decoded = await saver.coder.writes.decode(record, writes, blobs, made);
        found.set(
          keyOf(threadId, child),
          decoded.filter(({ channel }) => !notApplied.has(channel)),
        );
      }
      left -= 1;
      if (left === 0) break;
    }
    if (left > 0) return undefined;
  }
  return steps.map(({ threadId, child }) => found.get(keyOf(threadId, child))!);
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
    // Counted first: a reducer may give the messages on record their ids.
    const bare = withoutIds(name, steps);
    const again = stored(replay(spec, name, structured(base), steps));
    if (!sameValue(again, theirs)) return { unsettled: whyNot(again, theirs, bare) };
    return { value: stored(replay(spec, name, structured(ours), steps)) };
  } catch (error) {
    return { unsettled: `the reducer failed: ${error instanceof Error ? error.message : String(error)}` };
  }
}

/** Most ids that a reason names. */
const namedIds = 5;

/** How many messages were written to a channel without an id. */
function withoutIds(name: string, steps: Steps): number {
  const writes = steps.flat().filter(({ channel }) => channel === name);
  return writes.flatMap(({ value }) => value).filter((item) => isMessage(item) && idOf(item) === undefined)
    .length;
}

/** Why updates fed to a reducer again don't give what they once gave. */
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

/** Copies the arrays and objects a reducer might change in place; messages and other instances stay. */
function structured(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(structured);
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype)
    return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, structured(item)]));
}
