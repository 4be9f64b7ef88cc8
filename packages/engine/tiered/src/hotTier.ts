import type { CopyHealth, Tier } from "@stratigraph/core";
import { keepsCopies, trace } from "@stratigraph/core/internal";
import {
  blobClosure,
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
} from "@stratigraph/core/tier";
import type { AdaptiveTtl } from "./adaptiveTtl.ts";
import { overheadBytes } from "./boundedMemoryTier.ts";
import { Breaker, type BreakerSettings, type BreakerState } from "./breaker.ts";
import { CopyQueue, type QueueLimits } from "./copyQueue.ts";
import { DroppedCopies } from "./droppedCopies.ts";
import { isOutage } from "./outage.ts";

/** What a hot tier has done so far. */
export type HotCounters = CopyHealth;

/** How many threads are remembered whose copies couldn't be deleted yet. */
const mostOwed = 10_000;

/**
 * A tier in the hot role: it holds copies of immutable data, and its failures never reach the caller. Reads and writes have a
 * breaker each, because a full Redis takes no more copies but still answers.
 */
export class HotTier {
  readonly tier: Tier;
  readonly #reading: Breaker;
  readonly #writing: Breaker;
  readonly #queue: CopyQueue;
  readonly #dropped: DroppedCopies;
  readonly #adaptiveTtl: AdaptiveTtl | undefined;
  /** Threads whose copies must be deleted before the tier is asked about them again. */
  readonly #owed = new Set<string>();
  #hits = 0;
  #misses = 0;

  /** @param adaptiveTtl observes every use, and decides how long copies stay. If it is absent, the tier decides */
  constructor(
    tier: Tier,
    breaker: BreakerSettings,
    limits: QueueLimits,
    now: () => number,
    adaptiveTtl?: AdaptiveTtl,
  ) {
    this.tier = tier;
    this.#adaptiveTtl = adaptiveTtl;
    this.#reading = new Breaker(tier.name, breaker, now, "reads");
    this.#writing = new Breaker(tier.name, breaker, now, "writes");
    const dropped = new DroppedCopies(tier.name);
    this.#dropped = dropped;
    const told = (waiting: number, bytes: number): void =>
      trace({ type: "copy-queue", tier: tier.name, waiting, bytes });
    this.#queue = new CopyQueue(limits, (count) => dropped.add(count, "copies"), told);
  }

  get counters(): HotCounters {
    return {
      hits: this.#hits,
      misses: this.#misses,
      dropped: this.#dropped.total,
      waiting: this.#queue.size,
      waitingBytes: this.#queue.bytes,
      running: this.#queue.running,
    };
  }

  /** The worse of the two breakers' states. */
  get breaker(): BreakerState {
    const states = [this.#reading.state, this.#writing.state];
    return (["open", "half-open"] as const).find((state) => states.includes(state)) ?? "closed";
  }

  /** Counts a read of a thread whose bytes came from this tier. */
  hit(threadId: string): void {
    this.#hits += 1;
    trace({ type: "hot-read", tier: this.tier.name, threadId, result: "hit" });
  }

  /** Counts a read of a thread whose bytes had to come from a farther tier. */
  miss(threadId: string): void {
    this.#misses += 1;
    const result = this.#reading.refuses ? "skipped" : "miss";
    trace({ type: "hot-read", tier: this.tier.name, threadId, result });
  }

  /** Reads from the tier. Undefined if it is too slow or failing. */
  async find(at: MaybeAddress): Promise<Reading | undefined> {
    return await this.#asked(at.threadId, () => this.tier.read(at));
  }

  async peek(at: MaybeAddress): Promise<Peek | undefined> {
    return await this.#asked(at.threadId, () => this.tier.peek(at));
  }

  /** Queues the copying of an append that the warm tier has acknowledged. */
  append(request: AppendRequest, appended: Appended): void {
    const writes = (request.writes ?? []).filter(({ blobs }) => blobs.length > 0);
    const heads = appended.heads.map(({ namespace, head }) => ({
      namespace,
      to: head,
      expected: "any" as const,
    }));
    this.#adaptiveTtl?.used(request.threadId, "write", heldBytes(request));
    this.#copy(request.threadId, {
      threadId: request.threadId,
      records: request.records,
      blobs: request.blobs,
      writes,
      heads,
      onConflict: "branch",
    });
  }

  /**
   * Queues the copying of pending writes that the warm tier has acknowledged. Those that name no blobs aren't copied, because pending
   * writes themselves are read from the warm tier.
   */
  appendWrites(request: AppendWritesRequest): void {
    if (request.newBlobs.length === 0 && request.blobs.length === 0) return;
    // `seen` is a revision of the owner, which has already accepted the write.
    const { relies: _relies, seen: _seen, ...rest } = request;
    const bytes = sizeOf(request.newBlobs) + request.body.length;
    this.#adaptiveTtl?.used(
      request.threadId,
      "write",
      heldBytes({ records: [request], blobs: request.newBlobs }),
    );
    this.#push(request.threadId, bytes, () => this.tier.appendWrites(rest));
  }

  /** Queues the copying of a checkpoint that was read from a farther tier. */
  copyRead(stored: StoredCheckpoint, head: string | undefined): void {
    const { record } = stored;
    const blobs = blobClosure(namedBlobs(record, stored.writes), stored.blobs);
    if (blobs === undefined) return;
    const { threadId, namespace, checkpointId } = record;
    this.#adaptiveTtl?.sized(threadId, heldBytes({ records: [record], blobs: [...blobs.values()] }));
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
    });
  }

  /** Deletes a thread's copies now. If that fails, they are deleted before the tier is next asked about the thread. */
  async dropThread(threadId: string): Promise<void> {
    await this.#queue.discard(threadId);
    this.#owe(threadId);
    await this.#settle(threadId);
  }

  /** Queues the renewal of a namespace's copy: `work` reads the owner's state and adopts it. */
  adoptLater(
    threadId: string,
    namespace: string,
    work: (adopt: (copy: NamespaceCopy) => Promise<void>) => Promise<void>,
  ): void {
    const keeper = this.#keeper();
    if (this.#writing.refuses) {
      this.#dropped.add(1, "copies");
      return;
    }
    const adopt = async (copy: NamespaceCopy): Promise<void> => {
      await this.#writing.run(() => keeper.adopt(copy));
    };
    const run = async (): Promise<boolean> =>
      (await this.#settle(threadId)) && (await this.#attempt(() => work(adopt)));
    this.#queue.push(threadId, { bytes: 0, key: JSON.stringify(["adopt", namespace]), run });
  }

  /** Invalidates the thread's copies. @param before copies of the owner's earlier revisions are never accepted again */
  async invalidate(threadId: string, before?: number): Promise<void> {
    const keeper = this.#keeper();
    const done = await this.#attempt(async () => {
      await this.#writing.run(() => keeper.invalidate(threadId, before));
    });
    if (!done) this.#dropped.add(1, "invalidation");
  }

  /** Resolves when no copy waits or is being made. */
  async idle(): Promise<void> {
    await this.#queue.idle();
  }

  /** Drops the waiting copies and all later ones. */
  close(): void {
    this.#queue.close();
    this.#dropped.flush();
  }

  #keeper(): Tier & CopyKeeper {
    const { tier } = this;
    if (!keepsCopies(tier)) throw new TypeError(`tier ${tier.name} keeps no copies`);
    return tier;
  }

  async #asked<T>(threadId: string, call: () => Promise<T>): Promise<T | undefined> {
    if (this.#owed.size > 0 && !(await this.#settle(threadId))) return undefined;
    if (this.#reading.refuses) return undefined;
    this.#adaptiveTtl?.used(threadId, "read");
    try {
      return await this.#reading.run(call);
    } catch {
      return undefined;
    }
  }

  #copy(threadId: string, request: AppendRequest): void {
    this.#push(threadId, sizeOfAll(request), async () => {
      await this.tier.append(request);
    });
  }

  #push(threadId: string, bytes: number, call: () => Promise<void>): void {
    if (this.#writing.refuses) {
      this.#dropped.add(1, "copies");
      return;
    }
    const run = async (): Promise<boolean> =>
      (await this.#settle(threadId)) && (await this.#attempt(() => this.#writing.run(call)));
    this.#queue.push(threadId, { bytes, run });
  }

  /** False if the tier is failing. If a healthy tier refuses, for instance because of a tombstone, that is no failure. */
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

  /** Deletes a thread's copies if that is still due. False if it can't be done now. */
  async #settle(threadId: string): Promise<boolean> {
    if (!this.#owed.has(threadId)) return true;
    const done = await this.#attempt(() => this.#writing.run(() => this.tier.deleteThread(threadId)));
    if (done) this.#owed.delete(threadId);
    else this.#dropped.add(1, "deletion");
    return done;
  }
}

/** Records and blobs, or objects of the same shape. */
interface Copied {
  readonly records: readonly { readonly body: Uint8Array }[];
  readonly blobs: AppendRequest["blobs"];
}

/** About how much memory a hot tier takes for a copy, in bytes. */
function heldBytes(copied: Copied): number {
  return sizeOfAll(copied) + (copied.records.length + copied.blobs.length) * overheadBytes;
}

function sizeOfAll({ records, blobs }: Copied): number {
  return records.reduce((sum, { body }) => sum + body.length, sizeOf(blobs));
}

function sizeOf(blobs: readonly { readonly bytes: Uint8Array }[]): number {
  return blobs.reduce((sum, { bytes }) => sum + bytes.length, 0);
}
