// long file: the protocol of a call, in the order in which it happens
import { setTimeout as sleep } from "node:timers/promises";
import { trace, type TierSaver } from "@stratigraph/core";
import { AmbiguousOutcomeError, duplicateCall, keptError, notDurable, resultNotKept } from "../errors.ts";
import type { CallState } from "../log/calls.ts";
import type { Interrupts } from "../log/entry.ts";
import type { JournalLog, NewEvent } from "../log/journalLog.ts";
import type { Sealing } from "../log/sealing.ts";
import type { CallOptions, Policy, Reconciled, UnknownCall } from "../options.ts";
import { frozen, judged } from "./judged.ts";
import { runAs, type CurrentCall } from "./currentCall.ts";
import { questionId, readAnswer, type Answers, type Question } from "./questions.ts";
import { resolveCall, type CallRequest, type Knowledge } from "./resolve.ts";
import { StoredResults } from "./storedResults.ts";
import { isToolMessage, keptResult, type KeptResult } from "./results.ts";
import type { Session } from "./session.ts";
import { within } from "./within.ts";

/** How long to wait before looking again at a call that another process runs: first and longest, in milliseconds. */
const [firstLookMs, longestLookMs] = [50, 1000];

/** The graph around a call, as far as the protocol needs it. */
export interface CallSite {
  /** Aborts the call. */
  readonly signal?: AbortSignal | undefined;
  readonly author?: string | undefined;
  /** Names the task in which the call is made, where there is one. */
  readonly task?: string | undefined;
  /** Asks a person by an interrupt. Absent outside graphs. */
  readonly asking?: Asking | undefined;
  /** How many interrupts of the work that the call runs were answered. */
  readonly interrupts?: (() => number) | undefined;
  /** Passes over answers to interrupts of a tool that doesn't run again. */
  readonly passOver?: ((times: number) => void) | undefined;
  /** Waits until the checkpoint that issued the call is stored. Absent where none issued it. @throws if that can't be */
  readonly issued?: ((signal: AbortSignal | undefined, timeoutMs: number) => Promise<void>) | undefined;
  /** Looks whether the thread that made the call is still there. Absent outside graphs. @throws ThreadDeletedError */
  readonly mayBegin?: (() => Promise<void>) | undefined;
}

/** How a person is asked. */
export interface Asking {
  /** What was given to interrupts of the run. */
  readonly answers: Answers;
  /** Stops the graph with a question. @throws LangGraph's interrupt */
  readonly ask: (question: Question) => never;
}

/** A call to make. */
export interface PlannedCall {
  readonly request: CallRequest;
  /** Canonical JSON of the arguments. */
  readonly argsText: string;
  readonly site: CallSite;
  readonly options: CallOptions;
  /** The policy isn't asked: the call undoes what it had allowed. */
  readonly unjudged?: boolean | undefined;
}

/** What came of a call. */
export type CallOutcome =
  | { readonly kind: "ran"; readonly value: unknown }
  | { readonly kind: "recorded"; readonly result: KeptResult }
  | { readonly kind: "denied"; readonly reason: string };

/** What a {@link CallRunner} needs. */
export interface CallRunnerParts {
  readonly saver: TierSaver;
  readonly log: JournalLog;
  readonly session: Session;
  readonly sealing: Sealing;
  readonly policy: Policy | undefined;
  readonly policyTimeoutMs: number;
  readonly waitMs: number;
}

/** Makes the calls of one journal: resolve, run, record. */
export class CallRunner {
  readonly #parts: CallRunnerParts;
  readonly #results: StoredResults;
  /** Calls that this process is making, by fingerprint. */
  readonly #underWay = new Map<string, Promise<unknown>>();
  readonly #unrecorded = new Set<number>();

  constructor(parts: CallRunnerParts) {
    this.#parts = parts;
    this.#results = new StoredResults(parts.saver, parts.sealing);
  }

  /** Whether it is making no call. */
  get isIdle(): boolean {
    return this.#underWay.size === 0 && this.#unrecorded.size === 0;
  }

  /** Whether this process is making a call. */
  isMaking(call: string): boolean {
    return this.#underWay.has(call);
  }

  /**
   * Makes a call, or gives the recorded result of the same call.
   * @throws what the call throws; AmbiguousOutcomeError, StratigraphError "DUPLICATE_CALL", "NOT_DURABLE", "RESULT_NOT_KEPT"; errors of
   * the storage, before anything ran
   */
  async call(planned: PlannedCall, work: () => unknown): Promise<CallOutcome> {
    const { call } = planned.request;
    for (;;) {
      const other = this.#underWay.get(call);
      if (other === undefined) break;
      await within(
        other.catch(() => undefined),
        this.#parts.waitMs,
        planned.site.signal,
      );
    }
    const making = this.#make(planned, work);
    this.#underWay.set(call, making);
    try {
      return await making;
    } finally {
      this.#underWay.delete(call);
    }
  }

  async #make(planned: PlannedCall, work: () => unknown): Promise<CallOutcome> {
    for (;;) {
      const decided = await this.#decide(planned);
      if (decided.kind !== "run") return decided;
      const { claim } = decided;
      if (claim === undefined) return await this.#read(planned, work);
      const outcome = await this.#run(planned, decided, claim, work);
      if (outcome !== undefined) return outcome;
    }
  }

  /** Finds out what to do, until the call may run, or needn't. */
  async #decide(planned: PlannedCall): Promise<Exclude<CallOutcome, { kind: "ran" }> | Run> {
    const { log, waitMs } = this.#parts;
    const { request, site } = planned;
    const beganMs = performance.now();
    let lookMs = firstLookMs;
    let isFresh = false;
    let allowed = false;
    for (;;) {
      const calls = isFresh ? await log.refresh() : await log.calls();
      const resolution = resolveCall(calls, request, this.#known());
      switch (resolution.do) {
        case "refuse":
          throw duplicateCall(log.threadId, resolution.state);
        case "return": {
          const { interrupts } = resolution.state;
          if (interrupts !== undefined && interrupts.task === site.task) site.passOver?.(interrupts.times);
          const result = await this.#results.of(log, resolution.state);
          if (result === undefined) {
            // The journal may be another one now, where the thread was deleted and begun anew.
            if (isFresh) throw resultNotKept(log.threadId, resolution.state);
            isFresh = true;
            continue;
          }
          log.note({
            event: { type: "returned", call: request.call, where: request.where },
            author: site.author,
          });
          this.#tell(planned, "replayed", 0);
          return { kind: "recorded", result };
        }
        case "deny":
          return { kind: "denied", reason: resolution.state.error?.message ?? "" };
        case "wait": {
          if (performance.now() - beganMs > waitMs)
            throw new AmbiguousOutcomeError(log.threadId, resolution.state);
          const { session } = resolution.state.claim!;
          if (isFresh && (await this.#parts.session.isAlive(session, calls.session(session)))) {
            await sleep(lookMs, undefined, { signal: site.signal });
            lookMs = Math.min(lookMs * 2, longestLookMs);
          }
          isFresh = true;
          continue;
        }
        case "ask":
          if (!isFresh) {
            isFresh = true;
            continue;
          }
          if (resolution.state.call !== request.call && calls.get(request.call)?.status !== "repeats")
            await this.#append(planned, {
              type: "repeats",
              ...described(request),
              of: resolution.state.call,
            });
          await this.#settle(planned, resolution.state, resolution.died);
          continue;
        case "run": {
          if (!allowed && !resolution.approved && planned.unjudged !== true) {
            const verdict = await this.#judge(planned);
            if (verdict === "ask again") continue;
            if (verdict !== undefined) return verdict;
          }
          allowed = true;
          if (request.effects === "none")
            return { kind: "run", claim: undefined, attempt: resolution.attempt, key: request.call };
          await this.#issued(planned);
          const claimed = await this.#claim(planned);
          if (claimed !== undefined) return claimed;
        }
      }
    }
  }

  #known(): Knowledge {
    const { own, dead } = this.#parts.session;
    return { own, dead, unrecorded: this.#unrecorded };
  }

  /** Waits until the checkpoint that issued the call is stored. */
  async #issued({ request, site }: PlannedCall): Promise<void> {
    try {
      await site.issued?.(site.signal, this.#parts.waitMs);
    } catch (cause) {
      if (site.signal?.aborted === true) throw cause;
      const why = cause instanceof Error ? cause.message : String(cause);
      throw notDurable(this.#parts.log.threadId, request.tool, request.where, why, cause);
    }
  }

  /** Takes the right to run the call; undefined where what is recorded has changed meanwhile. */
  async #claim({ request, argsText, site }: PlannedCall): Promise<Run | undefined> {
    const { fresh: _fresh, ...call } = request;
    // The lease comes first, so that nobody sees a claim of a process that seems dead.
    return await this.#parts.session.during(() =>
      this.#parts.log.change((calls, seq) => {
        const resolution = resolveCall(calls, request, this.#known());
        if (resolution.do !== "run") return { events: [], answer: undefined };
        const { attempt, key = request.call } = resolution;
        return {
          events: [
            {
              event: { type: "claimed", ...call, attempt, key },
              payload: { args: argsText },
              author: site.author,
            },
          ],
          answer: {
            kind: "run" as const,
            claim: { seq, session: this.#parts.session.session },
            attempt,
            key,
          },
        };
      }, site.mayBegin),
    );
  }

  /** Asks the policy. Undefined: the call may run. */
  async #judge(
    planned: PlannedCall,
  ): Promise<Extract<CallOutcome, { kind: "denied" }> | "ask again" | undefined> {
    const { policy, policyTimeoutMs, log } = this.#parts;
    if (policy === undefined) return undefined;
    const { request, argsText, site } = planned;
    const { tool, effects, where } = request;
    const args = JSON.parse(argsText) as unknown;
    const call = frozen({
      tool,
      args,
      effects,
      threadId: log.threadId,
      author: site.author,
      where: { ...where },
    });
    const answer = await judged(policy, call, policyTimeoutMs);
    if (answer === true) return undefined;
    if ("deny" in answer) return await this.#deny(planned, "policy", answer.deny);
    const { asking } = site;
    if (asking === undefined)
      return await this.#deny(
        planned,
        "policy",
        `${answer.ask} (a person has to allow it, and outside a graph with a checkpointer nobody can be asked)`,
      );
    const question = {
      kind: "approval" as const,
      id: questionId("approval", log.threadId, request.call, site.task ?? null, answer.ask.toWellFormed()),
      call: request.call,
      tool,
      args: call.args,
      reason: answer.ask,
    };
    const read = readAnswer(question, asking.answers);
    if (!("answer" in read)) return asking.ask(withRefusal(question, read.refused));
    if (!read.answer.allow)
      return await this.#deny(planned, "person", read.answer.reason ?? "a person denied it");
    const said = read.answer.reason?.toWellFormed().slice(0, 2000);
    await this.#append(planned, {
      type: "approved",
      ...described(request),
      reason: answer.ask.toWellFormed().slice(0, 2000),
      ...(said === undefined ? {} : { said }),
    });
    return "ask again";
  }

  async #deny(
    planned: PlannedCall,
    by: "policy" | "person",
    reason: string,
  ): Promise<Extract<CallOutcome, { kind: "denied" }>> {
    const kept = reason.toWellFormed().slice(0, 2000);
    await this.#append(planned, {
      type: "denied",
      ...described(planned.request),
      by,
      reason: kept,
    });
    this.#tell(planned, "denied", 0);
    return { kind: "denied", reason: kept };
  }

  async #append({ argsText, site }: PlannedCall, event: NewEvent["event"]): Promise<void> {
    const events = [{ event, payload: { args: argsText }, author: site.author }];
    await this.#parts.log.change(() => ({ events, answer: undefined }), site.mayBegin);
  }

  /** Finds out whether a call happened: by its reconciler, or by asking a person. */
  async #settle(planned: PlannedCall, state: CallState, died: boolean): Promise<void> {
    const { log } = this.#parts;
    const { site, options } = planned;
    const args = await this.#argsOf(state);
    const reconciled = await this.#reconciled(options, state, args);
    if (reconciled !== undefined) return await this.resolve(state, reconciled, "reconcile", site);
    const { asking } = site;
    if (asking === undefined) throw new AmbiguousOutcomeError(log.threadId, state);
    const { call, tool, where } = state;
    const question = {
      kind: "ambiguous" as const,
      id: questionId("ambiguous", log.threadId, call, state.claim?.seq ?? 0),
      call,
      tool,
      args,
      claimedAt: state.claim?.at,
      where,
      why: died
        ? "the process that made the call ended before its outcome was recorded"
        : (state.error?.message ?? "its outcome is unknown"),
    };
    const read = readAnswer(question, asking.answers);
    if (!("answer" in read)) return asking.ask(withRefusal(question, read.refused));
    await this.resolve(state, read.answer, "person", site);
  }

  async #argsOf({ call, claim }: CallState): Promise<unknown> {
    const text = claim === undefined ? undefined : (await this.#parts.log.payload(claim.seq, call))?.args;
    return text === undefined ? undefined : (JSON.parse(text) as unknown);
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
      return await within(Promise.resolve(reconcile(unknown)), this.#parts.policyTimeoutMs);
    } catch (error) {
      trace({
        type: "tool-call",
        threadId: this.#parts.log.threadId,
        tool,
        fingerprint: call,
        outcome: "unreconciled",
        ms: 0,
        error,
      });
      return undefined;
    }
  }

  /** Records what became of a call whose outcome was unknown. */
  async resolve(
    { call, claim }: CallState,
    found: NonNullable<Reconciled>,
    by: "reconcile" | "person" | "operator",
    { author }: Pick<CallSite, "author">,
  ): Promise<void> {
    const stored = found.happened ? await this.#results.stored(keptResult(found.result)) : undefined;
    await this.#parts.log.change((calls) => {
      const now = calls.get(call);
      const isOpen =
        (now?.status === "unknown" || now?.status === "claimed") && now.claim?.seq === claim?.seq;
      if (!isOpen) return { events: [], answer: undefined };
      const event = {
        type: "resolved" as const,
        call,
        claim: claim?.seq ?? 0,
        by,
        happened: found.happened,
        kept: stored?.kept ?? false,
        ...(stored === undefined ? {} : { resultHash: stored.hash }),
      };
      return { events: [{ event, payload: { result: stored?.result }, author }], answer: undefined };
    });
  }

  /** Runs a call that may run again, and records it afterwards. */
  async #read(planned: PlannedCall, work: () => unknown): Promise<CallOutcome> {
    const { request, argsText, site } = planned;
    const { call } = request;
    const beganMs = performance.now();
    const record = async (outcome: { value: unknown } | { error: unknown }): Promise<void> => {
      const ms = Math.round(performance.now() - beganMs);
      const stored = "value" in outcome ? await this.#results.stored(keptResult(outcome.value)) : undefined;
      const event = {
        type: "read" as const,
        ...described(request),
        ms,
        kept: stored?.kept ?? false,
        ...(stored === undefined
          ? { error: keptError((outcome as { error: unknown }).error) }
          : { resultHash: stored.hash, ...interruptsOf(site) }),
      };
      const events = [{ event, payload: { args: argsText, result: stored?.result }, author: site.author }];
      await this.#recorded(planned, undefined, () =>
        this.#parts.log.change(() => ({ events, answer: undefined }), site.mayBegin),
      );
      this.#tell(planned, stored === undefined ? "failed" : "ran", ms);
    };
    let value: unknown;
    try {
      value = await runAs({ fingerprint: call, idempotencyKey: call, attempt: 1 }, async () => await work());
    } catch (error) {
      if (!isBubbleUp(error)) await record({ error });
      throw error;
    }
    await record({ value });
    return { kind: "ran", value };
  }

  /** Runs a claimed call, and records what came of it. Undefined: others may have taken it over, so nothing ran. */
  async #run(
    planned: PlannedCall,
    { attempt, key }: Run,
    { seq, session: claimant }: Claim,
    work: () => unknown,
  ): Promise<CallOutcome | undefined> {
    const { request, options } = planned;
    const { session } = this.#parts;
    const { call } = request;
    const beganMs = performance.now();
    const current: CurrentCall = { fingerprint: call, idempotencyKey: key, attempt };
    return await session.during(async () => {
      // The process was suspended since it took the claim, and seemed dead.
      if (session.session !== claimant) return undefined;
      let value: unknown;
      let began = false;
      try {
        planned.site.signal?.throwIfAborted();
        began = true;
        value = await runAs(current, async () => await work());
      } catch (error) {
        await this.#recordFailure(planned, seq, error, !began || isCertain(options, error));
        throw error;
      }
      if (isToolMessage(value) && value.status === "error") {
        const told = await this.#results.stored(keptResult(value));
        await this.#recordFailure(planned, seq, new Error(String(value.content)), true, told);
        return { kind: "ran", value };
      }
      const ms = Math.round(performance.now() - beganMs);
      const winner = await this.#recordSuccess(planned, seq, value, ms);
      if (winner !== undefined) return { kind: "recorded", result: winner };
      this.#tell(planned, "ran", ms);
      return { kind: "ran", value };
    });
  }

  /**
   * Records a success. If somebody took the call over meanwhile, it is recorded as late.
   * @returns the result of whoever took it over, where there is one
   */
  async #recordSuccess(
    planned: PlannedCall,
    seq: number,
    value: unknown,
    ms: number,
  ): Promise<KeptResult | undefined> {
    const { call } = planned.request;
    const { log } = this.#parts;
    const stored = await this.#results.stored(keptResult(value));
    const winner = await this.#recorded(planned, seq, () =>
      log.change((calls): { events: NewEvent[]; answer: CallState | undefined } => {
        const state = calls.get(call);
        const isOurs =
          state?.claim?.seq === seq && (state.status === "claimed" || state.status === "unknown");
        const common = { call, claim: seq, resultHash: stored.hash, kept: stored.kept };
        const event = isOurs
          ? { type: "succeeded" as const, ...common, ms, ...interruptsOf(planned.site) }
          : { type: "late" as const, ...common, outcome: "succeeded" as const };
        const events = [{ event, payload: { result: stored.result }, author: planned.site.author }];
        return { events, answer: isOurs || state?.status !== "succeeded" ? undefined : state };
      }, false),
    );
    return winner === undefined ? undefined : await this.#results.of(log, winner);
  }

  async #recordFailure(
    planned: PlannedCall,
    seq: number,
    error: unknown,
    certain: boolean,
    told?: Awaited<ReturnType<StoredResults["stored"]>>,
  ): Promise<void> {
    const { request, site } = planned;
    const { call } = request;
    const kept = keptError(error);
    const suspended = isBubbleUp(error);
    await this.#recorded(planned, seq, () =>
      this.#parts.log.change((calls) => {
        const state = calls.get(call);
        const isOurs = state?.claim?.seq === seq && state.status === "claimed";
        const event = ((): NewEvent["event"] => {
          if (!isOurs) return { type: "late", call, claim: seq, outcome: "failed", kept: false, error: kept };
          if (suspended) return { type: "suspended", call, claim: seq };
          if (certain)
            return {
              type: "failed",
              call,
              claim: seq,
              error: kept,
              kept: told?.kept ?? false,
              ...(told === undefined ? {} : { resultHash: told.hash }),
            };
          return {
            type: "unknown",
            call,
            claim: seq,
            reason: site.signal?.aborted === true ? "aborted" : "error",
            error: kept,
          };
        })();
        const payload = event.type === "failed" ? { result: told?.result } : {};
        return { events: [{ event, payload, author: site.author }], answer: undefined };
      }, false),
    );
    this.#tell(planned, suspended ? "suspended" : certain ? "failed" : "unknown", 0, error);
  }

  /** Records an outcome. What was done is done: an error of the storage is traced, and the claim stays as it is. */
  async #recorded<T>(
    planned: PlannedCall,
    seq: number | undefined,
    record: () => Promise<T>,
  ): Promise<T | undefined> {
    if (seq !== undefined) this.#unrecorded.add(seq);
    try {
      const answer = await record();
      if (seq !== undefined) this.#unrecorded.delete(seq);
      return answer;
    } catch (error) {
      this.#tell(planned, "unrecorded", 0, error);
      return undefined;
    }
  }

  #tell({ request }: PlannedCall, outcome: ToolCallOutcome, ms: number, error?: unknown): void {
    const { tool, call, where } = request;
    const { threadId } = this.#parts.log;
    trace({
      type: "tool-call",
      threadId,
      tool,
      fingerprint: call,
      toolCallId: where.toolCallId,
      outcome,
      ms,
      ...(error === undefined ? {} : { error }),
    });
  }
}

type ToolCallOutcome = "ran" | "replayed" | "denied" | "failed" | "suspended" | "unknown" | "unrecorded";

/** The right to run a call. */
interface Run {
  readonly kind: "run";
  /** Undefined for a call that needs none. */
  readonly claim: Claim | undefined;
  readonly attempt: number;
  readonly key: string;
}

interface Claim {
  /** Number of its entry. */
  readonly seq: number;
  /** The name under which this process took it. */
  readonly session: string;
}

function described({ fresh: _fresh, ...call }: CallRequest): Omit<CallRequest, "fresh"> {
  return call;
}

function withRefusal<Q extends Question>(question: Q, refused: string | undefined): Q {
  return refused === undefined ? question : { ...question, refused };
}

/** What a success tells of interrupts of its tool. */
function interruptsOf({ task, interrupts }: CallSite): { interrupts?: Interrupts } {
  const times = interrupts?.() ?? 0;
  return task === undefined || times === 0 ? {} : { interrupts: { task, times } };
}

function isCertain({ certain }: CallOptions, error: unknown): boolean {
  if (isBubbleUp(error)) return false;
  const { name, certain: marked } = Object(error) as { name?: unknown; certain?: unknown };
  if (name === "ToolInputParsingException" || marked === true) return true;
  try {
    return certain?.(error) === true;
  } catch {
    return false;
  }
}

/** Whether an error is LangGraph's way to leave a node, such as an interrupt. */
function isBubbleUp(error: unknown): boolean {
  const { name, is_bubble_up: marked } = Object(error) as { name?: unknown; is_bubble_up?: unknown };
  return marked === true || name === "GraphInterrupt" || name === "NodeInterrupt" || name === "ParentCommand";
}
