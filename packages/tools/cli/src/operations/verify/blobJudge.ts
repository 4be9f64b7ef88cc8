import type { CheckpointCoder } from "@stratigraph/core/internal";
import type { Address, Blob, BlobHash } from "@stratigraph/core/tier";
import { undecodable, type Undecodable } from "./suspicion.ts";

/** A damaged or missing blob that keeps others from being decoded; undefined if there is none. */
export type Culprit =
  | ({ readonly hash: BlobHash } & (
      | { readonly kind: "missing-blob"; readonly detail?: undefined }
      | Undecodable
    ))
  | undefined;

/** Judges the blobs of a thread in one tier, each once across all pages. */
export class BlobJudge {
  readonly #coder: CheckpointCoder;
  readonly #judged = new Map<BlobHash, Culprit>();

  constructor(coder: CheckpointCoder) {
    this.#coder = coder;
  }

  /** Whether a blob was judged before. */
  knows(hash: BlobHash): boolean {
    return this.#judged.has(hash);
  }

  /** What keeps a blob from being decoded: itself, or a blob that it is a patch on. */
  async culprit(
    at: Address,
    channel: string | undefined,
    hash: BlobHash,
    blobs: ReadonlyMap<BlobHash, Blob>,
  ): Promise<Culprit> {
    if (this.knows(hash)) return this.#judged.get(hash);
    const chain = this.#chain(hash, blobs);
    let found = chain.culprit;
    if (found === undefined && (await this.#failure(at, channel, hash, blobs)) !== undefined) {
      // Every blob is named by the hash of the value that it stands for, so the deepest one that fails is the one at fault.
      for (const each of chain.hashes.toReversed()) {
        const failure = await this.#failure(at, channel, each, blobs);
        if (failure === undefined) continue;
        found = { hash: each, ...failure };
        break;
      }
    }
    this.#judged.set(hash, found);
    if (found !== undefined) this.#judged.set(found.hash, found);
    return found;
  }

  /** The chain of a blob, itself first, and the culprit in it if one is known already. */
  #chain(hash: BlobHash, blobs: ReadonlyMap<BlobHash, Blob>): { hashes: BlobHash[]; culprit: Culprit } {
    const hashes: BlobHash[] = [];
    const met = new Set<BlobHash>();
    for (let next: BlobHash | undefined = hash; next !== undefined;) {
      const known = this.#judged.get(next);
      const blob = blobs.get(next);
      if (known !== undefined) return { hashes, culprit: known };
      if (blob === undefined) return { hashes, culprit: { kind: "missing-blob", hash: next } };
      if (met.has(next))
        return {
          hashes,
          culprit: { kind: "corrupt", hash: next, detail: "Its chain of patches is a circle." },
        };
      met.add(next);
      hashes.push(next);
      next = blob.base;
    }
    return { hashes, culprit: undefined };
  }

  async #failure(
    at: Address,
    channel: string | undefined,
    hash: BlobHash,
    blobs: ReadonlyMap<BlobHash, Blob>,
  ): Promise<Undecodable | undefined> {
    try {
      await this.#coder.payload(at, channel, hash, blobs);
      return undefined;
    } catch (error) {
      return undecodable(error);
    }
  }
}
