import type { CheckpointPendingWrite, DeltaChannelHistory } from "@langchain/langgraph-checkpoint";
import type { CheckpointCoder } from "../encode/checkpointCoder.ts";
import { snapshotTag } from "../encode/metadataTags.ts";
import { type Address, type MaybeAddress, type StoredCheckpoint, type Tier } from "../contract/tier.ts";
import { readsAncestry } from "../contract/tierExtensions.ts";
import { asPendingWrite } from "../encode/writeCoder.ts";
import type { Consumed } from "../encode/record.ts";

/** How many ancestors are read at once. With its default settings, LangGraph writes snapshots far more often. */
const pageOfAncestors = 1000;

async function* ancestors(
  tier: Tier,
  at: Address,
  channels: readonly string[],
): AsyncGenerator<StoredCheckpoint> {
  if (readsAncestry(tier)) {
    const tags = channels.map(snapshotTag);
    for (let from: Address | undefined = at; from !== undefined;) {
      const page = await tier.ancestry(from, tags, pageOfAncestors);
      yield* page;
      from = page.length < pageOfAncestors ? undefined : page.at(-1)?.record;
    }
    return;
  }
  let { checkpoint } = await tier.read(at);
  while (checkpoint?.record.parentId !== undefined) {
    ({ checkpoint } = await tier.read({ ...at, checkpointId: checkpoint.record.parentId }));
    if (checkpoint !== undefined) yield checkpoint;
  }
}

/**
 * What LangGraph rebuilds a DeltaChannel from: for each channel, the value stored by the nearest ancestor that has one (the
 * seed), and the writes from there to the checkpoint `from`, oldest first. Of each ancestor's pending writes, only those count
 * that its child on this path was made from.
 *
 * @param consumedBy which pending writes of its parent a checkpoint was made from; asked of `from` alone
 */
export async function deltaChannelHistory(
  tier: Tier,
  coder: CheckpointCoder,
  from: MaybeAddress,
  channels: readonly string[],
  consumedBy: (child: Address) => Promise<Consumed>,
): Promise<Record<string, DeltaChannelHistory>> {
  const steps = new Map<string, CheckpointPendingWrite[][]>(channels.map((channel) => [channel, []]));
  const seeds = new Map<string, unknown>();
  const checkpointId = from.checkpointId ?? (await tier.peek(from)).head;
  if (checkpointId !== undefined) {
    const open = new Set(channels);
    let child = checkpointId;
    let consumed = await consumedBy({ ...from, checkpointId });
    for await (const stored of ancestors(tier, { ...from, checkpointId }, channels)) {
      const { record } = stored;
      const body = await coder.decodeBody(record);
      const { manifest } = body;
      const seeded = [...open].filter((channel) => manifest.get(channel)?.value !== undefined);
      const missing = [
        ...stored.writes.flatMap(({ blobs }) => blobs),
        ...seeded.flatMap((channel) => blobOf(manifest.get(channel)?.value)),
      ].some((hash) => !stored.blobs.has(hash));
      const whole = missing ? ((await tier.read(record)).checkpoint ?? stored) : stored;
      const only = { channels: open, child: { checkpointId: child, consumed } };
      const writes = await coder.writes.decode(record, whole.writes, whole.blobs, only);
      child = record.checkpointId;
      consumed = body.consumed;
      for (const channel of open) {
        steps.get(channel)!.unshift(writes.filter((write) => write.channel === channel).map(asPendingWrite));
      }
      for (const channel of seeded) {
        seeds.set(channel, await coder.value(record, channel, manifest.get(channel)!.value!, whole.blobs));
        open.delete(channel);
      }
      if (open.size === 0) break;
    }
  }
  return Object.fromEntries(
    channels.map((channel) => [
      channel,
      { writes: steps.get(channel)!.flat(), ...(seeds.has(channel) ? { seed: seeds.get(channel) } : {}) },
    ]),
  );
}

function blobOf(value: { hash: string } | { type: string } | undefined): string[] {
  return value !== undefined && "hash" in value ? [value.hash] : [];
}
