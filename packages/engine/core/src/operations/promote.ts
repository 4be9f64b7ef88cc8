import type { CheckpointCoder } from "../encode/checkpointCoder.ts";
import { refusePart } from "./archivedElsewhere.ts";
import { sideBranch } from "./conflicts.ts";
import { CheckpointConflictError, NotFoundError } from "../contract/errors.ts";
import { childrenOf, outlineOf, type Node } from "./threadOutline.ts";
import type { Address, AppendRequest, CheckpointRecord, Tier } from "../contract/tier.ts";
import { windBack, windBackWrites, type AlsoMoved, type WoundBack } from "./windBack.ts";

/** Options of {@link promote}. */
export interface PromoteOptions {
  /** Heads that may be replaced: those that the decision was based on. Default: the head that is found. */
  readonly expected?: readonly string[] | undefined;
  /** Checkpoints that become the heads of subgraphs, by namespace. Other subgraphs get the head that they had at the checkpoint. */
  readonly subgraphs?: ReadonlyMap<string, string> | undefined;
  /** Returns what to write in the same append, to namespaces that belong to no subgraph. It is given the heads of subgraphs that move. */
  readonly also?:
    | ((moved: readonly AlsoMoved[]) => Promise<Pick<AppendRequest, "records" | "blobs" | "heads">>)
    | undefined;
}

/**
 * Moves a namespace's head to a stored checkpoint. A side branch that leads to it becomes the main line. If the checkpoint's
 * step went on since, the step is wound back: its interrupts wait again, and tasks that had ended before the first answer don't
 * run again. What was written later counts only for the checkpoints that were made from it. Those stay readable, and promoting
 * one of them makes its line the main line again. With a root checkpoint, the heads of its subgraphs move too.
 *
 * @returns the head before
 * @throws NotFoundError; EvictedError if the checkpoint may be in an archive that isn't open; CheckpointConflictError if the head moved
 * meanwhile, or isn't an expected one
 */
export async function promote(
  tier: Tier,
  coder: CheckpointCoder,
  at: Address,
  { expected, subgraphs = new Map(), also }: PromoteOptions = {},
): Promise<string | undefined> {
  const { head, checkpoint, revision } = await tier.read(at);
  if (checkpoint === undefined) {
    await refusePart(tier, at);
    throw new NotFoundError(
      `There is no checkpoint ${at.checkpointId} to promote. Look it up with list() or conflicts().`,
      { ...at },
    );
  }
  const { parentId } = checkpoint.record;
  const allowed = expected ?? (head === undefined ? [] : [head]);
  if (head !== undefined && !allowed.includes(head))
    throw moved({ ...at, parentId, head, expected: allowed });
  if (head === at.checkpointId) return head;
  const side = new Map<string, CheckpointRecord>();
  if (checkpoint.record.lostTo !== undefined) {
    const { threadId, namespace } = at;
    for await (const { record } of tier.list({ threadId, namespace, lost: true, recordsOnly: true }))
      side.set(record.checkpointId, record);
  }
  const wound = await woundBack(tier, coder, at, checkpoint, subgraphs);
  const more = await also?.(wound.moves);
  const mainLine = sideBranch(checkpoint.record, side).map(({ lostTo: _lostTo, ...record }) => record);
  const appended = await tier.append({
    threadId: at.threadId,
    records: [...mainLine, ...wound.records, ...(more?.records ?? [])],
    blobs: more?.blobs ?? [],
    relies: true,
    writes: wound.writes,
    heads: [
      { namespace: at.namespace, to: at.checkpointId, expected: allowed },
      ...wound.moves.map(({ namespace, to }) => ({ namespace, to, expected: "any" as const })),
      ...(more?.heads ?? []),
    ],
    onConflict: "refuse",
    seen: revision,
  });
  // The checkpoint is already stored, so a tier treats an append that lost a race as a repeated one, and doesn't refuse it.
  const own = appended.heads.find(({ namespace }) => namespace === at.namespace);
  if (own?.moved === false) throw moved({ ...at, parentId, head: own.head, expected: allowed });
  return head;
}

async function woundBack(
  tier: Tier,
  coder: CheckpointCoder,
  at: Address,
  node: Node,
  subgraphs: ReadonlyMap<string, string>,
): Promise<WoundBack> {
  if (at.namespace === "") {
    const outline = await outlineOf(tier, at.threadId, at.checkpointId);
    return await windBack(coder, { ...outline, root: outline.root ?? node }, subgraphs);
  }
  const nodes = new Map<string, Node>();
  const { threadId, namespace } = at;
  for await (const listed of tier.list({ threadId, namespace, recordsOnly: true }))
    nodes.set(listed.record.checkpointId, listed);
  return { records: [], writes: await windBackWrites(coder, node, childrenOf(nodes, node)), moves: [] };
}

function moved(data: ConstructorParameters<typeof CheckpointConflictError>[0]): CheckpointConflictError {
  const { threadId, namespace, checkpointId, head } = data;
  return new CheckpointConflictError(
    data,
    `Thread ${JSON.stringify(threadId)}, namespace ${JSON.stringify(namespace)}: another writer moved the head to ${head} while ` +
      `${checkpointId} was to become the head. The head stays ${head}. Look at what came in between, and promote again if it is to go.`,
  );
}
