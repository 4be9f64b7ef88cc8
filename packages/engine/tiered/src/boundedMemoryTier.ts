// long file: one tier, a method for each part of the contract
import {
  MemoryTier,
  InvalidOptionError,
  type Duration,
  type Size,
  type ThreadInfo,
  type Tier,
} from "@stratigraph/core";
import {
  bytesOf,
  checkOptions,
  diagnoseMemory,
  msOf,
  type OptionAdvice,
  type OptionNames,
} from "@stratigraph/core/internal";
import {
  closedError,
  type AppendRequest,
  type AppendWritesRequest,
  type Appended,
  type Blob,
  type BlobInfo,
  type CopyKeeper,
  type Diagnoser,
  type DiagnoseRequest,
  type Diagnosis,
  type ListedCheckpoint,
  type ListQuery,
  type MaybeAddress,
  type NamespaceCopy,
  type Peek,
  type Reading,
  type Remainder,
  type RemoveRequest,
  type ThreadExpirer,
  type ThreadQuery,
} from "@stratigraph/core/tier";
import { isOwn, own } from "./ownBytes.ts";

/** Limits of an in-process hot tier. */
export interface BoundedMemoryOptions {
  /**
   * The most memory that checkpoints may take. Beyond it, the least recently used threads are forgotten, each as a whole. Default "256mb".
   */
  readonly maxSize?: Size | undefined;
  /** Threads that weren't used for this long are forgotten. Default "15m". */
  readonly forgetAfter?: Duration | undefined;
}

const names: OptionNames<BoundedMemoryOptions> = { maxSize: true, forgetAfter: true };
const advice: OptionAdvice = {
  ttl: "Write forgetAfter.",
  max: "Write maxSize, in bytes.",
  size: "Write maxSize.",
};

/** One thread in a tier of its own, so that it can be forgotten as a whole. */
interface Entry {
  readonly tier: MemoryTier;
  bytes: number;
  /** Until when it stays if it isn't used, in milliseconds since 1970. */
  untilMs: number;
}

/** If threads stay for different times, all of them are checked this many times within `forgetAfter`. */
const looksPerIdle = 64;

/** Memory that a record, a blob or a batch of writes takes besides its own bytes, in bytes. Measured: 300 to 600. */
export const overheadBytes = 512;

/**
 * A hot tier in this process's memory, with limits on size and idle time. Threads are forgotten as a whole, so none is ever here in
 * part. Because it forgets, it can't be a warm or cold tier.
 */
export class BoundedMemoryTier implements Tier, CopyKeeper, Diagnoser, ThreadExpirer {
  readonly name: string = "memory";
  readonly forgets = true;
  readonly #maxBytes: number;
  readonly #forgetAfterMs: number;
  readonly #now: () => number;
  /** By thread id, the least recently used first. */
  readonly #kept = new Map<string, Entry>();
  #bytes = 0;
  #ended = false;
  /** How long a thread stays after its last use, in milliseconds, if a stack decides it. */
  #chosenIdleMs: ((threadId: string) => number) | undefined;
  #longestIdleMs: number;
  /** When all threads were last looked at, in milliseconds since 1970. */
  #lookedMs = Number.NEGATIVE_INFINITY;

  /** @param now the clock, for tests: milliseconds since 1970 @throws InvalidOptionError */
  constructor(options: BoundedMemoryOptions = {}, now: () => number = Date.now) {
    checkOptions("memory", options, names, advice);
    this.#maxBytes = bytesOf("maxSize", options.maxSize ?? "256mb");
    this.#forgetAfterMs = msOf("forgetAfter", options.forgetAfter ?? "15m");
    this.#now = now;
    this.#longestIdleMs = this.#forgetAfterMs;
    if (this.#maxBytes < 1)
      throw new InvalidOptionError("maxSize", options.maxSize, "Use a size above 0, or leave the tier out.");
  }

  get remains(): readonly Remainder[] {
    return [
      {
        what: "copies in the memory of other processes that read it",
        forMs: this.#longestIdleMs,
        removedBy:
          "each of these processes, once the thread is idle or room is needed; their end takes them at once",
      },
    ];
  }

  get ttlMs(): number {
    return this.#forgetAfterMs;
  }

  chooseTtl(choose: (threadId: string) => number, longestMs: number): void {
    this.#chosenIdleMs = choose;
    this.#longestIdleMs = longestMs;
  }

  /** Bytes held, including an estimate of 512 bytes for each record, blob and batch. */
  get size(): number {
    return this.#bytes;
  }

  /** The threads. All methods get them here, so that none of them works after {@link end}. */
  get #threads(): Map<string, Entry> {
    if (this.#ended) throw closedError(this.name);
    return this.#kept;
  }

  async diagnose(request: DiagnoseRequest): Promise<readonly Diagnosis[]> {
    return await diagnoseMemory(this.name, () => this.#threads.size, request);
  }

  async peek(at: MaybeAddress): Promise<Peek> {
    return (await this.#used(at.threadId)?.tier.peek(at)) ?? { revision: 0, writes: [] };
  }

  async read(at: MaybeAddress): Promise<Reading> {
    return (await this.#used(at.threadId)?.tier.read(at)) ?? { revision: 0 };
  }

  async *list(query: ListQuery): AsyncGenerator<ListedCheckpoint> {
    this.#forgetIdle();
    let left = query.limit ?? Number.POSITIVE_INFINITY;
    const threads = query.threadId === undefined ? [...this.#threads.keys()] : [query.threadId];
    for (const threadId of threads) {
      const entry = this.#threads.get(threadId);
      if (entry === undefined) continue;
      for await (const listed of entry.tier.list({ ...query, threadId, limit: left })) {
        yield listed;
        left -= 1;
      }
    }
  }

  async *threads(query: ThreadQuery): AsyncGenerator<ThreadInfo> {
    this.#forgetIdle();
    const { limit, ...wanted } = query;
    const infos: ThreadInfo[] = [];
    for (const { tier } of this.#threads.values())
      for await (const info of tier.threads(wanted)) infos.push(info);
    const direction = query.order === "newest" ? -1 : 1;
    infos.sort((a, b) => direction * (a.writtenAtMs - b.writtenAtMs || (a.threadId < b.threadId ? -1 : 1)));
    yield* infos.slice(0, limit);
  }

  async blobs(threadId: string): Promise<readonly BlobInfo[]> {
    return (await this.#used(threadId)?.tier.blobs(threadId)) ?? [];
  }

  async append(request: AppendRequest): Promise<Appended> {
    const records = request.records.map((record) => ({ ...record, body: own(record.body) }));
    return await this.#write(
      request.threadId,
      request.blobs,
      [...records, ...(request.writes ?? [])],
      async (tier, blobs) => await tier.append({ ...request, records, blobs }),
    );
  }

  async appendWrites(request: AppendWritesRequest): Promise<void> {
    await this.#write(request.threadId, request.newBlobs, [request], async (tier, newBlobs) => {
      await tier.appendWrites({ ...request, body: own(request.body), newBlobs });
    });
  }

  async remove(request: RemoveRequest): Promise<boolean> {
    const entry = this.#used(request.threadId);
    return entry !== undefined && (await entry.tier.remove(request));
  }

  async evict(threadId: string, revision: number): Promise<boolean> {
    const entry = this.#used(threadId);
    return entry !== undefined && (await entry.tier.evict(threadId, revision));
  }

  /** Leaves no tombstone, because the tier that owns the thread has one. */
  async deleteThread(threadId: string): Promise<void> {
    this.#forget(threadId);
  }

  async adopt(copy: NamespaceCopy): Promise<void> {
    const { threadId, blobs, record, writes } = copy;
    await this.#write(
      threadId,
      blobs,
      [...(record === undefined ? [] : [record]), ...writes],
      async (tier, own) => await tier.adopt({ ...copy, blobs: own }),
    );
  }

  async invalidate(threadId: string, before = 0): Promise<void> {
    if (before === 0) await this.#threads.get(threadId)?.tier.invalidate(threadId);
    else await this.#write(threadId, [], [], async (tier) => await tier.invalidate(threadId, before));
  }

  /** @throws StratigraphError "CLOSED" */
  async ping(): Promise<void> {
    if (this.#ended) throw closedError(this.name);
  }

  /** Forgets everything. Calls made afterwards are refused with code "CLOSED". */
  async end(): Promise<void> {
    this.#kept.clear();
    this.#bytes = 0;
    this.#ended = true;
  }

  async #write<T>(
    threadId: string,
    given: readonly Blob[],
    bodies: readonly { readonly body: Uint8Array }[],
    write: (tier: MemoryTier, blobs: readonly Blob[]) => Promise<T>,
  ): Promise<T> {
    const entry = this.#used(threadId) ?? this.#begin(threadId);
    const blobs = given
      .filter(({ hash }) => !entry.tier.hasBlob(threadId, hash))
      .map((blob) => (isOwn(blob.bytes) ? blob : { ...blob, bytes: own(blob.bytes) }));
    const written = await write(entry.tier, blobs);
    const sizes = [...blobs.map(({ bytes }) => bytes), ...bodies.map(({ body }) => body)];
    const added = sizes.reduce((sum, { length }) => sum + length + overheadBytes, 0);
    // If the thread was forgotten meanwhile, its bytes don't count.
    if (this.#kept.get(threadId) !== entry) return written;
    entry.bytes += added;
    this.#bytes += added;
    for (const oldest of this.#threads.keys()) {
      if (this.#bytes <= this.#maxBytes) break;
      this.#forget(oldest);
    }
    return written;
  }

  #begin(threadId: string): Entry {
    const entry = { tier: new MemoryTier(), bytes: overheadBytes, untilMs: this.#untilMs(threadId) };
    this.#threads.set(threadId, entry);
    this.#bytes += overheadBytes;
    return entry;
  }

  /** A thread's entry, which becomes the most recently used. */
  #used(threadId: string): Entry | undefined {
    this.#forgetIdle();
    const entry = this.#threads.get(threadId);
    if (entry === undefined) return undefined;
    // If threads stay for different times, this one may be due, but not forgotten yet.
    if (entry.untilMs < this.#now()) return this.#forget(threadId);
    entry.untilMs = this.#untilMs(threadId);
    this.#threads.delete(threadId);
    this.#threads.set(threadId, entry);
    return entry;
  }

  #untilMs(threadId: string): number {
    return this.#now() + (this.#chosenIdleMs?.(threadId) ?? this.#forgetAfterMs);
  }

  #forgetIdle(): void {
    const now = this.#now();
    const stayEquallyLong = this.#chosenIdleMs === undefined;
    if (!stayEquallyLong && now < this.#lookedMs + this.#forgetAfterMs / looksPerIdle) return;
    this.#lookedMs = now;
    for (const [threadId, { untilMs }] of this.#threads) {
      if (untilMs < now) this.#forget(threadId);
      // If all threads stay equally long, they are in the order in which they expire.
      else if (stayEquallyLong) return;
    }
  }

  #forget(threadId: string): undefined {
    this.#bytes -= this.#threads.get(threadId)?.bytes ?? 0;
    this.#threads.delete(threadId);
  }
}

/** Makes a hot tier in this process's memory: `hot: [boundedMemory({ maxSize: "256mb" }), redis({ client })]`. @throws InvalidOptionError */
export function boundedMemory(options: BoundedMemoryOptions = {}): BoundedMemoryTier {
  return new BoundedMemoryTier(options);
}
