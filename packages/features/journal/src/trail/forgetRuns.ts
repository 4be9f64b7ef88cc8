import { runDeleted } from "@stratigraph/core/internal";
import type { Digest } from "../identity/fingerprint.ts";
import { isOpen } from "../log/callState.ts";
import { isBookkeeping } from "../log/ownCalls.ts";
import { decodeEntry } from "../log/records.ts";
import { erasePayloads } from "./erase.ts";
import type { ThreadJournal } from "./operator.ts";
import { firstThere, storedHead, walk } from "./walk.ts";

/**
 * Erases arguments and results of the calls that runs made, and forgets the calls, so that an equal one is new work. A call whose outcome
 * isn't known isn't forgotten: somebody must still find out about it. Nor is one that another run made or was given, too.
 */
export async function forgetRuns(journal: ThreadJournal, runIds: ReadonlySet<string>): Promise<void> {
  const { saver, log } = journal;
  await log.flush();
  const calls = await log.refresh();
  const ofRuns = new Set<Digest>();
  const ofOthers = new Set<Digest>();
  const note = (call: Digest, { run = "" }: { readonly run?: string | undefined }): void => {
    (runIds.has(run) ? ofRuns : ofOthers).add(call);
  };
  // Some entries may have been cut off.
  for (const { call, where } of calls.all()) note(call, where);
  const to = (await storedHead(saver, log.threadId)).seq ?? 0;
  const from = await firstThere(saver, log.threadId, to);
  for await (const { record } of walk(saver, log.threadId, { from, to, recordsOnly: true })) {
    const { event } = await decodeEntry(saver, record);
    if ("where" in event) note(event.call, event.where);
  }
  const isTheirs = (call: Digest): boolean => {
    const tool = calls.get(call)?.tool;
    return !ofOthers.has(call) && (tool === undefined || !isBookkeeping(tool));
  };
  const theirs = new Set([...ofRuns].filter(isTheirs));
  if (theirs.size === 0) return;
  await erasePayloads(journal, {}, theirs);
  await log.change((newest) => {
    const isWaiting = (call: Digest): boolean => {
      const state = newest.get(call);
      const first = state?.status === "repeats" ? newest.get(state.repeats ?? "") : undefined;
      return state === undefined || isOpen(state) || (first !== undefined && isOpen(first));
    };
    const events = [...theirs]
      .filter((call) => !isWaiting(call))
      .map((call) => ({ event: { type: "forgotten" as const, call, reason: runDeleted } }));
    return { events, answer: undefined };
  });
}
