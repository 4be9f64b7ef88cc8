import { createHash } from "node:crypto";
import type { Tier } from "@stratigraph/core";
import type {
  Address,
  AppendRequest,
  AppendWritesRequest,
  Blob,
  CheckpointRecord,
  HeadMove,
  ListedCheckpoint,
  ListQuery,
  StoredWriteBatch,
} from "@stratigraph/core/tier";

/** Text as bytes. */
export function bytes(content: string | Uint8Array): Uint8Array {
  return typeof content === "string" ? new TextEncoder().encode(content) : content;
}

/** Bytes as text for the message of a failed comparison: short ones in hexadecimal, long ones as length and hash. */
export function shown(content: Uint8Array): string {
  const hex = Buffer.from(content).toString("hex");
  if (hex.length <= 128) return hex;
  return `${content.length} bytes, ${createHash("sha256").update(content).digest("hex")}`;
}

/** Bytes that look random and are the same in every run. */
export function noise(length: number, seed = 1): Uint8Array {
  const filled = new Uint8Array(length);
  let state = seed | 1;
  for (let i = 0; i < length; i += 1) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    filled[i] = state;
  }
  return filled;
}

/** A blob named by its content; with `base`, a patch on it. The bytes aren't a real patch, because a tier must not look into them. */
export function blob(content: string | Uint8Array, base?: Blob): Blob {
  const hash = createHash("sha256")
    .update(base?.hash ?? "")
    .update(content)
    .digest("hex")
    .slice(0, 40);
  return { hash, base: base?.hash, bytes: bytes(content) };
}

/** What {@link put} takes besides the ids. */
export interface PutParts {
  readonly namespace?: string;
  readonly parentId?: string;
  readonly runId?: string;
  readonly terms?: readonly number[];
  readonly body?: string | Uint8Array;
  /** Blobs that the record names. */
  readonly names?: readonly Blob[];
  /** Blobs that the request contains. Default: those that the record names. */
  readonly brings?: readonly Blob[];
  /** The heads from which the head may move. Default: the parent, or none. */
  readonly expected?: HeadMove["expected"];
  readonly onConflict?: AppendRequest["onConflict"];
  readonly seen?: number;
  readonly relies?: boolean;
  readonly lostTo?: string;
}

/** A record. */
export function record(threadId: string, checkpointId: string, parts: PutParts = {}): CheckpointRecord {
  const { namespace = "", parentId, runId, terms = [], names = [], lostTo } = parts;
  return {
    threadId,
    namespace,
    checkpointId,
    parentId,
    runId,
    terms,
    blobs: names.map(({ hash }) => hash),
    body: bytes(parts.body ?? `body of ${checkpointId}`),
    lostTo,
  };
}

/** The append that a saver makes for one checkpoint. By default it refuses conflicts. */
export function put(threadId: string, checkpointId: string, parts: PutParts = {}): AppendRequest {
  const { namespace = "", parentId, names = [], brings = names, onConflict = "refuse", seen, relies } = parts;
  const expected = parts.expected ?? (parentId === undefined ? [] : [parentId]);
  return {
    threadId,
    records: [record(threadId, checkpointId, parts)],
    blobs: brings,
    heads: [{ namespace, to: checkpointId, expected }],
    onConflict,
    ...(seen === undefined ? {} : { seen }),
    ...(relies === undefined ? {} : { relies }),
  };
}

/** The appendWrites that a saver makes for one task. */
export function batch(
  at: Address,
  taskId: string,
  parts: { body?: string | Uint8Array; names?: readonly Blob[]; seen?: number; relies?: boolean } = {},
): AppendWritesRequest {
  const { body = `writes of ${taskId}`, names = [], seen, relies } = parts;
  return {
    ...at,
    taskId,
    blobs: names.map(({ hash }) => hash),
    body: bytes(body),
    newBlobs: names,
    ...(seen === undefined ? {} : { seen }),
    ...(relies === undefined ? {} : { relies }),
  };
}

/** A checkpoint's address. */
export function at(threadId: string, checkpointId: string, namespace = ""): Address {
  return { threadId, namespace, checkpointId };
}

/** Appends a line of checkpoints, each one the child of the one before. */
export async function line(
  tier: Tier,
  threadId: string,
  ids: readonly string[],
  parts: Omit<PutParts, "parentId"> = {},
): Promise<void> {
  let parentId: string | undefined;
  for (const id of ids) {
    await tier.append(put(threadId, id, { ...parts, ...(parentId === undefined ? {} : { parentId }) }));
    parentId = id;
  }
}

/** A record in a form that can be compared: absent and undefined are the same, terms have no order, bytes are text. */
export function plainRecord(found: CheckpointRecord): Record<string, unknown> {
  return {
    threadId: found.threadId,
    namespace: found.namespace,
    checkpointId: found.checkpointId,
    parentId: found.parentId ?? null,
    runId: found.runId ?? null,
    terms: [...found.terms].sort((a, b) => a - b),
    blobs: [...found.blobs],
    body: shown(found.body),
    lostTo: found.lostTo ?? null,
  };
}

/** Write batches as text, in order. */
export function plainWrites(writes: readonly StoredWriteBatch[]): string[] {
  return writes.map(({ taskId, body }) => `${taskId}: ${Buffer.from(body).toString("utf8")}`);
}

/** All that a listing yields. */
export async function listed(tier: Tier, query: ListQuery): Promise<ListedCheckpoint[]> {
  const found: ListedCheckpoint[] = [];
  for await (const item of tier.list(query)) found.push(item);
  return found;
}

/** Checkpoint ids of a listing, in its order. */
export async function listedIds(tier: Tier, query: ListQuery): Promise<string[]> {
  return (await listed(tier, query)).map((item) => item.record.checkpointId);
}
