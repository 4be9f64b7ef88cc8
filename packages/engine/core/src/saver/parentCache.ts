import type { CheckpointCoder, EncodedCheckpoint, Manifest } from "../encode/checkpointCoder.ts";
import { addressKey, threadPrefix } from "../contract/keys.ts";
import { remembering } from "./remembering.ts";
import type { Address, CheckpointRecord, Tier } from "../contract/tier.ts";
import type { EncodedValue } from "../encode/blobEncoder.ts";
import type { Consumed, LooseValue } from "../encode/record.ts";

/** How many checkpoints a saver remembers. About 1 kB each. */
const rememberedCheckpoints = 4096;

/** What a put needs to know of its parent. */
export interface CachedParent {
  readonly manifest: Manifest;
  readonly parentId: string | undefined;
  /** Which pending writes of its own parent the checkpoint was made from. */
  readonly consumed: Consumed;
  readonly loose: readonly LooseValue[];
  /** The version of the state that the manifest is of. */
  readonly stateVersion: number;
}

/** Manifests of recently read and written checkpoints, so that a put carries values over without reading its parent. */
export class ParentCache {
  readonly #tier: Tier;
  readonly #coder: CheckpointCoder;
  readonly #parents = remembering<CachedParent>(rememberedCheckpoints);

  constructor(tier: Tier, coder: CheckpointCoder) {
    this.#tier = tier;
    this.#coder = coder;
  }

  get(at: Address): CachedParent | undefined {
    return this.#parents.get(addressKey(at, at.checkpointId));
  }

  /**
   * A checkpoint: from memory, or else read from the tier with its payloads, so that a put can store patches on them.
   * @param seen is called with the revision that was read
   */
  async find(at: Address, seen: (revision: number) => void): Promise<CachedParent | undefined> {
    const cached = this.get(at);
    if (cached !== undefined) return cached;
    const { checkpoint, revision } = await this.#tier.read(at);
    seen(revision);
    if (checkpoint === undefined) return undefined;
    const { manifest, consumed, loose, stateVersion } = await this.#coder.decodeBody(checkpoint.record);
    await this.#coder.remember(checkpoint.record, manifest, checkpoint.blobs);
    return this.set(checkpoint.record, { manifest, consumed, loose, stateVersion });
  }

  set(
    record: CheckpointRecord,
    { manifest, consumed, loose, stateVersion }: Omit<CachedParent, "parentId">,
  ): CachedParent {
    const parent = { manifest, parentId: record.parentId, consumed, loose, stateVersion };
    this.#parents.set(addressKey(record, record.checkpointId), parent);
    return parent;
  }

  /** Remembers a put that was acknowledged, so that the next put can patch its values and carry them over. */
  stored(encoded: EncodedCheckpoint): void {
    const { record, values } = encoded;
    this.set(record, encoded);
    for (const value of values) this.#coder.blobs.remember(record.threadId, value);
  }

  /** Remembers pending writes that were acknowledged. */
  storedWrites(threadId: string, values: readonly EncodedValue[]): void {
    for (const value of values) this.#coder.blobs.remember(threadId, value);
  }

  /** Forgets a thread: nothing of it counts as stored any more. */
  forgetThread(threadId: string): void {
    this.#coder.forgetThread(threadId);
    const prefix = threadPrefix(threadId);
    for (const key of this.#parents.keys()) if (key.startsWith(prefix)) this.#parents.delete(key);
  }
}
