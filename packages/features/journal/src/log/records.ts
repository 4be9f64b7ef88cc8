import { randomBytes } from "node:crypto";
import type { Checkpoint, CheckpointMetadata } from "@langchain/langgraph-checkpoint";
import { CorruptionError, type TierSaver } from "@stratigraph/core";
import { callsElsewhereTerm } from "@stratigraph/core/internal";
import {
  reservedNamespaces,
  type Address,
  type Blob,
  type CheckpointRecord,
  type StoredCheckpoint,
} from "@stratigraph/core/tier";
import type { Entry, Payload } from "./entry.ts";

/** The namespace of a thread that holds its journal, one record per entry. */
export const journalNamespace = reservedNamespaces.calls;

/** An entry as a record, ready for a tier. */
export interface EntryRecord {
  readonly record: CheckpointRecord;
  readonly blobs: readonly Blob[];
  /** As in `AppendRequest.relies`. */
  readonly relies: boolean;
}

/** Names the record of an entry: sorts by number, and two writers that race for a number never choose the same name. */
export function newRecordId(seq: number): string {
  return `${recordPrefix(seq)}-${randomBytes(8).toString("hex")}`;
}

/** The beginning of the names of all records with a number. */
export function recordPrefix(seq: number): string {
  return seq.toString(16).padStart(12, "0");
}

/** The number of a record's entry according to the record's name; undefined for a name that isn't one of ours. */
export function seqOfRecord(checkpointId: string): number | undefined {
  const match = /^([0-9a-f]{12})-[0-9a-f]{16}$/.exec(checkpointId);
  return match === null ? undefined : Number.parseInt(match[1]!, 16);
}

/** Encodes an entry and its payload. @throws StratigraphError "SERIALIZATION" if a value can't be stored */
export async function encodeEntry(
  saver: TierSaver,
  threadId: string,
  { checkpointId, parentId }: { checkpointId: string; parentId: string | undefined },
  entry: Entry,
  payload: Payload,
): Promise<EntryRecord> {
  const channels = Object.entries(payload).filter(([, value]) => value !== undefined);
  const checkpoint: Checkpoint = {
    v: 4,
    id: checkpointId,
    ts: entry.at,
    channel_values: Object.fromEntries(channels),
    channel_versions: Object.fromEntries(channels.map(([name]) => [name, 1])),
    versions_seen: {},
  };
  // LangGraph never sees this record, so its metadata can be the entry.
  const metadata = entry as unknown as CheckpointMetadata;
  const { record, blobs, relies } = await encodeAlone(
    saver,
    { threadId, namespace: journalNamespace, checkpointId },
    parentId,
    { checkpoint, metadata },
  );
  // A run is deleted wherever it made calls, also where it has no checkpoint.
  const { run: runId, thread } = "where" in entry.event ? entry.event.where : {};
  // Nobody searches for other entries by terms, and an index of them would cost a claim more than the claim itself.
  const terms = thread !== undefined || entry.event.type === "cut" ? [callsElsewhereTerm] : [];
  return { record: { ...record, runId, terms }, blobs, relies };
}

/**
 * Encodes a record that nothing continues. It carries all of its values: a value that the graph's state also had is remembered, but another
 * process may have pruned it since.
 * @throws StratigraphError "SERIALIZATION" if a value can't be stored
 */
export async function encodeAlone(
  saver: TierSaver,
  at: Address,
  parentId: string | undefined,
  { checkpoint, metadata }: { checkpoint: Checkpoint; metadata: CheckpointMetadata },
): Promise<EntryRecord> {
  const encode = (): Promise<EntryRecord> =>
    saver.coder.encode(
      at,
      { parentId, parent: undefined, again: undefined },
      { checkpoint, metadata, newVersions: checkpoint.channel_versions, runId: undefined },
    );
  const encoded = await encode();
  if (!encoded.relies) return encoded;
  saver.coder.forgetThread(at.threadId);
  return await encode();
}

/** The entry that a record holds. @throws CorruptionError and others as {@link TierSaver.getTuple} */
export async function decodeEntry(saver: TierSaver, record: CheckpointRecord): Promise<Entry> {
  const body = await saver.coder.decodeBody(record);
  const entry = (await saver.coder.metadata(record, body)) as unknown as Entry;
  if (entry.v !== 1 || typeof entry.hash !== "string" || entry.seq !== seqOfRecord(record.checkpointId))
    throw new CorruptionError(record, "its record isn't an entry of a journal, or is one of another place");
  return entry;
}

/** The payload of an entry. Erased values are absent. @throws as {@link decodeEntry} */
export async function decodePayload(saver: TierSaver, stored: StoredCheckpoint): Promise<Payload> {
  const body = await saver.coder.decodeBody(stored.record);
  const { channel_values } = await saver.coder.checkpoint(stored, body, {});
  return channel_values as Payload;
}
