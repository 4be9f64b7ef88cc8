import { unreserved } from "../contract/unreserved.ts";
import type { ListedCheckpoint, ListQuery, Tier } from "../contract/tier.ts";

type At = Pick<ListQuery, "threadId" | "namespace">;

/** A checkpoint that waits for where its branch left the line. It is listed again then: many may wait. */
interface Held {
  readonly checkpointId: string;
  readonly parentId: string | undefined;
  /** The one that is listed before it. */
  readonly after: string | undefined;
}

/**
 * Checkpoints for {@link TierSaver.list}: by id, newest first. If a namespace's newest checkpoint isn't its head, as it lost against
 * another run or the head was set back, the head comes first, then its line, and each other branch before the checkpoint it left the line
 * at, or after the head: LangGraph's clients take the first of a list for the state, and the first child for the branch to show. A page
 * `before` one of these checkpoints goes on in the same order. Lists with a filter, of several namespaces and of one checkpoint are by id
 * alone.
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
  for await (const stored of byLine(tier, at)) {
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

async function* byLine(tier: Tier, at: At): AsyncGenerator<ListedCheckpoint> {
  let held: Held[] = [];
  let next: string | undefined;
  let after: string | undefined;
  let hasLine = true;
  for await (const stored of unreserved(tier, at)) {
    const { checkpointId, parentId } = stored.record;
    next ??= stored.head;
    if (hasLine && checkpointId !== next) held.push({ checkpointId, parentId, after });
    else {
      const [leaving, waiting] = hasLine ? branchesOf(held, checkpointId) : [held, []];
      held = waiting;
      // What went on from the head before it was set back comes after it.
      const isFirst = isHead(stored);
      if (isFirst) yield stored;
      yield* again(tier, at, leaving);
      if (!isFirst) yield stored;
      hasLine &&= parentId !== undefined;
      if (hasLine) next = parentId;
    }
    after = checkpointId;
  }
  yield* again(tier, at, held);
}

/** Parts those that wait in those that descend from a checkpoint, and the others. A parent comes after its children. */
function branchesOf(held: readonly Held[], checkpointId: string): [Held[], Held[]] {
  const ids = new Set<string | undefined>([checkpointId]);
  for (const each of held.toReversed()) if (ids.has(each.parentId)) ids.add(each.checkpointId);
  return [
    held.filter((each) => ids.has(each.checkpointId)),
    held.filter((each) => !ids.has(each.checkpointId)),
  ];
}

/** Lists those that waited. */
async function* again(tier: Tier, at: At, held: readonly Held[]): AsyncGenerator<ListedCheckpoint> {
  const left = new Set(held.map(({ checkpointId }) => checkpointId));
  if (left.size === 0) return;
  for await (const stored of unreserved(tier, { ...at, before: held[0]!.after })) {
    if (left.delete(stored.record.checkpointId)) yield stored;
    if (left.size === 0) return;
  }
}
