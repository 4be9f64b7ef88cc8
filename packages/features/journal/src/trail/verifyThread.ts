import { StratigraphError, type TierSaver } from "@stratigraph/core";
import { leftoversIn, refusePart } from "@stratigraph/core/internal";
import type { ListedCheckpoint } from "@stratigraph/core/tier";
import { Calls } from "../log/calls.ts";
import { isFoldOf } from "../log/folds.ts";
import { foreign } from "../log/origins.ts";
import { journalNamespace, recordPrefix, seqOfRecord } from "../log/records.ts";
import type { Sealing } from "../log/sealing.ts";
import type { RecordedEntry, TrailHead } from "./line.ts";
import { TrailCheck, type Verification } from "./trailCheck.ts";
import { keptElsewhere } from "./verifyTrail.ts";
import { decodeLine, firstSeq, storedHead, walk, type StoredHead } from "./walk.ts";

/** How often a journal that seems damaged is read at most, if its thread is written to meanwhile. */
const attempts = 5;

/** Verifies the stored journal of a thread. @throws EvictedError if it is in an archive that isn't open */
export async function verifyThread(
  saver: TierSaver,
  threadId: string,
  sealing: Sealing,
  head: TrailHead | undefined,
): Promise<Verification> {
  for (let attempt = 1; ; attempt += 1) {
    const before = await storedHead(saver, threadId);
    const check = new TrailCheck(sealing, keptElsewhere(head));
    await checkAll(saver, threadId, before, check, sealing.activeKey !== undefined);
    const found = await withLeftovers(saver, threadId, check.end(), check.lastErased);
    if (found.ok || attempt === attempts) return found;
    // Entries may have been cut off or erased while they were read.
    if ((await storedHead(saver, threadId)).revision === before.revision) return found;
  }
}

/** Adds to the result whether erased data is gone. Costs nothing if no entry says that something was erased. */
async function withLeftovers(
  saver: TierSaver,
  threadId: string,
  found: Verification,
  lastErased: number | undefined,
): Promise<Verification> {
  if (!found.ok || lastErased === undefined) return found;
  const where = await leftoversIn(saver, threadId);
  if (where === undefined) return found;
  const why = `tier ${where} still has values that no entry needs, and they may be those that entry ${lastErased} says were erased: erase again`;
  return { ok: false, brokenAt: lastErased, why };
}

async function checkAll(
  saver: TierSaver,
  threadId: string,
  head: StoredHead,
  check: TrailCheck,
  isSigned: boolean,
): Promise<void> {
  let known = head;
  let from = 0;
  const calls = new Calls();
  try {
    for (;;) {
      if (known.seq === undefined)
        return check.damaged(
          check.nextSeq,
          `the last record is named ${JSON.stringify(known.recordId)}, but no entry has this name`,
        );
      const last = await checkRecords(saver, threadId, from, known.seq, check, calls);
      if (last === undefined && known.recordId !== undefined)
        await refusePart(saver.tier, {
          threadId,
          namespace: journalNamespace,
          checkpointId: known.recordId,
        });
      if (last !== known.recordId)
        return check.damaged(
          check.nextSeq,
          `the journal ends at ${JSON.stringify(last ?? null)}, and its last record is ${JSON.stringify(known.recordId ?? null)}`,
        );
      from = known.seq + 1;
      const why = isSigned ? await foreign(saver, threadId, calls.thread) : undefined;
      if (why !== undefined) return check.damaged(known.seq, `entry ${known.seq} ${why}`);
      const behind = await anyBehind(saver, threadId, known.seq);
      if (behind === undefined) return;
      // Somebody may have appended meanwhile.
      const now = await storedHead(saver, threadId);
      if (now.recordId === known.recordId)
        return check.damaged(from, `the record ${JSON.stringify(behind)} comes after the last entry`);
      known = now;
    }
  } catch (error) {
    // The storage can't even list damaged records.
    if (!StratigraphError.is(error, "CORRUPT")) throw error;
    check.damaged(check.nextSeq, error.message);
  }
}

/** Checks a range of entries, and returns the name of the last record. */
async function checkRecords(
  saver: TierSaver,
  threadId: string,
  from: number,
  to: number,
  check: TrailCheck,
  calls: Calls,
): Promise<string | undefined> {
  let last: string | undefined;
  const first = from > 0 ? from : Math.max(1, await firstSeq(saver, threadId, to));
  for await (const stored of walk(saver, threadId, { from: first, to })) {
    last = stored.record.checkpointId;
    await checkOne(saver, stored, check, calls);
  }
  return last;
}

async function checkOne(
  saver: TierSaver,
  stored: ListedCheckpoint,
  check: TrailCheck,
  calls: Calls,
): Promise<void> {
  const { checkpointId: id, parentId } = stored.record;
  try {
    const line = await decodeLine(saver, stored);
    check.add(line, { id, parentId });
    if (check.damage === undefined) checkFold(line, id, check, calls);
  } catch (error) {
    if (StratigraphError.is(error, "KEY_UNAVAILABLE")) throw error;
    check.damaged(
      seqOfRecord(id) ?? check.nextSeq,
      `the record ${id} can't be read: ${(error as Error).message}`,
    );
  }
}

/** The state stored with an entry, for processes that open the journal, must be the fold of the entries. */
function checkFold(
  { entry, calls: cut, fold }: RecordedEntry,
  record: string,
  check: TrailCheck,
  calls: Calls,
): void {
  const { seq, event } = entry;
  // If the oldest entries were cut off, the entry that says so has their fold.
  const isKnown = check.from === 1 || calls.cutUpTo > 0;
  const below = event.type === "folded" ? (event.layers.at(-1)?.seq ?? 0) : 0;
  if (event.type === "folded" && fold !== undefined && isKnown && !isFoldOf(fold, calls, below))
    check.damaged(seq, `the state beside entry ${seq} isn't the one that follows from the entries before it`);
  calls.fold(entry, record, cut);
}

/** The name of a record that sorts after an entry's; undefined if there is none. */
async function anyBehind({ tier }: TierSaver, threadId: string, seq: number): Promise<string | undefined> {
  const query = { threadId, namespace: journalNamespace, limit: 1, recordsOnly: true };
  for await (const { record } of tier.list(query))
    return record.checkpointId < recordPrefix(seq + 1) ? undefined : record.checkpointId;
  return undefined;
}
