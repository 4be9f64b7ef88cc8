import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { LRUCache } from "lru-cache";
import { payloadHead } from "../encode/blobFrame.ts";
import { IncrementalHash } from "../codec/index.ts";
import { IncrementalReader } from "./incrementalReader.ts";
import { IncrementalWriter } from "./incrementalWriter.ts";
import { StratigraphSerializer } from "../serde/index.ts";
import type { Address } from "../contract/tier.ts";
import type { NamedPayload, BlobEncoder } from "../encode/blobEncoder.ts";

/** What is remembered of one channel's last value, as it was written and as it was read. */
interface Last {
  readonly writer: IncrementalWriter;
  readonly hash: IncrementalHash;
  readonly reader: IncrementalReader;
  /** Length of what the writer and the reader remember, in bytes. */
  readonly written: number;
  readonly read: number;
  readonly reads: number;
}

/** What a parsed text takes, with the text, for each byte of it; about. */
const parsedBytes = 4;

const head = payloadHead("json");

/**
 * Serialises the values of a channel one after another, and reads them, doing again only what changed. Remembers the last value
 * of each channel, within a share of `patchMemory`; what isn't remembered is serialised and read whole.
 */
export class IncrementalSerializer {
  readonly #serde: StratigraphSerializer;
  readonly #blobs: BlobEncoder;
  readonly #last: LRUCache<string, Last>;

  private constructor(serde: StratigraphSerializer, blobs: BlobEncoder) {
    this.#serde = serde;
    this.#blobs = blobs;
    this.#last = new LRUCache({ maxSize: Math.max(1, blobs.incrementalMemory) });
  }

  /** Undefined for other serialisers than Stratigraph's own: what bytes they write, and when, is theirs to know. */
  static for(serde: SerializerProtocol, blobs: BlobEncoder): IncrementalSerializer | undefined {
    return Object.getPrototypeOf(serde) === StratigraphSerializer.prototype
      ? new IncrementalSerializer(serde as StratigraphSerializer, blobs)
      : undefined;
  }

  /** Undefined where the value is no array. @throws SerializationError */
  payload(at: Address, channel: string, value: unknown): NamedPayload | undefined {
    const key = keyOf(at, channel);
    const last = this.#lastOf(key);
    const written = this.#serde.dumpsIncremental(value, last.writer, head);
    if (written === undefined) return undefined;
    const { payload, kept } = written;
    this.#remember(key, { ...last, written: payload.length });
    if (this.#blobs.keyed) return this.#blobs.named(payload);
    const { memory, begins, end } = payload;
    return { payload, hash: last.hash.of(memory.first(begins), end, kept) };
  }

  /**
   * What reads the channel's values one after another; undefined for the first, which may be the only one and is read faster
   * by itself.
   * @param length of the value, in bytes
   */
  reader(at: Address, channel: string, length: number): IncrementalReader | undefined {
    const key = keyOf(at, channel);
    const last = this.#lastOf(key);
    const reads = last.reads + 1;
    this.#remember(key, { ...last, reads, read: reads === 1 ? 0 : length });
    return reads === 1 ? undefined : last.reader;
  }

  #lastOf(key: string): Last {
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

  /** Another object each time: an LRUCache that is given the same one again keeps the size it counted first. */
  #remember(key: string, last: Last): void {
    this.#last.set(key, last, { size: last.written + parsedBytes * last.read + 256 });
  }

  /** Nothing of the thread is remembered any more. */
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
