// long file: the state of a journal, and what it is asked
import type { Digest } from "../identity/fingerprint.ts";
import { isOpen, type CallState } from "./callState.ts";
import { nextState, visited } from "./nextState.ts";
import { unpackedState } from "./packedState.ts";
import { isStored, parsedFold, type FoldLayer, type StoredCall } from "./storedFold.ts";
import { noVisits, stepOf, withVisit, type Visits } from "./visits.ts";
import type { Call, Entry, KnownBy, SessionEvent, Where } from "./entry.ts";

/** A process that wrote to the journal. */
export type Session = Pick<SessionEvent, "machine" | "pid">;

/**
 * The state of a journal: the fold of its entries. A change is decided and tried on a {@link branch}, whose cost doesn't depend on the
 * journal's length, and is committed once the entries are stored.
 */
export class Calls {
  /** Number and hash of the last entry; 0 and `""` if there is none. */
  seq = 0;
  hash = "";
  /** Number of the last entry that was cut off, or is about to be; 0 if none was. */
  cutUpTo = 0;
  /** Whether there is an entry that is signed with a key. */
  isSigned = false;
  /** Whether there is an entry that isn't signed. */
  hasUnsigned = false;
  /** The thread in which the last entries were made; undefined if there are none. */
  thread: string | undefined;
  /** The key with which fingerprints are hashed; null if they are stored without a key, undefined if there are no entries. */
  knownBy: KnownBy | undefined;
  /** The stored states that make up this one up to the entry {@link foldedAt}, oldest first. */
  layers: readonly FoldLayer[] = [];
  foldedAt = 0;
  readonly #under: Calls | undefined;
  /** Undefined for a call that was forgotten. */
  readonly #calls = new Map<Digest, CallState | StoredCall | undefined>();
  /** Number of the last entry that changed or stored a call. */
  readonly #changedAt = new Map<Digest, number>();
  /** Processes, and the numbers of the entries that name or store them. */
  readonly #sessions = new Map<string, { readonly session: Session; readonly at: number }>();
  /** Calls whose outcome isn't known, or not yet known, by {@link kindOfCall}. */
  readonly #open = new Map<string, ReadonlySet<Digest>>();
  /** Calls that code named, by the digests of their names. */
  readonly #named = new Map<string, Digest[]>();
  readonly #visits = new Map<string, Visits>();
  /** Number of the last entry that changed or stored the visits of a name. */
  readonly #visitedAt = new Map<string, number>();

  constructor(under?: Calls) {
    this.#under = under;
    this.seq = under?.seq ?? 0;
    this.hash = under?.hash ?? "";
    this.cutUpTo = under?.cutUpTo ?? 0;
    this.isSigned = under?.isSigned ?? false;
    this.hasUnsigned = under?.hasUnsigned ?? false;
    this.thread = under?.thread;
    this.knownBy = under?.knownBy;
    this.layers = under?.layers ?? [];
    this.foldedAt = under?.foldedAt ?? 0;
  }

  /** A state that begins as a copy of this one, and doesn't change it until it is committed. */
  branch(): Calls {
    return new Calls(this);
  }

  /** Applies the changes to the state that this one is a branch of, and returns that. */
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
    for (const [name, seq] of this.#visitedAt) under.#visitedAt.set(name, seq);
    under.seq = this.seq;
    under.hash = this.hash;
    under.cutUpTo = this.cutUpTo;
    under.isSigned = this.isSigned;
    under.hasUnsigned = this.hasUnsigned;
    under.thread = this.thread;
    under.knownBy = this.knownBy;
    under.layers = this.layers;
    under.foldedAt = this.foldedAt;
    for (const [call, seq] of this.#changedAt) under.#changedAt.set(call, seq);
    return under;
  }

  get(call: Digest): CallState | undefined {
    const found = this.#calls.get(call);
    if (found === undefined) return this.#calls.has(call) ? undefined : this.#under?.get(call);
    if (!isStored(found)) return found;
    const state = unpackedState(call, found.name, found.text);
    this.#calls.set(call, state);
    return state;
  }

  /** The calls that changed after an entry, with their states: undefined if they were forgotten. */
  *changedSince(seq: number): Generator<[call: Digest, state: CallState | StoredCall | undefined]> {
    for (const [call, state] of this.#under?.changedSince(seq) ?? [])
      if (!this.#calls.has(call)) yield [call, state];
    for (const [call, at] of this.#changedAt) if (at > seq) yield [call, this.#calls.get(call)];
  }

  /** Adds the state that was stored with an entry, after the states that were stored before it. */
  load(seq: number, bytes: Uint8Array): void {
    const { fold, calls } = parsedFold(bytes);
    this.seq = seq;
    this.cutUpTo = fold.cutUpTo;
    for (const stored of calls) {
      const { call } = stored;
      const before = this.#calls.get(call);
      if (before !== undefined && (!isStored(before) || before.isOpen)) this.#close(this.get(call)!);
      this.#changedAt.set(call, seq);
      if (!isStored(stored)) {
        this.#calls.delete(call);
        continue;
      }
      if (before === undefined && stored.name !== undefined) this.#name(stored.name, call);
      this.#calls.set(call, stored);
      if (stored.isOpen) this.#reopen(this.get(call)!);
    }
    for (const [id, [machine, pid]] of fold.sessions)
      this.#sessions.set(id, { session: { machine, pid }, at: seq });
    for (const [name, visits] of Object.entries(fold.visits)) this.#visit(name, visits);
  }

  /** The processes that entries after a given one name. */
  *sessionsSince(seq: number): Generator<[id: string, session: Session]> {
    yield* this.#under?.sessionsSince(seq) ?? [];
    for (const [id, { session, at }] of this.#sessions) if (at > seq) yield [id, session];
  }

  /** Visits of names that changed after an entry, except those that the name's only call implies. */
  *visitsSince(seq: number): Generator<[name: string, visits: Visits]> {
    for (const [name, visits] of this.#under?.visitsSince(seq) ?? [])
      if (!this.#visits.has(name)) yield [name, visits];
    for (const [name, at] of this.#visitedAt) {
      if (at <= seq) continue;
      const visits = this.#visits.get(name)!;
      if (visits.all > 1 || [...this.named(name)].length !== 1) yield [name, visits];
    }
  }

  #visit(name: string, visits: Visits): void {
    this.#visits.set(name, visits);
    this.#visitedAt.set(name, this.seq);
  }

  session(id: string): Session | undefined {
    return this.#sessions.get(id)?.session ?? this.#under?.session(id);
  }

  /** Calls of a tool with certain arguments whose outcome isn't known, or not yet known. */
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

  /**
   * How often calls of a name were made or answered in other steps than that of a place, and in which step last. The count alone isn't enough:
   * in a thread that was deleted and begun anew it may be the same.
   */
  visitsElsewhere(name: string, where: Where): readonly [times: number, last: string] {
    const { all, step, inStep, before } = this.visitsOf(name);
    return step === stepOf(where) ? [all - inStep, before] : [all, step];
  }

  /** How often calls of a name were made or answered. */
  visitsOf(name: string): Visits {
    const found = this.#visits.get(name);
    if (found !== undefined) return found;
    if (this.#under !== undefined) return this.#under.visitsOf(name);
    // For a name with one stored visit, the visit is taken from its call.
    const [call] = this.#named.get(name) ?? [];
    const state = call === undefined ? undefined : this.get(call);
    const visit = state?.visits?.at(-1);
    return visit === undefined ? noVisits : withVisit(noVisits, visit, state!.nth);
  }

  /** The highest number among the calls of a name; -1 if there are none. */
  highest(name: string): number {
    return this.visitsOf(name).highest;
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
    for (const call of this.#calls.keys()) {
      const state = this.get(call);
      if (state !== undefined) yield state;
    }
  }

  /**
   * Adds the next entry.
   * @param record the name of its record, for one of the type "folded"
   * @param cut the stored states, for one of the type "cut"
   */
  fold(entry: Entry, record: string, cut?: readonly CallState[]): void {
    this.seq = entry.seq;
    this.hash = entry.hash;
    this.isSigned ||= entry.keyId !== undefined;
    const { event } = entry;
    this.hasUnsigned ||= entry.keyId === undefined || (event.type === "folded" && event.unsigned === true);
    if (event.type === "session") {
      const { machine, pid } = event;
      this.#sessions.set(entry.session, { session: { machine, pid }, at: entry.seq });
      this.#belongTo(event);
    } else if (event.type === "folded") {
      const { level, layers } = event;
      this.#belongTo(event);
      this.layers = [...layers, { seq: entry.seq, record, hash: entry.hash, level }];
      this.foldedAt = entry.seq;
    } else if (event.type === "cut") {
      this.#belongTo(event);
      this.cutUpTo = event.last;
      // The entries of the layers are cut off with the others.
      this.layers = [];
      this.foldedAt = entry.seq;
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

  #belongTo({ thread, knownBy }: Pick<SessionEvent, "thread" | "knownBy">): void {
    this.thread = thread;
    this.knownBy = knownBy ?? null;
  }

  /** If a call succeeded, those with the same idempotency key did, too: the called service saw them as one call. */
  #settle(state: CallState): void {
    if (state.status !== "succeeded" || state.key === undefined) return;
    for (const call of new Set([state.repeats ?? "", ...this.openOf(kindOfCall(state))])) {
      const first = this.get(call);
      if (first !== undefined && isOpen(first) && call !== state.call && first.key === state.key)
        this.#put({ ...first, status: "repeats", repeats: state.call });
    }
  }

  #forget(call: Digest): void {
    const state = this.get(call);
    if (state === undefined) return;
    // Nothing else records these visits from now on.
    if (state.named === true) this.#visit(state.previous, this.visitsOf(state.previous));
    this.#calls.set(call, undefined);
    this.#changedAt.set(call, this.seq);
    this.#close(state);
  }

  #put(state: CallState): void {
    const before = this.get(state.call);
    if (state.named === true) {
      const visits = this.visitsOf(state.previous);
      if (before === undefined) this.#name(state.previous, state.call);
      const visit = before?.visits === state.visits ? undefined : state.visits?.at(-1);
      if (visit !== undefined) this.#visit(state.previous, withVisit(visits, visit, state.nth));
    }
    this.#calls.set(state.call, state);
    this.#changedAt.set(state.call, this.seq);
    if (isOpen(state)) this.#reopen(state);
    else this.#close(state);
  }

  #reopen(state: CallState): void {
    const kind = kindOfCall(state);
    if (!this.openOf(kind).has(state.call)) this.#open.set(kind, new Set([...this.openOf(kind), state.call]));
  }

  #close(state: CallState): void {
    const kind = kindOfCall(state);
    const open = this.openOf(kind);
    if (open.has(state.call)) this.#open.set(kind, new Set([...open].filter((call) => call !== state.call)));
  }
}

/** The journal's owner according to an entry of a type that names it. There has to be such an entry. */
export function belongingOf({
  thread,
  knownBy,
}: Pick<Calls, "thread" | "knownBy">): Pick<SessionEvent, "thread" | "knownBy"> {
  return { thread: thread!, ...(typeof knownBy === "string" ? { knownBy } : {}) };
}

const nothing: ReadonlySet<Digest> = new Set();

/** Identifies a tool with certain arguments, wherever it is called. */
export function kindOfCall({ tool, argsHash }: Pick<Call, "tool" | "argsHash">): string {
  return JSON.stringify([tool, argsHash]);
}
