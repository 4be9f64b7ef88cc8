import { reservedNamespaces } from "../contract/reservedNamespaces.ts";
import type { Address, Tier } from "../contract/tier.ts";

/**
 * Removes the values of a thread's best-effort channels.
 * @param dryRun only counts
 * @returns how many there were, and their bytes; `done` is false if the thread was written to meanwhile
 */
export async function dropLoose(
  tier: Tier,
  threadId: string,
  { dryRun = false } = {},
): Promise<{ readonly values: number; readonly freed: number; readonly done: boolean }> {
  const at = { threadId, namespace: reservedNamespaces.loose };
  const { revision } = await tier.peek(at);
  const checkpoints: Address[] = [];
  let freed = 0;
  for await (const { record } of tier.list({ ...at, recordsOnly: true })) {
    checkpoints.push({ ...at, checkpointId: record.checkpointId });
    freed += record.body.length;
  }
  const isDone =
    checkpoints.length > 0 &&
    !dryRun &&
    (await tier.remove({ threadId, revision, checkpoints, dropBlobs: [], replaceBlobs: [], heads: [] }));
  return { values: checkpoints.length, freed, done: isDone };
}
