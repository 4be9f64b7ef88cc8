import type { CheckpointCoder, EncodedCheckpoint, Manifest } from "../encode/checkpointCoder.ts";
import { addressKey, threadPrefix } from "../contract/keys.ts";
import { remembering } from "./remembering.ts";
import type { Address, CheckpointRecord, Tier } from "../contract/tier.ts";
import type { EncodedValue } from "../encode/blobEncoder.ts";
import type { Consumed } from "../encode/record.ts";

/** How many checkpoints a saver remembers. About 1 kB each. */
const rememberedCheckpoints = 4096;

/** Of how many threads a saver remembers anything. About 100 bytes each. */
const rememberedThreads = 100_000;

/** What a put needs of a checkpoint that came before it. */
export interface CachedParent {
  readonly manifest: Manifest;
  readonly parentId: string | undefined;
  /** From which of the parent's pending writes it was made. */
  readonly consumed: Consumed;
}

/** Manifests of recently read and written checkpoints, so that a put carries values over without reading its parent. */
export class ParentCache {
  readonly #tier: Tier;
  readonly #coder: CheckpointCoder;
  readonly #parents = remembering<CachedParent>(rememberedCheckpoints);
  /** The oldest revision of each thread at which something that is remembered of it was known to be stored. */
  readonly #oldestRevisions = remembering<number>(rememberedThreads, (threadId) => this.#drop(threadId));
  /** The number of the last time that each thread was forgotten. */
  readonly #generations = remembering<number>(rememberedThreads);
  #lastGeneration = 0;

  constructor(tier: Tier, coder: CheckpointCoder) {
    this.#tier = tier;
    this.#coder = coder;
  }

  /** Takes down that something which is remembered of a thread was stored at `revision`. */
  storedAt(threadId: string, revision: number): void {
    this.#oldestRevisions.set(threadId, Math.min(revision, this.#oldestRevisions.get(threadId) ?? revision));
  }

  /**
   * The oldest revision that a write depends on which uses what is remembered.
   * @param seen the revision that its writer read last; what the read didn't look at may have been removed before that
   */
  oldestRevision(threadId: string, seen: number | undefined): number {
    return Math.min(seen ?? 0, this.#oldestRevisions.get(threadId) ?? 0);
  }

  /** Changes whenever all that is remembered of a thread is forgotten: what is remembered after that is of later revisions. */
  generation(threadId: string): number {
    return this.#generations.get(threadId) ?? 0;
  }

  get(at: Address): CachedParent | undefined {
    return this.#parents.get(addressKey(at, at.checkpointId));
  }

  /**
   * A checkpoint that is remembered, or else is read with its payloads, so that a put can patch them.
   * @param seen is told the revision that was read
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
    // The thread may have been forgotten while the payloads were decoded; these are still only as new as this revision.
    this.storedAt(at.threadId, revision);
    return this.set(checkpoint.record, { manifest, consumed });
  }

  set(record: CheckpointRecord, { manifest, consumed }: Omit<CachedParent, "parentId">): CachedParent {
    const parent = { manifest, parentId: record.parentId, consumed };
    this.#parents.set(addressKey(record, record.checkpointId), parent);
    return parent;
  }

  /** Remembers a put that was acknowledged: its values can be patched and carried over. */
  stored(encoded: EncodedCheckpoint, revision: number): void {
    const { record, values } = encoded;
    this.storedAt(record.threadId, revision);
    this.set(record, encoded);
    for (const value of values) this.#coder.blobs.remember(record.threadId, value);
  }

  /** Remembers pending writes that were acknowledged, of a writer who last read at `seen`. */
  storedWrites(threadId: string, values: readonly EncodedValue[], seen: number | undefined): void {
    // Where there is nothing to remember, the oldest revision must not become older.
    if (values.length > 0) this.storedAt(threadId, seen ?? 0);
    for (const value of values) this.#coder.blobs.remember(threadId, value);
  }

  /** Forgets a thread: nothing of it is taken for stored any more. */
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
