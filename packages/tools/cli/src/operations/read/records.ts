import type { TierSaver } from "@stratigraph/core";
import type { DecodedBody } from "@stratigraph/core/internal";
import type {
  Address,
  CheckpointRecord,
  ListedCheckpoint,
  Namespace,
  StoredCheckpoint,
  StoredWriteBatch,
} from "@stratigraph/core/tier";

/** A checkpoint whose header and manifest were decoded, with its pending writes. */
export interface Opened {
  readonly record: CheckpointRecord;
  readonly writes: readonly StoredWriteBatch[];
  readonly body: DecodedBody;
}

/** A checkpoint of a listing without its values. */
export type ListedHead = Pick<ListedCheckpoint, "record" | "writes" | "head">;

/** A checkpoint without its values, decoded. */
export interface OpenedRecord extends Opened {
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Head of the namespace when the checkpoint was listed. */
  readonly head: string | undefined;
}

/** Looks up checkpoints of one namespace without their values, each at most once. */
export class Records {
  readonly #saver: TierSaver;
  readonly #at: Namespace;
  readonly #found = new Map<string, Promise<OpenedRecord | undefined>>();

  constructor(saver: TierSaver, { threadId, namespace }: Namespace) {
    this.#saver = saver;
    this.#at = { threadId, namespace };
  }

  /** Checkpoints, newest first, as many as asked for. @param before only those whose ids sort before this one */
  async page(before: string | undefined, limit: number): Promise<OpenedRecord[]> {
    const page: OpenedRecord[] = [];
    for await (const listed of this.#saver.tier.list({ ...this.#at, before, limit, recordsOnly: true })) {
      const opened = openRecord(this.#saver, listed);
      this.#found.set(listed.record.checkpointId, opened);
      page.push(await opened);
    }
    return page;
  }

  /** A checkpoint by its id; undefined if it isn't stored. One query, unless it was found before. */
  async find(checkpointId: string): Promise<OpenedRecord | undefined> {
    const known = this.#found.get(checkpointId);
    if (known !== undefined) return await known;
    const looking = this.#look(checkpointId);
    this.#found.set(checkpointId, looking);
    return await looking;
  }

  async #look(checkpointId: string): Promise<OpenedRecord | undefined> {
    const query = { ...this.#at, checkpointId, limit: 1, recordsOnly: true };
    for await (const listed of this.#saver.tier.list(query)) return await openRecord(this.#saver, listed);
    return undefined;
  }
}

/** The version of the state that a checkpoint was written under, where it has to be told: without versions, all are of 1. */
export function shownVersion({ stateVersion }: DecodedBody): { readonly stateVersion?: number } {
  return stateVersion === 1 ? {} : { stateVersion };
}

/** Decodes a record's header and metadata. @throws CorruptionError */
export async function openRecord(
  saver: TierSaver,
  { record, writes, head }: ListedHead,
): Promise<OpenedRecord> {
  const body = await saver.coder.decodeBody(record);
  const metadata = (await saver.coder.metadata(record, body)) as unknown as Record<string, unknown>;
  return { record, writes, head, body, metadata };
}

/**
 * A checkpoint with its values, from a listing. Unlike reading it, this doesn't bring an archived thread back. Undefined if it isn't
 * stored.
 */
export async function listedCheckpoint(
  saver: TierSaver,
  { threadId, namespace, checkpointId }: Address,
): Promise<StoredCheckpoint | undefined> {
  for await (const stored of saver.tier.list({ threadId, namespace, checkpointId, limit: 1 })) return stored;
  return undefined;
}
