import type { TierSaver } from "@stratigraph/core";
import { isDamaged, listEach, metadataTerms, refusePart } from "@stratigraph/core/internal";
import { checkThread } from "./checkPoint.ts";
import { checkSaver } from "./checkSaver.ts";
import type { ThreadRef } from "./readPoint.ts";
import { readReflog, reflogNamespace } from "./reflog.ts";

/** A branch of a thread: its main line, a side branch, or a fork in another thread. */
export interface Branch {
  readonly kind: "main" | "side" | "fork";
  readonly threadId: string;
  readonly namespace: string;
  /** The newest checkpoint of the branch. */
  readonly checkpointId: string;
  /** The checkpoint of another branch from which this one begins. Undefined if its first checkpoint has no stored parent. */
  readonly from: string | undefined;
  /** If this branch lost a race, the head that won it. */
  readonly lostTo?: string | undefined;
}

/**
 * All branches of a thread's root namespace: first the main line, then side branches (from time travel, `updateState` on an old
 * checkpoint, or lost races), newest first, and then the threads forked from it. Archived forks may be missing, and damaged ones, which
 * `verify` names.
 * @throws EvictedError if a part of the thread is in an archive that isn't open; InvalidOptionError, InvalidAddressError, CorruptionError
 */
export async function branches(saver: TierSaver, thread: ThreadRef): Promise<Branch[]> {
  checkSaver("branches", saver);
  return await branchesOf(saver, checkThread("thread", thread));
}

/** As {@link branches}, with a thread id that was already checked. */
export async function branchesOf(saver: TierSaver, threadId: string): Promise<Branch[]> {
  const head = (await saver.tier.read({ threadId, namespace: "" })).head;
  const records = new Map<string, { parentId: string | undefined; lostTo: string | undefined }>();
  for await (const { record } of saver.tier.list({ threadId, namespace: "", recordsOnly: true }))
    records.set(record.checkpointId, { parentId: record.parentId, lostTo: record.lostTo });
  await refusePart(saver.tier, { threadId });
  const taken = new Set<string>();
  const parents = new Set([...records.values()].map(({ parentId }) => parentId));
  const tips = [...records.keys()].filter((id) => id !== head && !parents.has(id));
  const found: Branch[] = [];
  for (const tip of head === undefined ? tips : [head, ...tips]) {
    let at: string | undefined = tip;
    for (; at !== undefined && records.has(at) && !taken.has(at); at = records.get(at)?.parentId)
      taken.add(at);
    const lostTo = records.get(tip)?.lostTo;
    found.push({
      kind: tip === head ? "main" : "side",
      threadId,
      namespace: "",
      checkpointId: tip,
      from: at,
      ...(lostTo === undefined ? {} : { lostTo }),
    });
  }
  for await (const fork of forksOf(saver, threadId, () => {})) found.push(fork);
  return found;
}

/**
 * The threads that were forked from a thread, as they are found. Each takes two reads.
 * @param onDamaged called for each thread that can't be read, as its data is damaged; what it throws ends the search
 */
export async function* forksOf(
  saver: TierSaver,
  threadId: string,
  onDamaged: (error: Error) => void,
): AsyncGenerator<Branch> {
  const looked = new Set<string>();
  const terms = metadataTerms({ forked_from: threadId });
  const query = { namespace: reflogNamespace, terms, recordsOnly: true };
  for await (const { record } of listEach(saver.tier, query, onDamaged)) {
    if (looked.has(record.threadId)) continue;
    looked.add(record.threadId);
    try {
      const [origin] = (await readReflog(saver, record.threadId)).lineage;
      const { head } = await saver.tier.peek({ threadId: record.threadId, namespace: "" });
      if (origin?.threadId !== threadId || head === undefined) continue;
      const { checkpointId: from } = origin;
      yield { kind: "fork", threadId: record.threadId, namespace: "", checkpointId: head, from };
    } catch (error) {
      if (!isDamaged(error)) throw error;
      onDamaged(error);
    }
  }
}
