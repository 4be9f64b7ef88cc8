import type { CheckpointCoder } from "../encode/checkpointCoder.ts";
import type { CachedParent, ParentCache } from "./parentCache.ts";
import { namespaceKey } from "../contract/keys.ts";
import { nextTurn } from "./nextTurn.ts";
import { remembering } from "./remembering.ts";
import type {
  Address,
  BlobHash,
  MaybeAddress,
  Peek,
  Reading,
  StoredCheckpoint,
  Tier,
} from "../contract/tier.ts";
import type { DecodedAhead } from "../encode/valueCoder.ts";

/** For how many namespaces a saver remembers the head. About 200 bytes each. */
const remembered = 10_000;

/** For how long decoding ahead keeps the process from looking for answers, except for the value being decoded. Milliseconds. */
const longestTurnMs = 2;

type DecodedValues = Map<string, { readonly hash: BlobHash; readonly value: unknown }>;

/** The head of a namespace, as this saver last wrote or read it. */
interface Head {
  readonly checkpointId: string;
  /** Whether somebody else had moved it when this saver last read it. */
  readonly shared: boolean;
}

/** A checkpoint that was read without blobs, because all its values are remembered. */
export type KnownReading = Reading & {
  readonly checkpoint: StoredCheckpoint;
  /** Values that were decoded while the tier answered. */
  readonly ahead: DecodedAhead;
};

/**
 * Reads checkpoints. If all values of a checkpoint are remembered, it only peeks: the tier answers with what can have changed, and no
 * blobs. Most reads are like this, because a run begins where the previous run ended. A head that other processes move, too, is always read
 * with its blobs, because peeking first would often cost a second round trip.
 */
export class HeadCache {
  readonly #tier: Tier;
  readonly #coder: CheckpointCoder;
  readonly #parents: ParentCache;
  readonly #heads = remembering<Head>(remembered);
  /** Whether a read decodes ahead at the moment. */
  #decodesAhead = false;

  constructor(tier: Tier, coder: CheckpointCoder, parents: ParentCache) {
    this.#tier = tier;
    this.#coder = coder;
    this.#parents = parents;
  }

  /** Notes that this saver put a checkpoint. */
  wrote(at: Address): void {
    const key = namespaceKey(at);
    this.#heads.set(key, { shared: this.#heads.get(key)?.shared ?? false, checkpointId: at.checkpointId });
  }

  /** Always reads from the tier, with blobs, as {@link Tier.read}. */
  async read(at: MaybeAddress): Promise<Reading> {
    const reading = await this.#tier.read(at);
    const { head } = reading;
    if (at.checkpointId === undefined && head !== undefined) {
      const key = namespaceKey(at);
      const before = this.#heads.get(key);
      const shared = before !== undefined && before.checkpointId !== head;
      this.#heads.set(key, { checkpointId: head, shared });
    }
    return reading;
  }

  /**
   * As {@link read}, but without blobs. Undefined if the tier can't peek at records, or if some value of the checkpoint isn't remembered.
   * While the tier answers, the values of the checkpoint that it will most likely name are decoded.
   */
  async readKnown(at: MaybeAddress): Promise<KnownReading | undefined> {
    if (this.#tier.peeksRecords !== true) return undefined;
    const likely = this.#likely(at);
    if (likely === undefined) return undefined;
    const { record, writes, ahead, ...state } = await this.#peekDecoding(at, likely.at, likely.parent);
    if (record === undefined || !this.#coder.remembers(record, writes)) return undefined;
    return { ...state, checkpoint: { record, writes, blobs: new Map() }, ahead };
  }

  /** The tier's answer, with the values of `likely` that were decoded until then. The tier may have named another checkpoint. */
  async #peekDecoding(
    at: MaybeAddress,
    likely: Address,
    parent: CachedParent,
  ): Promise<Peek & { readonly ahead: DecodedAhead }> {
    const ahead: DecodedValues = new Map();
    // One read at a time: many at once would block the process for as long as all of them take to decode, and those that
    // wait for the tier would hold their values in memory.
    if (this.#decodesAhead) return { ...(await this.#tier.peek(at)), ahead };
    this.#decodesAhead = true;
    const answer = { isThere: false };
    try {
      const asked = this.#tier.peek(at);
      const decoding = this.#decodeAhead(likely, parent, ahead, answer);
      const peek = await asked;
      answer.isThere = true;
      // Decoding has a turn of its own. What is half decoded is worth waiting for, unless it belongs to another checkpoint.
      if (peek.checkpointId === likely.checkpointId) await decoding;
      return { ...peek, ahead };
    } finally {
      answer.isThere = true;
      this.#decodesAhead = false;
    }
  }

  /**
   * Decodes the remembered values of a checkpoint into `decoded` until the tier's answer is there. Never rejects: values that fail are
   * decoded by the read itself.
   */
  async #decodeAhead(
    at: Address,
    { manifest }: CachedParent,
    decoded: DecodedValues,
    answer: { readonly isThere: boolean },
  ): Promise<void> {
    // Decoding blocks the process, so first let the tier send its request.
    await nextTurn();
    let turnBeganAt = performance.now();
    try {
      for (const { channel, value: ref } of manifest.values()) {
        if (performance.now() - turnBeganAt > longestTurnMs) {
          await nextTurn();
          turnBeganAt = performance.now();
        }
        if (answer.isThere) return;
        if (ref === undefined || !("hash" in ref)) continue;
        const value = await this.#coder.value(at, channel, ref, new Map(), { remember: true });
        decoded.set(channel, { hash: ref.hash, value });
      }
    } catch {
      // A value was forgotten meanwhile, or can't be decoded. The read itself finds out, and throws if it has to.
    }
  }

  /** The checkpoint that will most likely be read; undefined if its values aren't all remembered. */
  #likely(at: MaybeAddress): { readonly at: Address; readonly parent: CachedParent } | undefined {
    const head = at.checkpointId === undefined ? this.#heads.get(namespaceKey(at)) : undefined;
    const checkpointId = at.checkpointId ?? head?.checkpointId;
    if (checkpointId === undefined || head?.shared === true) return undefined;
    const likely = { ...at, checkpointId };
    const parent = this.#parents.get(likely);
    if (parent === undefined) return undefined;
    for (const { value } of parent.manifest.values())
      if (value !== undefined && "hash" in value && !this.#coder.blobs.has(at.threadId, value.hash))
        return undefined;
    return { at: likely, parent };
  }
}
