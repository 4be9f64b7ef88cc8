import { dropLeftovers } from "@stratigraph/core/internal";
import type { CheckpointRecord } from "@stratigraph/core/tier";
import type { Digest } from "../identity/fingerprint.ts";
import type { Calls } from "../log/calls.ts";
import type { Entry, Payload } from "../log/entry.ts";
import type { CallEvent } from "../log/nextState.ts";
import { decodeEntry, decodePayload, encodeEntry } from "../log/records.ts";
import type { ThreadJournal } from "./operator.ts";
import { firstThere, storedHead, walk } from "./walk.ts";

/** How many entries are rewritten in one append. */
const mostAtOnce = 256;

/** Which arguments and results are erased. If both conditions are given, both must hold. */
export interface EraseOptions {
  /** Fingerprint of one call. Default: all calls. */
  readonly call?: Digest | undefined;
  /** Only entries before the first one that was made at this time or later. Default: all entries. */
  readonly before?: Date | undefined;
  /** Who erases, for the trail. */
  readonly author?: string | undefined;
}

/** What was erased. */
export interface Erased {
  /** How many entries lost their arguments or their result. */
  readonly entries: number;
}

/**
 * Erases arguments and results from the storage. The entries stay, with the hashes of what was erased. The erasure and the entry that
 * records it are written by one append, so that nothing else can happen between.
 * @param only the calls of which everything is erased, if `options` don't name one. Default: all
 */
export async function erasePayloads(
  journal: ThreadJournal,
  options: EraseOptions,
  only?: ReadonlySet<Digest>,
): Promise<Erased> {
  const { call, before } = options;
  const { saver, log } = journal;
  const { threadId } = log;
  const last = (await storedHead(saver, threadId)).seq ?? 0;
  const from = await firstThere(saver, threadId, last);
  const erased = call === undefined ? only : sameCalls(await log.refresh(), call);
  let entries = 0;
  let page: Rewritten[] = [];
  const write = async (): Promise<void> => {
    entries += await replace(journal, page, options, erased !== undefined);
    page = [];
  };
  for await (const stored of walk(saver, threadId, { from, to: last })) {
    const entry = await decodeEntry(saver, stored.record);
    // The times are by the clocks of several processes, and one clock may have been ahead.
    if (before !== undefined && Date.parse(entry.at) >= before.getTime()) continue;
    if (erased !== undefined && !("call" in entry.event && erased.has(entry.event.call))) continue;
    const { args, result } = await decodePayload(saver, stored);
    if (args === undefined && result === undefined) continue;
    page.push({ old: stored.record, entry });
    if (page.length === mostAtOnce) await write();
  }
  if (page.length > 0) await write();
  // Also drops what remains of an erasure that was killed after it wrote the entries.
  await dropLeftovers(saver, threadId);
  return { entries };
}

/** A call, and those that count as the same: their arguments are equal. */
function sameCalls(calls: Calls, call: Digest): ReadonlySet<Digest> {
  const same = new Set([call, calls.get(call)?.repeats ?? call]);
  for (const state of calls.all())
    if (state.repeats !== undefined && same.has(state.repeats)) same.add(state.call);
  return same;
}

interface Rewritten {
  readonly old: CheckpointRecord;
  readonly entry: Entry;
}

/** Replaces records by records without payload. Returns how many, without those that were cut off meanwhile. */
async function replace(
  { saver, log }: ThreadJournal,
  page: readonly Rewritten[],
  { before, author }: EraseOptions,
  isOfSome: boolean,
): Promise<number> {
  const records = await Promise.all(
    page.map(async ({ old: { checkpointId, parentId }, entry }) => ({
      seq: entry.seq,
      of: isOfSome ? (entry.event as CallEvent).call : undefined,
      record: (await encodeEntry(saver, log.threadId, { checkpointId, parentId }, entry, nothing)).record,
    })),
  );
  return await log.change((calls) => {
    const left = records.filter(({ seq }) => seq > calls.cutUpTo);
    if (left.length === 0) return { events: [], answer: 0 };
    const upTo = left.at(-1)!.seq;
    // One event for each call: a verifier doesn't know which calls count as the same.
    const events = [...new Set(left.map(({ of }) => of))].map((of) => ({
      event: {
        type: "erased" as const,
        upTo,
        ...(of === undefined ? {} : { of }),
        ...(before === undefined ? {} : { before: before.toISOString() }),
      },
      author,
    }));
    return { events, answer: left.length, replaced: left.map(({ record }) => record) };
  });
}

const nothing: Payload = {};
