// long file: a checkpoint to bytes and back, in one class; each of its methods is short
import { isDeltaSnapshot } from "@langchain/langgraph-checkpoint";
import type {
  ChannelVersions,
  Checkpoint,
  CheckpointMetadata,
  SerializerProtocol,
} from "@langchain/langgraph-checkpoint";
import { bodyAddress, ownerOf, wrapBody } from "./storedBody.ts";
import type { Envelope } from "./envelope.ts";
import {
  decodeBody,
  encodeBody,
  firstVersion,
  headerCopy,
  type DecodedBody,
  type Header,
  type ManifestEntry,
  type Typed,
  type ValueRef,
  type Consumed,
  type LooseValue,
} from "./record.ts";
import { statusTerm } from "../contract/threadStatus.ts";
import { metadataTerms, snapshotTerm } from "./metadataTerms.ts";
import type {
  Address,
  Blob,
  BlobHash,
  CheckpointRecord,
  StoredCheckpoint,
  WriteBatch,
} from "../contract/tier.ts";
import type { Dumped } from "./serialized.ts";
import { ValueCoder, type CapturedValue, type ValueReading } from "./valueCoder.ts";
import { undecodable } from "./valueErrors.ts";
import type { EncodedValue, BlobEncoder } from "./blobEncoder.ts";
import { WriteCoder } from "./writeCoder.ts";

/** Longest value, in bytes, that the manifest itself holds: the keys of a blob of its own would take more bytes than the value. */
const inlineValue = 64;

/** A channel → entry map, as in a decoded body. */
export type Manifest = ReadonlyMap<string, ManifestEntry>;

/** A checkpoint ready for a tier, and what to remember once it is acknowledged. */
export interface EncodedCheckpoint {
  readonly record: CheckpointRecord;
  readonly blobs: readonly Blob[];
  readonly values: readonly EncodedValue[];
  readonly manifest: Manifest;
  readonly consumed: Consumed;
  readonly loose: readonly LooseValue[];
  /** Whether it names blobs that it doesn't carry, or carries patches on such blobs: {@link AppendRequest.relies}. */
  readonly relies: boolean;
  readonly stateVersion: number;
}

/** What LangGraph puts. */
export interface CheckpointPut {
  readonly checkpoint: Checkpoint;
  readonly metadata: CheckpointMetadata;
  /** Undefined: every channel is new. */
  readonly newVersions: ChannelVersions | undefined;
  readonly runId: string | undefined;
  /** The pending writes of its parent that it was made from; undefined: all. */
  readonly consumed?: Consumed;
  /** Values of best-effort channels, which are in none of the maps of `checkpoint`. */
  readonly loose?: readonly LooseValue[];
  /** Whether it stands for a namespace that counts as not begun. Such a checkpoint is known by its terms. */
  readonly isUnbegun?: boolean | undefined;
  /** The version of the application's state. Default: the first, as for records that aren't a graph's. */
  readonly stateVersion?: number;
}

/** What is remembered of earlier checkpoints whose values a checkpoint may share. */
export interface Before {
  readonly parentId: string | undefined;
  /** The parent's manifest, if there is a parent and its manifest is known. */
  readonly parent: Manifest | undefined;
  /** Manifest that was stored under the same checkpoint id before: durability "exit" puts the last one again. */
  readonly again: Manifest | undefined;
  /** Values of best-effort channels, of the checkpoint that was stored under the same id before, or of the parent. */
  readonly loose?: readonly LooseValue[] | undefined;
}

/** A checkpoint as it was when it was put. */
export interface CapturedPut {
  readonly header: Header;
  readonly metadata: Dumped;
  readonly terms: readonly number[];
  readonly runId: string | undefined;
  readonly consumed: Consumed;
  readonly loose: readonly LooseValue[];
  readonly stateVersion: number;
  /** Whether LangGraph's `__copy__` put it: channels that aren't new may have a value of their own, too. */
  readonly isFork: boolean;
  readonly isUpdate: boolean;
  readonly newChannels: ReadonlySet<string>;
  readonly given: Checkpoint["channel_values"];
  /** Values that may have to be stored. */
  readonly values: ReadonlyMap<string, CapturedValue>;
}

/** Channels that say which nodes are due. */
const isGraphsOwn = /^(__start__$|branch:|join:)/;

/**
 * Where a checkpoint's value of a channel comes from: what was stored before, the put, or nowhere. This follows from channel versions, not
 * from `newVersions` alone, which after `__copy__` doesn't name the changes since the parent. A channel in newVersions has the value given,
 * or none. Another channel has the parent's value if it has the parent's version; else it has the value given, unless the checkpoint begins
 * a thread and is no copy. Without a version it isn't known whether a value is still the parent's, so the value given counts. An
 * `updateState` of LangGraph 1.4 applies what finished nodes wrote without new versions, so the values that it gives count, and a trigger
 * that it doesn't give is used up.
 */
function origin(
  channel: string,
  { parentId, parent, again }: Before,
  { header, given, newChannels, isFork, isUpdate }: Omit<CapturedPut, "values">,
): {
  readonly from: "before" | "put" | undefined;
  readonly version: ManifestEntry["version"];
  readonly known: ManifestEntry | undefined;
} {
  const known = again?.get(channel) ?? parent?.get(channel);
  const versions = header.channel_versions;
  const version = Object.hasOwn(versions, channel) ? versions[channel] : undefined;
  const isGiven = Object.hasOwn(given, channel) && given[channel] !== undefined;
  const isNew = newChannels.has(channel) || (isUpdate && (isGiven || isGraphsOwn.test(channel)));
  const isKept = !isNew && version !== undefined && known?.value !== undefined && known.version === version;
  if (isKept) return { from: "before", version, known };
  // LangGraph 1.4 puts a checkpoint again whose values a step of stateVersions changed since: none of them is new, nor carried over.
  const isConverted = known !== undefined && known.version === undefined;
  const counts = isNew || parentId !== undefined || isFork || isConverted;
  return { from: isGiven && counts ? "put" : undefined, version, known };
}

/** Converts LangGraph's checkpoints to a tier's records, and back. */
export class CheckpointCoder {
  readonly blobs: BlobEncoder;
  /** Pending writes. */
  readonly writes: WriteCoder;
  readonly #coder: ValueCoder;
  readonly #envelope: Envelope;

  constructor(serde: SerializerProtocol, blobs: BlobEncoder) {
    this.#coder = new ValueCoder(serde, blobs);
    this.#envelope = blobs.envelope;
    this.blobs = blobs;
    this.writes = new WriteCoder(this.#coder);
  }

  /** Forgets all that is remembered of a thread. */
  forgetThread(threadId: string): void {
    this.#coder.forgetThread(threadId);
  }

  /** Encodes a checkpoint whose parent is known. */
  async encode(at: Address, before: Before, put: CheckpointPut): Promise<EncodedCheckpoint> {
    return await this.encodeCaptured(at, before, this.capture(at, before, put));
  }

  /**
   * Serialises all of a checkpoint that may have to be stored, without awaiting anything: a graph may change its values in
   * place as soon as it goes on. Nothing is written yet.
   *
   * @param before an absent manifest of the parent isn't known yet: then values that the parent may have are serialised, too
   * @throws StratigraphError "SERIALIZATION"
   */
  capture(at: Address, before: Before, put: CheckpointPut): CapturedPut {
    const { channel_values: given, ...header } = put.checkpoint;
    const { run_id: _runId, ...metadata } = put.metadata as CheckpointMetadata<{ run_id?: unknown }>;
    const captured = {
      header: headerCopy(header),
      metadata: this.#coder.dump(at, "metadata", metadata),
      // Every checkpoint says whether a step is due, except the empty ones of namespaces that count as not begun.
      terms:
        put.isUnbegun === true
          ? metadataTerms(metadata)
          : [...metadataTerms(metadata), statusTerm(put.checkpoint.channel_values)],
      runId: put.runId,
      consumed: put.consumed,
      loose: put.loose ?? [],
      stateVersion: put.stateVersion ?? firstVersion,
      isFork: put.metadata.source === "fork",
      isUpdate: put.metadata.source === "update",
      newChannels: new Set(Object.keys(put.newVersions ?? { ...put.checkpoint.channel_versions, ...given })),
      given: { ...given },
    };
    const values = new Map<string, CapturedValue>();
    for (const channel of Object.keys(given)) {
      const { from, known } = origin(channel, before, captured);
      if (from === "put") values.set(channel, this.#coder.capture(at, channel, given[channel], known?.value));
    }
    return { ...captured, values };
  }

  /** Encodes a checkpoint that was captured. */
  async encodeCaptured(at: Address, before: Before, captured: CapturedPut): Promise<EncodedCheckpoint> {
    const { parentId } = before;
    const { header, given, consumed, loose, stateVersion } = captured;
    const values: EncodedValue[] = [];
    const entries: ManifestEntry[] = [];
    const snapshots: number[] = [];
    let relies = false;
    for (const channel of new Set([...Object.keys(header.channel_versions), ...Object.keys(given)])) {
      const { from, version, known } = origin(channel, before, captured);
      let value: ValueRef | undefined;
      if (from === "before") {
        value = known!.value!;
        relies ||= "hash" in value;
      } else if (from === "put") {
        // The value wasn't captured, because the parent had it; then another process pruned the parent between two attempts.
        const own = captured.values.get(channel) ?? this.#coder.capture(at, channel, given[channel]);
        const encoding = this.#coder.encode(at, channel, own, {
          base: known?.value,
          inline: inlineValue,
          into: values,
        });
        value = encoding instanceof Promise ? await encoding : encoding;
        if (isDeltaSnapshot(given[channel])) snapshots.push(snapshotTerm(channel));
      }
      if (version !== undefined || value !== undefined) entries.push({ channel, version, value });
    }
    const owner = ownerOf(at, parentId ?? "");
    const dumped = captured.metadata;
    const metadata = "typed" in dumped ? dumped.typed : await dumped.dumping;
    const { content, blobs } = encodeBody(owner, header, metadata, entries, consumed, loose, stateVersion);
    const wrapping = wrapBody(this.#envelope, at, owner, content);
    const body = wrapping instanceof Promise ? await wrapping : wrapping;
    this.#coder.checkStored(at, "metadata", body.length);
    const record: CheckpointRecord = {
      ...at,
      parentId,
      runId: captured.runId,
      terms: [...captured.terms, ...snapshots],
      blobs,
      body,
    };
    return {
      record,
      blobs: values.flatMap(({ blob }) => (blob === undefined ? [] : [blob])),
      values,
      manifest: new Map(entries.map((entry) => [entry.channel, entry])),
      consumed,
      loose,
      stateVersion,
      relies: relies || values.some(({ blob }) => blob === undefined || blob.base !== undefined),
    };
  }

  /** Serialises a value, before anything is awaited. @throws StratigraphError "SERIALIZATION", at once or by the promise */
  dump(at: Address, channel: string, value: unknown): Dumped {
    return this.#coder.dump(at, channel, value);
  }

  /** A record of its own for one value, whole and inline. @throws StratigraphError "SERIALIZATION", "KEY_UNAVAILABLE" */
  async looseRecord(
    at: Address,
    { channel, id }: Omit<LooseValue, "version">,
    value: Typed,
  ): Promise<CheckpointRecord> {
    const owner = ownerOf(at, "");
    const header = { v: 4, id: at.checkpointId, ts: "", channel_versions: {}, versions_seen: {} };
    const metadata = this.#coder.dump(at, "metadata", { source: "update", step: 0, parents: {} });
    const entry = { channel, version: id, value: { type: value[0], bytes: value[1] } };
    const typed = "typed" in metadata ? metadata.typed : await metadata.dumping;
    const body = await wrapBody(this.#envelope, at, owner, encodeBody(owner, header, typed, [entry]).content);
    this.#coder.checkStored(at, channel, body.length);
    return { ...at, terms: [], blobs: [], body };
  }

  /**
   * Header, metadata bytes and manifest of a record.
   * @throws CorruptionError; StratigraphError "KEY_MISSING", "KEY_UNAVAILABLE", "PLAINTEXT_REFUSED", "NEWER_FORMAT"
   */
  async decodeBody(record: CheckpointRecord): Promise<DecodedBody> {
    const owner = ownerOf(record, record.parentId ?? "");
    try {
      const content = await this.#envelope.unwrap(record.body, bodyAddress(owner));
      return decodeBody(owner, record.checkpointId, content, record.blobs);
    } catch (cause) {
      throw undecodable(record, undefined, "its record can't be decoded", cause);
    }
  }

  /** Reads the payloads that a manifest names into memory, so that a put can patch them. @throws as {@link value} */
  async remember(
    record: CheckpointRecord,
    manifest: Manifest,
    blobs: ReadonlyMap<BlobHash, Blob>,
  ): Promise<void> {
    for (const { channel, value } of manifest.values())
      if (value !== undefined && "hash" in value)
        await this.#coder.payload(record, channel, value.hash, blobs, { remember: true });
  }

  /** Whether all values of a checkpoint and of its pending writes can be had without their blobs, as long as nothing is forgotten. */
  remembers({ threadId, blobs }: CheckpointRecord, writes: readonly WriteBatch[]): boolean {
    const isKnown = (hash: BlobHash): boolean => this.blobs.has(threadId, hash);
    return blobs.every(isKnown) && writes.every((batch) => batch.blobs.every(isKnown));
  }

  /** The payload that a blob of a checkpoint stands for, as a whole blob without a base. @throws as {@link value} */
  async wholeBlob(at: Address, hash: BlobHash, blobs: ReadonlyMap<BlobHash, Blob>): Promise<Blob> {
    try {
      return await this.blobs.wholeBlob(hash, blobs);
    } catch (cause) {
      throw undecodable(at, undefined, `its blob ${hash} can't be rewritten`, cause);
    }
  }

  /**
   * The serialised value that a blob stands for: compared with its hash, but not revived.
   * @param channel for the error, if it is known
   * @throws CorruptionError; StratigraphError "KEY_MISSING", "KEY_UNAVAILABLE", "PLAINTEXT_REFUSED", "NEWER_FORMAT"
   */
  async payload(
    at: Address,
    channel: string | undefined,
    hash: BlobHash,
    blobs: ReadonlyMap<BlobHash, Blob>,
  ): Promise<Uint8Array> {
    try {
      return await this.blobs.payload(hash, blobs, undefined, false);
    } catch (cause) {
      throw undecodable(at, channel, `the value that blob ${hash} holds can't be decoded`, cause);
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
      if (value === undefined) continue;
      const ahead = reading.ahead?.get(channel);
      if (ahead !== undefined && "hash" in value && value.hash === ahead.hash)
        found.push([channel, ahead.value]);
      else found.push([channel, await this.value(record, channel, value, blobs, reading)]);
    }
    const { channel_versions, versions_seen, v, id, ts, ...rest } = body.header;
    return { ...rest, v, id, ts, channel_values: Object.fromEntries(found), channel_versions, versions_seen };
  }

  /**
   * One value that a manifest or a pending write refers to, revived.
   * @throws CorruptionError; StratigraphError "KEY_MISSING", "KEY_UNAVAILABLE", "PLAINTEXT_REFUSED", "UNREGISTERED_TYPE",
   * "NEWER_FORMAT", "SERIALIZATION"
   */
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
   * One value that a manifest or a pending write refers to, as the serde wrote it. Reviving takes longer, and fails if a type isn't
   * registered. @throws CorruptionError; StratigraphError "KEY_MISSING", "KEY_UNAVAILABLE", "PLAINTEXT_REFUSED", "NEWER_FORMAT"
   */
  async serialized(...args: Parameters<ValueCoder["serialized"]>): Promise<Typed> {
    return await this.#coder.serialized(...args);
  }
}
