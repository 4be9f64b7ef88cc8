// long file: one class, from the put to the read; each of its methods is short
import { randomBytes } from "node:crypto";
import { isDeltaSnapshot } from "@langchain/langgraph-checkpoint";
import type { Checkpoint, PendingWrite } from "@langchain/langgraph-checkpoint";
import { LRUCache } from "lru-cache";
import { endsWithin } from "../contract/answerWithin.ts";
import { InvalidOptionError, StratigraphError } from "../contract/errors.ts";
import { addressKey } from "../contract/keys.ts";
import { reservedNamespaces } from "../contract/reservedNamespaces.ts";
import type { Address, CheckpointRecord, Tier } from "../contract/tier.ts";
import { trace } from "../contract/trace.ts";
import type { Before, CheckpointCoder, CheckpointPut } from "../encode/checkpointCoder.ts";
import type { LooseValue, Typed } from "../encode/record.ts";
import type { Dumped } from "../encode/serialized.ts";

/** What values of best-effort channels may take in memory while they wait to be written, and again when they are remembered. Bytes. */
const mostBytes = 134_217_728;

/**
 * How long values wait at least, in milliseconds. Compressing and sending them would be in the way of the steps that follow at once, and
 * what these replace needn't be written.
 */
const quietMs = 200;

/** Longest pending write that is stored although its channel is a best-effort one. Roughly, in bytes. */
const shortWrite = 2048;

/** A value on its way, or as it was read. */
interface Kept {
  readonly id: string;
  readonly typed: Typed;
}

/** A value that a put brought, to be written once the put is acknowledged. */
interface Brought {
  readonly channel: string;
  readonly id: string;
  readonly dumped: Dumped;
}

interface Waiting extends Kept {
  readonly at: Address;
  readonly channel: string;
  readonly seen: number;
}

/** A put without its best-effort channels, and their values. */
export interface SplitPut<T> {
  readonly put: T & { readonly loose: readonly LooseValue[] };
  readonly brought: readonly Brought[];
}

/** What a listing has read of each channel's last value. */
export type LooseReadings = Map<string, Promise<Kept | undefined>>;

/**
 * The channels of the option `bestEffort`. Their values aren't a part of a checkpoint, which only names them by an id. Each is written
 * after the put is acknowledged, in place of the channel's last one. A reader gets exactly the value that belongs to a checkpoint, or, if
 * that isn't stored, the checkpoint as if the channel had never been written: then LangGraph begins with the channel's default.
 */
export class BestEffort {
  readonly #tier: Tier;
  readonly #coder: CheckpointCoder;
  readonly #channels: readonly string[];
  /** The last value of each channel that this process wrote or read. */
  readonly #remembered = new LRUCache<string, Kept>({
    maxSize: mostBytes,
    sizeCalculation: ({ typed }) => typed[1].length + 256,
  });
  readonly #waiting = new Map<string, Waiting>();
  #waitingBytes = 0;
  #writing: Promise<void> | undefined;
  #hurry = (): void => {};

  constructor(tier: Tier, coder: CheckpointCoder, channels: readonly string[]) {
    this.#tier = tier;
    this.#coder = coder;
    this.#channels = channels;
  }

  /**
   * Takes the best-effort channels out of a put, and serialises what is new of them, before anything is awaited. A value that can't be
   * serialised is dropped.
   * @throws InvalidOptionError if a channel can't be a best-effort one
   */
  split<T extends CheckpointPut>(at: Address, before: Before, put: T): SplitPut<T> {
    const loose: LooseValue[] = [];
    const brought: Brought[] = [];
    if (this.#channels.length === 0) return { put: { ...put, loose }, brought };
    const values = { ...put.checkpoint.channel_values };
    const versions = { ...put.checkpoint.channel_versions };
    for (const channel of this.#channels) {
      checkUse(channel, put.checkpoint, put.metadata);
      const value = Object.hasOwn(values, channel) ? values[channel] : undefined;
      const version = Object.hasOwn(versions, channel) ? versions[channel] : undefined;
      const isNew = put.newVersions === undefined || Object.hasOwn(put.newVersions, channel);
      const stored = (before.again ?? before.parent)?.get(channel);
      // It was no best-effort channel when it was last written.
      if (!isNew && version !== undefined && stored?.value !== undefined && stored.version === version)
        continue;
      delete values[channel];
      delete versions[channel];
      if (version === undefined) continue;
      const known = before.loose?.find((each) => each.channel === channel);
      if (!isNew && known?.version === version) loose.push(known);
      else if (value !== undefined) {
        const dumped = this.#dumped(at, channel, value);
        if (dumped === undefined) continue;
        const isSame = known !== undefined && this.#isRemembered(at, known, dumped);
        const id = isSame ? known.id : randomBytes(12).toString("base64url");
        if (!isSame) brought.push({ channel, id, dumped });
        loose.push({ channel, version, id });
      }
    }
    const checkpoint = { ...put.checkpoint, channel_values: values, channel_versions: versions };
    return { put: { ...put, checkpoint, loose }, brought };
  }

  /** The channels whose pending writes aren't stored, because one is long, or can't be serialised. */
  omitted(at: Address, writes: readonly PendingWrite[]): readonly string[] {
    return this.#channels.filter((name) =>
      writes.some(
        ([channel, value]) =>
          channel === name && (isLong(value) || this.#dumped(at, channel, value) === undefined),
      ),
    );
  }

  /** Writes values behind an acknowledged put. A waiting value of the same channel is replaced. @param seen the thread's revision */
  write(at: Address, brought: readonly Brought[], seen: number): void {
    for (const { channel, id, dumped } of brought) {
      if ("typed" in dumped) this.#enqueue({ at, channel, id, typed: dumped.typed, seen });
      else
        dumped.dumping.then(
          (typed) => this.#enqueue({ at, channel, id, typed, seen }),
          (error: unknown) => this.#dropped(error),
        );
    }
  }

  /** A checkpoint with those of its best-effort values that can be had. Never throws: what can't be read is left out. */
  async filled(
    record: CheckpointRecord,
    loose: readonly LooseValue[],
    checkpoint: Checkpoint,
    {
      omitted,
      readings,
    }: { readonly omitted: ReadonlySet<string>; readonly readings?: LooseReadings | undefined },
  ): Promise<Checkpoint> {
    const values: [string, unknown][] = [];
    const versions: [string, LooseValue["version"]][] = [];
    for (const one of loose) {
      // A step's write that wasn't stored must not leave the value before it in its place.
      if (omitted.has(one.channel)) continue;
      try {
        const kept = await this.#find(record, one, readings);
        if (kept?.id !== one.id) continue;
        const [type, bytes] = kept.typed;
        const value = await this.#coder.value(record, one.channel, { type, bytes }, new Map());
        values.push([one.channel, value]);
        versions.push([one.channel, one.version]);
      } catch (error) {
        this.#dropped(error);
      }
    }
    if (values.length === 0) return checkpoint;
    return {
      ...checkpoint,
      channel_values: { ...checkpoint.channel_values, ...Object.fromEntries(values) },
      channel_versions: { ...checkpoint.channel_versions, ...Object.fromEntries(versions) },
    };
  }

  /** Whether values wait to be written. */
  get isWriting(): boolean {
    return this.#writing !== undefined;
  }

  /** Waits until all that waits is written, for a bounded time; what isn't written by then is dropped. */
  async flush(longestMs: number): Promise<void> {
    this.#hurry();
    if (await endsWithin(longestMs, () => this.#writing)) return;
    for (const key of this.#waiting.keys()) this.#take(key);
    this.#dropped(new Error(`the values weren't written within ${longestMs} ms`));
  }

  /** The serialised value; undefined if it can't be serialised. */
  #dumped(at: Address, channel: string, value: unknown): Dumped | undefined {
    try {
      return this.#coder.dump(at, channel, value);
    } catch (error) {
      this.#dropped(error);
      return undefined;
    }
  }

  #isRemembered(at: Address, { channel, id }: LooseValue, dumped: Dumped): boolean {
    const key = keyOf(slotOf(at, channel));
    const kept = this.#waiting.get(key) ?? this.#remembered.get(key);
    if (kept?.id !== id || !("typed" in dumped)) return false;
    return kept.typed[0] === dumped.typed[0] && Buffer.compare(kept.typed[1], dumped.typed[1]) === 0;
  }

  async #find(at: Address, { channel, id }: LooseValue, readings?: LooseReadings): Promise<Kept | undefined> {
    const slot = slotOf(at, channel);
    const key = keyOf(slot);
    for (const kept of [this.#waiting.get(key), this.#remembered.get(key)]) if (kept?.id === id) return kept;
    const reading = readings?.get(key) ?? this.#read(slot, channel);
    readings?.set(key, reading);
    return await reading;
  }

  async #read(slot: Address, channel: string): Promise<Kept | undefined> {
    const { checkpoint } = await this.#tier.read(slot);
    if (checkpoint === undefined) return undefined;
    const entry = (await this.#coder.decodeBody(checkpoint.record)).manifest.get(channel);
    if (typeof entry?.version !== "string" || entry.value === undefined || "hash" in entry.value)
      return undefined;
    const kept: Kept = { id: entry.version, typed: [entry.value.type, entry.value.bytes] };
    this.#remembered.set(keyOf(slot), kept);
    return kept;
  }

  #enqueue(waiting: Waiting): void {
    const key = keyOf(slotOf(waiting.at, waiting.channel));
    this.#take(key);
    const bytes = waiting.typed[1].length;
    this.#remembered.set(key, waiting);
    if (this.#waitingBytes + bytes > mostBytes) {
      this.#dropped(new Error("too many values wait to be written"));
      return;
    }
    this.#waitingBytes += bytes;
    this.#waiting.set(key, waiting);
    this.#writing ??= this.#work();
  }

  #take(key: string): Waiting | undefined {
    const waiting = this.#waiting.get(key);
    if (waiting === undefined) return undefined;
    this.#waiting.delete(key);
    this.#waitingBytes -= waiting.typed[1].length;
    return waiting;
  }

  async #work(): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, quietMs).unref();
      this.#hurry = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    for (const key of this.#waiting.keys()) {
      const { at, channel, id, typed, seen } = this.#take(key)!;
      const slot = slotOf(at, channel);
      try {
        const record = await this.#coder.looseRecord(slot, { channel, id }, typed);
        const { threadId } = at;
        await this.#tier.append({
          threadId,
          records: [record],
          blobs: [],
          heads: [],
          onConflict: "branch",
          seen,
        });
      } catch (error) {
        if (!StratigraphError.is(error, "THREAD_DELETED")) this.#dropped(error);
      }
    }
    this.#writing = undefined;
  }

  #dropped(error: unknown): void {
    trace({
      type: "dropped",
      tier: this.#tier.name,
      what: "values of best-effort channels",
      count: 1,
      error,
    });
  }
}

/**
 * Where a channel's last value is. Ids of tasks are no part of it: each call of a subgraph has a namespace of its own, and would leave a
 * value for good.
 */
function slotOf({ threadId, namespace }: Address, channel: string): Address {
  const graph = namespace.replaceAll(/:[^|]*/g, "");
  return { threadId, namespace: reservedNamespaces.loose, checkpointId: JSON.stringify([graph, channel]) };
}

function keyOf(slot: Address): string {
  return addressKey(slot, slot.checkpointId);
}

/** @throws InvalidOptionError if losing the channel's value would change which nodes run, or what other values are rebuilt from */
function checkUse(
  channel: string,
  { channel_values: values, versions_seen: seen }: Checkpoint,
  { counters_since_delta_snapshot: counters = {} }: CheckpointPut["metadata"],
): void {
  if (Object.hasOwn(counters, channel) || isDeltaSnapshot(values[channel]))
    throw new InvalidOptionError(
      "bestEffort",
      JSON.stringify(channel),
      "It is a DeltaChannel, which is rebuilt from its writes: these are stored in any case. Take it out of the list.",
    );
  for (const [node, versions] of Object.entries(seen))
    if (node !== "__interrupt__" && Object.hasOwn(versions, channel))
      throw new InvalidOptionError(
        "bestEffort",
        JSON.stringify(channel),
        `Writing to it makes node ${JSON.stringify(node)} run, which would be left out if the value were lost. Take it out of the list.`,
      );
}

/** Keys and values of an object, one at a time. */
function* partsOf(object: object): Generator {
  if (object instanceof Map || object instanceof Set) yield* object;
  else for (const key in object) yield* [key, (object as Record<string, unknown>)[key]];
}

/** Whether a value is certainly longer than {@link shortWrite}, or may be. Looks only at as much of it. */
function isLong(value: unknown): boolean {
  let left = shortWrite;
  const visit = (each: unknown): void => {
    left -= 8;
    if (left < 0) return;
    if (typeof each === "string") left -= each.length;
    else if (ArrayBuffer.isView(each) || each instanceof ArrayBuffer) left -= each.byteLength;
    else if (typeof each === "object" && each !== null)
      for (const inner of partsOf(each)) if (left >= 0) visit(inner);
  };
  visit(value);
  return left < 0;
}
