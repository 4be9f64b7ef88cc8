import {
  maxChannelVersion,
  type ChannelVersions,
  type CheckpointPendingWrite,
  type DeltaChannelHistory,
} from "@langchain/langgraph-checkpoint";
import type { CheckpointCoder } from "../encode/checkpointCoder.ts";
import { snapshotTerm } from "../encode/metadataTerms.ts";
import { type Address, type MaybeAddress, type StoredCheckpoint, type Tier } from "../contract/tier.ts";
import { readsAncestry } from "../contract/tierExtensions.ts";
import { asPendingWrite } from "../encode/writeCoder.ts";
import type { DecodedBody } from "../encode/record.ts";
import { CorruptionError } from "../contract/errors.ts";
import { convertState, type State } from "../stateVersions/convertCheckpoint.ts";
import { convertWrites } from "../stateVersions/convertWrites.ts";
import { cannotRebuild } from "../stateVersions/errors.ts";
import type { StateVersions } from "../stateVersions/stateVersions.ts";
import { isOfRun } from "../saver/writers.ts";
import { brokenLineError } from "./brokenLine.ts";
import { refusePart } from "./archivedElsewhere.ts";
import { withoutBytes } from "./withoutBytes.ts";

/** How many ancestors are read at once. By default, LangGraph writes a snapshot far more often than once in so many checkpoints. */
const pageOfAncestors = 1000;

/** The next ancestors of a checkpoint, nearest first; none if it has no parent, or the parent isn't there. */
async function ancestors(
  tier: Tier,
  child: Line,
  channels: Iterable<string>,
): Promise<readonly StoredCheckpoint[]> {
  if (child.parentId === undefined) return [];
  if (readsAncestry(tier))
    return await tier.ancestry(child, [...channels].map(snapshotTerm), pageOfAncestors);
  const parent = { ...addressOf(child), checkpointId: child.parentId };
  const { checkpoint } = await tier.read(parent);
  if (checkpoint !== undefined) return [checkpoint];
  // Unlike a read, a listing also finds a checkpoint that lacks blobs.
  for await (const stored of tier.list({ ...parent, limit: 1 })) return [stored];
  return [];
}

/** How far a line was walked. */
interface Line extends Address, Pick<DecodedBody, "manifest" | "consumed" | "stateVersion"> {
  readonly parentId: string | undefined;
}

/**
 * What LangGraph rebuilds a DeltaChannel from: for each channel, the value stored by the nearest ancestor that has one (the
 * seed), and the writes from there to the checkpoint `from`, oldest first. Of an ancestor's pending writes, only those count
 * from which its child on this path was made.
 *
 * @param channels in the names of this application's state; what older versions stored is led through the steps
 * @param find the checkpoint `from`, from memory or read
 * @throws StratigraphError "STATE_VERSION", "STATE_STEP_FAILED"; CorruptionError, NotFoundError, EvictedError if an ancestor or a write that a value is rebuilt from isn't there
 */
export async function deltaChannelHistory(
  tier: Tier,
  coder: CheckpointCoder,
  versions: StateVersions,
  from: MaybeAddress,
  channels: readonly string[],
  find: (at: Address) => Promise<Omit<Line, keyof Address> | undefined>,
): Promise<Record<string, DeltaChannelHistory>> {
  const steps = new Map<string, CheckpointPendingWrite[][]>(channels.map((channel) => [channel, []]));
  const seeds = new Map<string, unknown>();
  const checkpointId = from.checkpointId ?? (await tier.peek(from)).head;
  if (checkpointId !== undefined) {
    const start = { ...from, checkpointId };
    const open = new Set(channels);
    const namesIn = (at: Address, version: number): string[] =>
      [...open].flatMap((channel) => versions.sourcesOf(at, channel, version));
    const found = (await find(start)) ?? (await recordOf(tier, coder, start));
    if (found === undefined && from.checkpointId === undefined) throw await withoutBytes(tier, start);
    if (found === undefined) await refusePart(tier, start);
    let child: Line | undefined = found && { ...start, ...found };
    if (child !== undefined)
      for (const channel of await emptied(tier, coder, versions, child, open)) open.delete(channel);
    const met = new Set<string>();
    // As LangGraph expects, a checkpoint that never existed has an empty history.
    while (child !== undefined && open.size > 0) {
      const page = await ancestors(tier, child, namesIn(child, child.stateVersion));
      for (const stored of page) {
        const { record } = stored;
        if (met.has(record.checkpointId)) throw new CorruptionError(start, "its line of parents is a circle");
        met.add(record.checkpointId);
        const body = await coder.decodeBody(record);
        const { manifest } = body;
        const held = namesIn(record, body.stateVersion).filter(
          (channel) => manifest.get(channel)?.value !== undefined,
        );
        const missing = [
          ...stored.writes.flatMap(({ blobs }) => blobs),
          ...held.flatMap((channel) => blobOf(manifest.get(channel)?.value)),
        ].some((hash) => !stored.blobs.has(hash));
        const whole = missing ? ((await tier.read(record)).checkpoint ?? stored) : stored;
        // Each batch has a version of its own.
        const named = { has: (name: string, version: number) => namesIn(record, version).includes(name) };
        const only = { channels: named, child };
        const decoded = await coder.writes.decode(record, whole.writes, whole.blobs, only);
        const writes = await convertWrites(versions, record, decoded, { ...body, state: () => unread(body) });
        const made = child;
        child = { ...addressOf(record), parentId: record.parentId, ...body };
        for (const channel of open) {
          // New input ends a step that is half run, another graph's too: what was written then changes no version.
          const isApplied = versionOf(versions, made, channel) !== versionOf(versions, child, channel);
          if (isOfRun(made.consumed) && !isApplied) continue;
          steps
            .get(channel)!
            .unshift(writes.filter((write) => write.channel === channel).map(asPendingWrite));
        }
        const values: Record<string, unknown> = {};
        for (const channel of held)
          values[channel] = await coder.value(record, channel, manifest.get(channel)!.value!, whole.blobs);
        const stands = await seedsOf(versions, record, body, values, open);
        const isHeld = (name: string): boolean => held.includes(name);
        for (const channel of open) {
          if (Object.hasOwn(stands, channel)) seeds.set(channel, stands[channel]);
          // After the steps, what is stored here is no value, and what was before doesn't count.
          else if (!versions.sourcesOf(record, channel, body.stateVersion).some(isHeld)) continue;
          open.delete(channel);
        }
        if (open.size === 0) break;
      }
      const { manifest, parentId } = child;
      if (parentId === undefined) break;
      // The line breaks off here. A channel without a version wasn't written to before.
      const isWritten = (channel: string): boolean => manifest.get(channel)?.version !== undefined;
      const at = child;
      const lost = [...open].filter((channel) =>
        versions.sourcesOf(at, channel, at.stateVersion).some(isWritten),
      );
      if (lost.length === 0 && page.length < (readsAncestry(tier) ? pageOfAncestors : 1)) break;
      if (page.length === 0) throw await brokenLineError(tier, start, { ...child, parentId, channels: lost });
    }
  }
  return Object.fromEntries(
    channels.map((channel) => [
      channel,
      { writes: steps.get(channel)!.flat(), ...(seeds.has(channel) ? { seed: seeds.get(channel) } : {}) },
    ]),
  );
}

/** The version that a checkpoint has of a channel of this application's: the newest of those that the channel is made from. */
function versionOf(
  versions: StateVersions,
  line: Line,
  channel: string,
): ChannelVersions[string] | undefined {
  const found = versions
    .sourcesOf(line, channel, line.stateVersion)
    .flatMap((name) => line.manifest.get(name)?.version ?? []);
  return found.length === 0 ? undefined : maxChannelVersion(...found);
}

/** The values that an ancestor has of channels that are open, in the names of this application's state. */
async function seedsOf(
  versions: StateVersions,
  at: Address,
  { stateVersion, manifest }: Pick<DecodedBody, "stateVersion" | "manifest">,
  values: Readonly<Record<string, unknown>>,
  open: ReadonlySet<string>,
): Promise<Record<string, unknown>> {
  if (stateVersion === versions.current) return { ...values };
  for (const channel of open) {
    const sources = versions.sourcesOf(at, channel, stateVersion).filter((name) => manifest.has(name));
    const found = sources.filter((name) => Object.hasOwn(values, name));
    if (found.length > 0 && found.length < sources.length)
      throw cannotRebuild(at, channel, { from: stateVersion, to: versions.current });
  }
  const state = { values, versions: {}, seen: {}, counters: {} };
  const converted = await convertState(versions.path(at, stateVersion), at, state);
  return Object.fromEntries(Object.entries(converted.values).filter(([channel]) => open.has(channel)));
}

/** The channels that a checkpoint of another version holds, and that have no value after the steps: nothing is rebuilt for them. */
async function emptied(
  tier: Tier,
  coder: CheckpointCoder,
  versions: StateVersions,
  at: Line,
  channels: Iterable<string>,
): Promise<string[]> {
  if (at.stateVersion === versions.current) return [];
  const isStored = (name: string): boolean => at.manifest.get(name)?.value !== undefined;
  const held = [...channels].filter((channel) =>
    versions.sourcesOf(at, channel, at.stateVersion).some(isStored),
  );
  const { checkpoint: stored } = held.length === 0 ? {} : await tier.read(at);
  if (stored === undefined) return [];
  const body = await coder.decodeBody(stored.record);
  const { channel_values: values } = await coder.checkpoint(stored, body, {});
  const seeds = await seedsOf(versions, at, body, values, new Set(held));
  return held.filter((channel) => !Object.hasOwn(seeds, channel));
}

/** A checkpoint that DeltaChannels are rebuilt from: whatever their writes are joined with has a reducer, too, and its value isn't read. */
async function unread({ manifest }: DecodedBody): Promise<State> {
  const names = Object.fromEntries([...manifest].map(([channel, { version }]) => [channel, version ?? 1]));
  return { values: {}, versions: names, counters: names, seen: {} };
}

/** What {@link deltaChannelHistory} has to know of a checkpoint that can't be read whole. */
async function recordOf(
  tier: Tier,
  coder: CheckpointCoder,
  at: Address,
): Promise<Omit<Line, keyof Address> | undefined> {
  for await (const { record } of tier.list({ ...at, recordsOnly: true, limit: 1 }))
    return { parentId: record.parentId, ...(await coder.decodeBody(record)) };
  return undefined;
}

function addressOf({ threadId, namespace, checkpointId }: Address): Address {
  return { threadId, namespace, checkpointId };
}

function blobOf(value: { hash: string } | { type: string } | undefined): string[] {
  return value !== undefined && "hash" in value ? [value.hash] : [];
}
