import type { TierSaver } from "@stratigraph/core";
import type { Address } from "@stratigraph/core/tier";
import { openRecord, Records, type OpenedRecord } from "./records.ts";

/** A checkpoint on the way back from another one. */
export interface Ancestor extends OpenedRecord {
  /** Whether its parent isn't stored any more, so that the walk ends here. */
  readonly parentMissing: boolean;
}

/**
 * A checkpoint and its ancestors, nearest first, without values. Reads them from a listing, a page at a time, because parents mostly
 * follow their children there. Looks up the others.
 */
export async function* ancestry(saver: TierSaver, at: Address): AsyncGenerator<Ancestor> {
  const records = new Records(saver, at);
  let current = await records.find(at.checkpointId);
  while (current !== undefined) {
    let { parentId } = current.record;
    if (parentId !== undefined && parentId < current.record.checkpointId) {
      const { threadId, namespace } = at;
      const before = current.record.checkpointId;
      for await (const listed of saver.tier.list({ threadId, namespace, before, recordsOnly: true })) {
        if (parentId === undefined || listed.record.checkpointId < parentId) break;
        if (listed.record.checkpointId !== parentId) continue;
        yield { ...current!, parentMissing: false };
        current = await openRecord(saver, listed);
        ({ parentId } = current.record);
      }
    }
    const parent: OpenedRecord | undefined =
      parentId === undefined ? undefined : await records.find(parentId);
    yield { ...current!, parentMissing: parentId !== undefined && parent === undefined };
    current = parent;
  }
}
