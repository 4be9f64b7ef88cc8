import type { Checkpoint, CheckpointMetadata } from "@langchain/langgraph-checkpoint";
import { CorruptionError, type TierSaver } from "@stratigraph/core";
import { metadataTerms } from "@stratigraph/core/internal";
import { reservedNamespaces, type StoredCheckpoint } from "@stratigraph/core/tier";
import { encodeAlone, newRecordId, seqOfRecord, type EntryRecord } from "../log/records.ts";

/** The namespace of a thread that holds its events, one record each. A record's name contains the event's version. */
export const eventsNamespace = reservedNamespaces.events;

/** An event as it is stored. */
export interface StoredEvent<E> {
  /** 1 for the first one of a thread, without gaps. */
  readonly version: number;
  readonly event: E;
  /** When it was appended, by the clock of the appending process. Never before the previous event. */
  readonly at: Date;
  /** The name of the input that caused it. */
  readonly key?: string | undefined;
}

/** The state after an event, stored with that event. */
export interface Snapshot {
  readonly state: unknown;
  /** Version of the reducer that made it; "" for none. */
  readonly reducer: string;
}

/** The contents of a record's metadata. */
interface EventMetadata {
  readonly v: 1;
  readonly version: number;
  readonly at: string;
  readonly key?: string | undefined;
}

/** The terms by which the event of a key is found. */
export function termsOfKey(key: string): readonly number[] {
  return metadataTerms({ stratigraph_event_key: key });
}

/** Encodes an event. @throws StratigraphError "SERIALIZATION" if it, or the state, can't be stored */
export async function encodeEvent(
  saver: TierSaver,
  threadId: string,
  parentId: string | undefined,
  { version, event, at, key }: StoredEvent<unknown>,
  snapshot: Snapshot | undefined,
): Promise<EntryRecord> {
  const checkpointId = newRecordId(version);
  const values = { event: { event }, ...(snapshot === undefined ? {} : { snapshot }) };
  const versions = Object.fromEntries(Object.keys(values).map((name) => [name, 1]));
  const checkpoint: Checkpoint = {
    v: 4,
    id: checkpointId,
    ts: at.toISOString(),
    channel_values: values,
    channel_versions: versions,
    versions_seen: {},
  };
  const told: EventMetadata = { v: 1, version, at: at.toISOString(), ...(key === undefined ? {} : { key }) };
  const { record, blobs, relies } = await encodeAlone(
    saver,
    { threadId, namespace: eventsNamespace, checkpointId },
    parentId,
    // LangGraph never sees this record, so its metadata can be the event's.
    { checkpoint, metadata: told as unknown as CheckpointMetadata },
  );
  return { record: { ...record, terms: key === undefined ? [] : termsOfKey(key) }, blobs, relies };
}

/** The event in a record, and the snapshot with it. @throws CorruptionError and others as {@link TierSaver.getTuple} */
export async function decodeEvent<E>(
  saver: TierSaver,
  stored: StoredCheckpoint,
): Promise<StoredEvent<E> & { readonly snapshot: Snapshot | undefined }> {
  const body = await saver.coder.decodeBody(stored.record);
  const metadata = (await saver.coder.metadata(stored.record, body)) as unknown as EventMetadata;
  const { version, at, key } = metadata;
  if (metadata.v !== 1 || version !== seqOfRecord(stored.record.checkpointId))
    throw new CorruptionError(stored.record, "its record isn't an event, or is one of another place");
  const { channel_values: values } = await saver.coder.checkpoint(stored, body, {});
  const { event } = values["event"] as { event: E };
  return { version, event, at: new Date(at), key, snapshot: values["snapshot"] as Snapshot | undefined };
}
