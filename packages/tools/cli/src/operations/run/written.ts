import { CheckpointConflictError, type TierSaver } from "@stratigraph/core";
import { mainLine } from "../table/address.ts";

/** How many checkpoints of one run are listed at most. */
export const mostListed = 1000;

/** What a run wrote: the head now, and the checkpoints of the main line since it began, newest first. */
export interface Written {
  readonly head: string | undefined;
  readonly checkpoints: readonly string[];
}

/**
 * The checkpoints that a thread has got since a run began.
 * @param before the head before the run
 * @param told ids of the checkpoints that the run reported
 * @throws CheckpointConflictError if the run's checkpoints aren't on the main line, because another writer was first
 */
export async function writtenSince(
  saver: TierSaver,
  threadId: string,
  before: string | undefined,
  told: readonly string[],
): Promise<Written> {
  const { head } = await saver.tier.peek({ threadId, namespace: "" });
  if (head === undefined || head === before) return { head, checkpoints: [] };
  const checkpoints: string[] = [];
  for await (const { checkpointId } of mainLine(saver, { threadId, namespace: "", head })) {
    if (checkpointId === before || checkpoints.length === mostListed) break;
    checkpoints.push(checkpointId);
  }
  const lost =
    checkpoints.length < mostListed
      ? told.find((id) => id !== before && !checkpoints.includes(id))
      : undefined;
  if (lost === undefined) return { head, checkpoints };
  throw new CheckpointConflictError(
    {
      threadId,
      namespace: "",
      checkpointId: lost,
      parentId: before,
      head,
      expected: before === undefined ? [] : [before],
    },
    `Another writer moved the head of thread ${JSON.stringify(threadId)} to ${head} while the graph ran from ${before ?? "nothing"}. ` +
      `What this run wrote is kept as a side branch: "stratigraph conflicts" lists it, and merge or promote takes it over.`,
  );
}
