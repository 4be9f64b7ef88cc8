import { StratigraphError } from "./errors.ts";
import type { Blob, CheckpointRecord, WriteBatch } from "./tier.ts";

/** What a write brings to a tier. */
interface Written {
  readonly threadId: string;
  readonly records?: readonly CheckpointRecord[];
  readonly blobs: readonly Blob[];
  readonly writes?: readonly WriteBatch[] | undefined;
}

const mb = (bytes: number): string => `${Math.ceil(bytes / 1024 / 1024)} MB`;

/** The error for bytes that are too long for a tier: why they aren't stored, and what to do. */
export function tooLong(tier: string, bytes: number, most: number): RangeError {
  return new RangeError(
    `It takes ${mb(bytes)} as stored; what is longer than ${mb(most)} can't be read back from ${tier}. ` +
      "Keep it elsewhere, for example in object storage, and its key in the state; or split it over several channels.",
  );
}

/**
 * Refuses a write if the tier couldn't return a part of it, before any of it is written.
 * @param maxBytes the most bytes of one blob, body or batch
 * @throws StratigraphError "SERIALIZATION"
 */
export function checkStoredSize(tier: string, maxBytes: number, written: Written): void {
  const { threadId, records = [], blobs, writes = [] } = written;
  const bodies = [...records, ...writes].map(({ body }) => body.length);
  for (const bytes of [...blobs.map((blob) => blob.bytes.length), ...bodies]) {
    if (bytes <= maxBytes) continue;
    const why = tooLong(tier, bytes, maxBytes).message;
    throw new StratigraphError(
      "SERIALIZATION",
      `Thread ${JSON.stringify(threadId)}: nothing was stored. ${why}`,
      {
        threadId,
        tier,
        bytes,
        maxBytes,
      },
    );
  }
}
