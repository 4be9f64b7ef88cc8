import type { TierSaver } from "@stratigraph/core";
import { metadataTerms } from "@stratigraph/core/internal";
import type { CheckpointRecord } from "@stratigraph/core/tier";
import { readReflog, type ReadReflog } from "./reflog.ts";

/** Marks the metadata of a merge checkpoint. Its term makes it possible to find merges without decoding every record. */
export const mergeMark = { merge: { recorded: true } };

const [mergeTerm] = metadataTerms(mergeMark);

/** The part of a merge checkpoint's metadata that describes the merge. */
export interface MergeMetadata {
  readonly recorded: true;
  /** The checkpoints that were merged into the target. The target's own checkpoint is the record's parent. */
  readonly sources: readonly { readonly thread_id: string; readonly checkpoint_id: string }[];
  /** Checkpoints that had been merged into the sources before. They are recorded here in case the sources' threads are deleted. */
  readonly also?: readonly string[] | undefined;
}

/** A checkpoint of the root namespace. A fork shares some with the thread that it was forked from. */
export interface HistoryNode {
  readonly checkpointId: string;
  /** First the checkpoint it was made from, then those that were merged into it. */
  readonly parents: readonly string[];
  /** The threads that have this checkpoint. */
  readonly threadIds: readonly string[];
  readonly record: CheckpointRecord;
}

/**
 * The root checkpoints of several threads as one graph. A fork keeps the ids of the checkpoints that it copies, so the same id in
 * two threads is the same checkpoint.
 */
export class History {
  readonly nodes = new Map<string, HistoryNode>();
  readonly heads = new Map<string, string>();
  readonly reflogs = new Map<string, ReadReflog>();
  /** Checkpoints of each thread, newest first. */
  readonly #checkpointIds = new Map<string, readonly string[]>();
  /** For the source checkpoints of merges, the thread they came from. */
  readonly #mergedFrom = new Map<string, string>();
  /** Parents that no stored record names: they are known from reflogs and merge metadata, or inferred where pruning cut a thread. */
  readonly #recordedParents = new Map<string, Set<string>>();

  /** Reads threads that weren't added yet, all at the same time, and adds them. A thread without checkpoints adds nothing. */
  async add(saver: TierSaver, ...threadIds: readonly string[]): Promise<void> {
    const added = [...new Set(threadIds)].filter((threadId) => !this.reflogs.has(threadId));
    if (added.length === 0) return;
    const loaded = await Promise.all(added.map((threadId) => load(saver, threadId)));
    for (const { threadId, head, reflog, records } of loaded) {
      this.reflogs.set(threadId, reflog);
      if (head === undefined) continue;
      this.heads.set(threadId, head);
      for (const record of records) await this.#addRecord(saver, record);
      this.#checkpointIds.set(
        threadId,
        records.map(({ checkpointId }) => checkpointId),
      );
      for (const move of reflog.moves) {
        if (move.kind !== "merge" || move.namespace !== "") continue;
        this.#recordParents(move.to, [
          move.from,
          ...(move.sources ?? []).map(({ checkpointId }) => checkpointId),
        ]);
      }
    }
    // A reflog that was just read may have information about a thread that was added before.
    for (const [threadId, own] of this.#checkpointIds) this.#linkAcrossPruned(threadId, own);
  }

  /** The parents of a checkpoint, including those that are no longer stored. */
  parents(checkpointId: string): readonly string[] {
    return [
      ...(this.nodes.get(checkpointId)?.parents ?? []),
      ...(this.#recordedParents.get(checkpointId) ?? []),
    ];
  }

  /** A checkpoint and all that it descends from. */
  ancestors(checkpointId: string): Set<string> {
    const found = new Set([checkpointId]);
    for (const id of found) for (const parent of this.parents(id)) found.add(parent);
    return found;
  }

  /** Adds the threads that were merged into ancestors of these checkpoints. A common ancestor may be reachable only through them. */
  async addMerged(saver: TierSaver, ...tips: readonly string[]): Promise<void> {
    for (;;) {
      const missing = new Set<string>();
      for (const id of tips.flatMap((tip) => [...this.ancestors(tip)])) {
        const threadId = this.nodes.has(id) ? undefined : this.#mergedFrom.get(id);
        if (threadId !== undefined && !this.reflogs.has(threadId)) missing.add(threadId);
      }
      if (missing.size === 0) return;
      await this.add(saver, ...missing);
    }
  }

  /** The stored ancestors of `tip`, itself included, that aren't ancestors of `other`. Parents come before children. */
  since(tip: string, other: string): HistoryNode[] {
    const known = this.ancestors(other);
    const found: HistoryNode[] = [];
    const visited = new Set<string>();
    const waiting: { readonly id: string; readonly opened: boolean }[] = [{ id: tip, opened: false }];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const { id, opened } = next;
      const node = this.nodes.get(id);
      if (opened && node !== undefined) found.push(node);
      if (opened || known.has(id) || visited.has(id)) continue;
      visited.add(id);
      waiting.push({ id, opened: true });
      for (const parent of this.parents(id).toReversed()) waiting.push({ id: parent, opened: false });
    }
    return found;
  }

  async #addRecord(saver: TierSaver, record: CheckpointRecord): Promise<void> {
    const { checkpointId, parentId, threadId } = record;
    const known = this.nodes.get(checkpointId);
    if (known !== undefined) {
      this.nodes.set(checkpointId, { ...known, threadIds: [...known.threadIds, threadId] });
      return;
    }
    const parents = parentId === undefined ? [] : [parentId];
    if (record.terms.includes(mergeTerm!)) {
      const metadata = await saver.coder.metadata(record, await saver.coder.decodeBody(record));
      const { sources = [], also = [] } = (metadata as { merge?: Partial<MergeMetadata> }).merge ?? {};
      this.#recordParents(checkpointId, also);
      for (const { thread_id, checkpoint_id } of sources) {
        parents.push(checkpoint_id);
        this.#mergedFrom.set(checkpoint_id, thread_id);
      }
    }
    this.nodes.set(checkpointId, { checkpointId, parents, threadIds: [threadId], record });
  }

  /**
   * Where pruning removed the parent of a checkpoint, assumes that the removed checkpoints descended from the thread's origin,
   * from its recorded merges, and from the heads that other threads were forked from.
   */
  #linkAcrossPruned(threadId: string, own: readonly string[]): void {
    const stored = new Set(own);
    const { lineage, moves } = this.reflogs.get(threadId)!;
    const cut = own
      .map((id) => this.nodes.get(id)!.record)
      .filter(({ parentId }) => parentId !== undefined && !stored.has(parentId));
    const oldest = own.at(-1);
    for (const { checkpointId, parentId } of cut) {
      const origin = lineage[0]?.checkpointId;
      if (origin !== undefined && origin !== checkpointId && !stored.has(origin))
        this.#recordParents(parentId!, [origin]);
      for (const { kind, to } of moves)
        if (kind === "merge" && !stored.has(to) && to < checkpointId) this.#recordParents(parentId!, [to]);
    }
    for (const reflog of this.reflogs.values()) {
      for (const { threadId: of, checkpointId, wasHead } of reflog.lineage) {
        if (of !== threadId || !wasHead || stored.has(checkpointId) || oldest === undefined) continue;
        for (const { parentId } of cut) this.#recordParents(parentId!, [checkpointId]);
      }
    }
  }

  #recordParents(child: string, parents: readonly (string | undefined)[]): void {
    const recorded = this.#recordedParents.get(child) ?? new Set<string>();
    for (const parent of parents) if (parent !== undefined && parent !== child) recorded.add(parent);
    this.#recordedParents.set(child, recorded);
  }
}

/** Reads the parts of a thread that a history needs. */
async function load(
  saver: TierSaver,
  threadId: string,
): Promise<{
  threadId: string;
  head: string | undefined;
  reflog: ReadReflog;
  records: readonly CheckpointRecord[];
}> {
  const [reflog, listed] = await Promise.all([readReflog(saver, threadId), rootRecords(saver, threadId)]);
  if (listed.head !== undefined) return { threadId, reflog, ...listed };
  // Either there is no such thread, or it is archived, so that nothing is listed. Reading restores an archived thread.
  const { head } = await saver.tier.read({ threadId, namespace: "" });
  const records = head === undefined ? listed.records : (await rootRecords(saver, threadId)).records;
  return { threadId, head, reflog, records };
}

async function rootRecords(
  saver: TierSaver,
  threadId: string,
): Promise<{ head: string | undefined; records: CheckpointRecord[] }> {
  const records: CheckpointRecord[] = [];
  let newest: string | undefined;
  for await (const { record, head } of saver.tier.list({ threadId, namespace: "", recordsOnly: true })) {
    records.push(record);
    newest ??= head;
  }
  return { head: newest, records };
}
