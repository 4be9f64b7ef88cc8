import type { CheckpointPendingWrite, PendingWrite } from "@langchain/langgraph-checkpoint";
import { bodyAddress, ownerOf, wrapBody } from "./storedBody.ts";
import { batchDigest, currentWrites } from "../operations/currentWrites.ts";
import type { Envelope } from "./envelope.ts";
import {
  decodeWrites,
  encodeWrites,
  mergeWrites,
  writeIndex,
  type BatchOrigin,
  type EncodedWrite,
  type OpenedBatch,
  type TaskWrite,
} from "./pendingWrites.ts";
import { rewindMark } from "../operations/rewindMark.ts";
import type { Address, Blob, BlobHash, StoredWriteBatch, WriteBatch } from "../contract/tier.ts";
import type { CapturedValue, ValueCoder } from "./valueCoder.ts";
import { undecodable } from "./valueErrors.ts";
import type { EncodedValue } from "./blobEncoder.ts";
import type { WritePlace } from "./writeOrder.ts";
import type { Consumed } from "./record.ts";
import { missingBatches } from "./batchIds.ts";
import { noWrites } from "../langgraph/channelNames.ts";
import { batchesOfChild, pendingBatches } from "../saver/chosenBatches.ts";
import { CorruptionError } from "../contract/errors.ts";

/** Longest pending write, in bytes, that its batch holds. A longer one becomes a blob, which a channel with equal bytes then shares. */
const inlineWrite = 2048;

/** What LangGraph puts by putWrites, as it was at the time of the call. */
export interface CapturedWrites extends BatchOrigin {
  readonly taskId: string;
  readonly writes: readonly {
    readonly index: number;
    readonly channel: string;
    readonly value: CapturedValue;
  }[];
}

/** Which pending writes are decoded; see {@link WriteCoder.decode}. */
export interface WritesWanted {
  /** A set of names, or what decides by name and version of the state. */
  readonly channels?: { has(channel: string, stateVersion: number): boolean };
  readonly child?: { readonly checkpointId: string; readonly consumed: Consumed };
}

/** A pending write with the value revived. */
export interface DecodedWrite extends WritePlace {
  readonly channel: string;
  readonly value: unknown;
  /** The version of the application's state that it was written under. */
  readonly stateVersion: number;
}

/** A batch as it was written, values revived; without writes, if it is a rewind mark. */
export interface RevivedBatch extends Omit<OpenedBatch, "writes"> {
  /** Its `batchDigest`, by which rewind marks name it. */
  readonly name: string;
  readonly writes: readonly { readonly index: number; readonly channel: string; readonly value: unknown }[];
}

/** Converts LangGraph's pending writes to a tier's batches, and back. */
export class WriteCoder {
  readonly #coder: ValueCoder;
  readonly #envelope: Envelope;

  constructor(coder: ValueCoder) {
    this.#coder = coder;
    this.#envelope = coder.blobs.envelope;
  }

  /**
   * Serialises the writes of one putWrites call, without awaiting anything, except those to channels that the origin omits.
   * @throws StratigraphError "SERIALIZATION"
   */
  capture(at: Address, taskId: string, origin: BatchOrigin, writes: readonly PendingWrite[]): CapturedWrites {
    const captured = writes.flatMap(([channel, value], position) =>
      origin.omitted?.includes(channel)
        ? []
        : [{ index: writeIndex(channel, position), channel, value: this.#coder.capture(at, channel, value) }],
    );
    // A task without pending writes would run again.
    if (captured.length === 0 && writes.length > 0)
      captured.push({ index: 0, channel: noWrites, value: this.#coder.capture(at, noWrites, null) });
    return { ...origin, taskId, writes: captured };
  }

  /**
   * Encodes captured writes as one batch.
   *
   * @param early true unless their checkpoint is known to be stored. Early writes share no blobs: pruning only looks at what stored
   * checkpoints need, and could remove a shared blob
   */
  async encode(
    at: Address,
    { taskId, writes, ...origin }: CapturedWrites,
    early: boolean,
  ): Promise<{ batch: WriteBatch; values: readonly EncodedValue[]; relies: boolean }> {
    const values: EncodedValue[] = [];
    const encoded: EncodedWrite[] = [];
    const inline = early ? Infinity : inlineWrite;
    for (const { index, channel, value } of writes) {
      const encoding = this.#coder.encode(at, channel, value, { inline, into: values });
      encoded.push({ index, channel, value: encoding instanceof Promise ? await encoding : encoding });
    }
    const owner = ownerOf(at, taskId);
    const { content, blobs } = encodeWrites(owner, origin, encoded);
    const wrapping = wrapBody(this.#envelope, at, owner, content);
    const body = wrapping instanceof Promise ? await wrapping : wrapping;
    this.#coder.checkStored(at, writes.map(({ channel }) => channel).join(", "), body.length);
    return { batch: { taskId, blobs, body }, values, relies: values.some(({ blob }) => blob === undefined) };
  }

  /** A batch without writes: only its task id says anything. See {@link rewindTask}. */
  async encodeMark(at: Address, taskId: string): Promise<WriteBatch> {
    const { batch } = await this.encode(at, { taskId, taskPath: "", batchId: undefined, writes: [] }, true);
    return batch;
  }

  /**
   * The pending writes of a checkpoint, merged, in the order in which LangGraph applies them: see `compareWrites`.
   * @param only.channels leaves out all others
   * @param only.child instead of what is pending: what a child of the checkpoint was made from, as its body says
   * @throws CorruptionError, also if a batch is missing that `only.child` was made from
   */
  async decode(
    at: Address,
    batches: readonly StoredWriteBatch[],
    blobs: ReadonlyMap<BlobHash, Blob>,
    only: WritesWanted = {},
  ): Promise<DecodedWrite[]> {
    const wanted = await this.wanted(at, batches, only.child, { refuseMissing: true });
    return await this.#revived(at, wanted, blobs, only.channels);
  }

  /** The batches that are pending, or that a child of the checkpoint was made from, values not revived. @throws CorruptionError */
  async wanted(
    at: Address,
    batches: readonly StoredWriteBatch[],
    child: WritesWanted["child"],
    { refuseMissing = false }: { readonly refuseMissing?: boolean } = {},
  ): Promise<readonly OpenedBatch[]> {
    if (child === undefined) return pendingBatches(await this.open(at, batches));
    const named = await this.#named(at, batches);
    const missing = refuseMissing ? missingBatches(named, child.consumed) : [];
    if (missing.length > 0) throw missingError(at, child.checkpointId, missing);
    return batchesOfChild(named, child);
  }

  /** All batches, rewind marks among them, values revived: for copies that are encoded anew. @throws CorruptionError */
  async revived(
    at: Address,
    batches: readonly StoredWriteBatch[],
    blobs: ReadonlyMap<BlobHash, Blob>,
  ): Promise<RevivedBatch[]> {
    const revived: RevivedBatch[] = [];
    for (const batch of await this.#named(at, batches)) {
      const writes: RevivedBatch["writes"][number][] = [];
      for (const write of batch.writes)
        writes.push({ ...write, value: await this.#coder.decode(at, write.channel, write.value, blobs, {}) });
      revived.push({ ...batch, writes });
    }
    return revived;
  }

  async #named(
    at: Address,
    batches: readonly StoredWriteBatch[],
  ): Promise<(OpenedBatch & { readonly name: string })[]> {
    const opened = await this.#opened(at, batches);
    return opened.map((batch, place) => ({
      ...batch,
      // Only rewind marks ask for it.
      get name() {
        return batchDigest(batches[place]!);
      },
    }));
  }

  /** What is pending in batches that were opened before. */
  async pending(
    at: Address,
    batches: readonly OpenedBatch[],
    blobs: ReadonlyMap<BlobHash, Blob>,
    { channels, known }: { readonly channels?: ReadonlySet<string>; readonly known?: boolean } = {},
  ): Promise<DecodedWrite[]> {
    return await this.#revived(at, pendingBatches(batches), blobs, channels, known);
  }

  /** Whether all batches are there that a child of the checkpoint was made from. @throws CorruptionError */
  async haveAll(at: Address, batches: readonly StoredWriteBatch[], consumed: Consumed): Promise<boolean> {
    const written = batches.filter(({ taskId }) => rewindMark(taskId) === undefined);
    return missingBatches(await this.#opened(at, written), consumed).length === 0;
  }

  async #revived(
    at: Address,
    batches: readonly OpenedBatch[],
    blobs: ReadonlyMap<BlobHash, Blob>,
    channels: WritesWanted["channels"],
    known = false,
  ): Promise<DecodedWrite[]> {
    const decoded: DecodedWrite[] = [];
    for (const write of mergeWrites(batches)) {
      if (channels?.has(write.channel, write.stateVersion) === false) continue;
      decoded.push({
        ...write,
        value: await this.#coder.decode(at, write.channel, write.value, blobs, { known }),
      });
    }
    return decoded;
  }

  /**
   * What is pending, in the order in which LangGraph applies it, values not revived.
   * @param child instead of what is pending: what this child was made from, as its body says, as far as it is there
   * @throws CorruptionError
   */
  async unrevived(
    at: Address,
    batches: readonly StoredWriteBatch[],
    child?: WritesWanted["child"],
  ): Promise<readonly TaskWrite[]> {
    return mergeWrites(await this.wanted(at, batches, child));
  }

  /** The channels that a checkpoint's pending writes name, without reviving values. */
  async channels(at: Address, batches: readonly StoredWriteBatch[]): Promise<Set<string>> {
    return new Set(mergeWrites(await this.open(at, batches)).map(({ channel }) => channel));
  }

  /** Batches as they were written, values not revived. If the checkpoint was wound back: those that count now. @throws CorruptionError */
  async open(at: Address, batches: readonly StoredWriteBatch[]): Promise<OpenedBatch[]> {
    return await this.#opened(at, currentWrites(batches));
  }

  async #opened(at: Address, batches: readonly StoredWriteBatch[]): Promise<OpenedBatch[]> {
    const opened: OpenedBatch[] = [];
    for (const { taskId, body, blobs: names } of batches) {
      const owner = ownerOf(at, taskId);
      try {
        const content = await this.#envelope.unwrap(body, bodyAddress(owner));
        opened.push({ taskId, ...decodeWrites(owner, content, names) });
      } catch (cause) {
        throw undecodable(
          at,
          undefined,
          `pending writes of task ${JSON.stringify(taskId)} can't be decoded`,
          cause,
        );
      }
    }
    return opened;
  }
}

function missingError(at: Address, childId: string, missing: readonly string[]): CorruptionError {
  const { threadId, namespace, checkpointId } = at;
  const what = `pending writes that checkpoint ${childId} was made from are missing (batch ${missing.join(", ")})`;
  return new CorruptionError({ threadId, namespace, checkpointId }, what);
}

/** LangGraph's tuple form of a pending write. */
export function asPendingWrite({ taskId, channel, value }: DecodedWrite): CheckpointPendingWrite {
  return [taskId, channel, value];
}
