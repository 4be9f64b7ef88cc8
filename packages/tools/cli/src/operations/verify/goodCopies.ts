import type { CheckpointCoder } from "@stratigraph/core/internal";
import { namedBlobs, type Address, type StoredCheckpoint } from "@stratigraph/core/tier";
import { allPlaces, type Place, type Storage } from "./places.ts";
import type { Suspicion } from "./suspicion.ts";

/** A good copy of data that is missing or damaged elsewhere. */
export interface GoodCopy {
  readonly place: Place;
  readonly stored: StoredCheckpoint;
}

/** Searches other tiers for good copies of missing or damaged data: first owners, then hot copies, then replicas. */
export async function* goodCopies(
  storage: Storage,
  threadId: string,
  suspicion: Suspicion,
): AsyncGenerator<GoodCopy> {
  const { kind, severity, place, namespace, checkpointId } = suspicion;
  const isMissing =
    kind === "missing-blob" || kind === "gap" || (kind === "wrong-head" && severity === "error");
  if (checkpointId === undefined || !(isMissing || kind === "corrupt")) return;
  const places = suspicion.part === "blob" ? suspicion.involved : [{ threadId, namespace, checkpointId }];
  for (const other of allPlaces(storage)) {
    // Hot tiers hold only some of the pending writes.
    if (other === place || (suspicion.part === "writes" && other.role === "hot")) continue;
    for (const at of places) {
      const stored = await storedIn(other, at);
      if (stored === undefined || !(await isGood(storage.coder, stored, suspicion))) continue;
      yield { place: other, stored };
      break;
    }
  }
}

/** A checkpoint as a tier holds it; undefined if it isn't there, or can't be read. */
export async function storedIn({ tier }: Place, at: Address): Promise<StoredCheckpoint | undefined> {
  try {
    const { threadId, namespace, checkpointId } = at;
    for await (const stored of tier.list({ threadId, namespace, checkpointId, limit: 1 })) return stored;
  } catch {
    // Whatever the error is, this tier has no good bytes now.
  }
  return undefined;
}

async function isGood(
  coder: CheckpointCoder,
  stored: StoredCheckpoint,
  { part, hash, batch }: Pick<Suspicion, "part" | "hash" | "batch">,
): Promise<boolean> {
  const { record, blobs, writes } = stored;
  try {
    if (part === "blob") await coder.payload(record, undefined, hash!, blobs);
    else if (part === "writes") {
      const found = writes[batch!];
      if (found === undefined) return false;
      await coder.writes.open(record, [found]);
    } else {
      await coder.decodeBody(record);
      for (const each of namedBlobs(record, [])) await coder.payload(record, undefined, each, blobs);
    }
    return true;
  } catch {
    return false;
  }
}
