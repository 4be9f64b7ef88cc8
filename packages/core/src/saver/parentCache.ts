import type { CheckpointCoder, EncodedCheckpoint, Manifest } from "../encode/checkpointCoder.ts";
import { addressKey, threadPrefix } from "../contract/keys.ts";
import { remembering } from "./remembering.ts";
import type { Address, CheckpointRecord, Tier } from "../contract/tier.ts";
import type { EncodedValue } from "../encode/blobEncoder.ts";
import type { Consumed } from "../encode/record.ts";

/** How many checkpoints a saver remembers. About 1 kB each. */
const rememberedCheckpoints = 4096;

/** For how many threads a saver remembers anything. About 100 bytes each. */
const rememberedThreads = 100_000;

/** What a put needs to know of its parent. */
export interface CachedParent {
  readonly manifest: Manifest;
  readonly parentId: string | undefined;
  /** Which pending writes of its own parent the checkpoint was made from. */
  readonly consumed: Consumed;
}

/** Manifests of recently read and written checkpoints, so that a put carries values over without reading its parent. */
export class ParentCache {
  readonly #tier: Tier;
  readonly #coder: CheckpointCoder;
  readonly #parents = remembering<CachedParent>(rememberedCheckpoints);
  /** For each thread, the oldest of the revisions at which what is remembered of it was known to be stored. */
  readonly #oldestRevisions = remembering<number>(rememberedThreads, (threadId) => this.#drop(threadId));
  /** For each thread, a number that is new each time that it is forgotten. */
  readonly #generations = remembering<number>(rememberedThreads);
  #lastGeneration = 0;

  constructor(tier: Tier, coder: CheckpointCoder) {
    this.#tier = tier;
    this.#coder = coder;
  }

  /** Notes that something which is remembered of a thread was stored at `revision`. */
  storedAt(threadId: string, revision: number): void {
    this.#oldestRevisions.set(threadId, Math.min(revision, this.#oldestRevisions.get(threadId) ?? revision));
  }

  /**
   * The oldest revision that a write depends on if it uses what is remembered.
   * @param seen the revision that its writer read last. That read didn't look at all that is remembered, some of which may have
   * been removed before
   */
  oldestRevision(threadId: string, seen: number | undefined): number {
    return Math.min(seen ?? 0, this.#oldestRevisions.get(threadId) ?? 0);
  }

  /** Changes whenever a thread is forgotten. What is remembered of it afterwards is of later revisions. */
  generation(threadId: string): number {
    return this.#generations.get(threadId) ?? 0;
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
    this.storedAt(at.threadId, revision);
    const { manifest, consumed } = await this.#coder.decodeBody(checkpoint.record);
    await this.#coder.remember(checkpoint.record, manifest, checkpoint.blobs);
    // Noted once more, as the thread may have been forgotten while the payloads were decoded, which are of this revision.
    this.storedAt(at.threadId, revision);
    return this.set(checkpoint.record, { manifest, consumed });
  }

  set(record: CheckpointRecord, { manifest, consumed }: Omit<CachedParent, "parentId">): CachedParent {
    const parent = { manifest, parentId: record.parentId, consumed };
    this.#parents.set(addressKey(record, record.checkpointId), parent);
    return parent;
  }

  /** Remembers a put that was acknowledged, so that the next put can patch its values and carry them over. */
  stored(encoded: EncodedCheckpoint, revision: number): void {
    const { record, values } = encoded;
    this.storedAt(record.threadId, revision);
    this.set(record, encoded);
    for (const value of values) this.#coder.blobs.remember(record.threadId, value);
  }

  /** Remembers pending writes that were acknowledged, of a writer that last read the thread at revision `seen`. */
  storedWrites(threadId: string, values: readonly EncodedValue[], seen: number | undefined): void {
    // If nothing is remembered, the oldest revision must not become older.
    if (values.length > 0) this.storedAt(threadId, seen ?? 0);
    for (const value of values) this.#coder.blobs.remember(threadId, value);
  }

  /** Forgets a thread, so that nothing of it is believed to be stored any more. */
  forgetThread(threadId: string): void {
    this.#oldestRevisions.delete(threadId);
    this.#drop(threadId);
  }

  #drop(threadId: string): void {
    this.#lastGeneration += 1;
    this.#generations.set(threadId, this.#lastGeneration);
    this.#coder.forgetThread(threadId);
    const prefix = threadPrefix(threadId);
    for (const key of this.#parents.keys()) if (key.startsWith(prefix)) this.#parents.delete(key);
  }
}
