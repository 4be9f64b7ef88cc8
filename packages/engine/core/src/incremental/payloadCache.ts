import { LRUCache } from "lru-cache";
import { MAX_CHAIN_DEPTH } from "../patch/index.ts";
import type { AppendOnlyBuffer } from "./appendOnlyBuffer.ts";
import type { Payload } from "./payload.ts";
import type { BlobHash } from "../contract/tier.ts";

/** A series of patches, each on the previous one. */
export interface Chain {
  readonly depth: number;
  /** Size of the patches as they are stored. */
  readonly bytes: number;
}

/**
 * What is remembered of a stored value. Chains have two levels. On the upper level each patch is on the parent's value. When
 * such a chain is cut, a new one begins with a patch on the value where the old one began: these patches are the lower level. So
 * a cut costs a patch instead of a whole value, and the size of a history depends on what happened in it, not on what it holds.
 */
export interface CachedPayload {
  readonly payload: Payload;
  /** The whole blob at the bottom: its stored size, and the length of the payload in it. In bytes. */
  readonly whole: { readonly stored: number; readonly length: number };
  /** The value where the present chain began; undefined if it is this value. */
  readonly beginning: BlobHash | undefined;
  /** The patches from the chain's beginning up to this value. */
  readonly sinceBeginning: Chain;
  /** The patches from the whole blob up to the chain's beginning. */
  readonly underBeginning: Chain;
}

interface Entry {
  readonly threadId: string;
  readonly hash: BlobHash;
  readonly cached: CachedPayload;
}

/** The values whose payloads share a buffer. The least recently used comes first. */
interface Sharers {
  readonly entries: Set<Entry>;
}

/** What an entry takes besides its payload, in bytes; a generous estimate. */
const entryBytes = 256;

/** How many values are remembered in one buffer at most: a chain, where it began, and some that were tried as well. */
const mostInOneBuffer = MAX_CHAIN_DEPTH + 86;

/**
 * The payloads of recently used blobs, within a limit in bytes. Values whose payloads share a buffer are evicted together, when
 * none of them was used for the longest time.
 */
export class PayloadCache {
  readonly #threads = new Map<string, Map<BlobHash, Entry>>();
  readonly #buffers: LRUCache<AppendOnlyBuffer, Sharers>;

  constructor(maxBytes: number) {
    this.#buffers = new LRUCache({
      maxSize: Math.max(1, maxBytes),
      sizeCalculation: ({ entries }, buffer) => buffer.capacity + entries.size * entryBytes,
      noDisposeOnSet: true,
      dispose: ({ entries }) => {
        for (const entry of entries) this.#drop(entry);
      },
    });
  }

  /** Whether a value is remembered. Asking doesn't count as a use. */
  has(threadId: string, hash: BlobHash): boolean {
    return this.#threads.get(threadId)?.has(hash) ?? false;
  }

  get(threadId: string, hash: BlobHash): CachedPayload | undefined {
    const entry = this.#threads.get(threadId)?.get(hash);
    if (entry === undefined) return undefined;
    const { entries } = this.#buffers.get(entry.cached.payload.buffer)!;
    entries.delete(entry);
    entries.add(entry);
    return entry.cached;
  }

  set(threadId: string, hash: BlobHash, cached: CachedPayload): void {
    const before = this.#threads.get(threadId)?.get(hash);
    if (before !== undefined) this.#forget(before);
    const { buffer } = cached.payload;
    const { entries } = this.#buffers.get(buffer) ?? { entries: new Set<Entry>() };
    const entry = { threadId, hash, cached };
    entries.add(entry);
    let hashes = this.#threads.get(threadId);
    if (hashes === undefined) this.#threads.set(threadId, (hashes = new Map()));
    hashes.set(hash, entry);
    for (const oldest of entries) {
      if (entries.size <= mostInOneBuffer) break;
      entries.delete(oldest);
      this.#drop(oldest);
    }
    // A new object, because LRUCache doesn't count the size of the same value again.
    this.#buffers.set(buffer, { entries });
    // The buffer alone is larger than the limit.
    if (!this.#buffers.has(buffer)) for (const each of entries) this.#drop(each);
  }

  /** Counts a buffer's size again after something was added to it, even if that wasn't stored in the end. */
  recount(buffer: AppendOnlyBuffer): void {
    const sharers = this.#buffers.peek(buffer);
    if (sharers !== undefined) this.#buffers.set(buffer, { ...sharers });
  }

  forgetThread(threadId: string): void {
    for (const entry of this.#threads.get(threadId)?.values() ?? []) this.#forget(entry);
  }

  #forget(entry: Entry): void {
    const { buffer } = entry.cached.payload;
    const { entries } = this.#buffers.peek(buffer)!;
    entries.delete(entry);
    this.#drop(entry);
    if (entries.size === 0) this.#buffers.delete(buffer);
  }

  /** Takes an entry out of the index by thread. */
  #drop({ threadId, hash }: Entry): void {
    const hashes = this.#threads.get(threadId);
    hashes?.delete(hash);
    if (hashes?.size === 0) this.#threads.delete(threadId);
  }
}
