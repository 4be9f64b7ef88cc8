import {
  blobClosure,
  keepsCopies,
  namedBlobs,
  type AppendRequest,
  type AppendWritesRequest,
  type Appended,
  type CopyKeeper,
  type MaybeAddress,
  type NamespaceCopy,
  type Peek,
  type Reading,
  type StoredCheckpoint,
  type Tier,
} from "@stratigraph/core";
import { Breaker, type BreakerSettings, type BreakerState } from "./breaker.ts";
import { CopyQueue, type QueueLimits } from "./copyQueue.ts";
import { Drops } from "./droppedCopies.ts";
import { isOutage } from "./outage.ts";

/** What a hot tier did so far. */
export interface HotCounters {
  /** Reads whose bytes came from here. */
  readonly hits: number;
  /** Reads whose bytes had to come from further away. */
  readonly misses: number;
  /** Copies given up: the queue was full, or the tier failed. Costs a later miss, nothing else. */
  readonly dropped: number;
  /** Copies that wait. */
  readonly waiting: number;
}

/** A copy is never late: what it may overwrite is decided by the owner of the thread. */
const neverLate = Number.MAX_SAFE_INTEGER;
/** Threads whose copies couldn't be taken away yet, at most. */
const mostOwed = 10_000;

/**
 * A hot tier in its role: it holds copies of what cannot change, and nothing it does or fails to do reaches the caller.
 * Reading and writing have a breaker each: a full Redis takes no more copies and still answers.
 */
export class HotTier {
  readonly tier: Tier;
  readonly #reading: Breaker;
  readonly #writing: Breaker;
  readonly #queue: CopyQueue;
  readonly #drops: Drops;
  /** Threads whose copies must go first. */
  readonly #owed = new Set<string>();
  #hits = 0;
  #misses = 0;

  constructor(tier: Tier, breaker: BreakerSettings, limits: QueueLimits, now: () => number) {
    this.tier = tier;
    this.#reading = new Breaker(tier.name, breaker, now);
    this.#writing = new Breaker(tier.name, breaker, now);
    const drops = new Drops(tier.name);
    this.#drops = drops;
    this.#queue = new CopyQueue(limits, (count) => drops.add(count, "copies"));
  }

  get counters(): HotCounters {
    return { hits: this.#hits, misses: this.#misses, dropped: this.#drops.total, waiting: this.#queue.size };
  }

  /** The worse state of the two breakers. */
  get breaker(): BreakerState {
    const states = [this.#reading.state, this.#writing.state];
    return (["open", "half-open"] as const).find((state) => states.includes(state)) ?? "closed";
  }

  hit(): void {
    this.#hits += 1;
  }

  miss(): void {
    this.#misses += 1;
  }

  /** What it has, or undefined: not here, too slow, failing. */
  async find(at: MaybeAddress): Promise<Reading | undefined> {
    return await this.#asked(at.threadId, () => this.tier.read(at));
  }

  async peek(at: MaybeAddress): Promise<Peek | undefined> {
    return await this.#asked(at.threadId, () => this.tier.peek(at));
  }

  /** After an append was acknowledged by the warm tier: the same bytes. */
  append(request: AppendRequest, appended: Appended): void {
    const writes = (request.writes ?? []).filter(({ blobs }) => blobs.length > 0);
    const heads = appended.heads.map(({ namespace, head }) => ({
      namespace,
      to: head,
      expected: "any" as const,
    }));
    this.#copy(request.threadId, {
      threadId: request.threadId,
      records: request.records,
      blobs: request.blobs,
      writes,
      heads,
      onConflict: "branch",
      seen: neverLate,
    });
  }

  /** As {@link append}. Only writes that name blobs: the others come from the warm tier, whole. */
  appendWrites(request: AppendWritesRequest): void {
    if (request.newBlobs.length === 0 && request.blobs.length === 0) return;
    const { relies: _relies, ...rest } = request;
    this.#push(request.threadId, sizeOf(request.newBlobs) + request.body.length, () =>
      this.tier.appendWrites({ ...rest, seen: neverLate }),
    );
  }

  /** A checkpoint that was read from further away. */
  promote(stored: StoredCheckpoint, head: string | undefined): void {
    const { record } = stored;
    const blobs = blobClosure(namedBlobs(record, stored.writes), stored.blobs);
    if (blobs === undefined) return;
    const { threadId, namespace, checkpointId } = record;
    const writes = stored.writes
      .filter((batch) => batch.blobs.length > 0)
      .map(({ taskId, blobs, body }) => ({ threadId, namespace, checkpointId, taskId, blobs, body }));
    this.#copy(threadId, {
      threadId,
      records: [record],
      blobs: [...blobs.values()],
      writes,
      heads: [{ namespace, to: head ?? checkpointId, expected: "any" }],
      onConflict: "branch",
      seen: neverLate,
    });
  }

  /** Takes a thread's copies away, now; if that fails, before anything else is asked of them. */
  async dropThread(threadId: string): Promise<void> {
    await this.#queue.discard(threadId);
    this.#owe(threadId);
    await this.#settle(threadId);
  }

  /** Makes the tier stand in for the owner of a namespace, later: `work` is called then, to find out and adopt. */
  adoptLater(
    threadId: string,
    namespace: string,
    work: (adopt: (copy: NamespaceCopy) => Promise<void>) => Promise<void>,
  ): void {
    const keeper = this.#keeper();
    if (this.#writing.refuses) {
      this.#drops.add(1, "copies");
      return;
    }
    const adopt = async (copy: NamespaceCopy): Promise<void> => {
      await this.#writing.run(() => keeper.adopt(copy));
    };
    const run = async (): Promise<boolean> =>
      (await this.#settle(threadId)) && (await this.#attempt(() => work(adopt)));
    this.#queue.push(threadId, { bytes: 0, key: JSON.stringify(["adopt", namespace]), run });
  }

  /** No copy is believed from now on. */
  async invalidate(threadId: string, before?: number): Promise<void> {
    const keeper = this.#keeper();
    const done = await this.#attempt(async () => {
      await this.#writing.run(() => keeper.invalidate(threadId, before));
    });
    if (!done) this.#drops.add(1, "invalidation");
  }

  /** Resolves when no copies wait. */
  async idle(): Promise<void> {
    await this.#queue.idle();
  }

  /** Gives up the copies that wait, and takes none from now on. */
  close(): void {
    this.#queue.close();
    this.#drops.flush();
  }

  #keeper(): Tier & CopyKeeper {
    const { tier } = this;
    if (!keepsCopies(tier)) throw new TypeError(`tier ${tier.name} keeps no copies`);
    return tier;
  }

  async #asked<T>(threadId: string, call: () => Promise<T>): Promise<T | undefined> {
    if (this.#owed.size > 0 && !(await this.#settle(threadId))) return undefined;
    if (this.#reading.refuses) return undefined;
    try {
      return await this.#reading.run(call);
    } catch {
      return undefined;
    }
  }

  #copy(threadId: string, request: AppendRequest): void {
    const bytes = sizeOf(request.blobs) + request.records.reduce((sum, { body }) => sum + body.length, 0);
    this.#push(threadId, bytes, async () => {
      await this.tier.append(request);
    });
  }

  #push(threadId: string, bytes: number, call: () => Promise<void>): void {
    if (this.#writing.refuses) {
      this.#drops.add(1, "copies");
      return;
    }
    const run = async (): Promise<boolean> =>
      (await this.#settle(threadId)) && (await this.#attempt(() => this.#writing.run(call)));
    this.#queue.push(threadId, { bytes, run });
  }

  /** False if it failed. An answer of a healthy tier (its tombstone stands) isn't a failure. */
  async #attempt(work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      return !isOutage(error);
    }
  }

  #owe(threadId: string): void {
    this.#owed.add(threadId);
    if (this.#owed.size <= mostOwed) return;
    const [oldest] = this.#owed;
    this.#owed.delete(oldest!);
  }

  /** Takes away what is owed of a thread; false where it can't be for now. */
  async #settle(threadId: string): Promise<boolean> {
    if (!this.#owed.has(threadId)) return true;
    const done = await this.#attempt(() => this.#writing.run(() => this.tier.deleteThread(threadId)));
    if (done) this.#owed.delete(threadId);
    else this.#drops.add(1, "deletion");
    return done;
  }
}

function sizeOf(blobs: readonly { readonly bytes: Uint8Array }[]): number {
  return blobs.reduce((sum, { bytes }) => sum + bytes.length, 0);
}
