import type { TierSaver } from "@stratigraph/core";
import { pruneThread, type Storages, type DecodedBody } from "@stratigraph/core/internal";
import { isReserved, type Address, type BlobHash, type BlobInfo } from "@stratigraph/core/tier";
import { listedCheckpoint } from "./records.ts";

/** How many states of a thread are read at most to estimate their sizes. */
const mostStates = 24;

/** The name for blobs that belong to no channel: values of pending writes, and bases of patches. */
const noChannel = "";

/** The storage that a thread takes. Sizes are in bytes as stored, unless stated otherwise. */
export interface Measured {
  readonly checkpoints: number;
  readonly namespaces: ReadonlyMap<string, number>;
  readonly recordBytes: number;
  readonly writeBytes: number;
  readonly valueBytes: number;
  /** Values by channel; those of no channel have the name "". */
  readonly channels: ReadonlyMap<string, { readonly values: number; readonly bytes: number }>;
  /** What the states of all checkpoints would take if each were stored whole, uncompressed. */
  readonly stateBytes: number;
  /** Whether {@link stateBytes} was estimated from some of the states. */
  readonly sampled: boolean;
  /** By day (UTC, ISO 8601): what was added on it and is still stored. */
  readonly days: ReadonlyMap<string, { readonly checkpoints: number; readonly bytes: number }>;
  readonly chains: Chains;
  readonly tiers: Awaited<ReturnType<Storages["holdings"]>>;
  /** What pruning would remove; nothing for an archived thread. */
  readonly pruned: { readonly checkpoints: number; readonly bytes: number };
}

/** The chains of patches of the values. */
export interface Chains {
  readonly whole: number;
  readonly patches: number;
  /** The sum of the lengths of all chains: for each patch, how many patches it takes to read it. */
  readonly lengths: number;
  readonly longest: number;
}

/** Measures a thread: goes through its records, and reads some of its states. */
export async function measureThread(
  saver: TierSaver,
  storages: Storages,
  threadId: string,
  how: { readonly keepLast: number; readonly states?: number },
): Promise<Measured> {
  const infos = new Map((await saver.tier.blobs(threadId)).map((info) => [info.hash, info]));
  const walk = await walkRecords(saver, threadId);
  const tiers = await storages.holdings(threadId);
  const { keepLast } = how;
  const states = await statesOf(saver, walk.checkpoints, Math.min(mostStates, how.states ?? mostStates));
  return {
    checkpoints: walk.checkpoints.length,
    namespaces: walk.namespaces,
    recordBytes: walk.recordBytes,
    writeBytes: walk.writeBytes,
    valueBytes: [...infos.values()].reduce((sum, { size }) => sum + size, 0),
    channels: channelsOf(infos, walk.channelOf),
    ...states,
    days: daysOf(infos, walk),
    chains: chainsOf(infos),
    tiers,
    pruned: isArchived(tiers)
      ? { checkpoints: 0, bytes: 0 }
      : await pruneThread(saver.tier, saver.coder, threadId, { keepLast }, { dryRun: true }),
  };
}

/** Whether a thread is only in the archive. Then pruning isn't tried on it, because that would bring the thread back. */
function isArchived(tiers: Measured["tiers"]): boolean {
  const holding = tiers.filter(({ checkpoints }) => checkpoints > 0);
  return holding.length > 0 && holding.every(({ role }) => role === "cold");
}

interface Walk {
  readonly checkpoints: Address[];
  readonly namespaces: Map<string, number>;
  recordBytes: number;
  writeBytes: number;
  /** The channel that first had each value. */
  readonly channelOf: Map<BlobHash, string>;
  /** The day on which each value was added. */
  readonly dayOf: Map<BlobHash, string>;
  readonly days: Map<string, { checkpoints: number; bytes: number }>;
}

async function walkRecords(saver: TierSaver, threadId: string): Promise<Walk> {
  const walk: Walk = {
    checkpoints: [],
    namespaces: new Map(),
    recordBytes: 0,
    writeBytes: 0,
    channelOf: new Map(),
    dayOf: new Map(),
    days: new Map(),
  };
  for await (const { record, writes } of saver.tier.list({ threadId, recordsOnly: true })) {
    const batches = writes.reduce((sum, { body }) => sum + body.length, 0);
    walk.recordBytes += record.body.length;
    walk.writeBytes += batches;
    if (isReserved(record.namespace)) continue;
    const { namespace, checkpointId } = record;
    walk.checkpoints.push({ threadId, namespace, checkpointId });
    walk.namespaces.set(namespace, (walk.namespaces.get(namespace) ?? 0) + 1);
    const body = await saver.coder.decodeBody(record);
    const day = dayOf(body);
    const sum = walk.days.get(day) ?? { checkpoints: 0, bytes: 0 };
    walk.days.set(day, { checkpoints: sum.checkpoints + 1, bytes: sum.bytes + record.body.length + batches });
    for (const { channel, value } of body.manifest.values())
      if (value !== undefined && "hash" in value) walk.channelOf.set(value.hash, channel);
    // Checkpoints come newest first: the last one that is seen to name a value added it.
    for (const hash of [...record.blobs, ...writes.flatMap(({ blobs }) => blobs)]) walk.dayOf.set(hash, day);
  }
  return walk;
}

function dayOf({ header }: DecodedBody): string {
  const made = new Date(header.ts);
  return Number.isNaN(made.getTime()) ? "unknown" : made.toISOString().slice(0, 10);
}

function channelsOf(
  infos: ReadonlyMap<BlobHash, BlobInfo>,
  channelOf: ReadonlyMap<BlobHash, string>,
): Map<string, { values: number; bytes: number }> {
  const found = new Map<string, { values: number; bytes: number }>();
  for (const { hash, size } of infos.values()) {
    const channel = channelOf.get(hash) ?? noChannel;
    const { values, bytes } = found.get(channel) ?? { values: 0, bytes: 0 };
    found.set(channel, { values: values + 1, bytes: bytes + size });
  }
  return found;
}

function daysOf(infos: ReadonlyMap<BlobHash, BlobInfo>, { days, dayOf }: Walk): Walk["days"] {
  for (const { hash, size } of infos.values()) {
    const day = days.get(dayOf.get(hash) ?? "");
    if (day !== undefined) day.bytes += size;
  }
  return days;
}

function chainsOf(infos: ReadonlyMap<BlobHash, BlobInfo>): Chains {
  const lengths = new Map<BlobHash, number>();
  for (const { hash } of infos.values()) {
    const above: BlobHash[] = [];
    let at: BlobHash | undefined = hash;
    while (
      at !== undefined &&
      !lengths.has(at) &&
      infos.get(at)?.base !== undefined &&
      above.length <= infos.size
    ) {
      above.push(at);
      at = infos.get(at)!.base;
    }
    let length = at === undefined ? 0 : (lengths.get(at) ?? 0);
    if (at !== undefined) lengths.set(at, length);
    for (const patch of above.toReversed()) lengths.set(patch, (length += 1));
  }
  const own = [...infos.keys()].map((hash) => lengths.get(hash) ?? 0);
  return {
    whole: own.filter((length) => length === 0).length,
    patches: own.filter((length) => length > 0).length,
    lengths: own.reduce((sum, length) => sum + length, 0),
    longest: own.reduce((longest, length) => Math.max(longest, length), 0),
  };
}

/** The size of all states if each were stored whole, estimated from a limited number of evenly spread ones. */
async function statesOf(
  saver: TierSaver,
  checkpoints: readonly Address[],
  most: number,
): Promise<{ stateBytes: number; sampled: boolean }> {
  const count = Math.min(most, checkpoints.length);
  let [bytes, read] = [0, 0];
  for (let n = 0; n < count; n += 1) {
    const at = checkpoints[Math.floor((n * checkpoints.length) / count)]!;
    const checkpoint = await listedCheckpoint(saver, at);
    if (checkpoint === undefined) continue;
    const { manifest } = await saver.coder.decodeBody(checkpoint.record);
    read += 1;
    for (const { channel, value } of manifest.values())
      if (value !== undefined)
        bytes += (await saver.coder.serialized(at, channel, value, checkpoint.blobs))[1].length;
  }
  const stateBytes = read === 0 ? 0 : Math.round((bytes / read) * checkpoints.length);
  return { stateBytes, sampled: count < checkpoints.length };
}
