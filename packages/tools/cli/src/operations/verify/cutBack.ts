import { promote } from "@stratigraph/core/internal";
import { reservedNamespaces, type CheckpointRecord } from "@stratigraph/core/tier";
import { storedIn } from "./goodCopies.ts";
import { descends, ownersOf, whyNotWhole } from "./lives.ts";
import type { Place, Storage } from "./places.ts";
import { addressOf, isOvertaken, stateOf, type Case, type Remedy } from "./remedy.ts";

/**
 * Moves the head back to its last whole ancestor, as promoting that one does, so that its step runs again. The checkpoints after it
 * stay as a side branch. Undefined if the head is whole, or no ancestor is.
 */
export async function cutBack({ storage, threadId, suspicion }: Case): Promise<Remedy | undefined> {
  const { namespace } = suspicion;
  const impossible = await whyNotWhole(storage, threadId);
  if (impossible !== undefined) return { impossible };
  const [main] = storage.owners;
  const { head, revision } = await main!.tier.peek({ threadId, namespace });
  if (head === undefined) return undefined;
  const records = new Map<string, CheckpointRecord>();
  // Read the owners themselves: reading the stack would restore archived threads.
  const owners = await ownersOf(storage, threadId);
  const archived = new Set<string>();
  for (const { tier } of owners.toReversed())
    for await (const { record } of tier.list({ threadId, namespace, recordsOnly: true })) {
      records.set(record.checkpointId, record);
      if (tier !== main!.tier) archived.add(record.checkpointId);
    }
  // Beside an archived thread there may be another conversation, which an import without the archive left.
  const { head: mark } = await main!.tier.peek({ threadId, namespace: reservedNamespaces.archived });
  const isOwn = ({ checkpointId }: CheckpointRecord): boolean =>
    mark === undefined || namespace !== "" || descends(records, archived, checkpointId);
  const at = await lastWhole(storage, owners, records, head, isOwn);
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
        // A tier may refuse records whose blobs it lacks. They are put separately from the move of the head, so that the move isn't
        // refused, too.
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
        if (isOvertaken(error)) return false;
        throw error;
      }
    },
  };
}

async function lastWhole(
  storage: Storage,
  owners: readonly Place[],
  records: ReadonlyMap<string, CheckpointRecord>,
  head: string,
  isOwn: (record: CheckpointRecord) => boolean,
): Promise<CheckpointRecord | undefined> {
  const mainLine = [...records.values()].filter((record) => record.lostTo === undefined && isOwn(record));
  const newest = mainLine.sort((a, b) => (a.checkpointId < b.checkpointId ? 1 : -1))[0];
  let at = records.get(head) ?? newest;
  while (at !== undefined) {
    for (const owner of owners) {
      const stored = await storedIn(owner, addressOf(at));
      const state = stored === undefined ? "damaged" : await stateOf(storage, stored);
      if (state === "whole") return at;
      // A checkpoint that a key may still decrypt isn't given up.
      if (state === "unknown") return undefined;
    }
    at = at.parentId === undefined ? undefined : records.get(at.parentId);
  }
  return undefined;
}

/** The descendants of a checkpoint on the main line, as the tier that owns heads has them; parents first. */
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
