import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { payloadOf, splitPayload } from "./blobFrame.ts";
import { Payload } from "../incremental/payload.ts";
import type { Typed, ValueRef } from "./record.ts";
import { checkReadable, dumped, loaded, type Dumped } from "./serialized.ts";
import { StratigraphSerializer } from "../serde/index.ts";
import { IncrementalReader } from "../incremental/incrementalReader.ts";
import { IncrementalSerializer } from "../incremental/incrementalSerializer.ts";
import { tooLong } from "../contract/storedSize.ts";
import type { Address, Blob, BlobHash } from "../contract/tier.ts";
import { notEncoded, notStored, undecodable, unrevivable } from "./valueErrors.ts";
import type { EncodedValue, NamedPayload, BlobEncoder } from "./blobEncoder.ts";

/** What a listing remembers per channel, to save work on the next checkpoint: neighbours are similar. */
export type Series = Map<string, { hash: BlobHash; payload: Uint8Array; reader: IncrementalReader }>;

/** Shortest value, in bytes, for which a reference to a blob is shorter than the value itself. */
const worthReferring = 65;

/** Shortest payload of the previous value, in bytes, for which a value is serialised incrementally. */
const worthComparing = 4096;

/**
 * A value as it was when it was captured: serialised, and no longer changed by what a graph does to it. If the serde returns a promise, it
 * has been called already.
 */
export type CapturedValue = { readonly incremental: NamedPayload } | Dumped;

/** Values of remembered blobs that were decoded ahead, by channel. Each value is returned only once. */
export type DecodedAhead = ReadonlyMap<string, { readonly hash: BlobHash; readonly value: unknown }>;

/** How values are read: kept for later puts to patch, or as one of a series. */
export interface ValueReading {
  readonly remember?: boolean;
  /** Whether remembered values need no blobs. Follows from `remember`. */
  readonly known?: boolean;
  readonly series?: Series | undefined;
  /** Values that are decoded already. */
  readonly ahead?: DecodedAhead | undefined;
}

/** How a value is encoded: the channel's previous value, the longest value that stays inline, and where blobs go. */
export interface Encoding {
  readonly base?: ValueRef | undefined;
  readonly inline: number;
  readonly into: EncodedValue[];
}

/** Converts values to references, and back: the only place where a serde is called. */
export class ValueCoder {
  readonly serde: SerializerProtocol;
  readonly blobs: BlobEncoder;
  readonly #incremental: IncrementalSerializer | undefined;

  constructor(serde: SerializerProtocol, blobs: BlobEncoder) {
    this.serde = serde;
    this.blobs = blobs;
    this.#incremental = IncrementalSerializer.for(serde, blobs);
  }

  /** Forgets all that is remembered of a thread. */
  forgetThread(threadId: string): void {
    this.blobs.forgetThread(threadId);
    this.#incremental?.forgetThread(threadId);
  }

  /**
   * Serialises a value, before anything is awaited: later changes of the value have no effect.
   * @param base the channel's previous value; arrays like it are serialised from where they changed
   * @throws StratigraphError "SERIALIZATION"; if the serde returns a promise, {@link encode} throws it
   */
  capture(at: Address, channel: string, value: unknown, base?: ValueRef): CapturedValue {
    const incremental = this.#captureIncrementally(hashOf(base), at, channel, value);
    return incremental === undefined ? this.dump(at, channel, value) : { incremental };
  }

  /**
   * A reference to a captured value. Up to `inline` bytes the value is inline, above that it is a blob, which goes to `into`. If `inline`
   * is Infinity, the value is inline even if the thread has its blob already. Returns no promise if nothing has to be waited for: most
   * channels of a step are short.
   */
  encode(at: Address, channel: string, captured: CapturedValue, how: Encoding): ValueRef | Promise<ValueRef> {
    if ("incremental" in captured) {
      this.#checkLength(at, channel, captured.incremental.payload.length);
      return this.#blob(at, channel, captured.incremental, how);
    }
    if ("dumping" in captured)
      return captured.dumping.then((typed) => this.#encodeTyped(at, channel, typed, how));
    return this.#encodeTyped(at, channel, captured.typed, how);
  }

  #encodeTyped(
    at: Address,
    channel: string,
    [type, bytes]: Typed,
    how: Encoding,
  ): ValueRef | Promise<ValueRef> {
    this.#checkLength(at, channel, bytes.length);
    if (bytes.length > how.inline) return this.#blob(at, channel, this.#named(type, bytes), how);
    const refers = how.inline < Infinity && bytes.length >= worthReferring;
    const stored = refers ? this.blobs.find(at.threadId, this.#named(type, bytes)) : undefined;
    if (stored === undefined) return { type, bytes };
    how.into.push(stored);
    return { hash: stored.hash };
  }

  async #blob(at: Address, channel: string, named: NamedPayload, how: Encoding): Promise<ValueRef> {
    let encoded: EncodedValue;
    try {
      encoded = await this.blobs.encode(at.threadId, named, hashOf(how.base));
    } catch (cause) {
      throw notEncoded(at, channel, cause);
    }
    this.checkStored(at, channel, encoded.blob?.bytes.length ?? 0);
    how.into.push(encoded);
    return { hash: encoded.hash };
  }

  /**
   * The value that a reference stands for, revived.
   * @throws CorruptionError; StratigraphError "KEY_MISSING", "KEY_UNAVAILABLE", "PLAINTEXT_REFUSED", "UNREGISTERED_TYPE",
   * "NEWER_FORMAT", "SERIALIZATION"
   */
  async decode(
    at: Address,
    channel: string,
    ref: ValueRef,
    blobs: ReadonlyMap<BlobHash, Blob>,
    { remember = false, known = remember, series }: ValueReading = {},
  ): Promise<unknown> {
    if (!("hash" in ref)) return await this.load(at, channel, ref.type, ref.bytes);
    const last = series?.get(channel);
    const payload =
      last?.hash === ref.hash
        ? last.payload
        : await this.payload(at, channel, ref.hash, blobs, { remember, known });
    const reader =
      series === undefined
        ? this.#readerOf(at, channel, payload.length, remember)
        : (last?.reader ?? new IncrementalReader());
    if (reader !== undefined) series?.set(channel, { hash: ref.hash, payload, reader });
    return await this.load(at, channel, ...splitPayload(payload), reader);
  }

  /** What a reference stands for, as the serde wrote it. @throws as {@link decode}, except for what reviving throws */
  async serialized(
    at: Address,
    channel: string,
    ref: ValueRef,
    blobs: ReadonlyMap<BlobHash, Blob>,
  ): Promise<Typed> {
    if (!("hash" in ref)) return [ref.type, ref.bytes];
    return splitPayload(await this.payload(at, channel, ref.hash, blobs, { remember: false }));
  }

  /** The verified payload that a hash names. @throws as {@link decode} */
  async payload(
    at: Address,
    channel: string,
    hash: BlobHash,
    blobs: ReadonlyMap<BlobHash, Blob>,
    { remember, known = remember }: { readonly remember: boolean; readonly known?: boolean },
  ): Promise<Uint8Array> {
    try {
      return await this.blobs.payload(hash, blobs, known ? at.threadId : undefined, remember);
    } catch (cause) {
      throw undecodable(at, channel, "its value can't be decoded", cause);
    }
  }

  /** The payload of a value that is an array like the previous one; undefined if it is another kind of value, or too short to gain. */
  #captureIncrementally(
    base: BlobHash | undefined,
    at: Address,
    channel: string,
    value: unknown,
  ): NamedPayload | undefined {
    if (this.#incremental === undefined || base === undefined) return undefined;
    if ((this.blobs.lengthOf(at.threadId, base) ?? 0) < worthComparing) return undefined;
    try {
      const named = this.#incremental.payload(at, channel, value);
      return named === undefined || named.payload.length < worthComparing ? undefined : named;
    } catch (cause) {
      throw notStored(at, channel, cause);
    }
  }

  #readerOf(at: Address, channel: string, length: number, remember: boolean): IncrementalReader | undefined {
    return remember && length >= worthComparing ? this.#incremental?.reader(at, channel, length) : undefined;
  }

  #named(type: string, bytes: Uint8Array): NamedPayload {
    return this.blobs.named(Payload.of(payloadOf(type, bytes)));
  }

  /** Refuses a value that couldn't be read back. @throws StratigraphError "SERIALIZATION" */
  #checkLength(at: Address, channel: string, length: number): void {
    try {
      checkReadable(length, this.blobs.maxBytes);
    } catch (cause) {
      throw notStored(at, channel, cause);
    }
  }

  /** Refuses bytes that the tier couldn't give back. @throws StratigraphError "SERIALIZATION" */
  checkStored(at: Address, channel: string, bytes: number): void {
    const { tier, maxBytes } = this.blobs.stored;
    if (bytes > maxBytes) throw notStored(at, channel, tooLong(tier, bytes, maxBytes));
  }

  /** The serialised value. @throws StratigraphError "SERIALIZATION", at once or by the promise */
  dump(at: Address, channel: string, value: unknown): Dumped {
    try {
      const made = dumped(this.serde, value);
      if ("typed" in made) return made;
      const dumping = made.dumping.catch((cause: unknown): never => {
        throw notStored(at, channel, cause);
      });
      // Another value of the same call may fail first; nobody would be waiting for this one then.
      dumping.catch(() => {});
      return { dumping };
    } catch (cause) {
      throw notStored(at, channel, cause);
    }
  }

  /** @throws StratigraphError "UNREGISTERED_TYPE", "NEWER_FORMAT", "SERIALIZATION" */
  async load(
    at: Address,
    channel: string,
    type: string,
    bytes: Uint8Array,
    reader?: IncrementalReader,
  ): Promise<unknown> {
    try {
      if (reader !== undefined && this.serde instanceof StratigraphSerializer) {
        return await this.serde.loadsIncremental(type, bytes, reader);
      }
      return await loaded(this.serde, type, bytes);
    } catch (cause) {
      throw unrevivable(at, channel, cause);
    }
  }
}

function hashOf(ref: ValueRef | undefined): BlobHash | undefined {
  return ref !== undefined && "hash" in ref ? ref.hash : undefined;
}
