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

/** A value as it goes into a manifest. */
export interface EncodedValue {
  readonly hash: BlobHash;
  /** Absent where the thread has it already. */
  readonly blob: Blob | undefined;
  readonly known: CachedPayload;
}

/** Serialised bytes and their name. */
export interface NamedPayload {
  readonly payload: Payload;
  readonly hash: BlobHash;
}

type Parsed = { readonly whole: Uint8Array } | { readonly patch: Patch; readonly begins: boolean };

/** Shortest payload, in bytes, for which a patch is tried: below, the frame alone eats the gain. */
const shortestPatched = 512;

/** A chain this close to its limit, in patches, is about to be cut: a reader then remembers where it began as well. */
const soonCut = 32;

/** Longest chain that is followed when reading: far above what is ever written, far below a loop. */
const longestChain = 4096;

/** zstd level of a patch that begins a chain. */
const beginningLevel = 9;

const noChain: Chain = { depth: 0, bytes: 0 };

function longer(chain: Chain, bytes: number): Chain {
  return { depth: chain.depth + 1, bytes: chain.bytes + bytes };
}

/**
 * Turns channel values into blobs and back. Remembers the payloads of recently read and written values, so that the
 * usual put patches against its parent without reading anything; what that may take is a named limit (`patchMemory`).
 * A value whose base isn't remembered is stored whole.
 */
export class BlobEncoder {
  /** What blobs and bodies go through last. */
  readonly envelope: Envelope;
  /** Longest payload that is read back, in bytes. */
  readonly maxBytes: number;
  /** The tier, and the most bytes of a blob or body that can be read back from it. */
  readonly stored: { readonly tier: string; readonly maxBytes: number };
  readonly #hashKey: Uint8Array | undefined;
  readonly #known: PayloadCache;
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
    this.#known = new PayloadCache(options.patchMemory - this.incrementalMemory);
  }

  /** Whether names depend on a key. */
  get keyed(): boolean {
    return this.#hashKey !== undefined;
  }

  /** A payload with its name. */
  named(payload: Payload): NamedPayload {
    return { payload, hash: contentHash(payload.temporaryView(), this.#hashKey) };
  }

  /** Encodes a value of a thread, as a patch where what it would stand on is remembered and it pays. */
  async encode(threadId: string, named: NamedPayload, base: BlobHash | undefined): Promise<EncodedValue> {
    try {
      return await this.#encoded(threadId, named, base);
    } finally {
      // Now, not once it is stored, which may fail; not sooner, as what this stands on may have to go.
      this.#known.recount(named.payload.buffer);
    }
  }

  async #encoded(
    threadId: string,
    { payload, hash }: NamedPayload,
    base: BlobHash | undefined,
  ): Promise<EncodedValue> {
    const stored = this.#known.get(threadId, hash);
    if (stored !== undefined) return { hash, blob: undefined, known: stored };
    if (base !== undefined && payload.length >= shortestPatched) {
      for (const patching of [onParent, onBeginning]) {
        const on = patching(this.#known, threadId, base);
        if (on === undefined || on.chain.depth >= MAX_CHAIN_DEPTH) continue;
        const patch = this.#patch(hash, payload, on);
        const bytes = patch instanceof Promise ? await patch : patch;
        if (isCut(on, payload, bytes)) continue;
        const known = { ...on.next(longer(on.chain, bytes.length)), whole: on.known.whole, payload };
        return { hash, blob: { hash, base: on.base, bytes }, known };
      }
    }
    const wrapping = this.envelope.wrap(wholeFrame(payload.temporaryView()), hash);
    const whole = wrapping instanceof Promise ? await wrapping : wrapping;
    const size = { stored: whole.length, length: payload.length };
    const known = {
      payload,
      whole: size,
      beginning: undefined,
      sinceBeginning: noChain,
      underBeginning: noChain,
    };
    return { hash, blob: { hash, bytes: whole }, known };
  }

  /** Whether the payload is remembered. */
  has(threadId: string, hash: BlobHash): boolean {
    return this.#known.has(threadId, hash);
  }

  /** Length of the payload in bytes, where it is remembered. */
  lengthOf(threadId: string, hash: BlobHash): number | undefined {
    return this.#known.get(threadId, hash)?.payload.length;
  }

  /** The value, if the thread is known to hold its bytes already. */
  find(threadId: string, { hash }: NamedPayload): EncodedValue | undefined {
    const known = this.#known.get(threadId, hash);
    return known === undefined ? undefined : { hash, blob: undefined, known };
  }

  /** The value is stored in the thread now. */
  remember(threadId: string, value: EncodedValue): void {
    this.#known.set(threadId, value.hash, value.known);
  }

  /** Nothing of the thread is taken for stored any more. */
  forgetThread(threadId: string): void {
    this.#known.forgetThread(threadId);
  }

  /**
   * The payload that `hash` names, made from the blobs at hand; checked against the hash.
   * @param threadId of the thread, where what is remembered of it may be given back; absent: made from the blobs
   * @param remember it, for patches on it
   * @throws RangeError, CodecError or PatchError where a blob is missing or damaged
   */
  async payload(
    hash: BlobHash,
    blobs: ReadonlyMap<BlobHash, Blob>,
    threadId?: string,
    remember = true,
  ): Promise<Uint8Array> {
    // Content addresses content: bytes that were verified under this name before need no second look.
    const known = threadId === undefined ? undefined : this.#known.get(threadId, hash);
    if (known !== undefined) return known.payload.bytes();
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
        this.#known.set(threadId, hash, {
          payload: Payload.of(payload),
          whole,
          beginning,
          sinceBeginning,
          underBeginning,
        });
        const cutIsNear = beginning !== undefined && sinceBeginning.depth > MAX_CHAIN_DEPTH - soonCut;
        if (cutIsNear && !this.#known.has(threadId, beginning!))
          await this.payload(beginning!, blobs, threadId);
        return payload;
      }
      if (blob.base === undefined) throw new RangeError(`blob ${next} is a patch without a base`);
      patches.push(parsed.patch);
      if (patches.length > longestChain) throw new RangeError(`the chain of blob ${hash} has no end`);
      // What began a chain stands on what began the one before, and so do all below it.
      if (parsed.begins) underBeginning = longer(underBeginning, blob.bytes.length);
      else sinceBeginning = longer(sinceBeginning, blob.bytes.length);
      next = blob.base;
    }
  }

  /** The payload as a blob of its own, standing on no other; for pruning. */
  async wholeBlob(hash: BlobHash, blobs: ReadonlyMap<BlobHash, Blob>): Promise<Blob> {
    const bytes = await this.envelope.wrap(wholeFrame(await this.payload(hash, blobs)), hash);
    return { hash, bytes };
  }

  /** Blobs written before encryption was switched on carry the plain hash. */
  #isNamed(payload: Uint8Array, hash: BlobHash): boolean {
    if (contentHash(payload, this.#hashKey) === hash) return true;
    return this.#hashKey !== undefined && contentHash(payload) === hash;
  }

  #patch(hash: BlobHash, payload: Payload, { known, begins }: Standing): Uint8Array | Promise<Uint8Array> {
    const { ops, literals } = encodePatch(patchOf(known.payload, payload));
    // What begins a chain holds all that was added since the one before, and is written once in a hundred puts.
    return this.envelope.wrap(patchFrame(ops, literals, begins), hash, begins ? beginningLevel : undefined);
  }

  /** A blob decrypted, decompressed and parsed; once per blob object, so that a page shares the work. */
  #parse(blob: Blob): Parsed | Promise<Parsed> {
    const cached = this.#parsed.get(blob);
    if (cached !== undefined) return cached;
    const unwrapped = this.envelope.unwrap(blob.bytes, blob.hash);
    const parsed =
      unwrapped instanceof Promise
        ? unwrapped.then((bytes) => this.#parsedOf(bytes))
        : this.#parsedOf(unwrapped);
    this.#parsed.set(blob, parsed);
    // A failure may pass: a key that couldn't be fetched, a codec that starts anew. Tiers keep blob objects for as long as they live.
    if (parsed instanceof Promise) parsed.catch(() => this.#parsed.delete(blob));
    return parsed;
  }

  #parsedOf(bytes: Uint8Array): Parsed {
    const frame = parseFrame(bytes);
    if (frame.kind === "whole") return { whole: frame.payload };
    return { patch: decodePatch(frame.ops, frame.literals, this.maxBytes), begins: frame.begins };
  }
}

/** What a patch may stand on. */
interface Standing {
  readonly base: BlobHash;
  readonly known: CachedPayload;
  /** The chain that it would lengthen, and whether it begins the one above. */
  readonly chain: Chain;
  readonly begins: boolean;
  /** Where the value stands with that chain. */
  next(chain: Chain): Pick<CachedPayload, "beginning" | "sinceBeginning" | "underBeginning">;
}

/** The parent's value, unless it isn't remembered: one more patch of its chain. */
function onParent(values: PayloadCache, threadId: string, base: BlobHash): Standing | undefined {
  const known = values.get(threadId, base);
  if (known === undefined) return undefined;
  // A chain in use keeps the value where it began within reach.
  if (known.beginning !== undefined) values.get(threadId, known.beginning);
  const { underBeginning, beginning = base } = known;
  return {
    base,
    known,
    chain: known.sinceBeginning,
    begins: false,
    next: (sinceBeginning) => ({ beginning, sinceBeginning, underBeginning }),
  };
}

/** The value where the parent's chain began: a new chain begins. */
function onBeginning(values: PayloadCache, threadId: string, parent: BlobHash): Standing | undefined {
  const base = values.get(threadId, parent)?.beginning;
  const known = base === undefined ? undefined : values.get(threadId, base);
  if (base === undefined || known === undefined) return undefined;
  const next = (underBeginning: Chain) => ({ beginning: undefined, sinceBeginning: noChain, underBeginning });
  return { base, known, chain: known.underBeginning, begins: true, next };
}

/** Whether a chain is better cut than lengthened by a patch of these bytes. */
function isCut({ known, chain }: Standing, payload: Payload, bytes: Uint8Array): boolean {
  // What the value would take whole is taken to grow with its length: to know, it would have to be compressed.
  const wholeBytes = Math.ceil(known.whole.stored * (payload.length / Math.max(1, known.whole.length)));
  return cutsChain({ depth: chain.depth, wholeBytes, patchBytes: bytes.length, chainBytes: chain.bytes });
}

function patchOf(base: Payload, next: Payload): Patch {
  return next.continues(base)
    ? diffAdded(next.buffer.prefix(next.prefixLength), base.prefixLength, next.end.length)
    : diff(base.temporaryView(), next.temporaryView());
}
