import type { RunnableConfig } from "@langchain/core/runnables";
import { isDeltaSnapshot } from "@langchain/langgraph-checkpoint";
import type {
  ChannelVersions,
  Checkpoint,
  CheckpointMetadata,
  CheckpointPendingWrite,
  PendingWrite,
  SerializerProtocol,
} from "@langchain/langgraph-checkpoint";
import { currentWrites } from "./currentWrites.ts";
import type { Envelope } from "./envelope.ts";
import {
  decodeWrites,
  encodeWrites,
  mergeWrites,
  writeIndex,
  type EncodedWrite,
  type TaskWrite,
} from "./pendingWrites.ts";
import { decodeBody, encodeBody, type DecodedBody, type ManifestEntry, type ValueRef } from "./record.ts";
import { metadataTags, snapshotTag } from "./tags.ts";
import type {
  Address,
  Blob,
  BlobHash,
  CheckpointRecord,
  StoredCheckpoint,
  StoredWriteBatch,
  WriteBatch,
} from "./tier.ts";
import { ValueCoder, type ValueReading } from "./valueCoder.ts";
import { corrupt } from "./valueErrors.ts";
import type { EncodedValue, Values } from "./values.ts";

/** Longest value, in bytes, that lives in the manifest itself: a blob of its own would cost more in keys than it holds. */
const inlineValue = 64;

/** Longest pending write, in bytes, kept in its batch. Longer ones become blobs, which a channel of equal bytes then shares. */
const inlineWrite = 2048;

/** A channel → entry map, as in a decoded body. */
export type Manifest = ReadonlyMap<string, ManifestEntry>;

/** A checkpoint ready for a tier, and what to remember once it is acknowledged. */
export interface EncodedCheckpoint {
  readonly record: CheckpointRecord;
  readonly blobs: readonly Blob[];
  readonly values: readonly EncodedValue[];
  readonly manifest: Manifest;
  /** It names blobs that it doesn't carry, or carries patches on such. */
  readonly relies: boolean;
}

/** What LangGraph puts. */
export interface CheckpointPut {
  readonly checkpoint: Checkpoint;
  readonly metadata: CheckpointMetadata;
  readonly newVersions: ChannelVersions;
  readonly runId: string | undefined;
  /** Manifest that was stored under the same checkpoint id before: durability "exit" puts the last one again. */
  readonly again: Manifest | undefined;
}

/** A pending write with the value revived. */
export interface DecodedWrite {
  readonly taskId: string;
  readonly index: number;
  readonly channel: string;
  readonly value: unknown;
}

function ownerOf(at: Address, more: string): string[] {
  return [at.namespace, at.checkpointId, more];
}

/** What encryption binds a body to; not the thread, so that a thread can be copied as bytes. */
function bodyAddress(owner: readonly string[]): string {
  return JSON.stringify(owner);
}

/** Between LangGraph's checkpoints and a tier's records. */
export class CheckpointCoder {
  readonly values: Values;
  readonly #coder: ValueCoder;
  readonly #envelope: Envelope;

  constructor(serde: SerializerProtocol, envelope: Envelope, values: Values) {
    this.#coder = new ValueCoder(serde, values);
    this.#envelope = envelope;
    this.values = values;
  }

  /** Nothing of the thread is remembered any more. */
  forgetThread(threadId: string): void {
    this.#coder.forgetThread(threadId);
  }

  /**
   * Encodes a checkpoint. Which values are stored follows from channel versions, not from `newVersions`
   * alone (which isn't a difference to the parent after `__copy__`): a channel in newVersions has the value
   * given or none; another one has its parent's value if it has the parent's version, else the value given, unless
   * the checkpoint begins a thread and is no copy.
   */
  async encode(
    at: Address,
    parentId: string | undefined,
    parent: Manifest | undefined,
    put: CheckpointPut,
  ): Promise<EncodedCheckpoint> {
    const { channel_values: given, ...header } = put.checkpoint;
    const values: EncodedValue[] = [];
    const entries: ManifestEntry[] = [];
    const snapshots: number[] = [];
    let relies = false;
    for (const channel of new Set([...Object.keys(header.channel_versions), ...Object.keys(given)])) {
      const version = Object.hasOwn(header.channel_versions, channel)
        ? header.channel_versions[channel]
        : undefined;
      const before = put.again?.get(channel) ?? parent?.get(channel);
      const isNew = Object.hasOwn(put.newVersions, channel);
      const isGiven = Object.hasOwn(given, channel) && given[channel] !== undefined;
      let value: ValueRef | undefined;
      if (!isNew && before?.value !== undefined && before.version === version) {
        value = before.value;
        relies ||= "hash" in value;
      } else if (isGiven && (isNew || parentId !== undefined || put.metadata.source === "fork")) {
        value = await this.#coder.encode(at, channel, given[channel], {
          base: before?.value,
          inline: inlineValue,
          into: values,
        });
        if (isDeltaSnapshot(given[channel])) snapshots.push(snapshotTag(channel));
      }
      if (version !== undefined || value !== undefined) entries.push({ channel, version, value });
    }
    const { run_id: _runId, ...metadata } = put.metadata as CheckpointMetadata<{ run_id?: unknown }>;
    const owner = ownerOf(at, parentId ?? "");
    const dumped = await this.#coder.dump(at, "metadata", metadata);
    const { content, blobs } = encodeBody(owner, header, dumped, entries);
    const record: CheckpointRecord = {
      ...at,
      parentId,
      runId: put.runId,
      tags: [...metadataTags(metadata), ...snapshots],
      blobs,
      body: await this.#envelope.wrap(content, bodyAddress(owner)),
    };
    return {
      record,
      blobs: values.flatMap(({ blob }) => (blob === undefined ? [] : [blob])),
      values,
      manifest: new Map(entries.map((entry) => [entry.channel, entry])),
      relies: relies || values.some(({ blob }) => blob === undefined || blob.base !== undefined),
    };
  }

  /** Header, metadata bytes and manifest of a record. @throws CorruptionError */
  async decodeBody(record: CheckpointRecord): Promise<DecodedBody> {
    const owner = ownerOf(record, record.parentId ?? "");
    try {
      const content = await this.#envelope.unwrap(record.body, bodyAddress(owner));
      return decodeBody(owner, record.checkpointId, content, record.blobs);
    } catch (cause) {
      throw corrupt(record, undefined, "its record can't be decoded", cause);
    }
  }

  /** A record's metadata, revived. */
  async metadata(record: CheckpointRecord, body: DecodedBody): Promise<CheckpointMetadata> {
    return (await this.#coder.load(record, "metadata", ...body.metadata)) as CheckpointMetadata;
  }

  /** A checkpoint with all its values. */
  async checkpoint(
    { record, blobs }: StoredCheckpoint,
    body: DecodedBody,
    reading: ValueReading,
  ): Promise<Checkpoint> {
    const found: [string, unknown][] = [];
    for (const { channel, value } of body.manifest.values()) {
      if (value !== undefined)
        found.push([channel, await this.value(record, channel, value, blobs, reading)]);
    }
    const { channel_versions, versions_seen, v, id, ts, ...rest } = body.header;
    return { ...rest, v, id, ts, channel_values: Object.fromEntries(found), channel_versions, versions_seen };
  }

  /** One value that a manifest or a pending write refers to, revived. @throws CorruptionError */
  async value(
    at: Address,
    channel: string,
    ref: ValueRef,
    blobs: ReadonlyMap<BlobHash, Blob>,
    reading: ValueReading = {},
  ): Promise<unknown> {
    return await this.#coder.decode(at, channel, ref, blobs, reading);
  }

  /**
   * Encodes the writes of one putWrites call.
   *
   * @param early their checkpoint isn't known to be stored: they share no blobs, as pruning only sees what checkpoints need
   */
  async encodeWrites(
    at: Address,
    taskId: string,
    writes: readonly PendingWrite[],
    early: boolean,
  ): Promise<{ batch: WriteBatch; values: readonly EncodedValue[]; relies: boolean }> {
    const values: EncodedValue[] = [];
    const encoded: EncodedWrite[] = [];
    const inline = early ? Infinity : inlineWrite;
    for (const [position, [channel, value]] of writes.entries()) {
      const ref = await this.#coder.encode(at, channel, value, { inline, into: values });
      encoded.push({ index: writeIndex(channel, position), channel, value: ref });
    }
    const owner = ownerOf(at, taskId);
    const { content, blobs } = encodeWrites(owner, encoded);
    const body = await this.#envelope.wrap(content, bodyAddress(owner));
    return { batch: { taskId, blobs, body }, values, relies: values.some(({ blob }) => blob === undefined) };
  }

  /** The pending writes of a checkpoint, merged, in the order they arrived; of some channels only, if named. */
  async decodeWrites(
    at: Address,
    batches: readonly StoredWriteBatch[],
    blobs: ReadonlyMap<BlobHash, Blob>,
    wanted?: ReadonlySet<string>,
  ): Promise<DecodedWrite[]> {
    const decoded: DecodedWrite[] = [];
    for (const { taskId, index, channel, value } of await this.#merged(at, batches)) {
      if (wanted !== undefined && !wanted.has(channel)) continue;
      decoded.push({ taskId, index, channel, value: await this.value(at, channel, value, blobs) });
    }
    return decoded;
  }

  /** The channels that a checkpoint's pending writes name, without reviving values. */
  async writtenChannels(at: Address, batches: readonly StoredWriteBatch[]): Promise<Set<string>> {
    return new Set((await this.#merged(at, batches)).map(({ channel }) => channel));
  }

  async #merged(at: Address, batches: readonly StoredWriteBatch[]): Promise<TaskWrite[]> {
    const opened: { taskId: string; writes: EncodedWrite[] }[] = [];
    for (const { taskId, body, blobs: names } of currentWrites(batches)) {
      const owner = ownerOf(at, taskId);
      try {
        const content = await this.#envelope.unwrap(body, bodyAddress(owner));
        opened.push({ taskId, writes: decodeWrites(owner, content, names) });
      } catch (cause) {
        throw corrupt(
          at,
          undefined,
          `pending writes of task ${JSON.stringify(taskId)} can't be decoded`,
          cause,
        );
      }
    }
    return mergeWrites(opened);
  }
}

/** LangGraph's tuple form of a pending write. */
export function asPendingWrite({ taskId, channel, value }: DecodedWrite): CheckpointPendingWrite {
  return [taskId, channel, value];
}

/** The run that a put belongs to, where the caller named one. */
export function runIdOf(config: RunnableConfig, metadata: CheckpointMetadata): string | undefined {
  const named: unknown = (metadata as { run_id?: unknown }).run_id ?? config.metadata?.["run_id"];
  return typeof named === "string" && named !== "" ? named : undefined;
}
