// long file: what an append and a projection share is the state after the last event
import { CorruptionError, InvalidOptionError, StratigraphError, type TierSaver } from "@stratigraph/core";
import { checkOptions, refusePart, validId } from "@stratigraph/core/internal";
import { recordPrefix, seqOfRecord } from "../log/records.ts";
import { decodeEvent, encodeEvent, eventsNamespace, termsOfKey, type StoredEvent } from "./eventRecords.ts";
import type { AppendedEvent, EventsOptions, Projection } from "./projection.ts";

/** How often an append is tried at most, if other processes append to the same thread meanwhile. */
const attempts = 1000;

/** For how many threads the last event is remembered. */
const rememberedThreads = 1000;

/** The last known event of a thread. */
interface Tip<S> extends Projection<S> {
  readonly recordId: string | undefined;
  readonly revision: number;
}

/** Threads whose state is the fold of their events. Made by `events()`. */
export class EventStore<S, E> {
  readonly #saver: TierSaver;
  readonly #reducer: (state: S, event: E) => S;
  readonly #options: EventsOptions<S>;
  readonly #tips = new Map<string, Tip<S>>();
  /** Appends of this process to a thread take turns. */
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(saver: TierSaver, reducer: (state: S, event: E) => S, options: EventsOptions<S>) {
    this.#saver = saver;
    this.#reducer = reducer;
    this.#options = options;
  }

  /**
   * Appends an event to any version. Don't change the event before it is appended.
   * @param options `key` names the input that caused the event: the same event with the same key isn't appended again, and the first one's
   * answer is returned; another event is refused
   * @throws StratigraphError "SERIALIZATION", ThreadDeletedError if the thread is deleted meanwhile, InvalidAddressError; what the
   * reducer throws: nothing was appended then. After "UNAVAILABLE" the event may have been appended; a key makes it safe to repeat
   */
  async append(threadId: string, event: E, options: { key?: string } = {}): Promise<AppendedEvent<S, E>> {
    return await this.#inTurn(threadId, undefined, event, options);
  }

  /**
   * Appends an event if the thread is at a version.
   * @param expectedVersion the version from {@link project}; 0 for a thread without events
   * @throws VersionConflictError; as {@link append}
   */
  async appendIf(
    threadId: string,
    expectedVersion: number,
    event: E,
    options: { key?: string } = {},
  ): Promise<AppendedEvent<S, E>> {
    if (!Number.isSafeInteger(expectedVersion) || expectedVersion < 0)
      throw new InvalidOptionError("expectedVersion", expectedVersion, "Pass a version: 0, 1, 2, …");
    return await this.#inTurn(threadId, expectedVersion, event, options);
  }

  /**
   * The state after all events of a thread, or after those up to a version or a moment. Don't change it.
   * @throws CorruptionError, InvalidAddressError, InvalidOptionError; what the reducer throws
   */
  async project(threadId: string, options: { until?: number | Date } = {}): Promise<Projection<S>> {
    validId("threadId", threadId);
    checkOptions<{ until?: number | Date }>("project", options, { until: true });
    const { until } = options;
    if (until === undefined) {
      const { state, version, at } = await this.#caughtUp(threadId);
      return { state: await this.#copyOf(state), version, at };
    }
    if (until instanceof Date ? Number.isNaN(until.getTime()) : !Number.isSafeInteger(until) || until < 0)
      throw new InvalidOptionError("until", until, "Pass a version, or a Date.");
    await this.#saver.bring(threadId);
    return await this.#folded(threadId, until);
  }

  /** The events of a thread after a version, oldest first. @throws CorruptionError, InvalidAddressError, InvalidOptionError */
  async *read(threadId: string, options: { after?: number } = {}): AsyncGenerator<StoredEvent<E>> {
    validId("threadId", threadId);
    checkOptions<{ after?: number }>("read", options, { after: true });
    const { after = 0 } = options;
    if (!Number.isSafeInteger(after) || after < 0)
      throw new InvalidOptionError("after", after, "Pass a version: 0, 1, 2, …");
    const { version: last } = await this.#caughtUp(threadId);
    for (let next = after + 1; next <= last; next += readAtOnce) {
      const page: StoredEvent<E>[] = [];
      for await (const stored of this.#list(threadId, Math.min(next + readAtOnce - 1, last))) {
        const { snapshot: _snapshot, ...event } = await decodeEvent<E>(this.#saver, stored);
        if (event.version < next) break;
        page.push(event);
        if (event.version === next) break;
      }
      yield* page.reverse();
    }
  }

  async #inTurn(
    threadId: string,
    expected: number | undefined,
    event: E,
    options: { key?: string },
  ): Promise<AppendedEvent<S, E>> {
    validId("threadId", threadId);
    checkOptions<{ key?: string }>("append", options, { key: true });
    const key = options.key === undefined ? undefined : validId("key", options.key);
    const before = this.#turns.get(threadId) ?? Promise.resolve();
    const mine = before.catch(() => undefined).then(() => this.#append(threadId, expected, event, key));
    this.#turns.set(threadId, mine);
    try {
      return await mine;
    } finally {
      if (this.#turns.get(threadId) === mine) this.#turns.delete(threadId);
    }
  }

  async #append(
    threadId: string,
    expected: number | undefined,
    event: E,
    key: string | undefined,
  ): Promise<AppendedEvent<S, E>> {
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      // The last known state may be old. The append detects that, but there may be nothing to append.
      const known = attempt === 0 && key === undefined ? this.#tips.get(threadId) : undefined;
      const tip = known ?? (await this.#caughtUp(threadId));
      const first = key === undefined ? undefined : await this.#eventOf(threadId, key);
      if (first !== undefined) {
        const { state } = first.version === tip.version ? tip : await this.#folded(threadId, first.version);
        await this.#checkSame(first, event);
        return { ...first, state: await this.#copyOf(state), duplicate: true };
      }
      if (expected !== undefined && tip.version !== expected) {
        if (known !== undefined) continue;
        throw new VersionConflictError(threadId, expected, tip.version);
      }
      const appended = await this.#tryAppend(threadId, tip, event, key);
      if (appended !== undefined) return appended;
    }
    throw new StratigraphError(
      "OVERLOADED",
      `Thread ${JSON.stringify(threadId)} got events during each of ${attempts} attempts to append one. Let fewer processes append to it.`,
      { threadId },
    );
  }

  /** Appends after the last known event. Undefined if another writer appended first. */
  async #tryAppend(
    threadId: string,
    tip: Tip<S>,
    event: E,
    key: string | undefined,
  ): Promise<AppendedEvent<S, E> | undefined> {
    const { snapshotEvery = 100, reducerVersion = "" } = this.#options;
    const version = tip.version + 1;
    const at = new Date(Math.max(Date.now(), tip.at?.getTime() ?? 0));
    // A reducer may change its argument: the remembered state stays unchanged until the event is stored.
    const state = this.#reducer(await this.#copyOf(tip.state), event);
    const stored: StoredEvent<E> = { version, event, at, ...(key === undefined ? {} : { key }) };
    const snapshot = version % snapshotEvery === 0 ? { state, reducer: reducerVersion } : undefined;
    const { record, blobs, relies } = await encodeEvent(
      this.#saver,
      threadId,
      tip.recordId,
      stored,
      snapshot,
    );
    const recordId = record.checkpointId;
    try {
      const { revision } = await this.#saver.tier.append({
        threadId,
        records: [record],
        blobs,
        relies,
        heads: [
          {
            namespace: eventsNamespace,
            to: recordId,
            expected: tip.recordId === undefined ? [] : [tip.recordId],
          },
        ],
        onConflict: "refuse",
        seen: tip.revision,
      });
      this.#remember(threadId, { state, version, at, recordId, revision });
      return { ...stored, state: await this.#copyOf(state), duplicate: false };
    } catch (error) {
      // It isn't known whether the event was stored, or another writer's event was.
      this.#tips.delete(threadId);
      if (StratigraphError.is(error, "CHECKPOINT_CONFLICT")) return undefined;
      if (StratigraphError.is(error, "STALE_READ")) {
        // The graph's state had the value too, and it was removed from there: it is encoded anew.
        this.#saver.coder.forgetThread(threadId);
        return undefined;
      }
      throw error;
    }
  }

  /** A copy of the state for each caller, as it would be read from the storage. */
  async #copyOf(state: S): Promise<S> {
    const [type, bytes] = await this.#saver.serde.dumpsTyped(state);
    return (await this.#saver.serde.loadsTyped(type, bytes)) as S;
  }

  /** @throws InvalidOptionError if a key was used for another event */
  async #checkSame({ event, key }: StoredEvent<E>, given: E): Promise<void> {
    const [one, other] = await Promise.all([event, given].map((each) => this.#saver.serde.dumpsTyped(each)));
    if (Buffer.compare(one![1], other![1]) !== 0)
      throw new InvalidOptionError("key", key, "Another event was appended with it. A key names one input.");
  }

  /** The event that an input caused. */
  async #eventOf(threadId: string, key: string): Promise<StoredEvent<E> | undefined> {
    const query = { threadId, namespace: eventsNamespace, terms: termsOfKey(key) };
    for await (const stored of this.#saver.tier.list(query)) {
      const { snapshot: _snapshot, ...event } = await decodeEvent<E>(this.#saver, stored);
      // Terms are hashes, which other keys may share.
      if (event.key === key) return event;
    }
    return undefined;
  }

  /** The state as it is now. */
  async #caughtUp(threadId: string): Promise<Tip<S>> {
    const known = this.#tips.get(threadId);
    await this.#saver.bring(threadId, true);
    const { head, revision } = await this.#saver.tier.peek({ threadId, namespace: eventsNamespace });
    if (known !== undefined && known.recordId === head) return { ...known, revision };
    if (head === undefined) {
      this.#tips.delete(threadId);
      return { state: this.#options.initial, version: 0, at: undefined, recordId: undefined, revision };
    }
    const version = seqOfRecord(head)!;
    const folded = await this.#folded(threadId, version, known);
    const tip = { ...folded, recordId: head, revision };
    this.#remember(threadId, tip);
    return tip;
  }

  /** Folds events onto the known state, the newest snapshot, or the initial state. */
  async #folded(threadId: string, until: number | Date, known?: Tip<S>): Promise<Projection<S>> {
    const { initial, reducerVersion = "" } = this.#options;
    let from: Projection<S> = { state: await this.#copyOf(initial), version: 0, at: undefined };
    const found: StoredEvent<E>[] = [];
    let oldest: number | undefined;
    for await (const stored of this.#list(threadId, until)) {
      if (stored.record.checkpointId === known?.recordId) {
        from = { ...known, state: await this.#copyOf(known.state) };
        break;
      }
      const { snapshot, ...event } = await decodeEvent<E>(this.#saver, stored);
      oldest = event.version;
      if (until instanceof Date && event.at > until) continue;
      if (snapshot?.reducer === reducerVersion) {
        from = { state: snapshot.state as S, version: event.version, at: event.at };
        break;
      }
      found.push(event);
    }
    if (from.version === 0 && oldest !== 1 && until !== 0) await this.#refuseMissing(threadId, oldest);
    return found.reduceRight<Projection<S>>(
      ({ state }, { event, version, at }) => ({ state: this.#reducer(state, event), version, at }),
      from,
    );
  }

  /**
   * Refuses a thread of which not all events are here. @param oldest the version of the oldest one that is; undefined if none is
   * @throws EvictedError if the others are in an archive that isn't open; CorruptionError
   */
  async #refuseMissing(threadId: string, oldest: number | undefined): Promise<void> {
    const { tier } = this.#saver;
    const { head } = await tier.peek({ threadId, namespace: eventsNamespace });
    // It has no events, or was deleted meanwhile.
    if (head === undefined) return;
    const at = { threadId, namespace: eventsNamespace, checkpointId: head };
    await refusePart(tier, at);
    throw new CorruptionError(
      at,
      `events before version ${(oldest ?? seqOfRecord(head)! + 1).toString()} are missing`,
    );
  }

  /** The records of a thread up to a version, newest first. */
  #list(threadId: string, until: number | Date): ReturnType<TierSaver["tier"]["list"]> {
    const before = typeof until === "number" ? { before: recordPrefix(until + 1) } : {};
    return this.#saver.tier.list({ threadId, namespace: eventsNamespace, ...before });
  }

  #remember(threadId: string, tip: Tip<S>): void {
    this.#tips.delete(threadId);
    this.#tips.set(threadId, tip);
    if (this.#tips.size > rememberedThreads) this.#tips.delete(this.#tips.keys().next().value!);
  }
}

/** How many events are in memory at a time while they are read. */
const readAtOnce = 200;

/** The thread has more or fewer events than the caller assumed. Nothing was written. */
export class VersionConflictError extends StratigraphError {
  constructor(threadId: string, expected: number, version: number) {
    super(
      "VERSION_CONFLICT",
      `The event should follow version ${expected}, but thread ${JSON.stringify(threadId)} is at version ${version}. Nothing was ` +
        `appended. Project the state and decide again.`,
      { threadId, expected, version },
    );
    this.name = "VersionConflictError";
  }
}
