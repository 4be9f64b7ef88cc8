import { LRUCache } from "lru-cache";
import { parseFrame, patchFrame, payloadOf, wholeFrame } from "./blobFrame.ts";
import { contentHash } from "./codec/index.ts";
import type { Envelope } from "./envelope.ts";
import { cutsChain, decodePatch, diff, encodePatch, materialize, type Patch } from "./patch/index.ts";
import type { Blob, BlobHash } from "./tier.ts";

/** What is remembered of a stored value. */
interface Known {
  readonly payload: Uint8Array;
  /** Patches between its blob and the whole one at the chain's start. */
  readonly depth: number;
  /** That whole blob: stored size, and length of the payload in it. In bytes. */
  readonly whole: { readonly stored: number; readonly length: number };
  /** Stored size of the chain's patches, in bytes. */
  readonly chainBytes: number;
}

/** A value as it goes into a manifest. */
export interface EncodedValue {
  readonly hash: BlobHash;
  /** Absent where the thread has it already. */
  readonly blob: Blob | undefined;
  readonly known: Known;
}

type Parsed = { readonly whole: Uint8Array } | { readonly patch: Patch };

/** Shortest payload, in bytes, for which a patch is tried: below, the frame alone eats the gain. */
const shortestPatched = 512;

/** Longest chain that is followed when reading: far above what is ever written, far below a loop. */
const longestChain = 4096;

/**
 * Turns channel values into blobs and back. Remembers the payloads of recently read and written values, so
 * that the usual put patches against its parent without reading anything; what that may take is a named
 * limit (`patchMemory`). A value whose base isn't remembered is stored whole.
 */
export class Values {
  readonly #envelope: Envelope;
  readonly #maxBytes: number;
  readonly #hashKey: Uint8Array | undefined;
  readonly #known: LRUCache<string, Known>;
  readonly #parsed = new WeakMap<Blob, Promise<Parsed>>();

  constructor(
    envelope: Envelope,
    options: { patchMemory: number; maxValueBytes: number; hashKey?: Uint8Array | undefined },
  ) {
    this.#envelope = envelope;
    this.#maxBytes = options.maxValueBytes;
    this.#hashKey = options.hashKey;
    this.#known = new LRUCache({
      maxSize: Math.max(1, options.patchMemory),
      sizeCalculation: ({ payload }) => payload.length + 256,
    });
  }

  /** Encodes a value of a thread, as a patch on `base` where that is remembered and pays. */
  async encode(
    threadId: string,
    type: string,
    bytes: Uint8Array,
    base: BlobHash | undefined,
  ): Promise<EncodedValue> {
    const payload = payloadOf(type, bytes);
    const hash = contentHash(payload, this.#hashKey);
    const stored = this.#known.get(threadId + hash);
    if (stored !== undefined) return { hash, blob: undefined, known: stored };
    const known = base === undefined ? undefined : this.#known.get(threadId + base);
    if (known !== undefined && payload.length >= shortestPatched) {
      const patched = await this.#patch(hash, payload, base!, known);
      if (patched !== undefined) return patched;
    }
    const whole = await this.#envelope.wrap(wholeFrame(payload), hash);
    const size = { stored: whole.length, length: payload.length };
    return { hash, blob: { hash, bytes: whole }, known: { payload, depth: 0, whole: size, chainBytes: 0 } };
  }

  /** The value is stored in the thread now. */
  remember(threadId: string, value: EncodedValue): void {
    this.#known.set(threadId + value.hash, value.known);
  }

  /** Nothing of the thread is taken for stored any more. */
  forgetThread(threadId: string): void {
    for (const key of this.#known.keys()) if (key.startsWith(threadId)) this.#known.delete(key);
  }

  /**
   * The payload that `hash` names, made from the blobs at hand; checked against the hash.
   * @param threadId where to remember it, for patches against it; absent: don't
   * @throws RangeError, CodecError or PatchError where a blob is missing or damaged
   */
  async payload(hash: BlobHash, blobs: ReadonlyMap<BlobHash, Blob>, threadId?: string): Promise<Uint8Array> {
    const patches: Patch[] = [];
    let chainBytes = 0;
    for (let next = hash; ;) {
      const blob = blobs.get(next);
      if (blob === undefined) throw new RangeError(`blob ${next} is missing`);
      const parsed = await this.#parse(blob);
      if ("whole" in parsed) {
        const payload = patches.length === 0 ? parsed.whole : materialize(parsed.whole, patches.reverse());
        if (!this.#isNamed(payload, hash))
          throw new RangeError(`the bytes of blob ${hash} have another hash`);
        if (threadId !== undefined) {
          const whole = { stored: blob.bytes.length, length: parsed.whole.length };
          this.#known.set(threadId + hash, { payload, depth: patches.length, whole, chainBytes });
        }
        return payload;
      }
      if (blob.base === undefined) throw new RangeError(`blob ${next} is a patch without a base`);
      patches.push(parsed.patch);
      if (patches.length > longestChain) throw new RangeError(`the chain of blob ${hash} has no end`);
      chainBytes += blob.bytes.length;
      next = blob.base;
    }
  }

  /** The payload as a blob of its own, standing on no other; for pruning. */
  async wholeBlob(hash: BlobHash, blobs: ReadonlyMap<BlobHash, Blob>): Promise<Blob> {
    const bytes = await this.#envelope.wrap(wholeFrame(await this.payload(hash, blobs)), hash);
    return { hash, bytes };
  }

  /** Blobs written before encryption was switched on carry the plain hash. */
  #isNamed(payload: Uint8Array, hash: BlobHash): boolean {
    if (contentHash(payload, this.#hashKey) === hash) return true;
    return this.#hashKey !== undefined && contentHash(payload) === hash;
  }

  async #patch(
    hash: BlobHash,
    payload: Uint8Array,
    base: BlobHash,
    known: Known,
  ): Promise<EncodedValue | undefined> {
    const { ops, literals } = encodePatch(diff(known.payload, payload));
    const bytes = await this.#envelope.wrap(patchFrame(ops, literals), hash);
    // What the value would take whole is taken to grow with its length; compressing it to know would cost more than it tells.
    const wholeBytes = Math.ceil(known.whole.stored * (payload.length / Math.max(1, known.whole.length)));
    const state = { depth: known.depth, wholeBytes, patchBytes: bytes.length, chainBytes: known.chainBytes };
    if (cutsChain(state)) return undefined;
    const grown = {
      payload,
      depth: known.depth + 1,
      whole: known.whole,
      chainBytes: known.chainBytes + bytes.length,
    };
    return { hash, blob: { hash, base, bytes }, known: grown };
  }

  /** A blob decrypted, decompressed and parsed; once per blob object, so that a page shares the work. */
  #parse(blob: Blob): Promise<Parsed> {
    const cached = this.#parsed.get(blob);
    if (cached !== undefined) return cached;
    const parsing = this.#envelope.unwrap(blob.bytes, blob.hash).then((bytes): Parsed => {
      const frame = parseFrame(bytes);
      if (frame.kind === "whole") return { whole: frame.payload };
      return { patch: decodePatch(frame.ops, frame.literals, this.#maxBytes) };
    });
    this.#parsed.set(blob, parsing);
    return parsing;
  }
}
