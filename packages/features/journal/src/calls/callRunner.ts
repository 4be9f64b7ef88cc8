// long file: the protocol of a call, which is read as one piece
import { setTimeout as sleep } from "node:timers/promises";
import { ThreadDeletedError, type TierSaver } from "@stratigraph/core";
import { answerWithin, messageOf } from "@stratigraph/core/internal";
import {
  AmbiguousOutcomeError,
  duplicateCall,
  notDurable,
  sameName,
  stillRuns,
  tookLonger,
} from "../errors.ts";
import type { Digest } from "../identity/fingerprint.ts";
import type { Calls } from "../log/calls.ts";
import { isOpen, type CallState } from "../log/callState.ts";
import { isBeside, isOfAnotherTask, isSamePlace } from "../log/visits.ts";
import type { KnownBy, Where } from "../log/entry.ts";
import type { Decision, JournalLog, NewEvent } from "../log/journalLog.ts";
import { ownPrefix } from "../log/ownCalls.ts";
import { checkKnownBy, KnownByAnother, knownByOf } from "../log/knownBy.ts";
import type { Sealing } from "../log/sealing.ts";
import type { Policy } from "../options.ts";
import { runAs, type CurrentCall } from "./currentCall.ts";
import { asFormer } from "./formerCall.ts";
import { equalsOf, Gate } from "./gate.ts";
import { endingOf, isBubbleUp, isCertain, Outcomes, toldFailure } from "./outcomes.ts";
import { hasEqualArgs, namedCall, numbered } from "./namedCall.ts";
import type { CallOutcome, PlannedCall } from "./plannedCall.ts";
import {
  eventOfCall,
  isUnknown,
  openEquals,
  resolveCall,
  type CallRequest,
  type Knowledge,
} from "./resolve.ts";
import { callRefused } from "../transaction/errors.ts";
import { whyRefused } from "../transaction/takesCalls.ts";
import type { Ending, KeptResult } from "./results.ts";
import type { Session } from "./session.ts";
import { newIdempotencyKey } from "./idempotencyKey.ts";

/** The first and the longest pause before looking again at a call that another process runs, in milliseconds. */
const [firstLookMs, longestLookMs] = [50, 1000];

/** How often a call is looked up at most, if its journal is begun anew with other keys meanwhile. */
const attempts = 10;

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
  readonly #outcomes: Outcomes;
  readonly #gate: Gate;
  /** Calls that this process is making, by fingerprint. */
  readonly #underWay = new Map<string, { readonly made: Promise<unknown>; readonly where: Where }>();
  /** How many calls it is currently asked to make. */
  #asked = 0;
  /** Calls that it claimed, or tried to claim, and that didn't begin, with the number of the claim's entry. */
  readonly #notBegun = new Map<string, number>();

  constructor(parts: CallRunnerParts) {
    this.#parts = parts;
    this.#outcomes = new Outcomes(parts.saver, parts.log, parts.sealing);
    this.#gate = new Gate(parts.log, this.#outcomes, parts.policy, parts.policyTimeoutMs);
  }

  /** Whether it is making no call. Then its knowledge of calls that didn't begin may be forgotten: a person is asked instead. */
  get isIdle(): boolean {
    return this.#asked === 0;
  }

  /** Whether this process is making a call. */
  isMaking(call: string): boolean {
    return this.#underWay.has(call);
  }

  /** The key with which fingerprints are hashed, or will be if this process begins the journal. */
  async knownBy(): Promise<KnownBy> {
    return knownByOf(await this.#parts.log.calls(), this.#parts.sealing);
  }

  /**
   * Makes a call, or returns the recorded result of the same call.
   * @param planned a function of the key with which the journal's fingerprints are hashed; or a call whose fingerprint is never keyed
   * @throws what the call throws; AmbiguousOutcomeError, StratigraphError "DUPLICATE_CALL", "NOT_DURABLE", "RESULT_NOT_KEPT", "LOCKED";
   * errors of the storage, before anything ran
   */
  async call(
    planned: PlannedCall | ((knownBy: KnownBy) => PlannedCall),
    work: () => unknown,
  ): Promise<CallOutcome> {
    this.#asked += 1;
    try {
      if (typeof planned !== "function") return await this.#call(planned, work);
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await this.#call(planned(await this.knownBy()), work);
        } catch (error) {
          if (!(error instanceof KnownByAnother) || attempt === attempts) throw error;
        }
      }
    } finally {
      this.#asked -= 1;
    }
  }

  /**
   * A call passes through these types, each made from the one before it:
   * - PlacedCall: what is called, and its place in the chain or its name, before there is a fingerprint. `CallFront` makes it.
   * - CallRequest: its fingerprint, the hash of its arguments, and where it is made. `requestOf` makes it.
   * - PlannedCall: the request, with what is needed to make the call. `Journal.call` makes it, anew for another key of the journal.
   * - FoundCall: the planned call. If its tool was renamed, `asFormer` has replaced its fingerprint by that of the recorded call with the
   *   earlier name. If code named it, `namedCall` has replaced the number and the fingerprint by those of the recorded call that it
   *   corresponds to, or of a new one. This is repeated if the records have changed before the call is made.
   */
  async #call(planned: PlannedCall, work: () => unknown): Promise<CallOutcome> {
    const madeByOthers = new Set<string>();
    for (;;) {
      const found = await this.#findCall(planned, madeByOthers);
      const { call, where } = found.request;
      const other = this.#underWay.get(call);
      if (other === undefined) {
        const outcome = await this.#alone(found, work);
        if (outcome !== undefined) return outcome;
      } else if (found.visitsWhenFound !== undefined && isBeside(other.where, where)) madeByOthers.add(call);
      else await this.#awaitEnd(other.made, found);
    }
  }

  /** Makes a call that this process isn't making. Undefined if it turned out to be another one. */
  async #alone(planned: FoundCall, work: () => unknown): Promise<CallOutcome | undefined> {
    const { call, where } = planned.request;
    planned.onFound?.(call);
    const made = this.#make(planned, work);
    this.#underWay.set(call, { made, where });
    try {
      return await made;
    } finally {
      this.#underWay.delete(call);
    }
  }

  /** Finds out which recorded call corresponds to a call that code named, or whose tool was renamed. */
  async #findCall(given: PlannedCall, madeByOthers: ReadonlySet<string>): Promise<FoundCall> {
    const { request: asked, site } = given;
    if (asked.named !== true && asked.former === undefined) return given;
    const calls = await this.#parts.log.calls();
    const request = asFormer(calls, asked);
    const planned = { ...given, request };
    if (request.named !== true) return planned;
    if (site.place === undefined) {
      const known = calls.get(request.call);
      // Outside a graph, only the arguments show that another call is meant.
      const outside = known !== undefined && request.where.task === undefined;
      if (outside && !hasEqualArgs(known, request)) throw sameName(this.#parts.log.threadId, known);
      return planned;
    }
    const visitsWhenFound = calls.visitsElsewhere(request.previous, request.where);
    try {
      // If its name was used elsewhere, it is found by its checkpoint, which has to be stored for that.
      if (visitsWhenFound[0] > 0) await this.#waitForIssuer(planned);
    } catch (error) {
      // A call that needs no checkpoint is made anew.
      if (request.effects !== "none") throw error;
      const anew = numbered(request, calls.highest(request.previous) + 1, 0);
      return { ...planned, request: anew, visitsWhenFound };
    }
    const { threadId } = this.#parts.log;
    const matched = await namedCall(threadId, calls, request, site.place, madeByOthers);
    return { ...planned, request: matched, visitsWhenFound };
  }

  /** Waits for the same call, which this process is already making. */
  async #awaitEnd(other: Promise<unknown>, { request, site }: PlannedCall): Promise<void> {
    const { log, waitMs } = this.#parts;
    try {
      const ended = () => other.catch(() => undefined);
      await answerWithin(waitMs, ended, () => tookLonger(waitMs), site.signal);
    } catch (error) {
      if (site.signal?.aborted === true) throw error;
      const why = `by this process, and didn't end within ${waitMs} ms. It isn't made a second time: make it again later for its result, or allow more time by the option waitFor.`;
      throw stillRuns(log.threadId, request, why);
    }
  }

  /** Makes a call. Undefined if the records have changed, so that it may be another call. */
  async #make(planned: FoundCall, work: () => unknown): Promise<CallOutcome | undefined> {
    for (;;) {
      const decided = await this.#decide(planned, work);
      if (decided?.kind !== "run") return decided;
      const { claim } = decided;
      if (claim === undefined) return await this.#runUnclaimed(planned, work);
      const outcome = await this.#run(planned, decided, claim, work);
      if (outcome !== undefined) return outcome;
    }
  }

  /** Decides until the call may run, or needn't. Undefined if it may be another one. */
  async #decide(
    given: FoundCall,
    work: () => unknown,
  ): Promise<Exclude<CallOutcome, { kind: "ran" }> | Run | undefined> {
    const { log, waitMs } = this.#parts;
    const earlier = new Map<Digest, boolean>();
    const asked = { ...given.request, earlier };
    const planned: FoundCall = { ...given, request: asked };
    const { site } = planned;
    let request: FoundCall["request"] = asked;
    const beganMs = performance.now();
    let lookMs = firstLookMs;
    let isFresh = false;
    let allowed = false;
    const alive = new Set<string>();
    for (;;) {
      const calls = isFresh ? await log.refresh() : await log.calls();
      const resolution = resolveCall(calls, request, this.#known());
      switch (resolution.do) {
        case "refuse":
          throw duplicateCall(log.threadId, resolution.state);
        case "return": {
          // Somebody may have allowed it to run again, or the thread may have been deleted and begun anew.
          if (!isFresh) {
            isFresh = true;
            continue;
          }
          const kept = await this.#outcomes.resultOf(resolution.state);
          const result = kept ?? (planned.needsNoResult === true ? noResult : undefined);
          if (result === undefined) {
            // What may run again runs again. Otherwise its result is asked for.
            if (request.effects === "none") request = { ...asked, fresh: true };
            else await this.#outcomes.lack(await this.#lacking(planned, calls, resolution.state));
            continue;
          }
          const { interrupts } = resolution.state;
          if (interrupts !== undefined && interrupts.task === site.task) site.passOver?.(interrupts.times);
          if (!(await this.#recordReturn(planned, resolution.state))) return undefined;
          this.#outcomes.tell(planned, "replayed", 0);
          return { kind: "recorded", result };
        }
        case "deny":
          return { kind: "denied", reason: resolution.state.error?.message ?? "" };
        case "wait": {
          if (performance.now() - beganMs > waitMs)
            throw new AmbiguousOutcomeError(log.threadId, resolution.state, "held");
          const { session } = resolution.state.claim!;
          if (isFresh && (await this.#parts.session.isAlive(session, calls.session(session)))) {
            await sleep(lookMs, undefined, { signal: site.signal });
            lookMs = Math.min(lookMs * 2, longestLookMs);
          }
          isFresh = true;
          continue;
        }
        case "repeat":
          if (isFresh && !(await this.#recordRepetition(planned, resolution.state))) return undefined;
          isFresh = true;
          continue;
        case "ask": {
          if (!isFresh) {
            isFresh = true;
            continue;
          }
          const found = await this.#gate.settle(planned, resolution.state, (each) =>
            isUnknown(each, request, this.#known()),
          );
          if (found !== undefined) return { kind: "recorded", result: found };
          continue;
        }
        case "settle":
        case "run": {
          this.#checkTransaction(calls, planned);
          if (request.effects !== "none" && (await this.#foundDead(calls, request, alive))) continue;
          if (resolution.do === "settle" && resolution.isEarlier === undefined) {
            const { call, where } = resolution.state;
            earlier.set(call, (await site.isOfLaterTurn?.(where)) === true);
            continue;
          }
          if (!allowed && planned.unjudged !== true) {
            const verdict = await this.#gate.judge(planned, resolution.approved);
            if (verdict === "ask again") continue;
            if (verdict !== undefined) return verdict;
          }
          allowed = true;
          if (request.effects === "none" && resolution.do === "run")
            return { kind: "run", claim: undefined, attempt: resolution.attempt, key: request.call };
          await this.#waitForIssuer(planned);
          if (resolution.do === "settle") {
            await this.#settleFirst(planned, resolution.state, work);
            continue;
          }
          const claimed = await this.#claim(planned);
          if (claimed === "moved") return undefined;
          if (claimed !== undefined) return claimed;
        }
      }
    }
  }

  /**
   * Looks whether the processes live that are making equal calls: one that died may have made its call.
   * @param alive those that do, as far as it was looked
   * @returns whether one was found dead
   */
  async #foundDead(calls: Calls, request: CallRequest, alive: Set<string>): Promise<boolean> {
    const { session } = this.#parts;
    for (const { claim, status } of openEquals(calls, request)) {
      if (status !== "claimed" || claim === undefined || alive.has(claim.session)) continue;
      if (session.own.has(claim.session) || session.dead.has(claim.session)) continue;
      if (!(await session.isAlive(claim.session, calls.session(claim.session)))) return true;
      alive.add(claim.session);
    }
    return false;
  }

  /**
   * Repeats a call of an earlier turn with its key, before an equal one is made: a service that takes keys would take the new one for it.
   * @throws AmbiguousOutcomeError if nobody knows its outcome even then; what else prevents it
   */
  async #settleFirst(planned: FoundCall, state: CallState, work: () => unknown): Promise<void> {
    const { log } = this.#parts;
    const { call, tool, previous, nth, named, beside, argsHash, where } = state;
    const own = { call, tool, previous, nth, named, beside, argsHash, where, earlier: undefined };
    // Whoever may make the new call may repeat this one: the arguments are equal.
    const request = { ...planned.request, ...own };
    const first = {
      ...planned,
      request,
      settles: true as const,
      unjudged: true,
      onFound: undefined,
      visitsWhenFound: undefined,
    };
    const other = this.#underWay.get(call);
    if (other !== undefined) return await this.#awaitEnd(other.made, first);
    try {
      await this.#alone(first, work);
    } catch (error) {
      const now = (await log.calls()).get(call);
      if (now !== undefined && !isOpen(now) && !isBubbleUp(error)) return;
      const isAgain = now?.status === "unknown" && now.claim?.seq !== state.claim?.seq;
      if (!isAgain || planned.site.signal?.aborted === true || isBubbleUp(error)) throw error;
      throw new AmbiguousOutcomeError(log.threadId, now, "earlier", error);
    }
  }

  /**
   * Records that a result is returned. If the call was made in another step, this happens before the result is returned: the record
   * distinguishes later calls, and those of parallel tasks. False if the call may be another one.
   */
  async #recordReturn(planned: FoundCall, state: CallState): Promise<boolean> {
    const { request, site } = planned;
    const { log } = this.#parts;
    const { call, where, effects, named = false } = request;
    const returned: NewEvent = {
      event: { type: "returned", call, where, ...(named ? {} : { taken: true }) },
      author: site.author,
    };
    const isOfTask = named
      ? planned.visitsWhenFound !== undefined
      : where.task !== undefined && effects !== "none";
    const isKnown = [state.where, ...(state.visits ?? [])].some((visit) => isSamePlace(visit, where));
    if (!isOfTask || isKnown) {
      log.note(returned);
      return true;
    }
    return await log.change((calls): Decision<boolean> => {
      const isIt = !hasMoved(calls, planned);
      return { events: isIt ? [returned] : [], answer: isIt };
    }, site.mayBegin);
  }

  /** A call without a result, and those that are asked for with it: equal calls of parallel tasks that have none either. */
  async #lacking({ site }: PlannedCall, calls: Calls, state: CallState): Promise<CallState[]> {
    const { call, tool, argsHash } = state;
    const same = [...calls.all()].filter(
      (each) => each.status === "succeeded" && each.tool === tool && each.argsHash === argsHash,
    );
    const equal = equalsOf(same, state);
    const open = (await site.asking?.openOf(equal.map(({ where }) => where.task))) ?? [];
    const lacking = [state];
    for (const each of equal)
      if (each.call !== call && open.includes(each.where.task))
        if ((await this.#outcomes.resultOf(each)) === undefined) lacking.push(each);
    return lacking;
  }

  /** Records that a call is a second try of an equal one, unless another one is so now. False if it may be another call. */
  async #recordRepetition(planned: FoundCall, { call: of }: CallState): Promise<boolean> {
    const { request, argsText, site } = planned;
    const event: NewEvent["event"] = { type: "repeats", ...eventOfCall(request), of };
    return await this.#parts.log.change((calls): Decision<boolean> => {
      checkKnownBy(this.#parts.log.threadId, calls, request.knownBy);
      if (hasMoved(calls, planned)) return { events: [], answer: false };
      const now = resolveCall(calls, request, this.#known());
      const isStill = now.do === "repeat" && now.state.call === of;
      const events = [{ event, payload: { args: argsText }, author: site.author }];
      return { events: isStill ? events : [], answer: true };
    }, site.mayBegin);
  }

  /** Refuses a call that may change something in a transaction that takes no more. @throws StratigraphError "TRANSACTION_ENDED" */
  #checkTransaction(calls: Calls, { request: { tool, effects, where }, site }: FoundCall): void {
    if (effects === "none" || tool.startsWith(ownPrefix)) return;
    const why =
      whyRefused(calls, where) ??
      (site.isGivenUp?.() === true ? "it returned to a savepoint after the call's run began" : undefined);
    if (why !== undefined) throw callRefused(this.#parts.log.threadId, where.thread!, why);
  }

  #known(): Knowledge {
    const { own, dead } = this.#parts.session;
    return { own, dead, notBegun: this.#notBegun, underWay: this.#underWay };
  }

  /** Waits until the checkpoint that issued the call is stored. */
  async #waitForIssuer({ request, site }: PlannedCall): Promise<void> {
    try {
      await site.waitForIssuer?.(site.signal, this.#parts.waitMs);
    } catch (cause) {
      if (site.signal?.aborted === true || cause instanceof ThreadDeletedError) throw cause;
      const why = messageOf(cause);
      throw notDurable(this.#parts.log.threadId, request.tool, request.where, why, cause);
    }
  }

  /** Takes the right to run the call. Undefined if something about it was recorded meanwhile, "moved" if it may be another one. */
  async #claim(planned: FoundCall): Promise<Run | "moved" | undefined> {
    const { request, argsText, site } = planned;
    const call = eventOfCall(request);
    let claimed: Run | undefined;
    const decide = (calls: Calls, seq: number): Decision<Run | "moved" | undefined> => {
      claimed = undefined;
      checkKnownBy(this.#parts.log.threadId, calls, request.knownBy);
      if (hasMoved(calls, planned)) return { events: [], answer: "moved" };
      const resolution = resolveCall(calls, request, this.#known());
      if (resolution.do !== "run") return { events: [], answer: undefined };
      this.#checkTransaction(calls, planned);
      const { attempt, key = newIdempotencyKey(), of } = resolution;
      claimed = { kind: "run", claim: { seq, session: this.#parts.session.session }, attempt, key };
      const event = { type: "claimed" as const, ...call, attempt, key, ...(of === undefined ? {} : { of }) };
      return { events: [{ event, payload: { args: argsText }, author: site.author }], answer: claimed };
    };
    try {
      // The lease comes first, so that nobody sees a claim by a process that seems dead.
      return await this.#parts.session.during(() => this.#parts.log.change(decide, site.mayBegin));
    } finally {
      // Even if nothing acknowledged the claim, which may be stored nevertheless.
      if (claimed?.claim !== undefined) this.#notBegun.set(request.call, claimed.claim.seq);
    }
  }

  /** Runs a call that may run again, and records it afterwards. */
  async #runUnclaimed(planned: PlannedCall, work: () => unknown): Promise<CallOutcome> {
    const { call, where } = planned.request;
    const beganMs = performance.now();
    const took = (): number => Math.round(performance.now() - beganMs);
    let ending: Ending;
    try {
      const current = { fingerprint: call, idempotencyKey: call, attempt: 1 };
      ending = await runAs(current, where.task, () => endingOf(work));
    } catch (error) {
      if (!isBubbleUp(error)) await this.#outcomes.read(planned, { error }, took());
      throw error;
    }
    await this.#outcomes.read(planned, ending, took());
    return outcomeOf(ending);
  }

  /** Runs a claimed call, and records its outcome. Undefined: others may have taken it over, so nothing ran. */
  async #run(
    planned: PlannedCall,
    { attempt, key }: Run,
    { seq, session: claimant }: Claim,
    work: () => unknown,
  ): Promise<CallOutcome | undefined> {
    const { request, site } = planned;
    const { session } = this.#parts;
    const beganMs = performance.now();
    const current: CurrentCall = { fingerprint: request.call, idempotencyKey: key, attempt };
    return await session.during(async () => {
      // The process was suspended after it took the claim, and seemed dead.
      if (session.session !== claimant) return undefined;
      let ending: Ending;
      let began = false;
      try {
        site.signal?.throwIfAborted();
        began = true;
        this.#notBegun.delete(request.call);
        ending = await runAs(current, request.where.task, () => endingOf(work));
      } catch (error) {
        const certain = !began || (await isCertain(planned, error));
        await this.#outcomes.failure(
          planned,
          seq,
          error,
          certain,
          (Object(error) as { told?: unknown }).told,
        );
        throw error;
      }
      const told = toldFailure(planned, ending.value);
      if (told !== undefined) {
        await this.#outcomes.failure(planned, seq, new Error(String(told.content)), true, told);
        return outcomeOf(ending);
      }
      const ms = Math.round(performance.now() - beganMs);
      const winner = await this.#outcomes.success(planned, seq, ending, ms);
      return winner === undefined ? outcomeOf(ending) : { kind: "recorded", result: winner };
    });
  }
}

/** The outcome of a call that ran. @throws the Command that it threw */
function outcomeOf({ value, thrown }: Ending): CallOutcome {
  if (thrown !== undefined) throw thrown;
  return { kind: "ran", value };
}

/** Given where no result is needed. */
const noResult: KeptResult = { kind: "value", value: undefined };

/** A call whose fingerprint is known. */
interface FoundCall extends PlannedCall {
  /** How its name had been used in other steps at that time; undefined for a call that code didn't name. */
  readonly visitsWhenFound?: ReturnType<Calls["visitsElsewhere"]> | undefined;
}

/** Whether its name was used after the call was found, so that it may be another one. */
function hasMoved(calls: Calls, { request, visitsWhenFound: then }: FoundCall): boolean {
  const { call, previous, where, named = false } = request;
  if (asFormer(calls, request) !== request) return true;
  if (named && then === undefined) return false;
  const state = calls.get(call);
  const now = named ? calls.visitsElsewhere(previous, where) : then;
  return now?.join() !== then?.join() || (state !== undefined && isOfAnotherTask(state, where));
}

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
  /** The name of this process's session when it took the claim. */
  readonly session: string;
}
