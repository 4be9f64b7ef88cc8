import type { TierSaver } from "@stratigraph/core";
import { checkOptions, type OptionNames } from "@stratigraph/core/internal";
import type { CallsOfThread } from "../contract/calls.ts";
import type { ThreadSource } from "../contract/source.ts";
import { addTo, callsOf, threadsIn } from "../sources/openCalls.ts";
import { CallsThere, deletion, usersOf } from "./callsLeftOut.ts";
import { checkSaver, checkSource } from "./checkArguments.ts";
import { importThread, type ImportedThread } from "./importThread.ts";
import { isOfOneThread } from "./isOfOneThread.ts";
import { Tally, type CopyOptions, type CopyReport, type Difference } from "./report.ts";
import { settled } from "./settled.ts";

/** The names of {@link CopyOptions}. */
export const copyNames: OptionNames<CopyOptions> = {
  threadIds: true,
  after: true,
  verify: true,
  signal: true,
  onProgress: true,
};

/**
 * Imports threads into a Stratigraph storage. Their ids, the ids of their checkpoints, parents, metadata and pending writes stay
 * unchanged. May be killed at any moment and repeated: what the storage already has isn't imported again, but still compared with the
 * source. A thread that has continued here is never set back. A thread that can't be read or stored, for example because a row is
 * damaged, is listed in the report's differences, and the others are imported.
 * @throws InvalidOptionError; StratigraphError if the source can't be reached or the storage can't be written
 */
export async function importThreads(
  source: ThreadSource,
  saver: TierSaver,
  options: CopyOptions = {},
): Promise<CopyReport> {
  checkSource("source", source);
  checkSaver("saver", saver);
  checkOptions("importThreads", options, copyNames);
  const { verify = true, signal, threadIds, after } = options;
  const tally = new Tally(await source.plan(), options);
  const left = new Set(threadIds);
  const ids: string[] = [];
  const elsewhere = new Map<string, CallsOfThread>();
  let isAborted = false;
  for await (const thread of source.threads({ threadIds, after })) {
    const { threadId } = thread;
    left.delete(threadId);
    tally.begin(threadId);
    ids.push(threadId);
    try {
      addTo(elsewhere, await thread.elsewhere?.());
      tally.mixedUp(thread.mixedUp);
      const brought = () => tally.checkpoint(threadId);
      const done = await settled(source, thread, (one) =>
        importThread(saver, one, { verify, takeLacking: true, brought }),
      );
      if (done.diverged && done.served) tally.diverged(threadId);
      else tally.end(threadId, done);
      tally.differs(done.differences);
      tally.erased(threadId, done.erased);
      tally.differs(
        toldOf(threadId, done, done.diverged && !done.served ? await usersOf(saver, threadId) : []),
      );
    } catch (error) {
      if (!isOfOneThread(error)) throw error;
      if (threadId === "") tally.unnamed([error]);
      else tally.failed(threadId, error);
    } finally {
      await thread.close();
    }
    // One whose name is damaged is no place to go on from.
    isAborted = signal?.aborted === true && threadId !== "";
    if (isAborted) break;
  }
  const there = new CallsThere(saver);
  for (const threadId of threadsIn(elsewhere, ids))
    tally.differs(await there.leftOut(threadId, callsOf(threadId, elsewhere)));
  // An earlier call may have told of those before its cursor.
  if (after === undefined && !isAborted) for (const threadId of left) tally.missing(threadId);
  return tally.report(!isAborted);
}

/** Why a thread differs from the source, if no difference of a checkpoint says it. */
function toldOf(
  threadId: string,
  { unsettled, diverged, served, differences }: ImportedThread,
  users: readonly string[],
): Difference[] {
  const told = (what: string): Difference[] => [{ threadId, what }];
  const rest = served ? "what is new in it isn't served" : "it isn't served";
  if (unsettled) return told(`the source wrote to it while it was read, so that ${rest}; import it again`);
  if (served) return [];
  if (diverged)
    return told(
      `it has checkpoints of an earlier import, calls or events here that the source doesn't have, so that it isn't served; ${deletion(users)}, and import it again`,
    );
  return differences.length > 0 ? told("its copy differs, so that it isn't served; import it again") : [];
}
