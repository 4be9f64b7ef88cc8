import { createHash, randomFillSync } from "node:crypto";
import type { Tier } from "@stratigraph/core";
import { blobsOf } from "@stratigraph/core/internal";
import type {
  AppendRequest,
  Blob,
  CheckpointRecord,
  ListedCheckpoint,
  ListQuery,
} from "@stratigraph/core/tier";

/** A tier that notes its calls, and how many bytes each carried. */
export interface Weighed<T extends Tier> {
  readonly tier: T;
  /** "append", "list", "list records", … */
  readonly calls: string[];
  /** The most bytes of one append, and of one listing while it went on: no caller can have held more at once than what came of it. */
  readonly most: { appended: number; listed: number };
  /** Called before each append that has records, with its number from 1. */
  beforeAppend: (number: number) => Promise<void> | void;
}

export function weighed<T extends Tier>(tier: T, without: readonly string[] = []): Weighed<T> {
  const most = { appended: 0, listed: 0 };
  const calls: string[] = [];
  let appends = 0;
  const found: Weighed<T> = { tier, calls, most, beforeAppend: () => undefined };
  const append = async (request: AppendRequest) => {
    most.appended = Math.max(most.appended, sizeOf(request));
    if (request.records.length > 0) await found.beforeAppend((appends += 1));
    return await tier.append(request);
  };
  async function* list(query: ListQuery) {
    const held = new Set<string>();
    let bytes = 0;
    for await (const listed of tier.list(query)) {
      bytes += lengths([listed.record, ...listed.writes]);
      for (const blob of blobsOf(listed, held)) {
        held.add(blob.hash);
        bytes += blob.bytes.length;
      }
      most.listed = Math.max(most.listed, bytes);
      yield listed;
    }
  }
  const wrapped = new Proxy(tier, {
    get: (target, name) => {
      if (without.includes(String(name))) return undefined;
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        const query = args[0] as ListQuery;
        calls.push(`${String(name)}${name === "list" && query.recordsOnly === true ? " records" : ""}`);
        if (name === "append") return append(args[0] as AppendRequest);
        if (name === "list") return list(query);
        return value.apply(target, args) as unknown;
      };
    },
  });
  return Object.assign(found, { tier: wrapped });
}

function sizeOf({ records, blobs, writes = [] }: AppendRequest): number {
  return lengths([...records, ...writes]) + blobs.reduce((sum, { bytes }) => sum + bytes.length, 0);
}

function lengths(parts: readonly { readonly body: Uint8Array }[]): number {
  return parts.reduce((sum, { body }) => sum + body.length, 0);
}

/** The id of a checkpoint of {@link largeThread}. */
export function largeId(n: number): string {
  return `1ef00000-0000-6000-8000-${String(n).padStart(12, "0")}`;
}

/**
 * A thread of checkpoints that each bring a blob, of which every fourth is whole and the others are patches on it, and a batch of pending
 * writes.
 * @param sizes of the blobs, in bytes
 */
export function largeThread(threadId: string, sizes: readonly number[], from = 1): AppendRequest {
  const blobs: Blob[] = [];
  const records: CheckpointRecord[] = [];
  const writes: NonNullable<AppendRequest["writes"]>[number][] = [];
  for (const [place, size] of sizes.entries()) {
    const n = from + place;
    const bytes = randomFillSync(Buffer.alloc(size));
    const hash = createHash("sha256").update(bytes).digest("hex").slice(0, 40);
    blobs.push({ hash, base: place % 4 === 0 ? undefined : blobs[place - (place % 4)]!.hash, bytes });
    const [checkpointId, parentId] = [largeId(n), n === 1 ? undefined : largeId(n - 1)];
    const body = Buffer.from(`body ${n}`);
    records.push({ threadId, namespace: "", checkpointId, parentId, terms: [n], blobs: [hash], body });
    const task = { taskId: `task ${n}`, blobs: [], body: Buffer.from(`write ${n}`) };
    writes.push({ threadId, namespace: "", checkpointId, ...task });
  }
  const heads = [
    {
      namespace: "",
      to: records.at(-1)!.checkpointId,
      expected: from === 1 ? [] : [largeId(from - 1)],
    },
  ];
  return { threadId, records, blobs, writes, heads, onConflict: "refuse" };
}

/** What a tier has of a thread, in a form to compare: newest first, with the blobs that each checkpoint needs. */
export async function contentsOf(tier: Tier, threadId: string): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const listed of tier.list({ threadId })) found.push(digestOf(listed));
  return found;
}

/** By the bytes themselves, as they are compared often. */
const digests = new WeakMap<Uint8Array, string>();

function sha256(bytes: Uint8Array): string {
  const digest = digests.get(bytes) ?? createHash("sha256").update(bytes).digest("hex");
  digests.set(bytes, digest);
  return digest;
}

function digestOf(listed: ListedCheckpoint): unknown {
  const { record, writes, head } = listed;
  const { threadId: _threadId, ...rest } = record;
  const blobs = blobsOf(listed, new Set());
  return {
    ...rest,
    head,
    writes: writes.map(({ order: _order, ...batch }) => batch),
    blobs: blobs.map(({ hash, base, bytes }) => [hash, base, sha256(bytes)]),
  };
}
