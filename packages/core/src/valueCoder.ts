import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { payloadOf, splitPayload } from "./blobFrame.ts";
import { Payload } from "./payload.ts";
import type { ValueRef } from "./record.ts";
import { StratigraphSerializer } from "./serde/index.ts";
import { SimilarReader } from "./serde/SimilarReader.ts";
import { SimilarValues } from "./similarValues.ts";
import type { Address, Blob, BlobHash } from "./tier.ts";
import { corrupt, notStored } from "./valueErrors.ts";
import type { EncodedValue, NamedPayload, Values } from "./values.ts";

/** What a listing remembers per channel, to save work on the next checkpoint: neighbours are much alike. */
export type Series = Map<string, { hash: BlobHash; payload: Uint8Array; reader: SimilarReader }>;

/** Shortest value, in bytes, that a reference to its blob is shorter than. */
const worthReferring = 65;

/** Shortest payload of the value before, in bytes, for which a channel's values are written as a series. */
const worthComparing = 4096;

/** What a blob may hold besides the serialised bytes: its kind, and the name of the type. */
const framing = 256;

/** How values are read: kept for later puts to patch, or as one of a series. */
export interface ValueReading {
  readonly remember?: boolean;
  readonly series?: Series | undefined;
}

/** Values to references and back: the only place where a serde is called. */
export class ValueCoder {
  readonly serde: SerializerProtocol;
  readonly values: Values;
  readonly #similar: SimilarValues | undefined;

  constructor(serde: SerializerProtocol, values: Values) {
    this.serde = serde;
    this.values = values;
    this.#similar = SimilarValues.for(serde, values);
  }

  /** Nothing of the thread is remembered any more. */
  forgetThread(threadId: string): void {
    this.values.forgetThread(threadId);
    this.#similar?.forgetThread(threadId);
  }

  /**
   * A reference to a value: inline up to `inline` bytes, else a blob, which goes to `into`. Infinity: inline, also where the
   * thread has it already.
   */
  async encode(
    at: Address,
    channel: string,
    value: unknown,
    how: { base?: ValueRef | undefined; inline: number; into: EncodedValue[] },
  ): Promise<ValueRef> {
    const base = how.base !== undefined && "hash" in how.base ? how.base.hash : undefined;
    const similar = this.#similarTo(base, at, channel, value);
    if (similar !== undefined) {
      this.#checkLength(at, channel, similar.payload.length);
      const encoded = await this.values.encode(at.threadId, similar, base);
      how.into.push(encoded);
      return { hash: encoded.hash };
    }
    const [type, bytes] = await this.dump(at, channel, value);
    this.#checkLength(at, channel, bytes.length);
    if (bytes.length <= how.inline) {
      const refers = how.inline < Infinity && bytes.length >= worthReferring;
      const stored = refers ? this.values.find(at.threadId, this.#named(type, bytes)) : undefined;
      if (stored === undefined) return { type, bytes };
      how.into.push(stored);
      return { hash: stored.hash };
    }
    const encoded = await this.values.encode(at.threadId, this.#named(type, bytes), base);
    how.into.push(encoded);
    return { hash: encoded.hash };
  }

  /** The value that a reference stands for, revived. @throws CorruptionError */
  async decode(
    at: Address,
    channel: string,
    ref: ValueRef,
    blobs: ReadonlyMap<BlobHash, Blob>,
    { remember = false, series }: ValueReading = {},
  ): Promise<unknown> {
    if (!("hash" in ref)) return await this.load(at, channel, ref.type, ref.bytes);
    let typed: [string, Uint8Array];
    try {
      const last = series?.get(channel);
      const payload =
        last?.hash === ref.hash
          ? last.payload
          : await this.values.payload(ref.hash, blobs, remember ? at.threadId : undefined);
      series?.set(channel, { hash: ref.hash, payload, reader: last?.reader ?? new SimilarReader() });
      typed = splitPayload(payload);
    } catch (cause) {
      const what = cause instanceof Error ? cause.message : "its value can't be decoded";
      throw corrupt(at, channel, what, cause);
    }
    return await this.load(at, channel, ...typed, series?.get(channel)?.reader);
  }

  /** The payload of a value that is an array like the one before; undefined where it is another way or too short to gain. */
  #similarTo(
    base: BlobHash | undefined,
    at: Address,
    channel: string,
    value: unknown,
  ): NamedPayload | undefined {
    if (this.#similar === undefined || base === undefined) return undefined;
    if ((this.values.lengthOf(at.threadId, base) ?? 0) < worthComparing) return undefined;
    try {
      const similar = this.#similar.payload(at, channel, value);
      return similar === undefined || similar.payload.length < worthComparing ? undefined : similar;
    } catch (cause) {
      throw notStored(at, channel, cause);
    }
  }

  #named(type: string, bytes: Uint8Array): NamedPayload {
    return this.values.named(Payload.of(payloadOf(type, bytes)));
  }

  /** What wouldn't be read back isn't written. @throws StratigraphError "SERIALIZATION" */
  #checkLength(at: Address, channel: string, length: number): void {
    const { maxBytes } = this.values;
    if (length + framing <= maxBytes) return;
    const most = `It has ${length} bytes serialised; at most ${maxBytes} are read back. Raise maxValueSize, or keep it elsewhere.`;
    throw notStored(at, channel, new RangeError(most));
  }

  /** @throws StratigraphError "SERIALIZATION" */
  async dump(at: Address, channel: string, value: unknown): Promise<[string, Uint8Array]> {
    try {
      const [type, bytes] = await this.serde.dumpsTyped(value);
      return [type, this.#own(bytes)];
    } catch (cause) {
      throw notStored(at, channel, cause);
    }
  }

  /** @throws CorruptionError */
  async load(
    at: Address,
    channel: string,
    type: string,
    bytes: Uint8Array,
    reader?: SimilarReader,
  ): Promise<unknown> {
    try {
      if (reader !== undefined && this.serde instanceof StratigraphSerializer) {
        return await this.serde.loadsSimilar(type, bytes, reader);
      }
      return (await this.serde.loadsTyped(type, this.#own(bytes))) as unknown;
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw corrupt(at, channel, `its value can't be revived (${why})`, cause);
    }
  }

  /** Other serdes may hand on the bytes of a value as they are: what a graph then does to it must not reach what is remembered. */
  #own(bytes: Uint8Array): Uint8Array {
    return this.serde instanceof StratigraphSerializer ? bytes : bytes.slice();
  }
}
