import { CorruptionError, NotFoundError } from "@stratigraph/core";
import { ancestorsFrom } from "@stratigraph/core/internal";
import { blobClosure, missingBlob, namedBlobs } from "@stratigraph/core/tier";
import type { TierSaver } from "@stratigraph/core";
import type { Outline } from "@stratigraph/core/internal";
import type {
  Address,
  Blob,
  BlobHash,
  CheckpointRecord,
  StoredCheckpoint,
  StoredWriteBatch,
  WriteBatch,
} from "@stratigraph/core/tier";
import type { PlannedTip } from "./forkTips.ts";
import { parentsFirst } from "./parentsFirst.ts";

/** Up to this many checkpoints of a namespace are read one by one. More are read with one listing. */
const readSingly = 4;

/** What a fork copies. Ids and encoded bytes are those of the source. */
export interface ForkSource {
  /** Parents before children. */
  readonly records: readonly CheckpointRecord[];
  readonly blobs: readonly Blob[];
  /** Oldest first. */
  readonly writes: readonly (Address & WriteBatch)[];
  readonly heads: readonly { readonly namespace: string; readonly to: string }[];
}

/**
 * Reads the checkpoints that a fork needs, with their values. This is used if the tier can't fork a thread by itself, and for a
 * fast-forward.
 * @throws NotFoundError, also if the storage was restored to an older state meanwhile; CorruptionError if a part is missing
 */
export async function readForkSource(
  saver: TierSaver,
  threadId: string,
  tips: readonly PlannedTip[],
  outline: Outline,
): Promise<ForkSource> {
  const records: CheckpointRecord[] = [];
  const blobs = new Map<BlobHash, Blob>();
  const writes: (Address & StoredWriteBatch)[] = [];
  for (const tip of tips) {
    const { namespace } = tip;
    const isGone = (checkpointId: string): NotFoundError =>
      new NotFoundError(
        `Thread ${JSON.stringify(threadId)} no longer has all of checkpoint ${checkpointId}: it was pruned, archived or deleted meanwhile. Repeat the call.`,
        { threadId, namespace, checkpointId },
      );
    const wanted =
      tip.ancestors === 0
        ? [tip.node.record]
        : ancestorsFrom(await outline.nodes(namespace), tip.checkpointId, tip);
    if (wanted.length === 0) throw isGone(tip.checkpointId);
    const stored = await readCheckpoints(saver, wanted);
    for (const record of wanted) {
      const { checkpointId } = record;
      const at = { threadId, namespace, checkpointId };
      const checkpoint = stored.get(checkpointId);
      if (checkpoint === undefined) throw isGone(checkpointId);
      const isTip = checkpointId === tip.checkpointId;
      const batches = checkpoint.writes.filter((_, place) => !isTip || tip.writes.includes(place));
      for (const batch of batches) writes.push({ ...at, ...batch });
      const named = namedBlobs(record, batches);
      const needed = blobClosure(named, checkpoint.blobs);
      if (needed === undefined) {
        const missing = missingBlob(named, checkpoint.blobs);
        throw new CorruptionError(at, `the blob ${missing} that it needs is missing`);
      }
      for (const [hash, blob] of needed) blobs.set(hash, blob);
      records.push(record);
    }
  }
  return {
    records: parentsFirst(records),
    blobs: [...blobs.values()],
    writes: writes.sort((a, b) => a.order - b.order).map(({ order: _order, ...batch }) => batch),
    heads: tips.map(({ namespace, checkpointId }) => ({ namespace, to: checkpointId })),
  };
}

/** Reads checkpoints of one namespace with their values. @throws NotFoundError where the storage was set back between two of them */
async function readCheckpoints(
  saver: TierSaver,
  wanted: readonly CheckpointRecord[],
): Promise<Map<string, StoredCheckpoint>> {
  const found = new Map<string, StoredCheckpoint>();
  if (wanted.length <= readSingly) {
    let before = 0;
    for (const record of wanted) {
      const { checkpoint, revision } = await saver.tier.read(record);
      // A hot tier may still have a copy of a checkpoint that the owner has lost, but none of its parent.
      if (revision < before) throw wentBack(record);
      before = revision;
      if (checkpoint !== undefined) found.set(record.checkpointId, checkpoint);
    }
    return found;
  }
  const ids = new Set(wanted.map(({ checkpointId }) => checkpointId));
  const { threadId, namespace } = wanted[0]!;
  for await (const stored of saver.tier.list({ threadId, namespace })) {
    if (ids.has(stored.record.checkpointId)) found.set(stored.record.checkpointId, stored);
    if (found.size === ids.size) break;
  }
  return found;
}

function wentBack({ threadId, namespace }: CheckpointRecord): NotFoundError {
  return new NotFoundError(
    `Thread ${JSON.stringify(threadId)} is no longer what it was when it was read: its storage was set back meanwhile. Repeat the call.`,
    { threadId, namespace },
  );
}
