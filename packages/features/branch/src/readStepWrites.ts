import { ERROR, INTERRUPT, RESUME } from "@langchain/langgraph-checkpoint";
import type { TierSaver } from "@stratigraph/core";
import { convertWrites, stateOf, type DecodedBody, type DecodedWrite } from "@stratigraph/core/internal";
import type { HistoryNode } from "./history.ts";

/** Channels of pending writes that aren't applied to any channel of the graph. */
const notApplied: ReadonlySet<string> = new Set([ERROR, INTERRUPT, RESUME]);

/** The writes of each step of a side since the merge base, oldest step first. */
export type StepWrites = readonly (readonly DecodedWrite[])[];

/**
 * Reads the writes of the steps that made the checkpoints of `path`. They are stored with the parent of each checkpoint. Merge
 * checkpoints are left out, because no step made them. Undefined if the writes of a step are gone.
 */
export async function readStepWrites(
  saver: TierSaver,
  nodes: ReadonlyMap<string, HistoryNode>,
  path: readonly HistoryNode[],
): Promise<StepWrites | undefined> {
  const wanted = new Map<string, Set<string>>();
  const steps: { readonly threadId: string; readonly parent: string; readonly child: string }[] = [];
  for (const { checkpointId, parents, threadIds } of path) {
    const [parent, ...merged] = parents;
    if (merged.length > 0) continue;
    // A thread's first checkpoint has no parent, and so no writes before it.
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
    for await (const at of saver.tier.list({ threadId, namespace: "" })) {
      const { record, writes, blobs } = at;
      const key = keyOf(threadId, record.checkpointId);
      // A listing has children before their parents, because they are newer.
      if (children.has(key)) consumed.set(key, (await saver.coder.decodeBody(record)).consumed);
      if (!ids.has(record.checkpointId)) continue;
      for (const { child } of steps.filter(
        (step) => step.threadId === threadId && step.parent === record.checkpointId,
      )) {
        const made = { child: { checkpointId: child, consumed: consumed.get(keyOf(threadId, child)) } };
        const stored = await saver.coder.writes.decode(record, writes, blobs, made);
        const body = await saver.coder.decodeBody(record);
        const decoded = await convertWrites(saver.stateVersions, record, stored, {
          ...body,
          state: async () =>
            stateOf(await saver.coder.checkpoint(at, body, {}), await saver.coder.metadata(record, body)),
        });
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
