import { INTERRUPT, emptyCheckpoint, uuid6, type CheckpointMetadata } from "@langchain/langgraph-checkpoint";
import type { CheckpointCoder } from "../encode/checkpointCoder.ts";
import { batchDigest, currentWrites } from "./currentWrites.ts";
import { firstAsked } from "./firstAsked.ts";
import { ancestorsFrom } from "./ancestors.ts";
import { childrenOf, type Node, type Outline } from "./threadOutline.ts";
import { rewindMark, rewindTask } from "./rewindMark.ts";
import { outerOf, subgraphTip } from "./subgraphTip.ts";
import { metadataTerms } from "../encode/metadataTerms.ts";
import type { Address, CheckpointRecord, StoredWriteBatch, WriteBatch } from "../contract/tier.ts";

/** Metadata of an empty checkpoint, such as LangGraph makes if there is none. */
const unbegunMark = { source: "loop", step: -2 } as const;

/** A head that is moved along with another one. */
export interface AlsoMoved {
  readonly namespace: string;
  readonly from: string;
  readonly to: string;
}

/** What is appended with the move of a head, so that the step that is due there can run as if it hadn't gone on. */
export interface WoundBack {
  readonly records: readonly CheckpointRecord[];
  readonly writes: readonly (Address & WriteBatch)[];
  /** Heads of subgraphs that move too. */
  readonly moves: readonly AlsoMoved[];
}

/**
 * The rewind mark of a checkpoint whose step went on; none if it didn't.
 * @param made ids of the checkpoints that were made from it
 */
export async function windBackWrites(
  coder: CheckpointCoder,
  { record, writes }: Node,
  made: readonly string[],
): Promise<(Address & WriteBatch)[]> {
  if (made.length === 0) return [];
  const kept = await countedBefore(coder, record, writes);
  const { threadId, namespace, checkpointId } = record;
  const at: Address = { threadId, namespace, checkpointId };
  const before = currentWrites(writes).map(batchDigest);
  const task = rewindTask({ made, before, keep: kept.map(batchDigest) });
  return [{ ...at, ...(await coder.writes.encodeMark(at, task)) }];
}

/** The pending writes that count once the checkpoint is wound back. */
async function countedBefore(
  coder: CheckpointCoder,
  record: CheckpointRecord,
  writes: readonly StoredWriteBatch[],
): Promise<readonly StoredWriteBatch[]> {
  const last = writes.findLastIndex(({ taskId }) => rewindMark(taskId) !== undefined);
  const mark = last === -1 ? undefined : rewindMark(writes[last]!.taskId);
  // The batches before the mark of a fast-forward are exactly those that counted before it.
  if (mark?.undoable === true) return currentWrites(writes.slice(0, last));
  return await firstAsked(coder, record, currentWrites(writes));
}

/**
 * Winds back the step that is due at the outline's root checkpoint, in its subgraphs too: those that raised an interrupt wait
 * again, those that began later begin anew, and those that persist from step to step get the head that they had.
 *
 * @param known heads for subgraphs, as far as they are known: checkpoint ids by namespace
 */
export async function windBack(
  coder: CheckpointCoder,
  outline: Outline,
  known: ReadonlyMap<string, string>,
): Promise<WoundBack> {
  const root = outline.root!;
  const { threadId, checkpointId: rootId } = root.record;
  const records: CheckpointRecord[] = [];
  const moves: AlsoMoved[] = [];
  const made = outline.continued ? childrenOf(await outline.nodes(""), root) : [];
  const writes = [...(await windBackWrites(coder, root, made))];
  const done = await endedTasks(coder, root, writes[0]?.taskId);
  const ancestors = async (): Promise<ReadonlySet<string>> =>
    new Set(ancestorsFrom(await outline.nodes(""), rootId).map(({ checkpointId }) => checkpointId));
  for (const [namespace, head] of outline.heads) {
    const from = head.record.checkpointId;
    const named = known.get(namespace);
    const node = named === undefined ? undefined : (await outline.nodes(namespace)).get(named);
    const tip =
      node === undefined
        ? await subgraphTip(coder, outline, head, { ancestors, spent: false })
        : { node, rewound: false };
    if (tip !== undefined) {
      const { checkpointId } = tip.node.record;
      if (checkpointId !== from) moves.push({ namespace, from, to: checkpointId });
      // A checkpoint that isn't the head was continued, whether or not it raised an interrupt.
      if (tip.rewound || checkpointId !== from) {
        const after = childrenOf(await outline.nodes(namespace), tip.node);
        writes.push(...(await windBackWrites(coder, tip.node, after)));
      }
      continue;
    }
    const task = /:([^:|]+)/.exec(namespace)?.[1];
    const outer = await outerOf(coder, head.record);
    const isOfStep = task === undefined ? outer !== undefined : outer === rootId && outline.continued;
    if (!isOfStep || (task !== undefined && done.has(task)) || isUnbegun(head)) continue;
    const record = await unbegun(coder, { threadId, namespace }, rootId);
    records.push(record);
    moves.push({ namespace, from, to: record.checkpointId });
  }
  return { records, writes, moves };
}

/** The tasks that count as ended once the mark `marked` is there. They don't run again, so their subgraphs stay as they are. */
async function endedTasks(
  coder: CheckpointCoder,
  { record, writes }: Node,
  marked: string | undefined,
): Promise<ReadonlySet<string>> {
  const keep = new Set(marked === undefined ? [] : rewindMark(marked)!.keep);
  const ended = new Set<string>();
  for (const batch of writes.filter((one) => keep.has(batchDigest(one)))) {
    const channels = await coder.writes.channels(record, [batch]);
    if (!channels.has(INTERRUPT)) ended.add(batch.taskId);
  }
  return ended;
}

/** An empty checkpoint, as the head of a namespace that counts as not begun: a namespace can't lose its head again. */
async function unbegun(
  coder: CheckpointCoder,
  { threadId, namespace }: { threadId: string; namespace: string },
  rootId: string,
): Promise<CheckpointRecord> {
  const checkpointId = uuid6(-2);
  const checkpoint = { ...emptyCheckpoint(), id: checkpointId };
  const metadata: CheckpointMetadata = { ...unbegunMark, parents: { "": rootId } };
  const put = { checkpoint, metadata, newVersions: {}, runId: undefined, isUnbegun: true };
  const before = { parentId: undefined, parent: undefined, again: undefined };
  const { record } = await coder.encode({ threadId, namespace, checkpointId }, before, put);
  return record;
}

function isUnbegun({ record }: Node): boolean {
  return record.parentId === undefined && record.terms.join() === metadataTerms(unbegunMark).join();
}
