import { InvalidOptionError, type StratigraphError, type TierSaver } from "@stratigraph/core";
import { checkOptions } from "@stratigraph/core/internal";
import type { ThreadTarget } from "../contract/target.ts";
import { checkSaver, checkTarget } from "./checkArguments.ts";
import { callsIn } from "./callsLeftOut.ts";
import { callsElsewhere, callsOf, kept, mayBeIn } from "../sources/openCalls.ts";
import { tierSource } from "../sources/tierSource.ts";
import { copyNames } from "./importThreads.ts";
import { onlyHead, ownThreads } from "./ownThreads.ts";
import { isOfOneThread } from "./isOfOneThread.ts";
import { Tally, type CopyOptions, type CopyReport } from "./report.ts";

/**
 * Copies threads of a Stratigraph storage to another saver, or to a file. The storage isn't changed. A repeated export to a saver adds
 * what is missing there. A file is always written as a whole; an interrupted export leaves no file. A thread that can't be read, for
 * example because a row is damaged, is listed in the report's differences, and the others are exported.
 * @throws InvalidOptionError, also for `after` with a file; StratigraphError if the storage can't be reached; what the target throws
 */
export async function exportThreads(
  saver: TierSaver,
  target: ThreadTarget,
  options: CopyOptions = {},
): Promise<CopyReport> {
  checkSaver("saver", saver);
  checkTarget("target", target);
  checkOptions("exportThreads", options, copyNames);
  const { verify = true, signal, threadIds, after } = options;
  if (after !== undefined && !target.resumable)
    throw new InvalidOptionError(
      "after",
      after,
      `Leave out this cursor: ${target.name} is written as a whole, and would lack the threads before.`,
    );
  const elsewhere = await callsElsewhere(saver);
  const source = tierSource(saver, elsewhere);
  const tally = new Tally(await source.plan(), options);
  const unnamed: StratigraphError[] = [];
  const wanted = await ownThreads(saver.tier, { threadIds, after }, unnamed);
  tally.unnamed(unnamed);
  const whole = new Set<string>();
  const exportThread = async (threadId: string): Promise<void> => {
    const thread = await source.thread!(threadId);
    if (thread === undefined) {
      const { head } = await saver.tier.peek({ threadId, namespace: "" });
      if (head !== undefined) tally.differs([{ threadId, what: onlyHead }]);
      else if (threadIds !== undefined) tally.missing(threadId);
      return;
    }
    tally.begin(threadId);
    try {
      const written = await target.write(thread, { verify, wrote: () => tally.checkpoint(threadId) });
      tally.differs(written.differences.map((what) => ({ threadId, what })));
      if (written.differences.length === 0) whole.add(threadId);
      tally.notHeld(threadId, written.notHeld ?? []);
      tally.erased(threadId, written.erased);
      tally.end(threadId, written);
    } finally {
      await thread.close();
    }
  };
  for (const [n, threadId] of wanted.entries()) {
    try {
      await exportThread(threadId);
    } catch (error) {
      if (!isOfOneThread(error)) throw error;
      tally.failed(threadId, error);
    }
    const isLast = n === wanted.length - 1;
    if (signal?.aborted === true && !isLast) return target.resumable ? tally.report(false) : tally.nothing();
  }
  for (const threadId of whole)
    for (const [journal, call] of new Map(
      kept(callsOf(threadId, elsewhere)).map((call) => [call.journal ?? threadId, call]),
    ))
      // An earlier call may have exported those before its cursor.
      if (!whole.has(journal) && after === undefined)
        tally.differs([callsIn(threadId, journal, mayBeIn(call))]);
  await target.finish();
  return tally.report(true);
}
