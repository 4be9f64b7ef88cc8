import {
  blobClosure,
  checkpointKey,
  inspectsThreads,
  namedBlobs,
  promote,
  StratigraphError,
  type Address,
  type BlobHash,
  type CheckpointRecord,
  type RemoveRequest,
  type StoredCheckpoint,
} from "@stratigraph/core";
import { goodCopies, storedIn, type GoodCopy } from "./goodCopies.ts";
import { namedIn, unneeded } from "./orphans.ts";
import type { Place, Storage } from "./places.ts";
import type { Suspicion } from "./suspicion.ts";

/** What can be done about a finding: a sentence, and how; or why nothing can be done, and what a person can do. */
export type Remedy =
  | {
      readonly does: string;
      /** False, and nothing is done, if the thread isn't at this revision of the finding's tier. */
      apply(revision: number): Promise<boolean>;
    }
  | { readonly impossible: string };

/** A suspicion that was found again, and the thread that it is about. */
export interface Case {
  readonly storage: Storage;
  readonly threadId: string;
  readonly suspicion: Suspicion;
  /** Whether ends of side branches that can't be read may be removed. */
  readonly prune: boolean;
}

const nothing = { checkpoints: [], dropBlobs: [], replaceBlobs: [], heads: [] } as const;

/** Decides what to do about a finding. Reads, and changes nothing. */
export async function remedyFor(found: Case): Promise<Remedy> {
  const { kind, part, place } = found.suspicion;
  switch (kind) {
    case "key-missing":
      return { impossible: "Open the saver with the key that is named, and verify again." };
    case "unreadable":
      return { impossible: "Read it with the version and the encryption options that it was stored with." };
    case "order":
      return {
        impossible:
          part === "record"
            ? "Ids can't be changed. Compare the clocks of the machines that run agents."
            : "Find out what set the thread back, such as a backup of a part of the tables, and restore the rest from it too.",
      };
    case "tombstone-leak":
      return dropDeleted(found);
    case "orphan":
      return part === "writes" ? dropStray(found) : await dropBlobs(found);
    case "gap":
      return (await putBack(found)) ?? { impossible: gapAdvice };
    case "wrong-head":
      return await mendHead(found);
    default:
      if (place.role === "hot") return dropCopy(found);
      if (part === "thread") return { impossible: objectAdvice };
      return (
        (await replaced(found)) ??
        (await cutBack(found)) ??
        (found.prune ? await pruneSide(found) : undefined) ?? { impossible: historyAdvice }
      );
  }
}

const gapAdvice =
  "No tier has this checkpoint. Newer ones can be read and gone on from; to have the older history in one piece again, restore it from a backup.";
const historyAdvice =
  "No tier has good bytes. The head doesn't need them, so that runs go on; to read this checkpoint, restore it from a backup, or prune the thread to be rid of it.";
/** What a person can do where a tier can't read what it holds. */
export const objectAdvice =
  "Restore what the tier names from a backup, or an older version of the object where the bucket keeps them, and verify again.";

/** Removes the damaged part of a hot copy. It is copied again from the owner once it is read. */
function dropCopy({ threadId, suspicion }: Case): Remedy {
  const { place, part, hash, involved } = suspicion;
  return {
    does: `Remove the damaged copy from ${place.name}. It is copied again when it is read.`,
    async apply(revision) {
      if (part === "thread") {
        await place.tier.deleteThread(threadId);
        return true;
      }
      const dropBlobs = hash === undefined ? [] : [hash];
      return await place.tier.remove({ ...nothing, threadId, revision, checkpoints: involved, dropBlobs });
    },
  };
}

/** Replaces damaged or missing bytes of an owner by good ones from elsewhere. */
async function replaced(found: Case): Promise<Remedy | undefined> {
  const { storage, threadId, suspicion } = found;
  const { place, part, batch } = suspicion;
  const good = await firstGood(found);
  if (good === undefined) return undefined;
  const { record, blobs, writes } = good.stored;
  const does = `Replace it by the bytes that ${good.place.name} has.`;
  if (part === "blob") {
    const blob = await storage.coder.wholeBlob(record, suspicion.hash!, blobs);
    return { does, apply: (revision) => remove(place, { threadId, revision, replaceBlobs: [blob] }) };
  }
  const { replaceBytes } = place.changes;
  if (replaceBytes === undefined) return undefined;
  const at = addressOf(record);
  if (part === "writes") {
    const { body } = writes[batch!]!;
    return {
      does,
      apply: async (revision) =>
        (await replaceBytes.call(place.changes, {
          threadId,
          revision,
          records: [],
          blobs: [],
          writes: [{ ...at, place: batch!, body }],
        })) !== undefined,
    };
  }
  const stored = await storedIn(place, at);
  // Its other columns may be damaged too: then all of the record is put again.
  if (stored === undefined || !isSame(stored.record, record)) return insertion(found, good, stored);
  const records = [{ ...at, body: record.body }];
  return {
    does,
    apply: async (revision) =>
      (await replaceBytes.call(place.changes, { threadId, revision, records, writes: [], blobs: [] })) !==
      undefined,
  };
}

/** Puts a lost checkpoint back, where another tier has it. */
async function putBack(found: Case): Promise<Remedy | undefined> {
  const good = await firstGood(found);
  return good === undefined ? undefined : insertion(found, good, undefined);
}

/**
 * An append of a checkpoint that another tier has. It is safe beside writers, as checkpoints don't change; after a removal or a
 * deletion that came meanwhile it is refused.
 */
function insertion(
  { storage, threadId, suspicion: { place } }: Case,
  good: GoodCopy,
  before: StoredCheckpoint | undefined,
): Remedy {
  // A hot tier holds only some of the pending writes, and judges by its own heads what is a side branch. What is put back is on the
  // main line: a head, or what one was made from.
  const isCopy = good.place.role === "hot";
  const writes = isCopy ? [] : good.stored.writes;
  const lostTo =
    before === undefined ? (isCopy ? undefined : good.stored.record.lostTo) : before.record.lostTo;
  const record: CheckpointRecord = { ...good.stored.record, lostTo };
  const tier = place === storage.owners[0] ? storage.tier : place.tier;
  return {
    does: `Put the checkpoint back as ${good.place.name} has it.`,
    async apply(revision) {
      const at = addressOf(record);
      const { revision: now, writes: kept } = await place.tier.peek(at);
      if (now !== revision) return false;
      // Pending writes stay when a record is lost.
      const lost = kept.length > 0 || before !== undefined ? [] : writes;
      const blobs = blobClosure(namedBlobs(record, lost), good.stored.blobs);
      if (blobs === undefined) return false;
      try {
        await tier.append({
          threadId,
          records: [record],
          blobs: [...blobs.values()],
          writes: lost.map((each) => ({ ...at, ...each })),
          relies: true,
          heads: [],
          onConflict: "refuse",
          seen: revision,
        });
        return true;
      } catch (error) {
        if (StratigraphError.is(error, "STALE_READ") || StratigraphError.is(error, "THREAD_DELETED"))
          return false;
        throw error;
      }
    },
  };
}

async function mendHead(found: Case): Promise<Remedy> {
  const { storage, threadId, suspicion } = found;
  const { place, namespace, checkpointId, target, severity } = suspicion;
  if (severity === "error" && checkpointId !== undefined) {
    const none =
      "No tier has a whole checkpoint that the head could be set to. Restore the thread from a backup, or delete it.";
    return (await putBack(found)) ?? (await cutBack(found)) ?? { impossible: none };
  }
  const to =
    target === undefined ? undefined : await storedIn(place, { threadId, namespace, checkpointId: target });
  if (to === undefined || !(await isWhole(storage, to)))
    return { impossible: "The newest checkpoint of the main line can't be read. Mend that one first." };
  const { checkpointId: id } = to.record;
  const does = `Set the head to ${id}.`;
  if (checkpointId !== undefined) {
    const heads = [{ namespace, to: id }];
    return { does, apply: (revision) => remove(place, { threadId, revision, heads }) };
  }
  return {
    does,
    async apply(revision) {
      const heads = [{ namespace, to: id, expected: [] }];
      const request = { threadId, records: [], blobs: [], heads, seen: revision } as const;
      const appended = await storage.tier.append({ ...request, onConflict: "refuse" });
      return appended.heads[0]?.moved === true;
    },
  };
}

/**
 * Moves the head back to its last ancestor that is whole, as promoting that one does, so that its step runs again. What stood after
 * it stays as a side branch. Undefined where the head is whole, or no ancestor is.
 */
async function cutBack({ storage, threadId, suspicion }: Case): Promise<Remedy | undefined> {
  const { namespace } = suspicion;
  const [main] = storage.owners;
  const { head, revision } = await main!.tier.peek({ threadId, namespace });
  if (head === undefined) return undefined;
  const records = new Map<string, CheckpointRecord>();
  // Not of the stack, whose reading restores what is archived.
  for (const { tier } of storage.owners.toReversed())
    for await (const { record } of tier.list({ threadId, namespace, recordsOnly: true }))
      records.set(record.checkpointId, record);
  const at = await lastWhole(storage, records, head);
  if (at === undefined || at.checkpointId === head) return undefined;
  return {
    does: `Set the head back to ${at.checkpointId}, the last one that is whole. What came after it stays, as a side branch.`,
    async apply() {
      if ((await main!.tier.peek({ threadId, namespace })).revision !== revision) return false;
      const after = await descendants(main!, records, at);
      const side = after.map((record) => ({ ...record, lostTo: at.checkpointId }));
      const has = new Set((await main!.tier.blobs(threadId)).map(({ hash }) => hash));
      const whole = side.filter(({ blobs }) => blobs.every((hash) => has.has(hash)));
      try {
        await promote(storage.tier, storage.coder, addressOf(at), {
          expected: [head],
          also: async () => ({ records: whole, blobs: [], heads: [] }),
        });
        // A tier may refuse records that rely on blobs it doesn't have, and moving a head relies on what is there.
        const lacking = side.filter((record) => !whole.includes(record));
        if (lacking.length > 0)
          await storage.tier.append({
            threadId,
            records: lacking,
            blobs: [],
            heads: [],
            onConflict: "refuse",
            seen: revision,
          });
        return true;
      } catch (error) {
        if (StratigraphError.is(error, "CHECKPOINT_CONFLICT") || StratigraphError.is(error, "STALE_READ"))
          return false;
        throw error;
      }
    },
  };
}

async function lastWhole(
  storage: Storage,
  records: ReadonlyMap<string, CheckpointRecord>,
  head: string,
): Promise<CheckpointRecord | undefined> {
  const mainLine = [...records.values()].filter(({ lostTo }) => lostTo === undefined);
  const newest = mainLine.sort((a, b) => (a.checkpointId < b.checkpointId ? 1 : -1))[0];
  let at = records.get(head) ?? newest;
  while (at !== undefined) {
    for (const owner of storage.owners) {
      const stored = await storedIn(owner, addressOf(at));
      if (stored !== undefined && (await isWhole(storage, stored))) return at;
    }
    at = at.parentId === undefined ? undefined : records.get(at.parentId);
  }
  return undefined;
}

/** Checkpoints of the main line that were made from one, as the tier that owns heads has them; parents first. */
async function descendants(
  main: Place,
  records: ReadonlyMap<string, CheckpointRecord>,
  from: CheckpointRecord,
): Promise<CheckpointRecord[]> {
  const made = new Set([from.checkpointId]);
  const found: CheckpointRecord[] = [];
  const oldestFirst = [...records.values()].sort((a, b) => (a.checkpointId < b.checkpointId ? -1 : 1));
  for (const record of oldestFirst) {
    if (record.parentId === undefined || !made.has(record.parentId) || record.lostTo !== undefined) continue;
    made.add(record.checkpointId);
    const stored = await storedIn(main, addressOf(record));
    if (stored !== undefined) found.push(stored.record);
  }
  return found;
}

/** Removes checkpoints of side branches that can't be read, from their ends on, so that no gap remains. */
async function pruneSide({ storage, threadId, suspicion }: Case): Promise<Remedy | undefined> {
  const { place, namespace } = suspicion;
  const children = new Map<string, number>();
  const records: CheckpointRecord[] = [];
  for await (const { record } of place.tier.list({ threadId, namespace, recordsOnly: true })) {
    records.push(record);
    const { parentId } = record;
    if (parentId !== undefined) children.set(parentId, (children.get(parentId) ?? 0) + 1);
  }
  const goes: Address[] = [];
  // Newest first, so that children come before their parents.
  for (const record of records) {
    const { checkpointId, parentId, lostTo } = record;
    if (lostTo === undefined || (children.get(checkpointId) ?? 0) > 0) continue;
    const stored = await storedIn(place, addressOf(record));
    if (stored === undefined || (await isWhole(storage, stored))) continue;
    goes.push(addressOf(record));
    if (parentId !== undefined) children.set(parentId, children.get(parentId)! - 1);
  }
  if (goes.length === 0) return undefined;
  return {
    does: `Remove what can't be read at the ends of side branches: ${goes.length} of its checkpoints.`,
    apply: async (revision) => {
      const dropBlobs = await onlyNeededBy(place, threadId, goes);
      return await remove(place, { threadId, revision, checkpoints: goes, dropBlobs });
    },
  };
}

/** Blobs that only some checkpoints and their pending writes need. */
async function onlyNeededBy(place: Place, threadId: string, goes: readonly Address[]): Promise<BlobHash[]> {
  const keys = new Set(goes.map(checkpointKey));
  const inspection = inspectsThreads(place.tier) ? await place.tier.inspect(threadId) : undefined;
  const strays = inspection?.strays ?? [];
  const all = await namedIn(place, threadId, strays);
  const others = await namedIn(place, threadId, strays, (at) => !keys.has(checkpointKey(at)));
  const infos = await place.tier.blobs(threadId);
  const stays = new Set(unneeded(infos, all));
  return unneeded(infos, others).filter((hash) => !stays.has(hash));
}

/** Removes what is left of a deleted thread. */
function dropDeleted({ threadId, suspicion: { place } }: Case): Remedy {
  return {
    does: `Remove what is left of the deleted thread from ${place.name}.`,
    async apply(revision) {
      if (place.role === "hot" || place.role === "cold") {
        await place.tier.deleteThread(threadId);
        return true;
      }
      const checkpoints: Address[] = [];
      for await (const { record } of place.tier.list({ threadId, recordsOnly: true }))
        checkpoints.push(addressOf(record));
      const dropBlobs = (await place.tier.blobs(threadId)).map(({ hash }) => hash);
      const inspection = inspectsThreads(place.tier) ? await place.tier.inspect(threadId) : undefined;
      const heads = [...(inspection?.heads.keys() ?? [])].map((namespace) => ({ namespace }));
      return await remove(place, { threadId, revision, checkpoints, dropBlobs, heads });
    },
  };
}

/** Removes pending writes whose checkpoint never came, and the blobs that only they need. */
function dropStray({ threadId, suspicion: { place, involved } }: Case): Remedy {
  return {
    does: "Remove these pending writes.",
    async apply(revision) {
      const dropBlobs = await onlyNeededBy(place, threadId, involved);
      return await remove(place, { threadId, revision, checkpoints: involved, dropBlobs });
    },
  };
}

/** Removes blobs that nothing names. */
async function dropBlobs({ threadId, suspicion: { place, hash } }: Case): Promise<Remedy> {
  return {
    does: `Remove blob ${hash}.`,
    apply: (revision) => remove(place, { threadId, revision, dropBlobs: [hash!] }),
  };
}

async function firstGood({ storage, threadId, suspicion }: Case): Promise<GoodCopy | undefined> {
  for await (const good of goodCopies(storage, threadId, suspicion)) return good;
  return undefined;
}

/** Whether a checkpoint can be read, with all values and pending writes. */
async function isWhole({ coder }: Storage, { record, blobs, writes }: StoredCheckpoint): Promise<boolean> {
  try {
    await coder.decodeBody(record);
    await coder.writes.open(record, writes);
    for (const hash of namedBlobs(record, writes)) await coder.payload(record, undefined, hash, blobs);
    return true;
  } catch {
    return false;
  }
}

/** Changes a tier in one atomic step, and drops copies of what it owned. False where it isn't at the revision. */
async function remove(
  place: Place,
  request: Partial<RemoveRequest> & Pick<RemoveRequest, "threadId" | "revision">,
): Promise<boolean> {
  return await place.changes.remove({ ...nothing, ...request });
}

function isSame(a: CheckpointRecord, b: CheckpointRecord): boolean {
  return (
    a.parentId === b.parentId &&
    a.runId === b.runId &&
    a.blobs.join() === b.blobs.join() &&
    a.tags.join() === b.tags.join()
  );
}

function addressOf({ threadId, namespace, checkpointId }: Address): Address {
  return { threadId, namespace, checkpointId };
}
