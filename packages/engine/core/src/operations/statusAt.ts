import { TASKS } from "@langchain/langgraph-checkpoint";
import type { CheckpointCoder } from "../encode/checkpointCoder.ts";
import { isDue, statusFrom, statusTerms, type ThreadStatus } from "../contract/threadStatus.ts";
import type { StoredCheckpoint, Tier } from "../contract/tier.ts";
import { taskStates } from "./taskStates.ts";

/**
 * How a thread stands, by reading its newest root checkpoint: for threads of which the tier doesn't know it. Without a root
 * checkpoint nothing is due. Undefined if it isn't here.
 * @throws CorruptionError; StratigraphError "KEY_MISSING", "KEY_UNAVAILABLE", "NEWER_FORMAT"
 */
export async function statusAt(
  tier: Tier,
  coder: CheckpointCoder,
  threadId: string,
  head: string | undefined,
): Promise<ThreadStatus | undefined> {
  if (head === undefined) return "idle";
  const query = { threadId, namespace: "", checkpointId: head, limit: 1 };
  for await (const stored of tier.list({ ...query, recordsOnly: true })) {
    const { record, writes } = stored;
    const terms =
      record.terms.includes(statusTerms.idle) || record.terms.includes(statusTerms.interrupted)
        ? record.terms
        : [(await isDueAt(tier, coder, stored)) ? statusTerms.interrupted : statusTerms.idle];
    const { outcomes } = await taskStates({ tier, coder }, { record, writes });
    return statusFrom(terms, outcomes);
  }
  return undefined;
}

/** Whether a step is due at a checkpoint of an older version. Its values are read only if names don't tell. */
async function isDueAt(tier: Tier, coder: CheckpointCoder, { record }: StoredCheckpoint): Promise<boolean> {
  const { manifest } = await coder.decodeBody(record);
  const entries = [...manifest.values()].filter(
    ({ channel, value }) => value !== undefined && /^(__start__$|branch:to:|join:)/.test(channel),
  );
  if (entries.some(({ channel }) => !channel.startsWith("join:"))) return true;
  const sends = manifest.get(TASKS);
  const asked = sends?.value === undefined ? entries : [...entries, sends];
  if (asked.length === 0) return false;
  const { threadId, namespace, checkpointId } = record;
  for await (const { blobs } of tier.list({ threadId, namespace, checkpointId, limit: 1 })) {
    const values: Record<string, unknown> = {};
    for (const { channel, value } of asked)
      values[channel] = await coder.value(record, channel, value!, blobs);
    return isDue(values);
  }
  return false;
}
