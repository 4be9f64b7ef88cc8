import type { CheckpointCoder, EncodedCheckpoint, Manifest } from "../encode/checkpointCoder.ts";
import { addressKey, threadPrefix } from "../contract/keys.ts";
import { remembering } from "./remembering.ts";
import type { Address, CheckpointRecord, Tier } from "../contract/tier.ts";
import type { EncodedValue } from "../encode/blobEncoder.ts";
import type { Consumed } from "../encode/record.ts";

/** How many checkpoints' lines a saver remembers. About 1 kB each. */
const remembered = 4096;

/** Of how many threads a saver remembers anything. About 100 bytes each. */
const rememberedThreads = 100_000;

/** What a put needs of a checkpoint that came before it. */
export interface CachedParent {
  readonly manifest: Manifest;
  readonly parentId: string | undefined;
  /** From which of the parent's pending writes it was made. */
  readonly consumed: Consumed;
}

/** The lines of recently read and written checkpoints, so that a put carries values over without reading its parent. */
export class ParentCache {
  readonly #tier: Tier;
  readonly #coder: CheckpointCoder;
  readonly #lines = remembering<CachedParent>(remembered);
  /** The revision of each thread at which all that is remembered of it was stored; no more than that is known. */
  readonly #since = remembering<number>(rememberedThreads, (threadId) => this.#drop(threadId));

  /** Of each thread, which forgetting was the last. */
  readonly #forgotten = remembering<number>(rememberedThreads);
  #forgettings = 0;

  constructor(tier: Tier, coder: CheckpointCoder) {
    this.#tier = tier;
    this.#coder = coder;
  }

  /** Something that is remembered of a thread was stored at `revision`. */
  known(threadId: string, revision: number): void {
    this.#since.set(threadId, Math.min(revision, this.#since.get(threadId) ?? revision));
  }

  /**
   * The revision that a write is based on which relies on what is remembered, by a writer who last read at `seen`: what that
   * read didn't look at may have been removed before it.
   */
  basis(threadId: string, seen: number | undefined): number {
    return Math.min(seen ?? 0, this.#since.get(threadId) ?? 0);
  }

  /** Changes whenever all that is remembered of a thread is forgotten: what is known since then is of later revisions. */
  forgotten(threadId: string): number {
    return this.#forgotten.get(threadId) ?? 0;
  }

  get(at: Address): CachedParent | undefined {
    return this.#lines.get(addressKey(at, at.checkpointId));
  }

  /** Remembered, or read with its payloads, so that a put can patch them. `seen` is told the revision that was read. */
  async find(at: Address, seen: (revision: number) => void): Promise<CachedParent | undefined> {
    const known = this.get(at);
    if (known !== undefined) return known;
    const { checkpoint, revision } = await this.#tier.read(at);
    seen(revision);
    if (checkpoint === undefined) return undefined;
    this.known(at.threadId, revision);
    const { manifest, consumed } = await this.#coder.decodeBody(checkpoint.record);
    await this.#coder.remember(checkpoint.record, manifest, checkpoint.blobs);
    // Once more: what was remembered just now stays as old as it is, where all else was forgotten meanwhile.
    this.known(at.threadId, revision);
    return this.set(checkpoint.record, { manifest, consumed });
  }

  set(record: CheckpointRecord, { manifest, consumed }: Omit<CachedParent, "parentId">): CachedParent {
    const line = { manifest, parentId: record.parentId, consumed };
    this.#lines.set(addressKey(record, record.checkpointId), line);
    return line;
  }

  /** A put was acknowledged: its values can be patched and carried over. */
  stored(encoded: EncodedCheckpoint, revision: number): void {
    const { record, values } = encoded;
    this.known(record.threadId, revision);
    this.set(record, encoded);
    for (const value of values) this.#coder.blobs.remember(record.threadId, value);
  }

  /** Pending writes were acknowledged, of a writer who last read at `seen`. */
  storedWrites(threadId: string, values: readonly EncodedValue[], seen: number | undefined): void {
    // Without values nothing is remembered: it must not make older what else is.
    if (values.length > 0) this.known(threadId, seen ?? 0);
    for (const value of values) this.#coder.blobs.remember(threadId, value);
  }

  /** Nothing of the thread is taken for stored any more. */
  forgetThread(threadId: string): void {
    this.#since.delete(threadId);
    this.#drop(threadId);
  }

  #drop(threadId: string): void {
    this.#forgettings += 1;
    this.#forgotten.set(threadId, this.#forgettings);
    this.#coder.forgetThread(threadId);
    const prefix = threadPrefix(threadId);
    for (const key of this.#lines.keys()) if (key.startsWith(prefix)) this.#lines.delete(key);
  }
}
