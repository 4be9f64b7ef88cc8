import { missingBlob, namedBlobs } from "@stratigraph/core/tier";
import type {
  Blob,
  BlobHash,
  CheckpointRecord,
  ListedCheckpoint,
  StoredWriteBatch,
} from "@stratigraph/core/tier";
import { hexOf } from "./hex.ts";
import { corruptKey } from "./corruptKey.ts";
import { UnknownKey, type KeyReader } from "./keys.ts";

/** A row of read_1, list_1, ancestry_1 or outline_1. sql/000002.sql says what the columns mean by kind. */
export interface ReadRow {
  readonly kind: "s" | "c" | "w" | "b" | "h" | "t";
  readonly thread: string;
  readonly id: Uint8Array | null;
  readonly ns: Uint8Array | null;
  readonly a: Uint8Array | null;
  readonly b: Uint8Array | null;
  readonly c: Uint8Array | null;
  readonly d: Uint8Array | null;
  readonly n: string | null;
  readonly terms: string | null;
  readonly body: Uint8Array | null;
}

const hashLength = 20;

function hashesOf(packed: Uint8Array): BlobHash[] {
  const digits = hexOf(packed);
  const hashes: BlobHash[] = [];
  for (let at = 0; at < digits.length; at += hashLength * 2)
    hashes.push(digits.slice(at, at + hashLength * 2));
  return hashes;
}

/** The checkpoints and pending writes of some rows. */
export interface Page {
  readonly checkpoints: (ListedCheckpoint & { readonly row: ReadRow; readonly whole: boolean })[];
  readonly writes: readonly StoredWriteBatch[];
}

/** Names of the columns with keys, by kind of row. */
const columns: Readonly<Partial<Record<ReadRow["kind"], Readonly<Record<string, string>>>>> = {
  c: {
    id: "checkpoints.id",
    ns: "checkpoints.ns",
    a: "checkpoints.parent",
    b: "checkpoints.lost_to",
    c: "checkpoints.run",
  },
  w: { a: "writes.task" },
  h: { a: "heads.id" },
  t: { a: "threads.key" },
  s: { a: "heads.id" },
};

/** The error for the first key in the rows that stands for no id. It names the thread and the column. */
function named(
  error: UnknownKey,
  rows: readonly ReadRow[],
  keys: KeyReader,
  threadIds: ReadonlyMap<string, string>,
): Error {
  const names = new Map(threadIds);
  for (const { kind, thread, a, b } of rows) {
    if (kind !== "t" || (b === null && !keys.knows(a!))) continue;
    names.set(thread, b === null ? keys.id(a!) : Buffer.from(b).toString("utf8"));
  }
  for (const row of rows)
    for (const [field, column] of Object.entries(columns[row.kind] ?? {})) {
      const key = row[field as "id" | "ns" | "a" | "b" | "c"];
      if (key === null || keys.knows(key)) continue;
      const threadId = names.get(row.thread);
      const which = threadId === undefined ? `thread ${row.thread}` : `thread ${JSON.stringify(threadId)}`;
      return corruptKey(`Column ${column} of ${which}`, error, { threadId, column });
    }
  return error;
}

/**
 * Builds checkpoints from the rows of a page.
 * @param threadIds thread ids by number, if the rows don't hold them
 * @throws StratigraphError "CORRUPT"
 */
export function pageOf(
  rows: readonly ReadRow[],
  keys: KeyReader,
  threadIds: ReadonlyMap<string, string>,
): Page {
  try {
    return built(rows, keys, new Map(threadIds));
  } catch (error) {
    throw error instanceof UnknownKey ? named(error, rows, keys, threadIds) : error;
  }
}

/** @param names receives the thread ids in the rows. @throws UnknownKey */
function built(rows: readonly ReadRow[], keys: KeyReader, names: Map<string, string>): Page {
  const blobs = new Map<string, Map<BlobHash, Blob>>();
  const writes = new Map<string, StoredWriteBatch[]>();
  const heads = new Map<string, string>();
  const all: StoredWriteBatch[] = [];
  const place = (row: ReadRow): string =>
    `${row.thread} ${hexOf(row.ns!)} ${row.id === null ? "" : hexOf(row.id)}`;
  for (const row of rows) {
    if (row.kind === "b") {
      const ofThread = blobs.get(row.thread) ?? new Map<BlobHash, Blob>();
      const hash = hexOf(row.a!);
      blobs.set(
        row.thread,
        ofThread.set(hash, { hash, base: row.b === null ? undefined : hexOf(row.b), bytes: row.body! }),
      );
    } else if (row.kind === "w") {
      const batch = {
        taskId: keys.id(row.a!),
        blobs: hashesOf(row.d!),
        body: row.body!,
        order: Number(row.n),
      };
      writes.set(place(row), [...(writes.get(place(row)) ?? []), batch]);
      all.push(batch);
    } else if (row.kind === "h") {
      heads.set(place(row), keys.id(row.a!));
    } else if (row.kind === "t") {
      names.set(row.thread, row.b === null ? keys.id(row.a!) : Buffer.from(row.b).toString("utf8"));
    }
  }
  const none: ReadonlyMap<BlobHash, Blob> = new Map();
  const checkpoints = rows
    .filter(({ kind }) => kind === "c")
    .map((row) => {
      const record: CheckpointRecord = {
        threadId: names.get(row.thread)!,
        namespace: keys.id(row.ns!),
        checkpointId: keys.id(row.id!),
        parentId: row.a === null ? undefined : keys.id(row.a),
        lostTo: row.b === null ? undefined : keys.id(row.b),
        runId: row.c === null ? undefined : keys.id(row.c),
        blobs: hashesOf(row.d!),
        terms: row.terms === null || row.terms === "" ? [] : row.terms.split(",").map(Number),
        body: row.body!,
      };
      const stored = { record, blobs: blobs.get(row.thread) ?? none, writes: writes.get(place(row)) ?? [] };
      const head = heads.get(`${row.thread} ${hexOf(row.ns!)} `);
      const whole = missingBlob(namedBlobs(record, stored.writes), stored.blobs) === undefined;
      return { ...stored, head, row, whole };
    });
  return { checkpoints, writes: all };
}

/** The keys in the rows that `keys` doesn't know yet. */
export function unknownKeys(rows: readonly ReadRow[], keys: KeyReader): Uint8Array[] {
  const unknown: Uint8Array[] = [];
  const look = (key: Uint8Array | null): void => {
    if (key !== null && !keys.knows(key)) unknown.push(key);
  };
  for (const { kind, id, ns, a, b, c } of rows) {
    look(id);
    look(ns);
    if (kind === "s" || kind === "w" || kind === "h" || kind === "c") look(a);
    if (kind === "c") {
      look(b);
      look(c);
    }
  }
  return unknown;
}
