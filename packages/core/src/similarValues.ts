import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { LRUCache } from "lru-cache";
import { payloadHead } from "./blobFrame.ts";
import { SimilarHash } from "./codec/index.ts";
import { SimilarWriter } from "./serde/SimilarWriter.ts";
import { StratigraphSerializer } from "./serde/index.ts";
import type { Address } from "./tier.ts";
import type { NamedPayload, Values } from "./values.ts";

/** What is remembered of one channel's last value. */
interface Last {
  readonly writer: SimilarWriter;
  readonly hash: SimilarHash;
}

const head = payloadHead("json");

/**
 * Serialises the values of a channel one after another, doing again only what changed. Remembers the last value of each
 * channel, within a share of `patchMemory`; what isn't remembered is serialised whole.
 */
export class SimilarValues {
  readonly #serde: StratigraphSerializer;
  readonly #values: Values;
  readonly #last: LRUCache<string, Last>;

  private constructor(serde: StratigraphSerializer, values: Values) {
    this.#serde = serde;
    this.#values = values;
    this.#last = new LRUCache({ maxSize: Math.max(1, values.similarMemory) });
  }

  /** Undefined for other serialisers than Stratigraph's own: what bytes they write, and when, is theirs to know. */
  static for(serde: SerializerProtocol, values: Values): SimilarValues | undefined {
    return Object.getPrototypeOf(serde) === StratigraphSerializer.prototype
      ? new SimilarValues(serde as StratigraphSerializer, values)
      : undefined;
  }

  /** Undefined where the value is no array. @throws SerializationError */
  payload(at: Address, channel: string, value: unknown): NamedPayload | undefined {
    const key = `${prefixOf(at.threadId)}${JSON.stringify([at.namespace, channel])}`;
    const last = this.#last.get(key) ?? { writer: new SimilarWriter(), hash: new SimilarHash() };
    const written = this.#serde.dumpsSimilar(value, last.writer, head);
    if (written === undefined) return undefined;
    const { payload, kept } = written;
    // Another object each time: an LRUCache that is given the same one again keeps the size it counted first.
    this.#last.set(key, { ...last }, { size: payload.length + 256 });
    if (this.#values.keyed) return this.#values.named(payload);
    const { memory, begins, end } = payload;
    return { payload, hash: last.hash.of(memory.first(begins), end, kept) };
  }

  /** Nothing of the thread is remembered any more. */
  forgetThread(threadId: string): void {
    const prefix = prefixOf(threadId);
    for (const key of this.#last.keys()) if (key.startsWith(prefix)) this.#last.delete(key);
  }
}

function prefixOf(threadId: string): string {
  return `${JSON.stringify(threadId)} `;
}
