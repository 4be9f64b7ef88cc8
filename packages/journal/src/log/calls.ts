import type { Digest } from "../identity/fingerprint.ts";
import type { Call, Effects, Entry, JournalEvent, KeptError, SessionEvent, Where } from "./entry.ts";

/** What is known of a call. */
export interface CallState {
  readonly call: Digest;
  readonly tool: string;
  readonly argsHash: string;
  readonly effects: Effects;
  /** The head of the chain before it. */
  readonly previous: string;
  readonly where: Where;
  readonly status: "claimed" | "succeeded" | "failed" | "suspended" | "unknown" | "denied" | "repeats";
  /** Fingerprint of the call that it repeats, whose outcome wasn't known. */
  readonly repeats?: Digest | undefined;
  /** How often it was claimed. */
  readonly attempts: number;
  /** Idempotency key; absent for calls without claims. */
  readonly key?: string | undefined;
  /** The last claim: number of its entry, and who took it, when. */
  readonly claim?: { readonly seq: number; readonly session: string; readonly at: string } | undefined;
  /** Where the result of a success stands. */
  readonly result?: { readonly seq: number; readonly hash: string; readonly kept: boolean } | undefined;
  /** A person allowed it, which is asked for once. */
  readonly approved: boolean;
  /** Questions about it that a person answered, and the task in which they were asked. */
  readonly asked?: { readonly task: string; readonly times: number } | undefined;
  readonly error?: KeptError | undefined;
}

/** A process that wrote to the journal. */
export type Session = Omit<SessionEvent, "type">;

/**
 * The state of a journal: the fold of its entries. A change is decided and tried on a {@link branch}, which costs nothing however long
 * the journal is, and is committed once the entries are stored.
 */
export class Calls {
  /** Number and hash of the last entry; 0 and `""` where there is none. */
  seq = 0;
  hash = "";
  /** Number of the last entry that was cut off, or is about to be; 0 where none was. */
  cutUpTo = 0;
  readonly #under: Calls | undefined;
  /** Undefined for a call that was forgotten. */
  readonly #calls = new Map<Digest, CallState | undefined>();
  readonly #sessions = new Map<string, Session>();
  /** Calls whose outcome isn't known, or not yet, by {@link kindOfCall}. */
  readonly #open = new Map<string, ReadonlySet<Digest>>();

  constructor(under?: Calls) {
    this.#under = under;
    this.seq = under?.seq ?? 0;
    this.hash = under?.hash ?? "";
    this.cutUpTo = under?.cutUpTo ?? 0;
  }

  /** A state that begins as this one, and doesn't change it before it is committed. */
  branch(): Calls {
    return new Calls(this);
  }

  /** Changes the state that this one is a branch of. Returns it. */
  commit(): Calls {
    const under = this.#under ?? this;
    for (const [call, state] of this.#calls)
      if (state === undefined && under.#under === undefined) under.#calls.delete(call);
      else under.#calls.set(call, state);
    for (const [id, session] of this.#sessions) under.#sessions.set(id, session);
    for (const [kind, open] of this.#open)
      if (open.size === 0 && under.#under === undefined) under.#open.delete(kind);
      else under.#open.set(kind, open);
    under.seq = this.seq;
    under.hash = this.hash;
    under.cutUpTo = this.cutUpTo;
    return under;
  }

  get(call: Digest): CallState | undefined {
    return this.#calls.has(call) ? this.#calls.get(call) : this.#under?.get(call);
  }

  session(id: string): Session | undefined {
    return this.#sessions.get(id) ?? this.#under?.session(id);
  }

  /** Calls of a tool with certain arguments whose outcome isn't known, or not yet. */
  openOf(kind: string): ReadonlySet<Digest> {
    return this.#open.get(kind) ?? this.#under?.openOf(kind) ?? nothing;
  }

  /** All calls, in the order in which they were first made. */
  *all(): Generator<CallState> {
    for (const state of this.#under?.all() ?? []) if (!this.#calls.has(state.call)) yield state;
    for (const state of this.#calls.values()) if (state !== undefined) yield state;
  }

  /** Adds the next entry. @param cut what stands beside an entry of the type "cut" */
  fold(entry: Entry, cut?: readonly CallState[]): void {
    this.seq = entry.seq;
    this.hash = entry.hash;
    const { event } = entry;
    if (event.type === "session") this.#sessions.set(entry.session, event);
    else if (event.type === "cut") {
      this.cutUpTo = event.last;
      for (const state of cut ?? []) this.#put(state);
    } else if (event.type === "forgotten") this.#forget(event.call);
    else if ("call" in event) {
      const next = nextState(this.get(event.call), event, entry);
      if (next !== undefined) this.#put(next);
    }
  }

  #forget(call: Digest): void {
    const state = this.get(call);
    if (state === undefined) return;
    this.#calls.set(call, undefined);
    this.#close(state);
  }

  #put(state: CallState): void {
    this.#calls.set(state.call, state);
    if (state.status !== "unknown" && state.status !== "claimed") return this.#close(state);
    const kind = kindOfCall(state);
    if (!this.openOf(kind).has(state.call)) this.#open.set(kind, new Set([...this.openOf(kind), state.call]));
  }

  #close(state: CallState): void {
    const kind = kindOfCall(state);
    const open = this.openOf(kind);
    if (open.has(state.call)) this.#open.set(kind, new Set([...open].filter((call) => call !== state.call)));
  }
}

const nothing: ReadonlySet<Digest> = new Set();

/** Names a tool with certain arguments, wherever they are called. */
export function kindOfCall({ tool, argsHash }: Pick<Call, "tool" | "argsHash">): string {
  return JSON.stringify([tool, argsHash]);
}

type CallEvent = Extract<JournalEvent, { call: Digest }>;

/** The state of a call after an event; undefined where the event doesn't change it. */
function nextState(
  before: CallState | undefined,
  event: CallEvent,
  { seq, session, at }: Entry,
): CallState | undefined {
  switch (event.type) {
    case "claimed":
      return {
        ...described(event),
        status: "claimed",
        attempts: event.attempt,
        key: event.key,
        claim: { seq, session, at },
        approved: before?.approved ?? false,
        asked: before?.asked,
      };
    case "read":
      return {
        ...described(event),
        status: event.error === undefined ? "succeeded" : "failed",
        attempts: (before?.attempts ?? 0) + 1,
        approved: before?.approved ?? false,
        ...(event.error === undefined
          ? { result: { seq, hash: event.resultHash ?? "", kept: event.kept } }
          : { error: event.error }),
      };
    case "denied":
      return {
        ...described(event),
        status: "denied",
        attempts: before?.attempts ?? 0,
        approved: false,
        asked: askedAgain(before, event.askedIn),
        error: { name: "Denied", message: event.reason },
      };
    case "repeats":
      return {
        ...described(event),
        status: "repeats",
        repeats: event.of,
        attempts: before?.attempts ?? 0,
        approved: before?.approved ?? false,
        asked: before?.asked,
      };
    case "approved":
      return {
        ...described(event),
        status: "suspended",
        attempts: before?.attempts ?? 0,
        key: before?.key,
        approved: true,
        asked: askedAgain(before, event.askedIn),
      };
    case "succeeded":
      return (
        before && {
          ...before,
          status: "succeeded",
          result: { seq, hash: event.resultHash, kept: event.kept },
        }
      );
    case "failed":
      return (
        before && {
          ...before,
          status: "failed",
          error: event.error,
          ...(event.resultHash === undefined
            ? {}
            : { result: { seq, hash: event.resultHash, kept: event.kept } }),
        }
      );
    case "suspended":
      return before && { ...before, status: "suspended" };
    case "unknown":
      return before && { ...before, status: "unknown", error: event.error };
    case "resolved": {
      if (before === undefined) return undefined;
      const asked = askedAgain(before, event.askedIn);
      if (!event.happened) return { ...before, asked, status: "failed" };
      return {
        ...before,
        asked,
        status: "succeeded",
        result: { seq, hash: event.resultHash ?? "", kept: event.kept },
      };
    }
    case "late":
    case "returned":
    case "forgotten":
      return undefined;
  }
}

/** Counts one more answer, if a person gave it. */
function askedAgain(before: CallState | undefined, task: string | undefined): CallState["asked"] {
  if (task === undefined) return before?.asked;
  return { task, times: before?.asked?.task === task ? before.asked.times + 1 : 1 };
}

function described({
  call,
  tool,
  argsHash,
  effects,
  previous,
  where,
}: Call): Pick<CallState, "call" | "tool" | "argsHash" | "effects" | "previous" | "where"> {
  return { call, tool, argsHash, effects, previous, where };
}
