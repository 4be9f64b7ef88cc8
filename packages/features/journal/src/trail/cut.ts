import { dropCopies, dropUnneeded } from "@stratigraph/core/internal";
import type { Address, BlobHash } from "@stratigraph/core/tier";
import { canonical } from "../identity/canonical.ts";
import { belongingOf } from "../log/calls.ts";
import { decodeEntry } from "../log/records.ts";
import type { TrailHead } from "./line.ts";
import type { ThreadJournal } from "./operator.ts";
import { firstThere, storedHead, trailHead, walk } from "./walk.ts";

/** How many records are removed at once. */
const mostAtOnce = 500;

/** Which entries are cut off. */
export interface CutOptions {
  /** Entries before the first one that was made at this time or later. */
  readonly before: Date;
  /** Who cuts, for the trail. */
  readonly author?: string | undefined;
}

/** What was cut off. */
export interface Cut {
  /** How many entries were removed. */
  readonly entries: number;
  /** The head now. An older head that was kept elsewhere and names an entry that was cut off proves nothing any more. */
  readonly head: TrailHead;
}

/**
 * Removes the oldest entries. First it appends an entry that says so, with the states of all calls, so that none is repeated. If the
 * process dies after that, cutting again removes the rest.
 */
export async function cutOff(journal: ThreadJournal, { before, author }: CutOptions): Promise<Cut> {
  const { saver, log, sealing } = journal;
  const { threadId } = log;
  const head = (await storedHead(saver, threadId)).seq ?? 0;
  const from = await firstThere(saver, threadId, head);
  const last = await lastBefore(journal, from, head, before);
  if (last !== undefined) {
    await log.refresh();
    await log.change((calls) => {
      if (calls.cutUpTo >= last.seq) return { events: [], answer: undefined };
      const states = [...calls.all()];
      const callsHash = sealing.hash(canonical(states));
      const { seq, hash: lastHash } = last;
      const event = { type: "cut" as const, last: seq, lastHash, callsHash, ...belongingOf(calls) };
      return { events: [{ event, payload: { calls: states }, author }], answer: undefined };
    });
    await removeUpTo(journal, from, last.seq);
    await dropCopies(saver, threadId);
  }
  return { entries: last === undefined ? 0 : last.seq - from + 1, head: await trailHead(saver, threadId) };
}

/** The last entry to remove. */
async function lastBefore(
  { saver, log }: ThreadJournal,
  from: number,
  to: number,
  before: Date,
): Promise<TrailHead | undefined> {
  let last: TrailHead | undefined;
  for await (const { record } of walk(saver, log.threadId, { from, to, recordsOnly: true })) {
    const { at, seq, hash } = await decodeEntry(saver, record);
    if (Date.parse(at) >= before.getTime()) break;
    last = { seq, hash };
  }
  return last;
}

/** Removes the oldest first, so that the rest is always complete. */
async function removeUpTo(
  { saver, log: { threadId } }: ThreadJournal,
  from: number,
  to: number,
): Promise<void> {
  let page: Address[] = [];
  let blobs = new Set<BlobHash>();
  const remove = async (): Promise<void> => {
    await dropUnneeded(saver, threadId, blobs, page);
    page = [];
    blobs = new Set();
  };
  for await (const { record } of walk(saver, threadId, { from, to, recordsOnly: true })) {
    const { namespace, checkpointId } = record;
    page.push({ threadId, namespace, checkpointId });
    for (const hash of record.blobs) blobs.add(hash);
    if (page.length === mostAtOnce) await remove();
  }
  await remove();
}
