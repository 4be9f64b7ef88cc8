import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { LRUCache } from "lru-cache";
import { payloadHead } from "../encode/blobFrame.ts";
import { IncrementalHash } from "../codec/index.ts";
import { IncrementalReader } from "./incrementalReader.ts";
import { IncrementalWriter } from "./incrementalWriter.ts";
import { StratigraphSerializer } from "../serde/index.ts";
import type { Address } from "../contract/tier.ts";
import type { NamedPayload, BlobEncoder } from "../encode/blobEncoder.ts";

/** What is remembered of the last value of one channel, as it was written and as it was read. */
interface LastValue {
  readonly writer: IncrementalWriter;
  readonly hash: IncrementalHash;
  readonly reader: IncrementalReader;
  /** Lengths of what the writer and the reader remember, in bytes. */
  readonly written: number;
  readonly read: number;
  readonly reads: number;
}

/** About how many bytes of memory a text and its parsed items take per byte of the text. */
const parsedBytes = 4;

const head = payloadHead("json");

/**
 * Serialises and reads the successive values of a channel, repeating only the work on what changed. It remembers the last value of
 * each channel within a share of `patchMemory`. A value whose predecessor isn't remembered is serialised and read whole.
 */
export class IncrementalSerializer {
  readonly #serde: StratigraphSerializer;
  readonly #blobs: BlobEncoder;
  readonly #last: LRUCache<string, LastValue>;

  private constructor(serde: StratigraphSerializer, blobs: BlobEncoder) {
    this.#serde = serde;
    this.#blobs = blobs;
    this.#last = new LRUCache({ maxSize: Math.max(1, blobs.incrementalMemory) });
  }

  /** Undefined for serializers other than Stratigraph's own, because only they know which bytes they write. */
  static for(serde: SerializerProtocol, blobs: BlobEncoder): IncrementalSerializer | undefined {
    return Object.getPrototypeOf(serde) === StratigraphSerializer.prototype
      ? new IncrementalSerializer(serde as StratigraphSerializer, blobs)
      : undefined;
  }

  /** The value's payload and its hash; undefined if it is no array. @throws SerializationError */
  payload(at: Address, channel: string, value: unknown): NamedPayload | undefined {
    const key = keyOf(at, channel);
    const last = this.#lastOf(key);
    const written = this.#serde.dumpsIncremental(value, last.writer, head);
    if (written === undefined) return undefined;
    const { payload, unchanged } = written;
    this.#remember(key, { ...last, written: payload.length });
    if (this.#blobs.keyed) return this.#blobs.named(payload);
    const { buffer, prefixLength, end } = payload;
    return { payload, hash: last.hash.of(buffer.prefix(prefixLength), end, unchanged) };
  }

  /**
   * The reader of the channel's successive values. Undefined for the first value, which is read faster without a reader and may
   * remain the only one.
   * @param length length of the value, in bytes
   */
  reader(at: Address, channel: string, length: number): IncrementalReader | undefined {
    const key = keyOf(at, channel);
    const last = this.#lastOf(key);
    const reads = last.reads + 1;
    this.#remember(key, { ...last, reads, read: reads === 1 ? 0 : length });
    return reads === 1 ? undefined : last.reader;
  }

  #lastOf(key: string): LastValue {
    return (
      this.#last.get(key) ?? {
        writer: new IncrementalWriter(),
        hash: new IncrementalHash(),
        reader: new IncrementalReader(),
        written: 0,
        read: 0,
        reads: 0,
      }
    );
  }

  /** `last` must be a new object, because LRUCache doesn't count the size of the same value again. */
  #remember(key: string, last: LastValue): void {
    this.#last.set(key, last, { size: last.written + parsedBytes * last.read + 256 });
  }

  /** Forgets the values of all channels of a thread. */
  forgetThread(threadId: string): void {
    const prefix = prefixOf(threadId);
    for (const key of this.#last.keys()) if (key.startsWith(prefix)) this.#last.delete(key);
  }
}

function keyOf(at: Address, channel: string): string {
  return `${prefixOf(at.threadId)}${JSON.stringify([at.namespace, channel])}`;
}

function prefixOf(threadId: string): string {
  return `${JSON.stringify(threadId)} `;
}
