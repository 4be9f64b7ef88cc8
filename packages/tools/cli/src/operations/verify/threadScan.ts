// long file: everything that is looked at in one thread, in one pass over it
import { INTERRUPT } from "@langchain/langgraph-checkpoint";
import {
  isLangGraphChannel,
  rewindMark,
  snapshotTerm,
  type CheckpointCoder,
  type DecodedBody,
} from "@stratigraph/core/internal";
import {
  checkpointKey,
  namedBlobs,
  type Address,
  type BlobHash,
  type ListedCheckpoint,
  type StoredWriteBatch,
} from "@stratigraph/core/tier";
import { BlobJudge, type Culprit } from "./blobJudge.ts";
import type { Place } from "./places.ts";
import { Suspicions, undecodable, type Suspicion, type Undecodable } from "./suspicion.ts";

/** What a scan keeps of a verified checkpoint: no bytes, so that long threads fit into memory. */
export interface SeenCheckpoint extends Address {
  readonly parentId: string | undefined;
  readonly lostTo: string | undefined;
  /** False if its checksum, which covers its parent too, is wrong; true also if it can't be verified. */
  readonly intact: boolean;
  /** Whether it holds an interrupt: pruning may then have kept it without its parents. */
  readonly interrupted: boolean;
  /** Checkpoints that were made from it before it was wound back. */
  readonly made: readonly string[];
  /** Number of its oldest batch of pending writes: the checkpoint was there at that revision of the thread. */
  readonly thereAt: number | undefined;
  /** Its batches of pending writes; undefined if one of them can't be read. */
  readonly batches: readonly SeenBatch[] | undefined;
  /** Which of its parent's batches it was made from. */
  readonly consumed: DecodedBody["consumed"];
  /** Its channels without values, which may be DeltaChannels. */
  readonly withoutValue: readonly string[];
  /** Whether a run, or an update, began its thread. */
  readonly begins: boolean;
}

/** What a scan keeps of a batch of pending writes. */
export interface SeenBatch {
  readonly batchId: string | undefined;
}

/** Called with the number of bytes that were verified, to keep to a rate. */
export type Took = (bytes: number) => Promise<void>;

type Found = Pick<Suspicion, "kind" | "severity" | "part" | "namespace" | "meaning" | "involved"> &
  Partial<Suspicion>;

/** Goes through what one tier holds of one thread, a page of checkpoints at a time, and decodes all of it without reviving values. */
export class ThreadScan {
  readonly place: Place;
  readonly suspicions = new Suspicions();
  /** By {@link checkpointKey}. */
  readonly seen = new Map<string, SeenCheckpoint>();
  /** Heads that the listing reported. */
  readonly heads = new Map<string, string>();
  /** Blobs that checkpoints and their pending writes name. */
  readonly named = new Set<BlobHash>();
  /**
   * Checkpoints of which the tier has only pending writes, by {@link checkpointKey}. `oldest` is the number of the oldest batch;
   * `batches` is undefined if not all batches can be read.
   */
  readonly strays = new Map<
    string,
    {
      readonly at: Address;
      readonly oldest: number;
      readonly batches: SeenCheckpoint["batches"];
    }
  >();
  /** Whether the tier couldn't read all of the thread: it may then hold more than was seen. */
  partial = false;
  writes = 0;
  bytes = 0;
  /** The batch with the highest number. */
  newest: { readonly at: Address; readonly order: number } | undefined;
  readonly #coder: CheckpointCoder;
  readonly #threadId: string;
  readonly #took: Took;
  readonly #judge: BlobJudge;
  readonly #valued = new Set<string>();
  readonly #counted = new Set<string>();
  readonly #written = new Set<string>();

  constructor(place: Place, coder: CheckpointCoder, threadId: string, took: Took) {
    this.place = place;
    this.#coder = coder;
    this.#threadId = threadId;
    this.#judge = new BlobJudge(coder);
    this.#took = took;
  }

  /** A scan of the same place that has seen nothing. */
  empty(): ThreadScan {
    return new ThreadScan(this.place, this.#coder, this.#threadId, this.#took);
  }

  /** Scans the whole thread, or only some of its checkpoints. @throws StratigraphError if the tier can't be reached */
  async run(only?: readonly Address[]): Promise<this> {
    const queries = only?.map((at) => ({ ...at, limit: 1 })) ?? [{ threadId: this.#threadId }];
    for (const query of queries)
      await this.guarded(undefined, async () => {
        for await (const listed of this.place.tier.list(query)) await this.#checkpoint(listed);
      });
    return this;
  }

  /** Returns what a call of the tier returns. If what it reads is damaged, notes that and returns `otherwise`. */
  async guarded<T>(otherwise: T, call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      this.#unreadable(error);
      return otherwise;
    }
  }

  /** Notes which of the thread's own fields in the tier contradict its checkpoints. */
  contradicted(fields: readonly string[]): void {
    this.#suspect({
      kind: "corrupt",
      severity: this.#severity("error"),
      part: "thread",
      namespace: "",
      detail: `Not what follows from the rest: ${fields.join(", ")}.`,
      involved: [],
      meaning: `The fields that tier ${this.place.name} keeps about the thread itself are damaged or lost: calls fail, or don't find the whole thread.`,
    });
  }

  /** Notes checkpoints that have fewer batches of pending writes in the tier than it counted. */
  lostWrites(places: readonly Address[]): void {
    for (const at of places)
      this.#suspect({
        kind: "corrupt",
        severity: this.#severity("error"),
        part: "writes",
        namespace: at.namespace,
        checkpointId: at.checkpointId,
        detail: "Fewer batches are there than were counted.",
        involved: [],
        meaning: `Pending writes of this checkpoint are lost in tier ${this.place.name}: neither it nor a list with it can be read.`,
      });
  }

  /** Scans pending writes whose checkpoint isn't in the tier. */
  async runStrays(strays: readonly Address[]): Promise<void> {
    for (const at of strays) {
      const { writes, record } = await this.place.tier.peek(at);
      const [oldest] = writes;
      if (oldest === undefined || record !== undefined) continue;
      const { batches } = await this.#batches(at, writes, new Map());
      this.strays.set(checkpointKey(at), { at, oldest: oldest.order, batches });
      for (const hash of namedBlobs(undefined, writes)) this.named.add(hash);
    }
  }

  #unreadable(error: unknown): void {
    const { kind, detail } = undecodable(error);
    this.partial = true;
    this.#suspect({
      kind,
      severity: this.#severity("error"),
      part: "thread",
      namespace: "",
      detail,
      involved: [],
      meaning: `Tier ${this.place.name} can't read this thread, or a part of it: what it holds is damaged or lost.`,
    });
  }

  async #checkpoint({ record, writes, blobs, head }: ListedCheckpoint): Promise<void> {
    const { threadId, namespace, checkpointId, parentId, lostTo } = record;
    const at: Address = { threadId, namespace, checkpointId };
    if (head !== undefined) this.heads.set(namespace, head);
    const channels = new Map<BlobHash, string>();
    let [intact, begins, withoutValue] = [true, false, [] as string[]];
    let consumed: DecodedBody["consumed"];
    try {
      const body = await this.#coder.decodeBody(record);
      const { manifest } = body;
      ({ consumed } = body);
      withoutValue = [...manifest.values()].flatMap(({ channel, value }) =>
        value === undefined && !isLangGraphChannel(channel) ? [channel] : [],
      );
      for (const { channel, value } of manifest.values()) {
        if (value !== undefined) this.#valued.add(channel);
        if (value !== undefined && "hash" in value) channels.set(value.hash, channel);
        if (record.terms.includes(snapshotTerm(channel))) this.#counted.add(channel);
      }
      if (parentId === undefined || withoutValue.length > 0) {
        const metadata = await this.#coder.metadata(record, body);
        begins = parentId === undefined && metadata.source !== "fork" && metadata.step <= 0;
        for (const channel of Object.keys(metadata.counters_since_delta_snapshot ?? {}))
          this.#counted.add(channel);
      }
    } catch (error) {
      const why = undecodable(error);
      intact = why.kind !== "corrupt";
      this.#damaged(at, "record", why);
    }
    const marks = await this.#batches(at, writes, channels);
    const thereAt = writes.length === 0 ? undefined : Math.min(...writes.map(({ order }) => order));
    const seen = { ...at, parentId, lostTo, intact, thereAt, consumed, withoutValue, begins, ...marks };
    this.seen.set(checkpointKey(at), seen);
    const bodies = writes.reduce((sum, { body }) => sum + body.length, record.body.length);
    await this.#read(bodies);
    for (const hash of namedBlobs(record, writes)) {
      this.named.add(hash);
      if (!this.#judge.knows(hash)) await this.#read(blobs.get(hash)?.bytes.length ?? 0);
      const culprit = await this.#judge.culprit(at, channels.get(hash), hash, blobs);
      if (culprit !== undefined) this.#blamed(at, channels.get(hash), culprit);
    }
  }

  /** The thread's DeltaChannels: those that LangGraph counts or took snapshots of, and those that have writes and never a value. */
  get deltaChannels(): ReadonlySet<string> {
    const never = [...this.#written].filter((channel) => !this.#valued.has(channel));
    return new Set([...this.#counted, ...never]);
  }

  async #batches(
    at: Address,
    writes: readonly StoredWriteBatch[],
    channels: Map<BlobHash, string>,
  ): Promise<Pick<SeenCheckpoint, "interrupted" | "made" | "batches">> {
    let interrupted = false;
    const batches: SeenBatch[] = [];
    let readsAll = true;
    const made: string[] = [];
    let last = 0;
    for (const [place, batch] of writes.entries()) {
      this.writes += 1;
      if (batch.order < last) this.#wentBack(at, place, batch.order, last);
      last = batch.order;
      if (batch.order > (this.newest?.order ?? 0)) this.newest = { at, order: batch.order };
      try {
        made.push(...(rewindMark(batch.taskId)?.made ?? []));
        const [opened] = await this.#coder.writes.open(at, [batch]);
        batches.push({ batchId: opened?.batchId });
        for (const { channel, value } of opened?.writes ?? []) {
          if (channel === INTERRUPT) interrupted = true;
          this.#written.add(channel);
          if ("hash" in value) channels.set(value.hash, channel);
        }
      } catch (error) {
        readsAll = false;
        this.#damaged(at, "writes", undecodable(error), place);
      }
    }
    return { interrupted, made, batches: readsAll ? batches : undefined };
  }

  async #read(bytes: number): Promise<void> {
    this.bytes += bytes;
    await this.#took(bytes);
  }

  #blamed(at: Address, channel: string | undefined, { hash, kind, detail }: NonNullable<Culprit>): void {
    // A hot tier may hold only a part of what a checkpoint needs: the rest is a cache miss, not damage.
    if (kind === "missing-blob" && this.place.role === "hot") return;
    if (kind !== "missing-blob") {
      this.#damaged(at, "blob", { kind, detail }, undefined, { channel, hash });
      return;
    }
    this.#suspect({
      kind,
      severity: "error",
      part: "blob",
      namespace: at.namespace,
      checkpointId: at.checkpointId,
      channel,
      hash,
      involved: [at],
      meaning: `${nameOf(channel)} can't be read: tier ${this.place.name} doesn't have its bytes.`,
    });
  }

  #damaged(
    at: Address,
    part: "record" | "blob" | "writes",
    { kind, detail }: Undecodable,
    batch?: number,
    blob: { readonly channel?: string | undefined; readonly hash?: string | undefined } = {},
  ): void {
    if (kind !== "corrupt" && this.place.role === "hot") return;
    const whats = {
      record: "This checkpoint",
      blob: nameOf(blob.channel),
      writes: "A batch of its pending writes",
    };
    const meanings = {
      corrupt: `${whats[part]} can't be read: its bytes in tier ${this.place.name} aren't those that were stored.`,
      "key-missing": `It can't be verified whether it is whole: the key that it is encrypted with isn't there. Nothing says that it is damaged.`,
      unreadable: `This version, or this saver, refuses to read it; nothing says that it is damaged.`,
    };
    this.#suspect({
      kind,
      severity: kind === "corrupt" ? this.#severity("error") : "warning",
      part,
      namespace: at.namespace,
      checkpointId: at.checkpointId,
      batch,
      ...blob,
      detail,
      involved: [at],
      meaning: meanings[kind],
    });
  }

  #wentBack(at: Address, batch: number, order: number, before: number): void {
    if (this.place.role === "hot") return;
    this.#suspect({
      kind: "order",
      severity: "warning",
      part: "writes",
      namespace: at.namespace,
      checkpointId: at.checkpointId,
      batch,
      detail: `Batch ${order} comes after batch ${before}.`,
      involved: [at],
      meaning: "Its pending writes aren't in the order in which they were put, so that an older one may win.",
    });
  }

  /** Damage of a hot copy is only a warning: it costs time, but no data. */
  #severity(ofOwner: "error"): "error" | "warning" {
    return this.place.role === "hot" ? "warning" : ofOwner;
  }

  #suspect(found: Found): void {
    this.suspicions.add({ concerns: 1, place: this.place, ...found });
  }
}

function nameOf(channel: string | undefined): string {
  return channel === undefined ? "A value" : `The value of channel ${JSON.stringify(channel)}`;
}
