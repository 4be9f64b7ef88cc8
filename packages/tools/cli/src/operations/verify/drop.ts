import { inspectsThreads } from "@stratigraph/core/internal";
import { checkpointKey, type Address, type BlobHash, type CheckpointRecord } from "@stratigraph/core/tier";
import { storedIn } from "./goodCopies.ts";
import { namedIn, unneeded } from "./orphans.ts";
import type { Place } from "./places.ts";
import { addressOf, isWhole, remove, stateOf, type Case, type Remedy } from "./remedy.ts";
import { plural } from "./renderReport.ts";
import { verifyThread } from "./verifyThread.ts";

// Remedies that remove what nobody can read or needs.

/** Removes the damaged part of a hot copy. The next read copies it again from the owner, which has to be whole for that. */
export async function dropCopy({ storage, threadId, suspicion }: Case): Promise<Remedy> {
  const { place, part, hash, involved } = suspicion;
  const { findings } = await verifyThread(storage, threadId, { took: async () => {} });
  if (findings.some((each) => each.severity === "error" && each.place.role !== "hot"))
    return {
      impossible: `The tier that owns the thread is damaged, too, so the copy in ${place.name} may hold data that is nowhere else. Mend the owner first.`,
    };
  return {
    does: `Remove the damaged copy from ${place.name}. It is copied again when it is read.`,
    async apply(revision) {
      if (part === "thread") {
        await place.tier.deleteThread(threadId);
        return true;
      }
      const dropBlobs = hash === undefined ? [] : [hash];
      return await remove(
        { ...place, changes: place.tier },
        { threadId, revision, checkpoints: involved, dropBlobs },
      );
    },
  };
}

/** Removes unreadable checkpoints of side branches, beginning at the end of each branch, so that no gap remains. */
export async function pruneSide({ storage, threadId, suspicion }: Case): Promise<Remedy | undefined> {
  const { place, namespace } = suspicion;
  const children = new Map<string, number>();
  const records: CheckpointRecord[] = [];
  // If not even the head can be read, the key or the configuration may be wrong.
  const { head } = await place.tier.peek({ threadId, namespace });
  const newest =
    head === undefined ? undefined : await storedIn(place, { threadId, namespace, checkpointId: head });
  if (newest === undefined || !(await isWhole(storage, newest))) return undefined;
  for await (const { record } of place.tier.list({ threadId, namespace, recordsOnly: true })) {
    records.push(record);
    const { parentId } = record;
    if (parentId !== undefined) children.set(parentId, (children.get(parentId) ?? 0) + 1);
  }
  const removed: Address[] = [];
  // Newest first, so that children come before their parents.
  for (const record of records) {
    const { checkpointId, parentId, lostTo } = record;
    if (lostTo === undefined || (children.get(checkpointId) ?? 0) > 0) continue;
    const stored = await storedIn(place, addressOf(record));
    if (stored === undefined || (await stateOf(storage, stored)) !== "damaged") continue;
    removed.push(addressOf(record));
    if (parentId !== undefined) children.set(parentId, children.get(parentId)! - 1);
  }
  if (removed.length === 0) return undefined;
  return {
    does: `Remove ${plural(removed.length, "unreadable checkpoint")} at the ends of side branches.`,
    apply: async (revision) => {
      const dropBlobs = await onlyNeededBy(place, threadId, removed);
      return await remove(place, { threadId, revision, checkpoints: removed, dropBlobs });
    },
  };
}

/** Blobs that only these checkpoints and their pending writes need. */
async function onlyNeededBy(
  place: Place,
  threadId: string,
  removed: readonly Address[],
): Promise<BlobHash[]> {
  const keys = new Set(removed.map(checkpointKey));
  const inspection = inspectsThreads(place.tier) ? await place.tier.inspect(threadId) : undefined;
  const strays = inspection?.strays ?? [];
  const all = await namedIn(place, threadId, strays);
  const others = await namedIn(place, threadId, strays, (at) => !keys.has(checkpointKey(at)));
  const infos = await place.tier.blobs(threadId);
  const alreadyUnneeded = new Set(unneeded(infos, all));
  return unneeded(infos, others).filter((hash) => !alreadyUnneeded.has(hash));
}

/** Removes what is left of a deleted thread. */
export function dropDeleted({ threadId, suspicion: { place } }: Case): Remedy {
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
export function dropStray({ threadId, suspicion: { place, involved } }: Case): Remedy {
  return {
    does: "Remove these pending writes.",
    async apply(revision) {
      const dropBlobs = await onlyNeededBy(place, threadId, involved);
      return await remove(place, { threadId, revision, checkpoints: involved, dropBlobs });
    },
  };
}

/** Removes a blob that nothing names. */
export function dropOrphanBlob({ threadId, suspicion: { place, hash } }: Case): Remedy {
  return {
    does: `Remove blob ${hash}.`,
    apply: (revision) => remove(place, { threadId, revision, dropBlobs: [hash!] }),
  };
}
