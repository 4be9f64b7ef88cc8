import { InvalidOptionError, type StratigraphError, type TierSaver } from "@stratigraph/core";
import { checkOptions, deletesUnchanged, RunsUnderWay, type OptionNames } from "@stratigraph/core/internal";
import { reservedNamespaces, type UnchangedDeleter } from "@stratigraph/core/tier";
import { checkSaver } from "./checkArguments.ts";
import { copyNames } from "./importThreads.ts";
import { callsElsewhere, callsOf, kept, threadsIn } from "../sources/openCalls.ts";
import { CallsThere } from "./callsLeftOut.ts";
import { ownThreads } from "./ownThreads.ts";
import { deleteLast } from "./lastDeletions.ts";
import { moveThread } from "./moveThread.ts";
import { isInOnePlace } from "./oneStorage.ts";
import { isOfOneThread } from "./isOfOneThread.ts";
import { threadThere } from "./threadThere.ts";
import { Tally, type CopyOptions, type CopyReport } from "./report.ts";

/** Options of {@link moveThreads}. */
export interface MoveOptions extends CopyOptions {
  /** Whether a thread is kept in the source or deleted there after its copy was verified. Default "keep". */
  readonly source?: "keep" | "delete" | undefined;
}

const names: OptionNames<MoveOptions> = { ...copyNames, source: true };

/**
 * Moves threads from one Stratigraph storage to another, with side branches, the moves that forks recorded, tags and pending writes. The
 * stored bytes stay unchanged, so both storages need the same `encryption`. May be killed at any moment and repeated. A thread that
 * can't be read, for example because a row is damaged, stays in the source and is listed in `differences`; the others are moved.
 * @throws InvalidOptionError; StratigraphError as the storages throw
 */
export async function moveThreads(
  from: TierSaver,
  to: TierSaver,
  options: MoveOptions = {},
): Promise<CopyReport> {
  checkSaver("from", from);
  checkSaver("to", to);
  checkOptions("moveThreads", options, names);
  const { verify = true, source = "keep", signal, threadIds, after } = options;
  if (source !== "keep" && source !== "delete")
    throw new InvalidOptionError("source", source, 'Pass "keep" or "delete".');
  if (source === "delete" && !verify)
    throw new InvalidOptionError(
      "verify",
      false,
      "Threads are deleted only once their copies were verified.",
    );
  const deletes = source === "delete" ? deleterOf(from, to) : undefined;
  const unnamed: StratigraphError[] = [];
  const wanted = await ownThreads(from.tier, { threadIds, after }, unnamed);
  const isAsked = threadIds !== undefined || deletes !== undefined;
  let elsewhere = isAsked ? await callsElsewhere(from) : undefined;
  /** The revisions of copied threads that are deleted once their calls arrived, too, and nobody needs theirs. */
  const waiting = new Map<string, number>();
  const deletesNow = async (threadId: string): Promise<boolean> => {
    if (kept(callsOf(threadId, elsewhere)).length > 0) return false;
    const { head } = await from.tier.peek({ threadId, namespace: reservedNamespaces.calls });
    return head === undefined;
  };
  const deletesOrWaits: UnchangedDeleter = {
    deleteUnchanged: async (threadId, revision) => {
      if (await deletesNow(threadId)) return await deletes!.deleteUnchanged(threadId, revision);
      return waiting.set(threadId, revision).size > 0;
    },
  };
  const tally = new Tally({ threads: wanted.length }, options);
  tally.unnamed(unnamed);
  let [isWhole, isAborted] = [unnamed.length === 0, false];
  for (const threadId of wanted) {
    tally.begin(threadId);
    try {
      const how = { verify, deletes: deletes === undefined ? undefined : deletesOrWaits };
      const done = await moveThread(from, to, threadId, how);
      // One that the target has was moved by an earlier call.
      const isMissing =
        done.isGone === true &&
        threadIds !== undefined &&
        (await threadThere(to.tier, threadId)).heads.size === 0;
      if (isMissing) tally.missing(threadId);
      else if (done.diverged) tally.diverged(threadId);
      else tally.end(threadId, done);
      tally.differs(done.differences);
      tally.erased(threadId, done.erased);
      isWhole &&= !done.diverged && done.differences.length === 0;
    } catch (error) {
      if (!isOfOneThread(error)) throw error;
      tally.failed(threadId, error);
      isWhole = false;
    }
    isAborted = signal?.aborted === true;
    if (isAborted) break;
  }
  // If all threads arrived, so did all journals.
  if (!isWhole) elsewhere ??= await callsElsewhere(from);
  const there = new CallsThere(to);
  for (const threadId of threadsIn(elsewhere ?? new Map(), wanted)) {
    if (threadIds?.includes(threadId) === false) continue;
    const leftOut = await there.leftOut(threadId, callsOf(threadId, elsewhere));
    tally.differs(leftOut);
    if (leftOut.length > 0) waiting.delete(threadId);
  }
  if (waiting.size > 0)
    tally.differs(
      await deleteLast(
        from,
        unnamed.length === 0,
        waiting,
        async (...of) => await deletes!.deleteUnchanged(...of),
      ),
    );
  return tally.report(!isAborted);
}

/**
 * @throws InvalidOptionError if the source can't delete on the condition that nobody wrote meanwhile, so that a checkpoint could be lost.
 * The returned deleter throws one if a thread and its copy are the same stored thread.
 */
function deleterOf({ tier }: TierSaver, to: TierSaver): UnchangedDeleter {
  if (!deletesUnchanged(tier))
    throw new InvalidOptionError(
      "source",
      "delete",
      `${tier.name} can't delete a thread on the condition that nobody wrote to it meanwhile. Keep the source, and delete its threads once nobody writes to them.`,
    );
  return {
    deleteUnchanged: async (threadId, revision) => {
      if (await isInOnePlace(tier, to.tier, threadId))
        throw new InvalidOptionError(
          "source",
          "delete",
          `${tier.name} and ${to.tier.name} keep thread ${JSON.stringify(threadId)} in one place: deleting it there would delete the only one. Nothing was deleted; pass the storage to which you want to move.`,
        );
      const isDeleted = await tier.deleteUnchanged(threadId, revision);
      if (isDeleted) RunsUnderWay.of(tier).deleted(threadId);
      return isDeleted;
    },
  };
}
