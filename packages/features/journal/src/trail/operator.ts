import { InvalidOptionError, NotFoundError, type TierSaver } from "@stratigraph/core";
import type { CallRunner } from "../calls/callRunner.ts";
import { keptResult } from "../calls/results.ts";
import type { Session } from "../calls/session.ts";
import { StoredResults } from "../calls/storedResults.ts";
import { stillRuns } from "../errors.ts";
import type { Digest } from "../identity/fingerprint.ts";
import type { Calls, Session as Maker } from "../log/calls.ts";
import { lacksResult, type CallState } from "../log/callState.ts";
import type { Effects, JournalEvent, Where } from "../log/entry.ts";
import type { JournalLog } from "../log/journalLog.ts";
import { isBookkeeping } from "../log/ownCalls.ts";
import type { Sealing } from "../log/sealing.ts";

/** The journal of one thread, reduced to what an operator's functions need. */
export interface ThreadJournal {
  readonly saver: TierSaver;
  readonly log: JournalLog;
  readonly runner: CallRunner;
  readonly session: Session;
  readonly sealing: Sealing;
}

/** A call whose outcome is unknown, or whose result is asked for and isn't kept. */
export interface UnresolvedCall {
  readonly threadId: string;
  readonly fingerprint: Digest;
  readonly tool: string;
  /** Undefined if they were erased. */
  readonly args: unknown;
  readonly effects: Effects;
  readonly where: Where;
  readonly idempotencyKey: string;
  /** How often it was begun. */
  readonly attempts: number;
  readonly claimedAt: Date;
  readonly why: string;
}

/** What an operator found out about a call. */
export interface ResolveOptions {
  readonly threadId: string;
  /** Whether the call happened. If it didn't, it runs again when it is made again. */
  readonly happened: boolean;
  /** The call's result, if it happened: later replays return it. It has to be storable. Default: undefined. */
  readonly result?: unknown;
  /** Who found out, for the trail. */
  readonly author?: string | undefined;
}

/** Why a call is forgotten. */
export interface ForgetOptions {
  readonly threadId: string;
  /** For the trail. */
  readonly reason: string;
  /** Who decided it, for the trail. */
  readonly author?: string | undefined;
}

/** The calls of a thread's tools whose outcome is unknown, in the order in which they were first made. */
export async function* unresolvedCalls(journal: ThreadJournal): AsyncGenerator<UnresolvedCall> {
  const { log } = journal;
  const calls = await log.refresh();
  for (const state of [...calls.all()]) {
    if (isBookkeeping(state.tool) || !(await isUnresolved(journal, calls, state))) continue;
    const { call, tool, effects, where, attempts, key = call, claim, error } = state;
    yield {
      threadId: log.threadId,
      fingerprint: call,
      tool,
      args: await log.argsOf(state),
      effects,
      where,
      idempotencyKey: key,
      attempts,
      claimedAt: new Date(claim?.at ?? 0),
      why: error?.message ?? "the process that made the call ended before its outcome was recorded",
    };
  }
}

/** Records the outcome of a call. @throws NotFoundError; InvalidOptionError; StratigraphError "LOCKED" */
export async function resolveUnknown(
  journal: ThreadJournal,
  fingerprint: Digest,
  { happened, result, author }: ResolveOptions,
): Promise<void> {
  const { saver, sealing, log } = journal;
  const { call, status, claim, where } = await findOpenCall(journal, fingerprint, happened);
  const stored = happened
    ? await new StoredResults(saver, sealing).stored(() => keptResult(result, where.toolCallId))
    : undefined;
  const notKept = stored?.fields.notKept;
  if (notKept !== undefined) throw new InvalidOptionError("result", result, `It can't be kept: ${notKept}`);
  await log.change((calls) => {
    const now = calls.get(call);
    if (now?.status === "claimed" && now.claim?.seq !== claim?.seq)
      throw stillRuns(log.threadId, now, byLiveProcess);
    // Somebody else recorded an outcome meanwhile, and it may differ.
    if (now?.status !== status) throw alreadyKnown(fingerprint, now?.status ?? "forgotten");
    const event: JournalEvent = {
      type: "resolved",
      call,
      claim: now.claim?.seq ?? 0,
      by: "operator",
      happened,
      ...(stored?.fields ?? { kept: false }),
    };
    return { events: [{ event, payload: { result: stored?.result }, author }], answer: undefined };
  });
}

/** Lets a call run again as if it had never been made. @throws NotFoundError; StratigraphError "LOCKED" */
export async function forgetCall(
  journal: ThreadJournal,
  fingerprint: Digest,
  { reason, author }: ForgetOptions,
): Promise<void> {
  const { log } = journal;
  const calls = await log.refresh();
  const state = stateOf(log.threadId, calls, fingerprint);
  if (state.status === "claimed" && !(await isUnresolved(journal, calls, state)))
    throw stillRuns(log.threadId, state, byLiveProcess);
  await log.change((newest) => {
    const now = stateOf(log.threadId, newest, fingerprint);
    if (now.status === "claimed" && now.claim?.seq !== state.claim?.seq)
      throw stillRuns(log.threadId, now, byLiveProcess);
    return {
      events: [{ event: { type: "forgotten", call: fingerprint, reason }, author }],
      answer: undefined,
    };
  });
}

/** The call whose outcome can be recorded: the given one, or the one that it repeats. */
async function findOpenCall(
  journal: ThreadJournal,
  fingerprint: Digest,
  happened: boolean,
): Promise<CallState> {
  const { log } = journal;
  const calls = await log.refresh();
  const found = stateOf(log.threadId, calls, fingerprint);
  const state = found.status === "repeats" ? stateOf(log.threadId, calls, found.repeats ?? "") : found;
  const { status } = state;
  if (lacksResult(state) && !happened) throw alreadyKnown(fingerprint, "it happened");
  if (await isUnresolved(journal, calls, state)) return state;
  if (status === "claimed") throw stillRuns(log.threadId, state, byLiveProcess);
  // A result can be recorded for a call that happened and whose result is missing.
  if (status === "succeeded" && happened && !(await hasResult(log, state))) return state;
  throw alreadyKnown(fingerprint, status);
}

function alreadyKnown(fingerprint: Digest, status: string): InvalidOptionError {
  return new InvalidOptionError(
    "fingerprint",
    fingerprint,
    `What became of this call is known: ${status}. Only calls of journal.unresolved(), and results that weren't kept, can be resolved.`,
  );
}

async function hasResult(log: JournalLog, { call, result }: CallState): Promise<boolean> {
  return result?.kept === true && (await log.payload(result.seq, call))?.result !== undefined;
}

/** Whether the outcome of a call can't be known. @param maker what is known of the session that claimed it */
export async function isUnresolvedBy(
  { runner, session }: Pick<ThreadJournal, "runner" | "session">,
  { call, status, claim }: CallState,
  maker: Maker | undefined,
): Promise<boolean> {
  if (status === "unknown") return true;
  if (status !== "claimed" || claim === undefined) return false;
  if (session.own.has(claim.session)) return !runner.isMaking(call);
  return !(await session.isAlive(claim.session, maker));
}

async function isUnresolved(journal: ThreadJournal, calls: Calls, state: CallState): Promise<boolean> {
  const maker = state.claim === undefined ? undefined : calls.session(state.claim.session);
  return await isUnresolvedBy(journal, state, maker);
}

function stateOf(threadId: string, calls: Calls, fingerprint: Digest): CallState {
  const state = calls.get(fingerprint);
  if (state !== undefined && isBookkeeping(state.tool))
    throw new InvalidOptionError(
      "fingerprint",
      fingerprint,
      "It belongs to a transaction. transactions() gives those that were left open, to be rolled back or committed.",
    );
  if (state !== undefined) return state;
  throw new NotFoundError(
    `The journal of thread ${JSON.stringify(threadId)} has no call with the fingerprint ${JSON.stringify(fingerprint)}. ` +
      `journal.unresolved() and journal.trail() tell which there are.`,
    { threadId, fingerprint },
  );
}

const byLiveProcess = "by a process that is alive. Wait until it ends, or end that process.";
