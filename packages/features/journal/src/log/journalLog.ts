// long file: the state of a journal, and all that may change it
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { StratigraphError, ThreadDeletedError, type TierSaver } from "@stratigraph/core";
import type { CheckpointRecord } from "@stratigraph/core/tier";
import { journalBroken } from "../errors.ts";
import type { Digest } from "../identity/fingerprint.ts";
import { caughtUp } from "./catchUp.ts";
import { belongingOf, Calls } from "./calls.ts";
import type { CallState } from "./callState.ts";
import type { Entry, EntryHeader, JournalEvent, Payload } from "./entry.ts";
import { foldOf, isFoldDue } from "./folds.ts";
import { knownByOf } from "./knownBy.ts";
import {
  decodeEntry,
  decodePayload,
  encodeEntry,
  journalNamespace,
  newRecordId,
  recordPrefix,
  type EntryRecord,
} from "./records.ts";
import type { Sealing } from "./sealing.ts";

/** How often a change is tried at most, if other processes write to the same journal meanwhile. */
const attempts = 1000;

/** From which attempt on there is a pause before it, and the longest pause in milliseconds. */
const [freeAttempts, longestPauseMs] = [3, 50];

/** How many changes of this process go into one append at most. */
const mostInOneAppend = 64;

/** How many notes wait for the next entry at most. Further ones are dropped: they are best effort. */
const mostNotes = 256;

/** An event to append, and the values to store with it. */
export interface NewEvent {
  readonly event: JournalEvent;
  readonly payload?: Payload | undefined;
  readonly author?: string | undefined;
}

/** The outcome of deciding: the events to append, and the answer to the caller. */
export interface Decision<T> {
  readonly events: readonly NewEvent[];
  readonly answer: T;
  /** Records of earlier entries that are replaced at the same time, to erase their payloads. */
  readonly replaced?: readonly CheckpointRecord[] | undefined;
}

/** Decides on the newest state what to append. Called again, on a newer state, if another writer was first. */
export type Decide<T> = (calls: Calls, nextSeq: number) => Decision<T>;

/**
 * Whether a change may begin a journal: a late run must not bring a deleted thread back. A function throws if the change may not. It is
 * called while the journal is empty, and when the thread was deleted.
 */
export type Begins = boolean | (() => Promise<void>);

interface Waiting {
  readonly decide: Decide<unknown>;
  readonly begins: Begins;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** An entry to append, the name of its record, and its payload. */
interface Made {
  readonly entry: Entry;
  readonly record: string;
  readonly payload: Payload;
}

type Answer = { readonly value: unknown } | { readonly error: unknown };

function settle({ resolve, reject }: Waiting, answer: Answer): void {
  if ("error" in answer) reject(answer.error);
  else resolve(answer.value);
}

/** Identifies the writer: the process, and its place. */
export interface Writer {
  readonly session: string;
  readonly machine: string;
  readonly pid: number;
}

/**
 * The journal of one thread: an append-only chain of entries, whose state is kept in memory. A change is decided on the state and appended
 * by compare-and-set on the last entry. If another process appended first, the state is brought up to date, and the change is decided
 * again. Changes that this process makes at the same time share an append.
 */
export class JournalLog {
  readonly threadId: string;
  readonly #saver: TierSaver;
  readonly #sealing: Sealing;
  readonly #writer: Writer;
  #calls: Calls = new Calls();
  /** Name of the last entry's record, and the thread's revision when it was read; undefined before the first read. */
  #tip: { readonly recordId: string | undefined; readonly revision: number } | undefined;
  readonly #queue: Waiting[] = [];
  #notes: NewEvent[] = [];
  #isWorking = false;
  #refreshing: Promise<Calls> | undefined;
  /** Settles when the running read or append ends: only one at a time may change the state. Undefined while none runs. */
  #busy: Promise<unknown> | undefined;

  constructor(threadId: string, saver: TierSaver, sealing: Sealing, writer: Writer) {
    this.threadId = threadId;
    this.#saver = saver;
    this.#sealing = sealing;
    this.#writer = writer;
  }

  /** The last known state; read at the first call. It may be old: only {@link change} decides on the newest one. */
  async calls(): Promise<Calls> {
    return this.#tip === undefined ? await this.refresh() : this.#calls;
  }

  /** Reads the entries that others appended since. */
  async refresh(): Promise<Calls> {
    this.#refreshing ??= this.#alone(async () => {
      await this.#catchUp();
      return this.#calls;
    }).finally(() => (this.#refreshing = undefined));
    return await this.#refreshing;
  }

  /**
   * Decides and appends, by compare-and-set.
   * @param begins whether it may begin the journal
   * @throws ThreadDeletedError if the thread was deleted since it was read; StratigraphError as appends of the tier. After one with the
   * code "UNAVAILABLE" the entries may have been written nevertheless
   */
  async change<T>(decide: Decide<T>, begins: Begins = true): Promise<T> {
    return await new Promise<T>((resolve, reject) => {
      this.#queue.push({ decide, begins, resolve: resolve as (answer: unknown) => void, reject });
      void this.#work();
    });
  }

  /** Appends an event along with the next change. It is lost if there is none. */
  note(event: NewEvent): void {
    if (this.#notes.length < mostNotes) this.#notes.push(event);
  }

  /** Appends the notes that wait. */
  async flush(): Promise<void> {
    if (this.#notes.length === 0) return;
    const notes = this.#notes;
    this.#notes = [];
    await this.change(() => ({ events: notes, answer: undefined }), false).catch((error: unknown) => {
      if (!(error instanceof ThreadDeletedError)) throw error;
    });
  }

  /**
   * The payload of an entry about a call. Undefined if the entry is gone or is another one: the thread may have been deleted and begun anew
   * since its number was read.
   */
  async payload(seq: number, call: Digest): Promise<Payload | undefined> {
    for await (const stored of this.#saver.tier.list({
      threadId: this.threadId,
      namespace: journalNamespace,
      before: recordPrefix(seq + 1),
      limit: 1,
    })) {
      const { seq: found, event } = await decodeEntry(this.#saver, stored.record);
      const isIt = found === seq && "call" in event && event.call === call;
      return isIt ? await decodePayload(this.#saver, stored) : undefined;
    }
    return undefined;
  }

  /** The arguments of a claimed call; undefined if erased. @throws StratigraphError "JOURNAL_BROKEN" if they are others */
  async argsOf({ call, claim, argsHash }: CallState): Promise<unknown> {
    const text = claim === undefined ? undefined : (await this.payload(claim.seq, call))?.args;
    if (text === undefined) return undefined;
    if (!this.#sealing.isHashOf(argsHash, text))
      throw journalBroken(
        this.threadId,
        claim!.seq,
        "the arguments beside it aren't those that were recorded",
      );
    return JSON.parse(text) as unknown;
  }

  async #work(): Promise<void> {
    if (this.#isWorking) return;
    this.#isWorking = true;
    // Changes that are made in the same turn of the event loop share an append.
    await Promise.resolve();
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, mostInOneAppend);
      try {
        const answers = await this.#alone(() => this.#appended(batch));
        for (const [n, waiting] of batch.entries()) {
          settle(waiting, answers[n]!);
          // If a task ends in the same turn in which a parallel one fails, LangGraph loses a part of its writes.
          if (n < batch.length - 1) await nextTurn();
        }
      } catch (error) {
        // Only one change is at fault for a payload that can't be stored: the others are made without it.
        if (batch.length > 1 && StratigraphError.is(error, "SERIALIZATION"))
          for (const one of batch)
            await this.#alone(() => this.#appended([one])).then(
              ([answer]) => settle(one, answer!),
              one.reject,
            );
        else for (const { reject } of batch) reject(error);
      }
    }
    this.#isWorking = false;
  }

  /** Decides and appends a batch of changes. */
  async #appended(batch: readonly Waiting[]): Promise<Answer[]> {
    if (this.#tip === undefined) await this.#catchUp();
    let refused: ReadonlyMap<Waiting, unknown> = new Map();
    let wasDeleted = false;
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      if (wasDeleted || this.#calls.seq === 0) refused = await this.#refused(batch);
      const calls = this.#calls.branch();
      const made: Made[] = [];
      const add = ({ event, payload = {}, author }: NewEvent): void => {
        const entry = this.#sealed(calls, event, author);
        const record = newRecordId(entry.seq);
        made.push({ entry, record, payload });
        calls.fold(entry, record, payload.calls as CallState[] | undefined);
      };
      const replaced: CheckpointRecord[] = [];
      const take = (decision: Decision<unknown>): Answer => {
        for (const event of decision.events) add(event);
        replaced.push(...(decision.replaced ?? []));
        return { value: decision.answer };
      };
      const answers = batch.map((waiting) => {
        if (refused.has(waiting)) return { error: refused.get(waiting) };
        const { decide } = waiting;
        try {
          const decision = decide(calls, calls.seq + 1);
          const { threadId: thread } = this;
          const isKnown = calls.thread === thread && calls.session(this.#writer.session) !== undefined;
          if (decision.events.length === 0 || isKnown) return take(decision);
          const { machine, pid } = this.#writer;
          const belonging = belongingOf({ thread, knownBy: knownByOf(calls, this.#sealing) });
          add({ event: { type: "session", machine, pid, ...belonging } });
          // The decision may name the number of its own entry, so it is made again after the session's entry.
          return take(decide(calls, calls.seq + 1));
        } catch (error) {
          return { error };
        }
      });
      if (made.length === 0) return answers;
      const notes = [...this.#notes];
      for (const event of notes) add(event);
      if (isFoldDue(calls)) add(foldOf(calls, this.#sealing));
      const appended = await this.#append(made, replaced).catch((error: unknown) => {
        if (!(error instanceof ThreadDeletedError) || wasDeleted) throw error;
        wasDeleted = true;
        return false;
      });
      if (appended) {
        this.#notes = this.#notes.filter((note) => !notes.includes(note));
        this.#calls = calls.commit();
        return answers;
      }
      await this.#catchUp();
      // A writer that loses repeatedly lets the others go first.
      if (attempt >= freeAttempts) await sleep(Math.random() * Math.min(longestPauseMs, attempt));
    }
    throw new StratigraphError(
      "OVERLOADED",
      `The journal of thread ${JSON.stringify(this.threadId)} was written to during each of ${attempts} attempts to append to it. Let fewer processes work on one thread.`,
      { threadId: this.threadId },
    );
  }

  /** Which changes may not begin the journal, and why. */
  async #refused(batch: readonly Waiting[]): Promise<ReadonlyMap<Waiting, unknown>> {
    const refused = new Map<Waiting, unknown>();
    for (const waiting of batch) {
      const { begins } = waiting;
      if (begins === false) refused.set(waiting, new ThreadDeletedError(this.threadId));
      else if (begins !== true) await begins().catch((error: unknown) => refused.set(waiting, error));
    }
    return refused;
  }

  async #alone<T>(work: () => Promise<T>): Promise<T> {
    const done = (this.#busy ?? Promise.resolve()).then(work);
    const busy = done.catch(() => undefined);
    this.#busy = busy;
    try {
      return await done;
    } finally {
      // A promise holds the context in which it was made: the whole run of a graph, which would live as long as this log.
      if (this.#busy === busy) this.#busy = undefined;
    }
  }

  #sealed(calls: Calls, event: JournalEvent, author: string | undefined): Entry {
    const keyId = this.#sealing.activeKey;
    const header: EntryHeader = {
      v: 1,
      seq: calls.seq + 1,
      at: new Date().toISOString(),
      session: this.#writer.session,
      ...(author === undefined ? {} : { author }),
      prev: calls.hash,
      ...(keyId === undefined ? {} : { keyId }),
    };
    return { ...header, event, hash: this.#sealing.hashOf(header, event) };
  }

  /** Appends entries after the last known one. Returns false if another writer appended first. */
  async #append(made: readonly Made[], replaced: readonly CheckpointRecord[]): Promise<boolean> {
    const { threadId } = this;
    const tip = this.#tip!;
    const records: EntryRecord[] = [];
    let parentId = tip.recordId;
    for (const { entry, record: checkpointId, payload } of made) {
      records.push(await encodeEntry(this.#saver, threadId, { checkpointId, parentId }, entry, payload));
      parentId = checkpointId;
    }
    const expected = tip.recordId === undefined ? [] : [tip.recordId];
    try {
      const { revision } = await this.#saver.tier.append({
        threadId,
        records: [...replaced, ...records.map(({ record }) => record)],
        blobs: records.flatMap(({ blobs }) => blobs),
        relies: records.some(({ relies }) => relies),
        heads: [{ namespace: journalNamespace, to: parentId!, expected }],
        onConflict: "refuse",
        seen: tip.revision,
      });
      this.#tip = { recordId: parentId, revision };
      return true;
    } catch (error) {
      if (StratigraphError.is(error, "CHECKPOINT_CONFLICT")) return false;
      if (StratigraphError.is(error, "STALE_READ")) {
        // The graph's state had the value too, and it was removed from there: it is encoded anew.
        this.#saver.coder.forgetThread(threadId);
        return false;
      }
      // It isn't known whether the entries were written, or the thread is gone. The next use begins by reading.
      this.#forget();
      throw error;
    }
  }

  #forget(): void {
    this.#tip = undefined;
    this.#notes = [];
    this.#calls = new Calls();
  }

  async #catchUp(): Promise<void> {
    const { threadId } = this;
    await this.#saver.bring(threadId, true);
    const { revision, head } = await this.#saver.tier.peek({ threadId, namespace: journalNamespace });
    if (head === undefined) {
      this.#calls = new Calls();
      this.#tip = { recordId: undefined, revision };
      return;
    }
    if (head === this.#tip?.recordId) {
      this.#tip = { recordId: head, revision };
      return;
    }
    const known = { recordId: this.#tip?.recordId, calls: this.#calls };
    this.#calls = await caughtUp(this.#saver, threadId, this.#sealing, head, known);
    this.#tip = { recordId: head, revision };
  }
}
