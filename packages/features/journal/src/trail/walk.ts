import { EvictedError, type TierSaver } from "@stratigraph/core";
import { reservedNamespaces, type ListedCheckpoint } from "@stratigraph/core/tier";
import { decodeEntry, decodePayload, journalNamespace, recordPrefix, seqOfRecord } from "../log/records.ts";
import { journalBroken } from "../errors.ts";
import type { RecordedEntry, TrailHead } from "./line.ts";
import type { StoredResult } from "../calls/storedResults.ts";
import type { CallState } from "../log/callState.ts";

/** How many records are in memory at once: with the values stored with them, and without. */
const [pageWithValues, pageOfRecords] = [256, 1024];

/** Which records are walked. */
export interface WalkOptions {
  /** Numbers of the first and the last entry. Records whose names contain no number are included if their names sort between these. */
  readonly from: number;
  readonly to: number;
  /** Without the values stored with the entries. */
  readonly recordsOnly?: boolean | undefined;
}

/** The records of a journal, oldest first, with one page in memory at a time. Storages list newest first, so pages are reversed. */
export async function* walk(
  saver: TierSaver,
  threadId: string,
  { from, to, recordsOnly = false }: WalkOptions,
): AsyncGenerator<ListedCheckpoint> {
  const size = recordsOnly ? pageOfRecords : pageWithValues;
  for (let first = from; first <= to; first += size) {
    const page: ListedCheckpoint[] = [];
    let before = recordPrefix(Math.min(first + size, to + 1));
    for (let full = true; full;) {
      full = false;
      let read = 0;
      const query = { threadId, namespace: journalNamespace, before, limit: size, recordsOnly };
      for await (const listed of saver.tier.list(query)) {
        before = listed.record.checkpointId;
        read += 1;
        // The first page also includes everything that sorts before the first number.
        if (first > 1 && before < recordPrefix(first)) break;
        page.push(listed);
        full = read === size;
      }
    }
    yield* page.reverse();
  }
}

/** The head of a journal, and the thread's revision when it was read. */
export interface StoredHead {
  readonly revision: number;
  /** Name of the last record; undefined if there is none. */
  readonly recordId: string | undefined;
  /** Number of the last entry; 0 if there is none, undefined if the record's name contains no number. */
  readonly seq: number | undefined;
}

export async function storedHead(saver: TierSaver, threadId: string): Promise<StoredHead> {
  const { revision, head } = await saver.peek({ threadId, namespace: journalNamespace });
  return { revision, recordId: head, seq: head === undefined ? 0 : seqOfRecord(head) };
}

/** Number and hash of the last entry. @throws StratigraphError "JOURNAL_BROKEN"; CorruptionError */
export async function trailHead(saver: TierSaver, threadId: string): Promise<TrailHead> {
  const at = { threadId, namespace: journalNamespace };
  const { head, record } = await saver.peek(at);
  if (head === undefined) return { seq: 0, hash: "" };
  const found = record ?? (await saver.tier.read({ ...at, checkpointId: head })).checkpoint?.record;
  if (found === undefined) throw journalBroken(threadId, seqOfRecord(head) ?? 0, "its last entry is missing");
  const { seq, hash } = await decodeEntry(saver, found);
  return { seq, hash };
}

/**
 * As {@link firstSeq}, for callers that need the entries.
 * @throws EvictedError, StratigraphError "JOURNAL_BROKEN" if the journal has a last entry, but no entry is there
 */
export async function firstThere(saver: TierSaver, threadId: string, to: number): Promise<number> {
  const from = await firstSeq(saver, threadId, to);
  if (from <= to) return from;
  const { recordId: checkpointId } = await storedHead(saver, threadId);
  // The thread was deleted meanwhile.
  if (checkpointId === undefined) return from;
  const archived = await saver.tier.peek({ threadId, namespace: reservedNamespaces.archived });
  if (archived.head !== undefined)
    throw new EvictedError(saver.tier.name, { threadId, namespace: journalNamespace, checkpointId });
  throw journalBroken(threadId, to, "it is missing, and so are all before it");
}

/** Number of the first entry that is there; `to` + 1 if there is none up to `to`. */
export async function firstSeq({ tier }: TierSaver, threadId: string, to: number): Promise<number> {
  const isThere = async (upTo: number): Promise<boolean> => {
    const query = {
      threadId,
      namespace: journalNamespace,
      before: recordPrefix(upTo + 1),
      limit: 1,
      recordsOnly: true,
    };
    for await (const _record of tier.list(query)) return true;
    return false;
  };
  if (to === 0 || (await isThere(1))) return 1;
  let [absent, present] = [1, to + 1];
  while (present - absent > 1) {
    const middle = Math.floor((absent + present) / 2);
    if (await isThere(middle)) present = middle;
    else absent = middle;
  }
  return present;
}

/** A stored entry with the values stored with it. @throws CorruptionError and others as `decodeEntry` */
export async function decodeLine(saver: TierSaver, stored: ListedCheckpoint): Promise<RecordedEntry> {
  const entry = await decodeEntry(saver, stored.record);
  const { args, result, calls, fold } = await decodePayload(saver, stored);
  return {
    entry,
    ...(args === undefined ? {} : { args }),
    ...(result === undefined ? {} : { result: result as StoredResult }),
    ...(calls === undefined ? {} : { calls: calls as CallState[] }),
    ...(fold === undefined ? {} : { fold }),
  };
}

/**
 * The entries of a journal with the values stored with them, oldest first.
 * @param to number of the last one. Default: the last one that is there now
 * @throws StratigraphError "JOURNAL_BROKEN" if an entry is missing; CorruptionError
 */
export async function* recordedEntries(
  saver: TierSaver,
  threadId: string,
  to?: number,
): AsyncGenerator<RecordedEntry> {
  const last = to ?? (await storedHead(saver, threadId)).seq ?? 0;
  const from = await firstThere(saver, threadId, last);
  let expected = from;
  for await (const stored of walk(saver, threadId, { from, to: last })) {
    const line = await decodeLine(saver, stored);
    if (line.entry.seq !== expected)
      throw journalBroken(
        threadId,
        expected,
        `entry ${expected} is missing, or was cut off while the journal was read`,
      );
    expected += 1;
    yield line;
  }
  if (expected <= last) throw journalBroken(threadId, expected, `entry ${expected} is missing`);
}

/** Whether a thread has a journal. */
export async function hasJournal(saver: TierSaver, threadId: string): Promise<boolean> {
  return (await storedHead(saver, threadId)).recordId !== undefined;
}
