import type { CheckpointMetadata } from "@langchain/langgraph-checkpoint";
import { NotFoundError, type TierSaver } from "@stratigraph/core";
import {
  headlessOrEvicted,
  refusePart,
  RunsUnderWay,
  settledHead,
  validId,
  withoutBytes,
  type DecodedBody,
} from "@stratigraph/core/internal";
import type { Address, StoredCheckpoint } from "@stratigraph/core/tier";

/** A checkpoint of a thread. */
export interface Point {
  readonly threadId: string;
  /** Default `""`, the root namespace. */
  readonly namespace?: string | undefined;
  /** Default: the head. */
  readonly checkpointId?: string | undefined;
}

/** A thread, by its id or by an object that names it, such as a fork. */
export type ThreadRef = string | { readonly threadId: string };

/** A stored checkpoint with its header and metadata decoded, but not its values. */
export interface ReadPoint {
  readonly at: Address;
  readonly stored: StoredCheckpoint;
  readonly body: DecodedBody;
  readonly metadata: CheckpointMetadata;
  /** The head of the namespace when the checkpoint was read. */
  readonly head: string | undefined;
  /** The revision of the thread when the checkpoint was read. */
  readonly revision: number;
}

/**
 * Reads a checkpoint past the saver, which otherwise would note that it handed the checkpoint out. Then a later put by that saver could
 * make a side branch although it lost a race, of which the caller should be told.
 * @throws NotFoundError, EvictedError, InvalidAddressError, CorruptionError
 */
export async function readPoint(saver: TierSaver, point: Point): Promise<ReadPoint> {
  const threadId = validId("threadId", point.threadId);
  const namespace = validId("namespace", point.namespace ?? "", { empty: true });
  const wanted = point.checkpointId === undefined ? undefined : validId("checkpointId", point.checkpointId);
  await RunsUnderWay.of(saver.tier).othersEnded({}, threadId);
  const { checkpoint, head, revision } = await settledHead(saver.tier, async () => {
    const reading = await saver.tier.read({ threadId, namespace, checkpointId: wanted });
    const checkpointId = wanted ?? reading.head;
    if (reading.checkpoint === undefined && checkpointId !== undefined && checkpointId === reading.head)
      throw await withoutBytes(saver.tier, { threadId, namespace, checkpointId });
    if (checkpointId === undefined && reading.headless === true)
      throw await headlessOrEvicted(saver.tier, { threadId, namespace });
    return reading;
  });
  if (checkpoint === undefined) {
    await refusePart(saver.tier, { threadId, namespace, checkpointId: wanted });
    const where = `Thread ${JSON.stringify(threadId)}${namespace === "" ? "" : `, namespace ${JSON.stringify(namespace)}`}`;
    const what = wanted === undefined ? "has no checkpoints" : `has no checkpoint ${wanted}`;
    throw new NotFoundError(`${where} ${what}. Look it up with listThreads() or log().`, {
      threadId,
      namespace,
      checkpointId: wanted,
    });
  }
  const body = await saver.coder.decodeBody(checkpoint.record);
  const metadata = await saver.coder.metadata(checkpoint.record, body);
  const { checkpointId } = checkpoint.record;
  return { at: { threadId, namespace, checkpointId }, stored: checkpoint, body, metadata, head, revision };
}
