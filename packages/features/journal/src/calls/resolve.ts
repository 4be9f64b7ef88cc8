import { kindOfCall, type Calls } from "../log/calls.ts";
import { isOpen, lacksResult, type Approval, type CallState } from "../log/callState.ts";
import type { Digest } from "../identity/fingerprint.ts";
import type { Call, KnownBy } from "../log/entry.ts";
import { isOfAnotherTask, isSamePlace, stepOf } from "../log/visits.ts";

/** By what else a call may have been recorded: its tool had other names, or another version. */
export interface FormerCall {
  /** What the tool is called now. */
  readonly now: string;
  readonly names: readonly string[];
  /** As `formerly` of the call's place. */
  readonly previous?: readonly (readonly Digest[])[] | undefined;
  /** The ids under which a model asked for it. */
  readonly ids: readonly string[];
}

/** The data for deciding on a call. */
export interface CallRequest extends Call {
  /** Ignore records of calls that may run again. */
  readonly fresh?: boolean | undefined;
  readonly former?: FormerCall | undefined;
  /** Of equal calls without an outcome, or without an answer: whether they are of an earlier turn, as far as somebody looked. */
  readonly earlier?: ReadonlyMap<Digest, boolean> | undefined;
  /** Hashes of the arguments by the journal's other keys, to recognise calls that were made under those. */
  readonly otherHashes?: readonly string[] | undefined;
  /** The key with which `call` and `previous` are hashed; undefined for the journal's own calls, which are never keyed. */
  readonly knownBy?: KnownBy | undefined;
  /** The `previous` of the equal calls that its message asks for, for a call that is identified within its step. */
  readonly ofMessage?: (() => readonly Digest[]) | undefined;
}

/** The part of a request that an event keeps. */
export function eventOfCall(request: CallRequest): Call {
  const {
    fresh: _fresh,
    earlier: _earlier,
    former: _former,
    otherHashes: _other,
    knownBy: _knownBy,
    ofMessage: _ofMessage,
    ...call
  } = request;
  return call;
}

/** What this process knows that isn't in the journal. */
export interface Knowledge {
  /** The names of this process's session. */
  readonly own: ReadonlySet<string>;
  /** Calls that this process claimed and that certainly didn't begin to run, with the number of the claim's entry. */
  readonly notBegun: ReadonlyMap<string, number>;
  /** The calls that this process is making in the journal, by fingerprint. */
  readonly underWay: Pick<ReadonlySet<string>, "has">;
  /** Processes that are known to be dead. */
  readonly dead: ReadonlySet<string>;
}

/** What to do about a call. */
export type Resolution =
  /** It ran: give its result. */
  | { readonly do: "return"; readonly state: CallState }
  /** A person denied it in this task, which began again to continue after another question. */
  | { readonly do: "deny"; readonly state: CallState }
  /** It may run, after a claim unless `effects` is "none". `key`: the idempotency key that it has to use. */
  | {
      readonly do: "run";
      readonly attempt: number;
      readonly key?: string | undefined;
      /** The call that it repeats, using that call's key. */
      readonly of?: Digest | undefined;
      readonly approved?: Approval | undefined;
    }
  /**
   * An equal call without an outcome may be repeated with its own key. `isEarlier`: it is of an earlier turn, so it is repeated first, and
   * this call is another one; undefined if nobody looked yet, also for one that happened and wasn't answered.
   */
  | {
      readonly do: "settle";
      readonly state: CallState;
      readonly isEarlier: true | undefined;
      readonly approved?: Approval | undefined;
    }
  /** Somebody runs it now. */
  | { readonly do: "wait"; readonly state: CallState }
  /** It is a second try of an equal call, which is to be recorded first: what becomes of that one holds for it, too. */
  | { readonly do: "repeat"; readonly state: CallState }
  /** Nobody knows whether it, or the same call elsewhere, happened, or what it returned. */
  | { readonly do: "ask"; readonly state: CallState }
  /** Two tasks of one step make the same call, and can't be told apart. */
  | { readonly do: "refuse"; readonly state: CallState };

/**
 * Decides on a call by the records. Has no effect and asks nobody. This process must not be running the same call. A claim of its own is
 * therefore one that ended without a record, or one of a thread that was copied during the call, unless it is known that the call never
 * began.
 */
export function resolveCall(calls: Calls, request: CallRequest, known: Knowledge): Resolution {
  const state = calls.get(request.call);
  // Reads of two tasks don't conflict, and calls that code named were already told apart.
  const mayRepeat = request.effects === "none" || request.named === true;
  if (state !== undefined && !mayRepeat && (isTwin(state, request) || isOfAnotherTask(state, request.where)))
    return { do: "refuse", state };
  if (state !== undefined && isDeniedHere(state, request)) return { do: "deny", state };
  if (request.effects === "none") {
    const isAsked = request.named !== true && state !== undefined && isTwin(state, request);
    if (state?.status === "succeeded" && request.fresh !== true && !isAsked) return { do: "return", state };
    return { do: "run", attempt: (state?.attempts ?? 0) + 1, approved: state?.approved };
  }
  const own = state === undefined ? undefined : resolveState(calls, state, request, known);
  if (own !== undefined && own.do !== "run") return own;
  const other = triedBefore(calls, request, known, state === undefined);
  const run = own ?? { do: "run" as const, attempt: 1, key: undefined, approved: undefined };
  if (other === undefined) return run;
  if (!isOpen(other) && request.earlier?.has(other.call) !== true)
    return { do: "settle", state: other, isEarlier: undefined, approved: run.approved };
  // Code repeats a call by its name.
  const isNamedByCode = request.named === true && request.where.toolCallId === undefined;
  if (request.effects !== "idempotent" || !isOpen(other) || lacksResult(other))
    return isNamedByCode ? { do: "ask", state: other } : { do: "repeat", state: other };
  // It may be repeated, with the key of the call that it may repeat.
  if (isNamedByCode || run.key !== undefined) return run;
  const { key, call: of } = other;
  const isEarlier = request.earlier?.get(of);
  if (isEarlier === false) return { ...run, key, of };
  return { do: "settle", state: other, isEarlier, approved: run.approved };
}

/**
 * Equal calls of two tasks of one step, such as parallel subgraphs or `Send`s without a difference. A repeated task has the same id, except
 * in a subgraph that began anew, which has another checkpoint then.
 */
function isTwin({ where: there }: CallState, { where: here }: CallRequest): boolean {
  if (here.checkpoint === undefined || here.task === undefined || there.task === undefined) return false;
  if (there.checkpoint !== here.checkpoint || there.thread !== here.thread) return false;
  if (there.namespace !== here.namespace) return true;
  return there.issuer === here.issuer && there.task !== here.task;
}

/** A person's denial holds in the task that asked for it; elsewhere the policy may ask again. */
function isDeniedHere({ status, deniedBy, where }: CallState, request: CallRequest): boolean {
  const { task } = request.where;
  return status === "denied" && deniedBy === "person" && task !== undefined && where.task === task;
}

/**
 * The equal call of which this one is a second try: of several of one message, each is that of another one.
 * @param isNew whether nothing of this one is recorded
 */
function triedBefore(
  calls: Calls,
  request: CallRequest,
  known: Knowledge,
  isNew: boolean,
): CallState | undefined {
  const found = [...(isNew ? formerCalls(calls, request) : []), ...openElsewhere(calls, request, known)];
  if (found.length === 0 || request.where.toolCallId === undefined) return found[0];
  const taken = new Set<Digest | undefined>();
  for (const each of calls.all()) if (isOfMessage(each, request)) taken.add(each.repeats);
  const free = found.filter(({ call }) => !taken.has(call));
  return free.find(({ where }) => where.toolCallId === request.where.toolCallId) ?? free[0];
}

/** The calls that happened under a name that the tool had before, and whose results nobody was given. */
function formerCalls(
  calls: Calls,
  { call: own, former, argsHash, otherHashes = [], where, earlier }: CallRequest,
): CallState[] {
  if (former === undefined || former.ids.length === 0) return [];
  const found: CallState[] = [];
  const given = new Set<Digest | undefined>();
  for (const state of calls.all()) {
    const { status, tool, visits = [] } = state;
    const isUnanswered = former.ids.includes(state.where.toolCallId ?? "");
    if (!isUnanswered && state.call !== own) given.add(state.repeats);
    if (status !== "succeeded" || state.effects === "none" || !former.names.includes(tool)) continue;
    if (![argsHash, ...otherHashes].includes(state.argsHash)) continue;
    // A call that is known by a name visits the place where it is made, which gives nobody its result.
    const returns = visits.filter((visit) => !isSamePlace(visit, state.where));
    if (isUnanswered && returns.every((visit) => isSamePlace(visit, where))) found.push(state);
  }
  return found.filter(({ call }) => !given.has(call) && earlier?.get(call) !== true);
}

function resolveState(calls: Calls, state: CallState, request: CallRequest, known: Knowledge): Resolution {
  const { effects } = request;
  const again = { do: "run", attempt: state.attempts + 1, key: state.key, approved: state.approved } as const;
  switch (state.status) {
    case "succeeded":
      return { do: "return", state };
    case "failed":
    case "suspended":
    case "denied":
      return again;
    case "unknown":
      return effects === "idempotent" && !lacksResult(state) ? again : { do: "ask", state };
    case "repeats": {
      const first = calls.get(state.repeats ?? "");
      const found = first && resolveState(calls, first, request, known);
      return found === undefined || found.do === "run" ? again : found;
    }
    case "claimed": {
      const claim = stateOfClaim(state, request, known);
      if (claim === "runs") return { do: "wait", state };
      if (claim === "ours" || effects === "idempotent") return again;
      return { do: "ask", state };
    }
  }
}

/** Whether nobody knows what became of an open call: its outcome is unknown, or whoever made it ended. */
export function isUnknown(state: CallState, request: CallRequest, known: Knowledge): boolean {
  return state.status === "unknown" || stateOfClaim(state, request, known) === "died";
}

function stateOfClaim(
  { call, claim }: CallState,
  request: CallRequest,
  known: Knowledge,
): "runs" | "ours" | "died" {
  if (claim === undefined) return "died";
  if (!known.own.has(claim.session)) return known.dead.has(claim.session) ? "died" : "runs";
  if (call !== request.call && known.underWay.has(call)) return "runs";
  return known.notBegun.get(call) === claim.seq ? "ours" : "died";
}

/** The other calls with a tool and arguments that equal a call's, whose outcome isn't known, or not yet known. */
export function* openEquals(
  calls: Calls,
  { call: own, tool, argsHash, otherHashes = [], former }: CallRequest,
): Generator<CallState> {
  for (const name of new Set([tool, ...(former === undefined ? [] : [former.now, ...former.names])]))
    for (const hash of [argsHash, ...otherHashes])
      for (const call of calls.openOf(kindOfCall({ tool: name, argsHash: hash }))) {
        const state = call === own ? undefined : calls.get(call);
        if (state !== undefined && state.effects !== "none") yield state;
      }
}

/** Whether one message asks for both calls: they are intended. Under another version a call is another one, though it is asked for once. */
function isOfMessage(state: CallState, request: CallRequest): boolean {
  const { previous, nth, where, named, ofMessage } = request;
  if (where.toolCallId === undefined || state.call === request.call) return false;
  if (state.nth === nth && state.where.toolCallId === where.toolCallId) return false;
  if (named !== true) return state.previous === previous;
  // In a subgraph, equal messages of two rounds ask for calls of one name.
  const isOfRound = stepOf(state.where) === stepOf(where);
  return isOfRound && (ofMessage?.() ?? [previous]).includes(state.previous);
}

/**
 * While nobody knows whether a call happened, the same tool isn't run with the same arguments anywhere in the journal: models try again
 * when they see an error. Equal calls under way, and those of the same message, aren't repetitions: they are intended.
 */
function* openElsewhere(calls: Calls, request: CallRequest, known: Knowledge): Generator<CallState> {
  const isOfModel = request.where.toolCallId !== undefined;
  for (const state of openEquals(calls, request)) {
    if (isOfMessage(state, request)) continue;
    // Code that makes a call twice in one task may intend both, unless it saw the first one fail.
    const mayBeIntended = !isOfModel && state.previous === request.previous;
    if (state.status === "unknown" || (!mayBeIntended && isUnknown(state, request, known))) yield state;
  }
}
