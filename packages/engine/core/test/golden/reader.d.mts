/** A checkpoint's row. `body` in hex. */
export interface StoredRecord {
  namespace: string;
  checkpointId: string;
  parentId?: string;
  runId?: string;
  /** Its terms: the files call them by an older name. */
  tags: number[];
  blobs: string[];
  body: string;
  lostTo?: string;
}

/** A thread as a tier holds it; bytes in hex. */
export interface StoredThread {
  records: StoredRecord[];
  blobs: { hash: string; base?: string; bytes: string }[];
  writes: { namespace: string; checkpointId: string; taskId: string; blobs: string[]; body: string }[];
  heads: { namespace: string; to: string }[];
  keys?: Record<string, Uint8Array>;
  hashKey?: Uint8Array;
}

/** Type name and bytes of a value. */
type Typed = [type: string, bytes: Uint8Array];

export function readBlob(thread: StoredThread, hash: string): { kind: 1 | 2 | 3; payload: Uint8Array };
export function readRecord(
  thread: StoredThread,
  record: StoredRecord,
): { checkpoint: Record<string, unknown>; metadata: unknown; values: Record<string, Typed> };
export function readWrites(
  thread: StoredThread,
  batch: StoredThread["writes"][number],
): { index: number; channel: string; value: Typed }[];
