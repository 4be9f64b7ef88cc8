import { bodyAddress, ownerOf } from "./storedBody.ts";
import { batchName } from "../operations/currentWrites.ts";
import type { Address, Blob, ListedCheckpoint } from "../contract/tier.ts";

/** A piece of stored bytes: where it is, and the address that encryption binds the bytes to. */
export type StoredBytes = {
  readonly bytes: Uint8Array;
  readonly boundTo: string;
  readonly at: Address;
} & (
  | { readonly kind: "record" }
  | { readonly kind: "write"; readonly place: number; readonly name: Uint8Array }
  | { readonly kind: "blob"; readonly hash: string }
);

/** Record, pending writes and blobs of a listed checkpoint. Blobs in `seen` are left out; the others are added to `seen`. */
export function* bytesOfCheckpoint(
  { record, writes, blobs }: ListedCheckpoint,
  seen: Set<string>,
): Generator<StoredBytes> {
  const { threadId, namespace, checkpointId, parentId = "", body } = record;
  const at: Address = { threadId, namespace, checkpointId };
  yield { kind: "record", at, bytes: body, boundTo: bodyAddress(ownerOf(at, parentId)) };
  yield* bytesOfWrites(at, writes);
  for (const { hash, bytes } of neededOf(record.blobs, writes, blobs)) {
    if (seen.has(hash)) continue;
    seen.add(hash);
    yield { kind: "blob", at, hash, bytes, boundTo: hash };
  }
}

/** Pending writes of a checkpoint, oldest first. */
export function* bytesOfWrites(at: Address, writes: ListedCheckpoint["writes"]): Generator<StoredBytes> {
  for (const [place, { taskId, body }] of writes.entries()) {
    const name = batchName({ taskId, body });
    yield { kind: "write", at, place, name, bytes: body, boundTo: bodyAddress(ownerOf(at, taskId)) };
  }
}

/** Those blobs of a shared page that this checkpoint and its writes need. */
function neededOf(
  named: readonly string[],
  writes: ListedCheckpoint["writes"],
  blobs: ListedCheckpoint["blobs"],
): Blob[] {
  const needed = new Set([...named, ...writes.flatMap((batch) => batch.blobs)]);
  const found: Blob[] = [];
  for (const hash of needed) {
    const blob = blobs.get(hash);
    if (blob === undefined) continue;
    found.push(blob);
    if (blob.base !== undefined) needed.add(blob.base);
  }
  return found;
}
