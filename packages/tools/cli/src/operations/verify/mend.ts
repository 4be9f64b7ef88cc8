import { inspectsThreads, mendsThreads } from "@stratigraph/core/internal";
import {
  blobClosure,
  namedBlobs,
  type Address,
  type CheckpointRecord,
  type StoredCheckpoint,
} from "@stratigraph/core/tier";
import { cutBack } from "./cutBack.ts";
import { dropCopy, dropDeleted, dropOrphanBlob, dropStray, pruneSide } from "./drop.ts";
import { goodCopies, storedIn, type GoodCopy } from "./goodCopies.ts";
import { addressOf, isOvertaken, isWhole, remove, type Case, type Remedy } from "./remedy.ts";
import {
  acceptOlder,
  markStrangers,
  otherLifeAdvice,
  ownersOf,
  takeBackAdvice,
  whyNotWhole,
} from "./lives.ts";
import { rethrowUnlessDamage } from "./suspicion.ts";

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
      if (part === "thread")
        return place.role === "cold"
          ? { impossible: otherLifeAdvice(found.threadId) }
          : await markStrangers(found);
      return part === "writes" ? dropStray(found) : dropOrphanBlob(found);
    case "gap":
      if (part === "writes") return { impossible: writesAdvice };
      if (part === "thread") return await acceptOlder(found);
      return (
        (await putBack(found)) ?? {
          impossible: found.suspicion.channel === undefined ? gapAdvice : neededAdvice,
        }
      );
    case "wrong-head":
      return await mendHead(found);
    default:
      if (place.role === "hot") return await dropCopy(found);
      if (part === "thread") return (await planRebuild(found)) ?? { impossible: objectAdvice };
      return (
        (await planReplacement(found)) ??
        (await cutBack(found)) ??
        (found.prune ? await pruneSide(found) : undefined) ?? {
          impossible: (await isHeadReadable(found)) ? historyAdvice : headAdvice,
        }
      );
  }
}

const writesAdvice =
  "Restore the missing rows of pending writes from a backup, or fork the thread from a checkpoint before the step.";
const gapAdvice =
  "No tier has this checkpoint. Newer ones can be read and continued. To have the older history in one piece again, restore this one from a backup.";
const neededAdvice =
  "No tier has this checkpoint. From a backup, restore its row and those of its ancestors, with their pending writes and values; if a part of the thread was archived, name the archive. Until then, nothing of the thread is removed.";
const historyAdvice =
  "No tier has good bytes. The head doesn't need them, so runs can continue. To read this checkpoint, restore it from a backup; to be rid of it, prune the thread.";
const headAdvice =
  "No tier has good bytes. Neither the head of this thread can be read, nor an older checkpoint that it could be set to, so runs on the thread fail. Check first that the encryption keys are those with which it was written. If they are, restore the thread from a backup.";
/** An archive has a newer state of a thread than the database, which was restored to an older one. */
const aheadAdvice = ({ threadId, checkpointId }: Address, archive: string): string =>
  `Tier ${archive} has this thread up to ${checkpointId}, and the database doesn't: it was restored to a time before. Nothing is changed. Runs continue from the ` +
  `head that the database has, and archiving keeps both. To have the newer checkpoints back, before the thread goes on: stratigraph move URL_OF_THE_DATABASE ` +
  `--url URL_OF_THE_ARCHIVE --thread ${JSON.stringify(threadId)}.`;
/** What a person can do if a thread was begun anew over a lost head. */
const anewAdvice = (threadId: string, last: string): string =>
  `Nothing is done. To have what came before in a thread of its own: stratigraph fork '${threadId}@${last}' NEW-ID. To go on from it here: stratigraph promote '${threadId}@${last}'. If nobody needs it, prune the thread.`;
/** What a person can do about a thread without any head: it is half of a copy, or lost the only one it had. */
const copyAdvice = (threadId: string, newest: string): string =>
  `Nothing is done. If nobody imports or moves it at the moment, repeat the import or the move, which brings the rest. If it is no copy and lost its head: stratigraph promote '${threadId}' --checkpoint ${newest}. If nobody needs it, delete the thread.`;
const markAdvice =
  "Nothing is done: runs continue from this head. If something newer won the race and is lost, restore it from a backup.";
/** What a person can do if a tier can't read what it holds. */
export const objectAdvice =
  "From a backup, restore the object that the tier's message names. If the bucket keeps versions, you can restore an older version instead. Then verify again.";

/** Plans to rebuild a tier's own fields of the thread if they contradict its checkpoints. */
async function planRebuild({ threadId, suspicion: { place } }: Case): Promise<Remedy | undefined> {
  const { tier } = place;
  if (!mendsThreads(tier) || !inspectsThreads(tier)) return undefined;
  const { contradictions } = (await tier.inspect(threadId)) ?? {};
  if (contradictions === undefined) return undefined;
  return {
    does: `Make ${contradictions.join(", ")} anew, from the checkpoints, heads and pending writes that are there. Nothing is removed.`,
    apply: () => tier.mendThread(threadId),
  };
}

/** Whether a run can go on from the head of the namespace that was found damaged. */
async function isHeadReadable({ storage, threadId, suspicion: { namespace } }: Case): Promise<boolean> {
  const [main] = storage.owners;
  try {
    const { head } = await main!.tier.peek({ threadId, namespace });
    if (head === undefined) return true;
    for (const owner of storage.owners) {
      const stored = await storedIn(owner, { threadId, namespace, checkpointId: head });
      if (stored !== undefined) return await isWhole(storage, stored);
    }
  } catch (error) {
    rethrowUnlessDamage(error);
  }
  return false;
}

/** Plans to replace damaged or missing bytes of an owner by good ones from elsewhere. */
async function planReplacement(found: Case): Promise<Remedy | undefined> {
  const { storage, threadId, suspicion } = found;
  const { place, part, batch: position } = suspicion;
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
    const { body } = writes[position!]!;
    return {
      does,
      apply: async (revision) =>
        (await replaceBytes.call(place.changes, {
          threadId,
          revision,
          records: [],
          blobs: [],
          writes: [{ ...at, place: position!, body }],
        })) !== undefined,
    };
  }
  const stored = await storedIn(place, at);
  // Its other columns may be damaged, too: then the whole record is put again.
  if (stored === undefined || !isSame(stored.record, record)) return insertion(found, good, stored);
  const records = [{ ...at, body: record.body }];
  return {
    does,
    apply: async (revision) =>
      (await replaceBytes.call(place.changes, { threadId, revision, records, writes: [], blobs: [] })) !==
      undefined,
  };
}

/** Plans to put a lost checkpoint back if another tier has it. */
async function putBack(found: Case): Promise<Remedy | undefined> {
  const good = await firstGood(found);
  return good === undefined ? undefined : insertion(found, good, undefined);
}

/**
 * An append of a checkpoint that another tier has. It is safe beside writers, because checkpoints don't change. It is refused if a
 * removal or a deletion came meanwhile.
 */
function insertion(
  { storage, threadId, suspicion: { place } }: Case,
  good: GoodCopy,
  before: StoredCheckpoint | undefined,
): Remedy {
  // A hot tier holds only some of the pending writes, and its marks of side branches follow its own heads. A checkpoint that is put back is
  // on the main line: a head, or an ancestor of one.
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
        if (isOvertaken(error)) return false;
        throw error;
      }
    },
  };
}

async function mendHead(found: Case): Promise<Remedy> {
  const { storage, threadId, suspicion } = found;
  const { place, part, namespace, checkpointId, target, severity } = suspicion;
  if (severity === "error" && checkpointId !== undefined) {
    const none =
      "No tier has a whole checkpoint that the head could be set to. Restore the thread from a backup, or delete it.";
    return (await putBack(found)) ?? (await cutBack(found)) ?? { impossible: none };
  }
  if (severity === "warning" && checkpointId === undefined)
    return { impossible: copyAdvice(threadId, target!) };
  if (part === "thread" && target !== undefined) return { impossible: takeBackAdvice(threadId, target) };
  if (part === "thread") return { impossible: anewAdvice(threadId, checkpointId!) };
  if (target === undefined && checkpointId !== undefined) return { impossible: markAdvice };
  const impossible = await whyNotWhole(storage, threadId);
  if (impossible !== undefined) return { impossible };
  const newest = { threadId, namespace, checkpointId: target! };
  let to = target === undefined ? undefined : await storedIn(place, newest);
  if (to === undefined && target !== undefined)
    for (const archive of (await ownersOf(storage, threadId)).slice(1)) {
      to = await storedIn(archive, newest);
      if (to === undefined) continue;
      if (checkpointId !== undefined) return { impossible: aheadAdvice(newest, archive.name) };
      // A head that is lost is set to what was archived.
      break;
    }
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
      try {
        const appended = await storage.tier.append({ ...request, onConflict: "refuse" });
        return appended.heads[0]?.moved === true;
      } catch (error) {
        if (isOvertaken(error)) return false;
        throw error;
      }
    },
  };
}

async function firstGood({ storage, threadId, suspicion }: Case): Promise<GoodCopy | undefined> {
  for await (const good of goodCopies(storage, threadId, suspicion)) return good;
  return undefined;
}

function isSame(a: CheckpointRecord, b: CheckpointRecord): boolean {
  return (
    a.parentId === b.parentId &&
    a.runId === b.runId &&
    a.blobs.join() === b.blobs.join() &&
    a.terms.join() === b.terms.join()
  );
}
