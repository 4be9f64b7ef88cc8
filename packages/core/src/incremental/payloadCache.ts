import { LRUCache } from "lru-cache";
import { MAX_CHAIN_DEPTH } from "../patch/index.ts";
import type { AppendOnlyBuffer, Payload } from "./payload.ts";
import type { BlobHash } from "../contract/tier.ts";

/** A run of patches, each on the one before. `bytes` as stored. */
export interface Chain {
  readonly depth: number;
  readonly bytes: number;
}

/**
 * What is remembered of a stored value. Chains have two levels: patches on the parent's value, and, where such a chain
 * is cut, a patch on the value where it began. So a cut costs a patch too, and a history grows with what happened in
 * it, not with what it holds.
 */
export interface Known {
  readonly payload: Payload;
  /** The whole blob at the bottom: stored size, and length of the payload in it. In bytes. */
  readonly whole: { readonly stored: number; readonly length: number };
  /** The value where the present chain began; undefined: this one. */
  readonly beginning: BlobHash | undefined;
  /** Patches since then, and of that value down to the whole one. */
  readonly upper: Chain;
  readonly lower: Chain;
}

interface Entry {
  readonly threadId: string;
  readonly hash: BlobHash;
  readonly known: Known;
}

interface Shared {
  /** The values in one memory, those asked for last at the end. */
  readonly entries: Set<Entry>;
}

/** What a value takes besides its payload, in bytes; generously. */
const entryBytes = 256;

/** Most values remembered in one memory: a chain, where it began, and some that were tried beside it. */
const mostInOne = MAX_CHAIN_DEPTH + 86;

/**
 * What is remembered of stored values, at most so many bytes of it. Values that share their memory are forgotten together, when
 * none of them was asked for in a long time.
 */
export class PayloadCache {
  readonly #threads = new Map<string, Map<BlobHash, Entry>>();
  readonly #memories: LRUCache<AppendOnlyBuffer, Shared>;

  constructor(maxBytes: number) {
    this.#memories = new LRUCache({
      maxSize: Math.max(1, maxBytes),
      sizeCalculation: ({ entries }, memory) => memory.capacity + entries.size * entryBytes,
      noDisposeOnSet: true,
      dispose: ({ entries }) => {
        for (const entry of entries) this.#drop(entry);
      },
    });
  }

  has(threadId: string, hash: BlobHash): boolean {
    return this.#threads.get(threadId)?.has(hash) ?? false;
  }

  get(threadId: string, hash: BlobHash): Known | undefined {
    const entry = this.#threads.get(threadId)?.get(hash);
    if (entry === undefined) return undefined;
    const { entries } = this.#memories.get(entry.known.payload.memory)!;
    entries.delete(entry);
    entries.add(entry);
    return entry.known;
  }

  set(threadId: string, hash: BlobHash, known: Known): void {
    const before = this.#threads.get(threadId)?.get(hash);
    if (before !== undefined) this.#forget(before);
    const { memory } = known.payload;
    const { entries } = this.#memories.get(memory) ?? { entries: new Set<Entry>() };
    const entry = { threadId, hash, known };
    entries.add(entry);
    let hashes = this.#threads.get(threadId);
    if (hashes === undefined) this.#threads.set(threadId, (hashes = new Map()));
    hashes.set(hash, entry);
    for (const oldest of entries) {
      if (entries.size <= mostInOne) break;
      entries.delete(oldest);
      this.#drop(oldest);
    }
    // Another object each time: an LRUCache that is given the same one again keeps the size it counted first.
    this.#memories.set(memory, { entries });
    // Larger than all that may be remembered.
    if (!this.#memories.has(memory)) for (const each of entries) this.#drop(each);
  }

  /** Counts a memory again that was written into: what was written need not come to be stored, and takes its place all the same. */
  recount(memory: AppendOnlyBuffer): void {
    const shared = this.#memories.peek(memory);
    if (shared !== undefined) this.#memories.set(memory, { ...shared });
  }

  forgetThread(threadId: string): void {
    for (const entry of this.#threads.get(threadId)?.values() ?? []) this.#forget(entry);
  }

  #forget(entry: Entry): void {
    const { memory } = entry.known.payload;
    const { entries } = this.#memories.peek(memory)!;
    entries.delete(entry);
    this.#drop(entry);
    if (entries.size === 0) this.#memories.delete(memory);
  }

  #drop({ threadId, hash }: Entry): void {
    const hashes = this.#threads.get(threadId);
    hashes?.delete(hash);
    if (hashes?.size === 0) this.#threads.delete(threadId);
  }
}
