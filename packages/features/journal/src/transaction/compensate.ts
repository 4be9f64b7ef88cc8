import { StoredResults, whyNoResult } from "../calls/storedResults.ts";
import { plainResult, type KeptResult } from "../calls/results.ts";
import { keptError, resultNotKept } from "../errors.ts";
import { lacksResult, type CallState } from "../log/callState.ts";
import type { JournalParts } from "../parts.ts";
import type { KeptCall, RollbackReport, TransactionCall } from "./report.ts";
import type { TransactionRecord } from "./transactionRecord.ts";

/** Undoes the calls of a transaction that were made since a place in the journal, the last one first. */
export async function compensate(
  parts: JournalParts,
  record: TransactionRecord,
  since = 0,
): Promise<RollbackReport> {
  const undone: TransactionCall[] = [];
  const kept: KeptCall[] = [];
  for (const state of await record.calls(since)) {
    const call = await describedCall(parts, record.threadId, state);
    const why = await undo(parts, record, state, call);
    if (why === undefined) undone.push(call);
    else kept.push({ ...call, ...why });
  }
  return { undone, kept };
}

/** The description of a call in a report. */
export async function describedCall(
  parts: JournalParts,
  threadId: string,
  { call, tool, claim }: CallState,
): Promise<TransactionCall> {
  const text = claim && (await parts.of(threadId).log.payload(claim.seq, call))?.args;
  return { fingerprint: call, tool, args: text === undefined ? undefined : JSON.parse(text) };
}

/** Undoes one call. Returns why its effect stays, or undefined. */
async function undo(
  parts: JournalParts,
  record: TransactionRecord,
  state: CallState,
  { args }: TransactionCall,
): Promise<Pick<KeptCall, "why" | "error"> | undefined> {
  if (state.status !== "succeeded" && !lacksResult(state)) return { why: "outcome unknown" };
  const work = parts.compensations.of(record.threadId, state.call, state.tool);
  if (work === undefined) return { why: "no compensation" };
  const { log, runner } = parts.of(record.threadId);
  try {
    const kept = await new StoredResults(parts.checkpointer, parts.sealing).of(log, state);
    if (kept === undefined) throw resultNotKept(log.threadId, state, whyNoResult(state, await log.calls()));
    const result = givenTo(kept);
    const site = { author: parts.authorOf(undefined) };
    const planned = {
      ...record.compensationOf(state),
      site,
      options: {},
      needsNoResult: true,
      unjudged: true,
    };
    await runner.call(planned, () => work(result, args));
  } catch (error) {
    return { why: "compensation failed", error: keptError(error) };
  }
  // A call that was undone may be made again.
  await log.change((calls) => {
    const now = calls.get(state.call);
    const isSame = now?.status === "succeeded" && now.claim?.seq === state.claim?.seq;
    const reason = `undone, as the transaction ${record.transaction} was rolled back`;
    const events = isSame ? [{ event: { type: "forgotten" as const, call: state.call, reason } }] : [];
    return { events, answer: undefined };
  });
  return undefined;
}

/** The form of a result that `compensate` gets. */
function givenTo(kept: KeptResult): unknown {
  return kept.kind === "message" ? kept.message.content : plainResult(kept);
}
