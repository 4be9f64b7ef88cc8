import { unreserved } from "../contract/unreserved.ts";
import type { ListedCheckpoint, ListQuery, Tier } from "../contract/tier.ts";

/** Most checkpoints that wait at a time for where they branch off. More of them come where their ids are. */
const mostHeld = 256;

/**
 * Checkpoints for {@link TierSaver.list}: by id, newest first. If a namespace's newest checkpoint isn't its head, as it lost against
 * another run or the head was set back, the head comes first, then its line, and each other branch before the checkpoint it left the line
 * at: LangGraph's clients take the first of a list for the state, and the first child for the branch to show. A page `before` one of these
 * checkpoints goes on in the same order. Lists with a filter, of several namespaces and of one checkpoint are by id alone.
 */
export async function* headLineFirst(tier: Tier, query: ListQuery): AsyncGenerator<ListedCheckpoint> {
  const { threadId, namespace, checkpointId, before, terms } = query;
  if (threadId === undefined || namespace === undefined || checkpointId !== undefined || terms !== undefined)
    return yield* unreserved(tier, query);
  const at = { threadId, namespace };
  if (before === undefined) {
    let isFirst = true;
    let isByLine = false;
    for await (const stored of unreserved(tier, query)) {
      isByLine = isFirst && !isHead(stored);
      if (isByLine) break;
      isFirst = false;
      yield stored;
    }
    if (!isByLine) return;
  } else {
    const newest = await recordOf(tier, at);
    // LangGraph asks for a subgraph's checkpoint before one of another namespace: by id.
    const isById =
      newest === undefined ||
      isHead(newest) ||
      (await recordOf(tier, { ...at, checkpointId: before })) === undefined;
    if (isById) return yield* unreserved(tier, query);
  }
  // The limit counts in this order: whoever asked takes no more than that.
  let isAfter = before === undefined;
  for await (const stored of byLine(unreserved(tier, at))) {
    if (isAfter) yield stored;
    else isAfter = stored.record.checkpointId === before;
  }
}

/** The first that a query finds, without its blobs. */
async function recordOf(tier: Tier, query: ListQuery): Promise<ListedCheckpoint | undefined> {
  for await (const first of tier.list({ ...query, recordsOnly: true, limit: 1 })) return first;
  return undefined;
}

/** A namespace without a head has no line. */
function isHead({ record, head }: ListedCheckpoint): boolean {
  return head === undefined || head === record.checkpointId;
}

async function* byLine(listed: AsyncIterable<ListedCheckpoint>): AsyncGenerator<ListedCheckpoint> {
  let held: ListedCheckpoint[] = [];
  let next: string | undefined;
  let hasLine = true;
  for await (const stored of listed) {
    const { checkpointId, parentId } = stored.record;
    next ??= stored.head;
    if (hasLine && checkpointId !== next && held.length < mostHeld) {
      held.push(stored);
      continue;
    }
    const [leaving, waiting] = hasLine && checkpointId === next ? branchesOf(held, checkpointId) : [held, []];
    held = waiting;
    yield* leaving;
    yield stored;
    hasLine &&= checkpointId === next && parentId !== undefined;
    if (hasLine) next = parentId;
  }
  yield* held;
}

/** Parts checkpoints in those that descend from one, and the others. A parent comes after its children. */
function branchesOf(held: readonly ListedCheckpoint[], checkpointId: string) {
  const ids = new Set([checkpointId]);
  for (const { record } of held.toReversed()) if (ids.has(record.parentId!)) ids.add(record.checkpointId);
  return [
    held.filter(({ record }) => ids.has(record.checkpointId)),
    held.filter(({ record }) => !ids.has(record.checkpointId)),
  ] as const;
}
