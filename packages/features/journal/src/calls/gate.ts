import { answerWithin } from "@stratigraph/core/internal";
import { AmbiguousOutcomeError, resultNotKept, tookLonger } from "../errors.ts";
import { kindOfCall } from "../log/calls.ts";
import { lacksResult, type Approval, type CallState } from "../log/callState.ts";
import { isSamePlace, stepOf } from "../log/visits.ts";
import type { JournalLog, NewEvent } from "../log/journalLog.ts";
import type { CallOptions, Policy, Reconciled, UnknownCall } from "../options.ts";
import { frozen, judged } from "./judged.ts";
import { isStillOpen, type Outcomes } from "./outcomes.ts";
import type { Asking, CallOutcome, PlannedCall } from "./plannedCall.ts";
import {
  questionId,
  readAnswer,
  type AmbiguousAnswer,
  type AmbiguousQuestion,
  type ApprovalAnswer,
  type ApprovalQuestion,
  type Question,
} from "./questions.ts";
import { eventOfCall } from "./resolve.ts";
import { hasEqualArgs } from "./namedCall.ts";
import type { KeptResult } from "./results.ts";

/** Longest stored reason of a denial or an approval, in UTF-16 units. */
const longestReason = 2000;

/** Asks the policy, reconcilers and persons, who decide about calls. Their answers are recorded before anything runs. */
export class Gate {
  readonly #log: JournalLog;
  readonly #outcomes: Outcomes;
  readonly #policy: Policy | undefined;
  readonly #timeoutMs: number;

  /** @param timeoutMs how long the policy, and a reconciler, may take */
  constructor(log: JournalLog, outcomes: Outcomes, policy: Policy | undefined, timeoutMs: number) {
    this.#log = log;
    this.#outcomes = outcomes;
    this.#policy = policy;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Asks the policy. Undefined: the call may run; "ask again": a person allowed it, and that was recorded just now.
   * @param approved an earlier approval by a person. It counts if the policy still asks for the same reason
   */
  async judge(
    planned: PlannedCall,
    approved: Approval | undefined,
  ): Promise<Extract<CallOutcome, { kind: "denied" }> | "ask again" | undefined> {
    if (this.#policy === undefined) return undefined;
    const { request, argsText, site } = planned;
    const { effects, where, argsHash, former } = request;
    // The policy knows the tool by its present name.
    const tool = former?.now ?? request.tool;
    const { thread: threadId = this.#log.threadId } = where;
    const args = JSON.parse(argsText) as unknown;
    const call = frozen({ tool, args, effects, threadId, author: site.author, where: { ...where } });
    const answer = await judged(this.#policy, call, this.#timeoutMs);
    if (answer === true) return undefined;
    if ("deny" in answer) return await this.#deny(planned, "policy", answer.deny);
    const isSame = approved?.thread === threadId && hasEqualArgs(approved, request);
    if (isSame && counts(approved, answer.ask)) return undefined;
    const { asking } = site;
    if (asking === undefined)
      return await this.#deny(
        planned,
        "policy",
        `${answer.ask} (a person has to allow it, and outside a graph with a checkpointer nobody can be asked)`,
      );
    // An answer counts once: LangGraph gives it again each time the task is repeated.
    const parts = [threadId, request.call, argsHash, site.task ?? null, answer.ask.toWellFormed()];
    const id = questionId("approval", ...parts, approved?.seq ?? 0);
    const question = {
      kind: "approval" as const,
      id,
      call: request.call,
      tool,
      args: call.args,
      reason: answer.ask,
    };
    const said = answered(asking, question);
    if (!said.allow)
      return await this.#deny(planned, "person", said.reason ?? "a person denied it", said.author);
    await this.append(
      planned,
      {
        type: "approved",
        ...eventOfCall(request),
        reason: keptReason(answer.ask),
        ...(said.reason === undefined ? {} : { said: keptReason(said.reason) }),
        thread: threadId,
        ...untilOf(answer.validForMs),
      },
      said.author,
    );
    return "ask again";
  }

  /**
   * Finds out whether a call happened, or what it returned, by its reconciler or by asking a person, and records it.
   * @param isUnknown whether nobody knows what became of another call either
   * @returns the result, if it was found out and can't be kept
   * @throws AmbiguousOutcomeError, StratigraphError "RESULT_NOT_KEPT" if nobody can be asked; LangGraph's interrupt
   */
  async settle(
    { site, options, request }: PlannedCall,
    state: CallState,
    isUnknown: (state: CallState) => boolean,
  ): Promise<KeptResult | undefined> {
    const { call, tool, claim, error } = state;
    const happened = lacksResult(state);
    const args = claim === undefined ? undefined : await this.#log.argsOf(state);
    const reconciled = await this.#reconciled(options, state, args);
    // That it happened is recorded, which nobody takes back.
    if (reconciled !== undefined && (reconciled.happened || !happened))
      return (await this.#outcomes.resolve([{ state, found: reconciled }], "reconcile", site))?.result;
    if (site.asking === undefined)
      throw happened
        ? resultNotKept(this.#log.threadId, state, error?.message)
        : new AmbiguousOutcomeError(this.#log.threadId, state);
    const calls = await this.#log.calls();
    // An answer to another branch resolved it meanwhile.
    if (!isStillOpen(calls, state)) return undefined;
    const open = [...calls.openOf(kindOfCall(state))].map((each) => calls.get(each)!);
    const alike = equalsOf(open.filter(isUnknown), state);
    const equal = alike.some((each) => each.call === call) ? alike : [state];
    const [first = state] = equal;
    const named = equal.length > 1 ? equal.map((each) => [each.call, each.claim?.seq, each.key]) : [call];
    const question = {
      kind: "ambiguous" as const,
      id: questionId("ambiguous", this.#log.threadId, ...named, first.result?.seq ?? first.claim?.seq ?? 0),
      call: first.call,
      tool,
      args,
      claimedAt: first.claim?.at,
      where: first.where,
      why: whyOpen(equal),
      ...(happened ? { happened } : {}),
      ...(equal.length > 1 ? { equal: equal.length } : {}),
    };
    const { asking } = site;
    const isOneOf = equal.length > 1 && equal.some(({ where }) => isSamePlace(where, request.where));
    const [asker] = isOneOf ? await asking.openOf(equal.map(({ where }) => where.task)) : [];
    const ask = asker === undefined || asker === site.task ? asking.ask : asking.leave;
    const said = answered({ ...asking, ask }, question);
    const { author = site.author } = said;
    const resolved = equal.map((each, n) => ({ state: each, found: foundOf(said, n) }));
    const unkept = await this.#outcomes.resolve(resolved, "person", { author });
    if (unkept !== undefined) ask({ ...question, refused: `This result can't be kept: ${unkept.notKept}` });
    return undefined;
  }

  /** Records something about a call before it runs. @param author default: the author of the call */
  async append(
    { argsText, site }: PlannedCall,
    event: NewEvent["event"],
    author = site.author,
  ): Promise<void> {
    const events = [{ event, payload: { args: argsText }, author }];
    await this.#log.change(() => ({ events, answer: undefined }), site.mayBegin);
  }

  async #deny(
    planned: PlannedCall,
    by: "policy" | "person",
    reason: string,
    author?: string,
  ): Promise<Extract<CallOutcome, { kind: "denied" }>> {
    const kept = keptReason(reason);
    await this.append(planned, { type: "denied", ...eventOfCall(planned.request), by, reason: kept }, author);
    this.#outcomes.tell(planned, "denied", 0);
    return { kind: "denied", reason: kept };
  }

  async #reconciled({ reconcile }: CallOptions, state: CallState, args: unknown): Promise<Reconciled> {
    if (reconcile === undefined) return undefined;
    const { call, tool, key = call, attempts, claim, where } = state;
    const unknown: UnknownCall = {
      fingerprint: call,
      tool,
      args,
      idempotencyKey: key,
      attempt: attempts,
      claimedAt: new Date(claim?.at ?? 0),
      where,
    };
    try {
      const found: unknown = await answerWithin(
        this.#timeoutMs,
        async () => await reconcile(unknown),
        () => tookLonger(this.#timeoutMs),
      );
      if (found === undefined) return undefined;
      const { happened, result } = Object(found) as { happened?: unknown; result?: unknown };
      if (happened === true) return { happened, result };
      if (happened === false) return { happened };
      throw new TypeError(
        `reconcile() of ${JSON.stringify(tool)} gave an answer that isn't a valid one: { happened: true, result }, { happened: false } or undefined`,
      );
    } catch (error) {
      this.#outcomes.tell({ request: state }, "unreconciled", 0, { error });
      return undefined;
    }
  }
}

/** The answer to a question; if there is none, stops the graph with the question. @throws LangGraph's interrupt */
function answered(asking: Asking, question: ApprovalQuestion): ApprovalAnswer;
function answered(asking: Asking, question: AmbiguousQuestion): AmbiguousAnswer;
function answered(asking: Asking, question: Question): unknown {
  const read = readAnswer(question as ApprovalQuestion, asking.answers);
  if ("answer" in read) return read.answer;
  return asking.ask(read.refused === undefined ? question : { ...question, refused: read.refused });
}

/**
 * Those of some equal calls that are of parallel tasks, so that they differ from a given one in nothing that a person could tell: the first
 * that began comes first.
 */
export function equalsOf<C extends Pick<CallState, "where" | "claim" | "status" | "result">>(
  calls: Iterable<C>,
  { where, ...state }: Pick<CallState, "where" | "status" | "result">,
): C[] {
  // Of several of one task, the message or the code says which is which.
  const byTask = new Map<string | undefined, C[]>();
  for (const each of calls) {
    if (stepOf(each.where) !== stepOf(where) || lacksResult(each) !== lacksResult(state)) continue;
    const { task } = each.where;
    byTask.set(task, [...(byTask.get(task) ?? []), each]);
  }
  byTask.delete(undefined);
  const equal = [...byTask.values()].flatMap((ofTask) => (ofTask.length === 1 ? ofTask : []));
  return equal.sort((a, b) => (a.claim?.seq ?? 0) - (b.claim?.seq ?? 0));
}

/** Why nobody knows what became of calls. */
function whyOpen(calls: readonly CallState[]): string {
  const died = "the process that made the call ended before its outcome was recorded";
  const whys = calls.map(({ status, error }) =>
    status === "claimed" ? died : (error?.message ?? "its outcome is unknown"),
  );
  const why = [...new Set(whys)].join("; ");
  return calls.length === 1
    ? why
    : `of these ${calls.length} equal calls: ${why}. Equal calls whose outcome is recorded aren't among them`;
}

/** What an answer says of the nth of equal calls. It doesn't matter which of them happened. */
function foundOf(answer: AmbiguousAnswer, n: number): NonNullable<Reconciled> {
  if (typeof answer.happened !== "number") return answer as NonNullable<Reconciled>;
  const { happened, results, result } = answer as Extract<AmbiguousAnswer, { happened: number }>;
  return n < happened
    ? { happened: true, result: results === undefined ? result : results[n] }
    : { happened: false };
}

/** Whether an approval still counts, given the policy's present reason. */
function counts({ reason, until }: Approval, asked: string): boolean {
  return (until === undefined || Date.now() < Date.parse(until)) && reason === keptReason(asked);
}

function untilOf(validForMs: number | undefined): { until?: string } {
  return validForMs === undefined ? {} : { until: new Date(Date.now() + validForMs).toISOString() };
}

function keptReason(reason: string): string {
  return reason.toWellFormed().slice(0, longestReason);
}
