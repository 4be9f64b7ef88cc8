import { createHash } from "node:crypto";
import type { Tier } from "@stratigraph/core";
import type { AppendRequest, AppendWritesRequest, Blob, CheckpointRecord } from "@stratigraph/core/tier";

function digest(...parts: readonly unknown[]): string {
  const hash = createHash("sha256");
  for (const part of parts)
    hash.update(part instanceof Uint8Array ? part : JSON.stringify(part ?? null)).update("|");
  return hash.digest("hex");
}

const ofRecord = ({ body, ...rest }: CheckpointRecord): string => {
  const { parentId, runId, terms, blobs, lostTo } = rest;
  return digest(body, parentId, runId, terms, blobs, lostTo);
};
const ofBlob = ({ bytes, base }: Blob): string => digest(bytes, base);

/** What was ever appended to a tier, by its digest: all copies anywhere must have the same bytes. */
export class AppendLog {
  readonly #records = new Map<string, string>();
  readonly #blobs = new Map<string, string>();
  /** Where something was appended again with other bytes. */
  readonly differences: string[] = [];

  /** The tier, with every append noted before it is made. */
  of<T extends Tier>(tier: T): T {
    const note = (request: AppendRequest): void => {
      for (const record of request.records) this.#note(this.#records, nameOf(record), ofRecord(record));
      for (const blob of request.blobs)
        this.#note(this.#blobs, blobName(request.threadId, blob), ofBlob(blob));
    };
    return new Proxy(tier, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        if (name === "append") return (request: AppendRequest) => (note(request), target.append(request));
        if (name === "appendWrites")
          return (request: AppendWritesRequest) => {
            const { threadId, newBlobs } = request;
            for (const blob of newBlobs) this.#note(this.#blobs, blobName(threadId, blob), ofBlob(blob));
            return target.appendWrites(request);
          };
        return value.bind(target);
      },
    });
  }

  /** Records of a thread that a tier has not, or has with other bytes; and such blobs. */
  async unlike(tier: Tier, threadId: string): Promise<string[]> {
    const left = new Set([...this.#records.keys()].filter((name) => name.startsWith(prefixOf(threadId))));
    const wrong: string[] = [];
    for await (const { record, blobs } of tier.list({ threadId })) {
      const name = nameOf(record);
      if (!left.delete(name)) wrong.push(`twice or unknown: ${name}`);
      if (this.#records.get(name) !== ofRecord(record)) wrong.push(`other bytes: ${name}`);
      for (const blob of blobs.values())
        if (this.#blobs.get(blobName(threadId, blob)) !== ofBlob(blob))
          wrong.push(`blob ${blob.hash} of ${name}`);
    }
    return [...wrong, ...[...left].map((name) => `missing: ${name}`)];
  }

  #note(known: Map<string, string>, name: string, value: string): void {
    const before = known.get(name);
    if (before !== undefined && before !== value) this.differences.push(name);
    known.set(name, value);
  }
}

function prefixOf(threadId: string): string {
  return `[${JSON.stringify(threadId)},`;
}

function nameOf({ threadId, namespace, checkpointId }: CheckpointRecord): string {
  return JSON.stringify([threadId, namespace, checkpointId]);
}

function blobName(threadId: string, { hash }: Blob): string {
  return JSON.stringify([threadId, hash]);
}
