import type { Digest } from "../identity/fingerprint.ts";
import type { CallState } from "./callState.ts";
import { nextState, visited } from "./nextState.ts";
import { noVisits, stepOf, withVisit, type Visits } from "./visits.ts";
import type { Call, Entry, SessionEvent, Where } from "./entry.ts";

/** A process that wrote to the journal. */
export type Session = Pick<SessionEvent, "machine" | "pid">;

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
  /** Whether there is an entry that is signed with a key. */
  isSigned = false;
  /** The thread in which the last entries were made; undefined where there are none. */
  thread: string | undefined;
  readonly #under: Calls | undefined;
  /** Undefined for a call that was forgotten. */
  readonly #calls = new Map<Digest, CallState | undefined>();
  readonly #sessions = new Map<string, Session>();
  /** Calls whose outcome isn't known, or not yet, by {@link kindOfCall}. */
  readonly #open = new Map<string, ReadonlySet<Digest>>();
  /** Calls that code named, by what their names make of them. */
  readonly #named = new Map<string, Digest[]>();
  readonly #visits = new Map<string, Visits>();

  constructor(under?: Calls) {
    this.#under = under;
    this.seq = under?.seq ?? 0;
    this.hash = under?.hash ?? "";
    this.cutUpTo = under?.cutUpTo ?? 0;
    this.isSigned = under?.isSigned ?? false;
    this.thread = under?.thread;
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
    if (under !== this)
      for (const [name, calls] of this.#named) for (const call of calls) under.#name(name, call);
    for (const [name, visits] of this.#visits) under.#visits.set(name, visits);
    under.seq = this.seq;
    under.hash = this.hash;
    under.cutUpTo = this.cutUpTo;
    under.isSigned = this.isSigned;
    under.thread = this.thread;
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

  /** The calls that code named by one name, the newest first. */
  *named(name: string): Generator<CallState> {
    for (const call of this.#digests(name)) {
      const state = this.get(call);
      if (state !== undefined) yield state;
    }
  }

  /** How often calls of a name were made or given in other steps than that of a place. */
  visitsElsewhere(name: string, where: Where): number {
    const { all, step, inStep } = this.#visitsOf(name);
    return step === stepOf(where) ? all - inStep : all;
  }

  #visitsOf(name: string): Visits {
    return this.#visits.get(name) ?? (this.#under === undefined ? noVisits : this.#under.#visitsOf(name));
  }

  /** The highest number among the calls of a name; -1 where there are none. */
  highest(name: string): number {
    return this.#visitsOf(name).highest;
  }

  *#digests(name: string): Generator<Digest> {
    const own = this.#named.get(name) ?? [];
    for (let n = own.length - 1; n >= 0; n -= 1) yield own[n]!;
    if (this.#under !== undefined) yield* this.#under.#digests(name);
  }

  #name(name: string, call: Digest): void {
    const calls = this.#named.get(name);
    if (calls === undefined) this.#named.set(name, [call]);
    else calls.push(call);
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
    this.isSigned ||= entry.keyId !== undefined;
    const { event } = entry;
    if (event.type === "session") {
      this.#sessions.set(entry.session, event);
      this.thread = event.thread;
    } else if (event.type === "cut") {
      this.thread = event.thread;
      this.cutUpTo = event.last;
      for (const state of cut ?? []) this.#put(state);
    } else if (event.type === "forgotten") this.#forget(event.call);
    else if ("call" in event) {
      const before = this.get(event.call);
      const next = nextState(before, event, entry);
      if (next === undefined) return;
      this.#put(visited(next, before, event));
      this.#settle(next);
    }
  }

  /** A call that succeeded tells what became of those with the same idempotency key: they were one for whoever was called. */
  #settle(state: CallState): void {
    if (state.status !== "succeeded" || state.key === undefined) return;
    for (const call of new Set([state.repeats ?? "", ...this.openOf(kindOfCall(state))])) {
      const first = this.get(call);
      const isOpen = first?.status === "unknown" || first?.status === "claimed";
      if (isOpen && call !== state.call && first.key === state.key)
        this.#put({ ...first, status: "repeats", repeats: state.call });
    }
  }

  #forget(call: Digest): void {
    const state = this.get(call);
    if (state === undefined) return;
    this.#calls.set(call, undefined);
    this.#close(state);
  }

  #put(state: CallState): void {
    const before = this.get(state.call);
    if (state.named === true) {
      if (before === undefined) this.#name(state.previous, state.call);
      const visit = before?.visits === state.visits ? undefined : state.visits?.at(-1);
      if (visit !== undefined)
        this.#visits.set(state.previous, withVisit(this.#visitsOf(state.previous), visit, state.nth));
    }
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
