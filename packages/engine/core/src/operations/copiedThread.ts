import { createHash } from "node:crypto";
import { namedBlobs } from "../contract/blobClosure.ts";
import { checkpointKey } from "../contract/keys.ts";
import type {
  Address,
  Blob,
  BlobHash,
  CheckpointRecord,
  ListedCheckpoint,
  WriteBatch,
} from "../contract/tier.ts";
import type { PartContents } from "./copyThread.ts";
import { batchDigest } from "./currentWrites.ts";
import { blobsOf, type ThreadPart } from "./threadReading.ts";

/** Decodes a blob and compares its content with the hash that names it. Throws if they differ. */
export type BlobCheck = (hash: BlobHash, blobs: ReadonlyMap<BlobHash, Blob>) => Promise<unknown>;

/** A difference between a copy and what was copied. */
export interface CopyDifference {
  readonly at: Address;
  readonly what: string;
}

/**
 * Digests of what was copied of a thread, to compare them with a copy that is read back in parts. They take a few hundred bytes for
 * each checkpoint, blob and batch of pending writes.
 */
export class CopiedThread {
  readonly #check: BlobCheck;
  readonly #isSame: ((record: CheckpointRecord) => Promise<boolean>) | undefined;
  /** Records that weren't read back yet, by key. */
  readonly #left = new Map<string, { readonly at: Address; readonly digest: string }>();
  readonly #keys = new Set<string>();
  readonly #blobs = new Map<BlobHash, string>();
  /** Batches of pending writes that weren't read back yet. `#bodies` has those whose bytes must be the same. */
  readonly #batches = new Map<string, Address>();
  readonly #bodies = new Map<string, Address>();
  /** Blobs of the copy that were found with all their bases, and whether all of their bytes are equal to those copied. */
  readonly #found = new Map<BlobHash, boolean>();

  /** @param isSame whether a record of the copy whose bytes differ has the same content: it may be encrypted with another key */
  constructor(check: BlobCheck, isSame?: (record: CheckpointRecord) => Promise<boolean>) {
    this.#check = check;
    this.#isSame = isSame;
  }

  /** @param brought pending writes that were appended just now: they must be read back with the same bytes */
  add({ checkpoints }: ThreadPart, brought: PartContents["writes"]): void {
    for (const listed of checkpoints) {
      const at = pick(listed.record);
      const key = checkpointKey(at);
      this.#keys.add(key);
      this.#left.set(key, { at, digest: recordDigest(listed.record) });
      for (const blob of blobsOf(listed, this.#blobs)) this.#blobs.set(blob.hash, blobDigest(blob));
      for (const batch of listed.writes) this.#batches.set(batchKey(at, batch), at);
    }
    for (const batch of brought) this.#bodies.set(bodyKey(batch, batch), pick(batch));
  }

  /**
   * Compares a checkpoint of the copy.
   * @returns what differs; undefined if nothing does, or if the checkpoint wasn't copied
   * @throws what the check throws, if bytes there encode another value
   */
  async compare(copy: ListedCheckpoint): Promise<string | undefined> {
    const { record, writes, blobs } = copy;
    const key = checkpointKey(record);
    for (const batch of writes) {
      this.#batches.delete(batchKey(record, batch));
      this.#bodies.delete(bodyKey(record, batch));
    }
    if (!this.#keys.has(key)) return undefined;
    const original = this.#left.get(key);
    this.#left.delete(key);
    const isOther = original !== undefined && original.digest !== recordDigest(record);
    if (isOther && (await this.#isSame?.(record)) !== true) return "its record differs";
    for (const hash of namedBlobs(record, writes))
      if (!(await this.#isThere(hash, blobs))) return "a value is missing";
    return undefined;
  }

  /** Everything that wasn't found in the copy. Call it once all of the copy was compared. */
  *missing(): Generator<CopyDifference> {
    for (const { at } of this.#left.values()) yield { at, what: "its record is missing" };
    for (const at of this.#batches.values()) yield { at, what: "pending writes are missing" };
    for (const at of this.#bodies.values()) yield { at, what: "pending writes differ" };
  }

  /** Whether a value is there with all its bases. Only values whose bytes differ from those copied are decoded. */
  async #isThere(hash: BlobHash, blobs: ReadonlyMap<BlobHash, Blob>): Promise<boolean> {
    const chain: Blob[] = [];
    const path = new Set<BlobHash>();
    let next: BlobHash | undefined = hash;
    for (; next !== undefined && !this.#found.has(next); next = chain.at(-1)!.base) {
      const blob = blobs.get(next);
      if (blob === undefined || path.has(next)) return false;
      path.add(next);
      chain.push(blob);
    }
    let same = next === undefined || this.#found.get(next)!;
    for (const blob of chain.toReversed()) {
      same &&= this.#blobs.get(blob.hash) === blobDigest(blob);
      // Pruning may have rewritten the blob since it was copied before, so other bytes may encode the same value.
      if (!same) await this.#check(blob.hash, blobs);
      this.#found.set(blob.hash, same);
    }
    return true;
  }
}

function digestOf(fields: readonly unknown[], bytes: Uint8Array): string {
  return createHash("sha256").update(JSON.stringify(fields)).update(bytes).digest("base64");
}

function recordDigest({ parentId, runId, lostTo, blobs, terms, body }: CheckpointRecord): string {
  return digestOf([parentId ?? null, runId ?? null, lostTo ?? null, blobs, terms], body);
}

function blobDigest({ base, bytes }: Blob): string {
  return digestOf([base ?? null], bytes);
}

/** Names a batch of pending writes among those of its thread. Re-encrypting doesn't change it. */
export function batchKey(
  { namespace, checkpointId }: Address,
  batch: Pick<WriteBatch, "taskId" | "body">,
): string {
  return JSON.stringify([namespace, checkpointId, batch.taskId, batchDigest(batch)]);
}

/** Like {@link batchKey}, but also includes the stored bytes. */
function bodyKey(at: Address, batch: Pick<WriteBatch, "taskId" | "body">): string {
  return `${batchKey(at, batch)}${digestOf([], batch.body)}`;
}

function pick({ threadId, namespace, checkpointId }: Address): Address {
  return { threadId, namespace, checkpointId };
}
