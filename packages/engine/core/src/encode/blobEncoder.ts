// long file: what a chain of patches is, written and read in one place
import { parseFrame, patchFrame, wholeFrame } from "./blobFrame.ts";
import { contentHash } from "../codec/index.ts";
import type { Envelope } from "./envelope.ts";
import { type Chain, type CachedPayload, PayloadCache } from "../incremental/payloadCache.ts";
import {
  cutsChain,
  decodePatch,
  diff,
  diffAdded,
  encodePatch,
  materialize,
  MAX_CHAIN_DEPTH,
  type Patch,
} from "../patch/index.ts";
import { Payload } from "../incremental/payload.ts";
import type { Blob, BlobHash } from "../contract/tier.ts";

/** A value as a manifest names it, and the blob that stores it. */
export interface EncodedValue {
  readonly hash: BlobHash;
  /** Absent if the thread has it already. */
  readonly blob: Blob | undefined;
  /** What to remember once the blob is stored. */
  readonly cached: CachedPayload;
}

/** Serialised bytes and their name. */
export interface NamedPayload {
  readonly payload: Payload;
  readonly hash: BlobHash;
}

type Parsed = { readonly whole: Uint8Array } | { readonly patch: Patch; readonly begins: boolean };

/** Shortest payload, in bytes, for which a patch is tried: with a shorter one, the frame costs as much as the patch saves. */
const shortestPatched = 512;

/** A chain this close to its limit, in patches, will be cut soon: a reader then also remembers the value where the chain began. */
const soonCut = 32;

/** Longest chain that is followed when reading, in patches: far longer than any that is written. So reading a circle of patches ends. */
const longestChain = 4096;

/** zstd level of a patch that begins a chain. */
const beginningLevel = 9;

const noChain: Chain = { depth: 0, bytes: 0 };

function longer(chain: Chain, bytes: number): Chain {
  return { depth: chain.depth + 1, bytes: chain.bytes + bytes };
}

/**
 * Turns channel values into blobs and back. Remembers the payloads of recently read and written values, so that the
 * usual put makes a patch on its parent without reading anything; `patchMemory` limits the memory for that.
 * A value whose base isn't remembered is stored whole.
 */
export class BlobEncoder {
  /** Compresses and encrypts blobs and bodies. */
  readonly envelope: Envelope;
  /** Longest payload that is read back, in bytes. */
  readonly maxBytes: number;
  /** The tier, and the most bytes of a blob or body that can be read back from it. */
  readonly stored: { readonly tier: string; readonly maxBytes: number };
  readonly #hashKey: Uint8Array | undefined;
  readonly #payloads: PayloadCache;
  /** How much of `patchMemory` is for {@link IncrementalSerializer}, in bytes. */
  readonly incrementalMemory: number;
  readonly #parsed = new WeakMap<Blob, Parsed | Promise<Parsed>>();

  constructor(
    envelope: Envelope,
    options: { patchMemory: number; maxValueBytes: number; hashKey?: Uint8Array | undefined },
    stored: { readonly tier: string; readonly maxBytes: number } = { tier: "memory", maxBytes: Infinity },
  ) {
    this.stored = stored;
    this.envelope = envelope;
    this.maxBytes = options.maxValueBytes;
    this.#hashKey = options.hashKey;
    this.incrementalMemory = Math.floor(options.patchMemory / 4);
    this.#payloads = new PayloadCache(options.patchMemory - this.incrementalMemory);
  }

  /** Whether names depend on a key. */
  get keyed(): boolean {
    return this.#hashKey !== undefined;
  }

  /** A payload with its name. */
  named(payload: Payload): NamedPayload {
    return { payload, hash: contentHash(payload.temporaryView(), this.#hashKey) };
  }

  /**
   * Encodes a value of a thread: as a patch if a base is remembered and the patch is short enough, else whole.
   * @param base the channel's previous value
   */
  async encode(threadId: string, named: NamedPayload, base: BlobHash | undefined): Promise<EncodedValue> {
    try {
      return await this.#encoded(threadId, named, base);
    } finally {
      // Recount even if the put fails later: the shared buffer has grown. Recounting earlier might evict the base of this patch.
      this.#payloads.recount(named.payload.buffer);
    }
  }

  async #encoded(
    threadId: string,
    { payload, hash }: NamedPayload,
    base: BlobHash | undefined,
  ): Promise<EncodedValue> {
    const stored = this.#payloads.get(threadId, hash);
    if (stored !== undefined) return { hash, blob: undefined, cached: stored };
    if (base !== undefined && payload.length >= shortestPatched) {
      for (const baseOf of [parentBase, beginningBase]) {
        const on = baseOf(this.#payloads, threadId, base);
        if (on === undefined || on.chain.depth >= MAX_CHAIN_DEPTH) continue;
        const patch = this.#patch(hash, payload, on);
        const bytes = patch instanceof Promise ? await patch : patch;
        if (isCut(on, payload, bytes)) continue;
        const cached = { ...on.next(longer(on.chain, bytes.length)), whole: on.cached.whole, payload };
        return { hash, blob: { hash, base: on.base, bytes }, cached };
      }
    }
    const wrapping = this.envelope.wrap(wholeFrame(payload.temporaryView()), hash);
    const whole = wrapping instanceof Promise ? await wrapping : wrapping;
    const size = { stored: whole.length, length: payload.length };
    const cached = {
      payload,
      whole: size,
      beginning: undefined,
      sinceBeginning: noChain,
      underBeginning: noChain,
    };
    return { hash, blob: { hash, bytes: whole }, cached };
  }

  /** Whether the payload is remembered. */
  has(threadId: string, hash: BlobHash): boolean {
    return this.#payloads.has(threadId, hash);
  }

  /** Length of the payload in bytes, if it is remembered. */
  lengthOf(threadId: string, hash: BlobHash): number | undefined {
    return this.#payloads.get(threadId, hash)?.payload.length;
  }

  /** The value, if it is remembered that the thread has its bytes. */
  find(threadId: string, { hash }: NamedPayload): EncodedValue | undefined {
    const cached = this.#payloads.get(threadId, hash);
    return cached === undefined ? undefined : { hash, blob: undefined, cached };
  }

  /** Remembers a value that is stored in the thread now. */
  remember(threadId: string, value: EncodedValue): void {
    this.#payloads.set(threadId, value.hash, value.cached);
  }

  /** Forgets a thread: nothing of it counts as stored any more. */
  forgetThread(threadId: string): void {
    this.#payloads.forgetThread(threadId);
  }

  /**
   * The payload that `hash` names, made from the given blobs and checked against the hash.
   * @param threadId the thread, if a remembered payload may be returned. Without it the payload is always made from the blobs
   * @param remember whether to remember the payload, for patches on it
   * @throws RangeError, CodecError or PatchError if a blob is missing or damaged
   */
  async payload(
    hash: BlobHash,
    blobs: ReadonlyMap<BlobHash, Blob>,
    threadId?: string,
    remember = true,
  ): Promise<Uint8Array> {
    // Remembered bytes were compared with this hash before.
    const cached = threadId === undefined ? undefined : this.#payloads.get(threadId, hash);
    if (cached !== undefined) return cached.payload.bytes();
    const patches: Patch[] = [];
    let beginning: BlobHash | undefined;
    let sinceBeginning = noChain;
    let underBeginning = noChain;
    for (let next = hash; ;) {
      const blob = blobs.get(next);
      if (blob === undefined) throw new RangeError(`blob ${next} is missing`);
      const parsing = this.#parse(blob);
      const parsed = parsing instanceof Promise ? await parsing : parsing;
      if (("whole" in parsed || parsed.begins) && next !== hash) beginning ??= next;
      if ("whole" in parsed) {
        const payload = patches.length === 0 ? parsed.whole : materialize(parsed.whole, patches.toReversed());
        if (!this.#isNamed(payload, hash))
          throw new RangeError(`the bytes of blob ${hash} have another hash`);
        if (threadId === undefined || !remember) return payload;
        const whole = { stored: blob.bytes.length, length: parsed.whole.length };
        this.#payloads.set(threadId, hash, {
          payload: Payload.of(payload),
          whole,
          beginning,
          sinceBeginning,
          underBeginning,
        });
        const cutIsNear = beginning !== undefined && sinceBeginning.depth > MAX_CHAIN_DEPTH - soonCut;
        if (cutIsNear && !this.#payloads.has(threadId, beginning!))
          await this.payload(beginning!, blobs, threadId);
        return payload;
      }
      if (blob.base === undefined) throw new RangeError(`blob ${next} is a patch without a base`);
      patches.push(parsed.patch);
      if (patches.length > longestChain) throw new RangeError(`the chain of blob ${hash} has no end`);
      // The first patch of a chain is a patch on the first one of the chain before, and so on.
      if (parsed.begins) underBeginning = longer(underBeginning, blob.bytes.length);
      else sinceBeginning = longer(sinceBeginning, blob.bytes.length);
      next = blob.base;
    }
  }

  /** The payload as a whole blob, without a base; for pruning. */
  async wholeBlob(hash: BlobHash, blobs: ReadonlyMap<BlobHash, Blob>): Promise<Blob> {
    const bytes = await this.envelope.wrap(wholeFrame(await this.payload(hash, blobs)), hash);
    return { hash, bytes };
  }

  /** Blobs that were written before encryption was switched on are named by the plain hash. */
  #isNamed(payload: Uint8Array, hash: BlobHash): boolean {
    if (contentHash(payload, this.#hashKey) === hash) return true;
    return this.#hashKey !== undefined && contentHash(payload) === hash;
  }

  #patch(hash: BlobHash, payload: Payload, { cached, begins }: PatchBase): Uint8Array | Promise<Uint8Array> {
    const { ops, literals } = encodePatch(patchOf(cached.payload, payload));
    // A patch that begins a chain holds all that was added since the chain before, and is written once in a hundred puts.
    return this.envelope.wrap(patchFrame(ops, literals, begins), hash, begins ? beginningLevel : undefined);
  }

  /** A blob decrypted, decompressed and parsed. This is done once per blob object, so that the checkpoints of a page share the work. */
  #parse(blob: Blob): Parsed | Promise<Parsed> {
    const cached = this.#parsed.get(blob);
    if (cached !== undefined) return cached;
    const unwrapped = this.envelope.unwrap(blob.bytes, blob.hash);
    const parsed =
      unwrapped instanceof Promise
        ? unwrapped.then((bytes) => this.#parsedOf(bytes))
        : this.#parsedOf(unwrapped);
    this.#parsed.set(blob, parsed);
    // Tiers keep blob objects, and the next attempt may succeed (a key that couldn't be fetched, a codec that starts anew).
    if (parsed instanceof Promise) parsed.catch(() => this.#parsed.delete(blob));
    return parsed;
  }

  #parsedOf(bytes: Uint8Array): Parsed {
    const frame = parseFrame(bytes);
    if (frame.kind === "whole") return { whole: frame.payload };
    return { patch: decodePatch(frame.ops, frame.literals, this.maxBytes), begins: frame.begins };
  }
}

/** A remembered value that a patch may be made on. */
interface PatchBase {
  readonly base: BlobHash;
  readonly cached: CachedPayload;
  /** The chain that the patch makes longer. */
  readonly chain: Chain;
  /** Whether later patches on it count as a new chain. */
  readonly begins: boolean;
  /** What to remember of the patched value's place, given the chain with the patch. */
  next(chain: Chain): Pick<CachedPayload, "beginning" | "sinceBeginning" | "underBeginning">;
}

/** The parent's value, if it is remembered: the patch makes its chain longer. */
function parentBase(payloads: PayloadCache, threadId: string, base: BlobHash): PatchBase | undefined {
  const cached = payloads.get(threadId, base);
  if (cached === undefined) return undefined;
  // Using the value where the chain began keeps it remembered for as long as the chain is used.
  if (cached.beginning !== undefined) payloads.get(threadId, cached.beginning);
  const { underBeginning, beginning = base } = cached;
  return {
    base,
    cached,
    chain: cached.sinceBeginning,
    begins: false,
    next: (sinceBeginning) => ({ beginning, sinceBeginning, underBeginning }),
  };
}

/** The value where the parent's chain began, if it is remembered: a new chain begins with the patch. */
function beginningBase(payloads: PayloadCache, threadId: string, parent: BlobHash): PatchBase | undefined {
  const base = payloads.get(threadId, parent)?.beginning;
  const cached = base === undefined ? undefined : payloads.get(threadId, base);
  if (base === undefined || cached === undefined) return undefined;
  const next = (underBeginning: Chain) => ({ beginning: undefined, sinceBeginning: noChain, underBeginning });
  return { base, cached, chain: cached.underBeginning, begins: true, next };
}

/** Whether it is better to cut a chain than to lengthen it by a patch of these bytes. */
function isCut({ cached, chain }: PatchBase, payload: Payload, bytes: Uint8Array): boolean {
  // Estimated from the base's compressed length: the exact length is known only once the value is compressed.
  const wholeBytes = Math.ceil(cached.whole.stored * (payload.length / Math.max(1, cached.whole.length)));
  return cutsChain({ depth: chain.depth, wholeBytes, patchBytes: bytes.length, chainBytes: chain.bytes });
}

function patchOf(base: Payload, next: Payload): Patch {
  return next.continues(base)
    ? diffAdded(next.buffer.prefix(next.prefixLength), base.prefixLength, next.end.length)
    : diff(base.temporaryView(), next.temporaryView());
}
