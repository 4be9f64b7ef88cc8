import { uuid6, type CheckpointMetadata } from "@langchain/langgraph-checkpoint";
import type { CheckpointCoder } from "../encode/checkpointCoder.ts";
import { metadataTerms } from "../encode/metadataTerms.ts";
import { reservedNamespaces } from "../contract/reservedNamespaces.ts";
import type { AppendRequest, CheckpointRecord } from "../contract/tier.ts";

/** What LangGraph's API knows of a thread besides its checkpoints. */
export interface ThreadRecord {
  readonly metadata: Readonly<Record<string, unknown>>;
  /** ISO 8601. */
  readonly createdAt: string;
  /** When this record was made. Milliseconds since 1970. */
  readonly changedAtMs: number;
}

/** Terms of the records whose metadata has all that a filter names. */
export function threadTerms(filter: ThreadRecord["metadata"]): number[] {
  return metadataTerms({ thread: filter });
}

/** The parts of an append that store what is known of a thread. @param before the record that this one replaces */
export async function encodeThreadRecord(
  coder: CheckpointCoder,
  threadId: string,
  { metadata, createdAt, changedAtMs }: ThreadRecord,
  before: CheckpointRecord | undefined,
): Promise<Pick<AppendRequest, "records" | "blobs" | "heads">> {
  const namespace = reservedNamespaces.thread;
  const checkpointId = uuid6(-1);
  const checkpoint = {
    v: 4,
    id: checkpointId,
    ts: new Date(changedAtMs).toISOString(),
    channel_values: {},
    channel_versions: {},
    versions_seen: {},
  };
  // The metadata of a thread is kept in that of the checkpoint: so its terms find it, and no value has to be read.
  const given = { source: "update", step: -1, parents: {}, thread: metadata, createdAt };
  const { record, blobs } = await coder.encode(
    { threadId, namespace, checkpointId },
    { parentId: undefined, parent: undefined, again: undefined },
    { checkpoint, metadata: given as CheckpointMetadata, newVersions: {}, runId: undefined },
  );
  const expected = before === undefined ? [] : [before.checkpointId];
  return { records: [record], blobs, heads: [{ namespace, to: checkpointId, expected }] };
}

/** @throws CorruptionError; StratigraphError as for a checkpoint's metadata */
export async function decodeThreadRecord(
  coder: CheckpointCoder,
  record: CheckpointRecord,
): Promise<ThreadRecord> {
  const body = await coder.decodeBody(record);
  const stored = await coder.metadata(record, body);
  const { thread, createdAt } = stored as unknown as { thread: ThreadRecord["metadata"]; createdAt: string };
  return { metadata: thread, createdAt, changedAtMs: Date.parse(body.header.ts) };
}
