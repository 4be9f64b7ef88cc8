import type { TierSaver } from "@stratigraph/core";
import { refusePart } from "@stratigraph/core/internal";
import type { CheckpointRecord } from "@stratigraph/core/tier";
import { journalBroken } from "../errors.ts";
import { canonical } from "../identity/canonical.ts";
import { Calls } from "./calls.ts";
import type { CallState } from "./callState.ts";
import type { Entry } from "./entry.ts";
import { decodeEntry, decodePayload, journalNamespace } from "./records.ts";
import { checkEntry } from "./checkEntry.ts";
import { foreign } from "./origins.ts";
import type { Sealing } from "./sealing.ts";
import { storedState } from "./storedState.ts";

/** How often a journal in which entries seem to be missing is read again at most: they may have been cut off meanwhile. */
const attempts = 3;

/** The known part of a journal: the state after the entry in a record. */
export interface Known {
  readonly recordId: string | undefined;
  readonly calls: Calls;
}

/**
 * The state after the last entry, from the known state and the entries since.
 * @param head name of the last record
 * @throws StratigraphError "JOURNAL_BROKEN" if entries are missing, don't follow each other, or were changed: nothing is returned from such
 * a journal; "KEY_MISSING"; EvictedError if they are in an archive that isn't open
 */
export async function caughtUp(
  saver: TierSaver,
  threadId: string,
  sealing: Sealing,
  head: string,
  known: Known,
): Promise<Calls> {
  for (let attempt = 1; ; attempt += 1) {
    const { entries, reached, stored } = await entriesSince(saver, threadId, sealing, head, known.recordId);
    // If the known record is gone, it was cut off, or the thread was deleted and its journal begun anew.
    const calls = reached ? known.calls.branch() : (stored ?? new Calls());
    const gap = entries.length === 0 && stored !== undefined ? undefined : gapIn(entries, calls);
    if (gap === undefined) {
      for (const { entry, record } of entries) {
        checkEntry(threadId, sealing, entry, calls.isSigned);
        calls.fold(
          entry,
          record.checkpointId,
          entry.event.type === "cut" ? await cutBeside(saver, sealing, entry, record) : undefined,
        );
      }
      await checkThread(saver, threadId, sealing, calls);
      return calls.commit();
    }
    if (attempt < attempts) continue;
    await refusePart(saver.tier, { threadId, namespace: journalNamespace, checkpointId: head });
    throw journalBroken(threadId, gap, "it is missing, or doesn't follow the one before");
  }
}

/** If there are keys, a journal counts only in its own thread and in threads forked from it: so nobody can swap two journals. */
async function checkThread(
  saver: TierSaver,
  threadId: string,
  sealing: Sealing,
  { seq, thread }: Calls,
): Promise<void> {
  if (sealing.activeKey === undefined) return;
  const why = await foreign(saver, threadId, thread);
  if (why !== undefined) throw journalBroken(threadId, seq, `it ${why}`);
}

interface Found {
  readonly entry: Entry;
  readonly record: CheckpointRecord;
}

interface Since {
  readonly entries: Found[];
  /** Whether the record was reached. */
  readonly reached: boolean;
  /** The state before these entries, if it was stored. */
  readonly stored?: Calls | undefined;
}

/** The entries after a record, oldest first; or those after an entry with a stored state, if that comes first. */
async function entriesSince(
  saver: TierSaver,
  threadId: string,
  sealing: Sealing,
  head: string,
  recordId: string | undefined,
): Promise<Since> {
  const entries: Found[] = [];
  let newest: string | undefined;
  for await (const { record } of saver.tier.list({
    threadId,
    namespace: journalNamespace,
    recordsOnly: true,
  })) {
    // Others may have appended since the head was read: newer entries are read the next time.
    if (newest === undefined && record.checkpointId !== head) continue;
    newest ??= record.checkpointId;
    if (record.checkpointId === recordId) return { entries: entries.reverse(), reached: true };
    const entry = await decodeEntry(saver, record);
    const stored = await storedState(saver, sealing, entry, record);
    if (stored !== undefined) return { entries: entries.reverse(), reached: false, stored };
    entries.push({ entry, record });
  }
  return { entries: entries.reverse(), reached: false };
}

/** Number of the first entry that doesn't follow the previous one; undefined if all do. */
function gapIn(entries: readonly Found[], { seq, hash }: Calls): number | undefined {
  const first = entries[0]?.entry;
  if (first === undefined) return seq + 1;
  let [lastSeq, lastHash] = [seq, hash];
  if (seq === 0 && first.seq > 1) {
    const isCut = entries.some(({ entry: { event } }) => event.type === "cut" && event.last >= first.seq - 1);
    if (!isCut) return 1;
    [lastSeq, lastHash] = [first.seq - 1, first.prev];
  }
  for (const { entry } of entries) {
    if (entry.seq !== lastSeq + 1 || entry.prev !== lastHash) return lastSeq + 1;
    [lastSeq, lastHash] = [entry.seq, entry.hash];
  }
  return undefined;
}

async function cutBeside(
  saver: TierSaver,
  sealing: Sealing,
  { seq, keyId, event }: Entry,
  record: CheckpointRecord,
): Promise<readonly CallState[]> {
  const { checkpoint } = await saver.tier.read(record);
  const calls = checkpoint === undefined ? undefined : (await decodePayload(saver, checkpoint)).calls;
  const isIntact =
    event.type === "cut" &&
    calls !== undefined &&
    sealing.hash(canonical(calls), keyId ?? null) === event.callsHash;
  if (!isIntact)
    throw journalBroken(record.threadId, seq, "the states of the calls that were cut off aren't beside it");
  return calls as CallState[];
}
