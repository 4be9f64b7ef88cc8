import type { Traffic } from "./calls.ts";
import type {
  AppendRequest,
  AppendWritesRequest,
  ListedCheckpoint,
  Peek,
  Reading,
  StoredCheckpoint,
  StoredWriteBatch,
} from "./tier.ts";

/** Bytes of the contents that an append carries, for traces. */
export function appendTraffic({ records, blobs, writes = [] }: AppendRequest): Traffic {
  return {
    sent:
      lengths(records.map(({ body }) => body)) + lengths(blobs.map(({ bytes }) => bytes)) + ofWrites(writes),
  };
}

/** Bytes of the contents that pending writes carry, for traces. */
export function writesTraffic({ body, newBlobs }: AppendWritesRequest): Traffic {
  return { sent: body.length + lengths(newBlobs.map(({ bytes }) => bytes)) };
}

/** Bytes of the contents that came back, for traces. */
export function peekTraffic({ record, writes }: Peek): Traffic {
  return { received: (record?.body.length ?? 0) + ofWrites(writes) };
}

/** Bytes of the contents that came back, for traces. */
export function readTraffic({ checkpoint }: Reading): Traffic {
  return { received: checkpoint === undefined ? 0 : storedSize(checkpoint) };
}

/** Bytes of a checkpoint as it came from a tier. Those of a listing share blobs, which are counted with each. */
export function storedSize({ record, blobs, writes }: StoredCheckpoint | ListedCheckpoint): number {
  return record.body.length + lengths([...blobs.values()].map(({ bytes }) => bytes)) + ofWrites(writes);
}

function ofWrites(writes: readonly Pick<StoredWriteBatch, "body">[]): number {
  return lengths(writes.map(({ body }) => body));
}

function lengths(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0);
}
