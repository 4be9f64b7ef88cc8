// long file: every method of the contract as a stack has it, read as one piece
import {
  copiesThreads,
  forksThreads,
  inheritTags,
  keepsLeases,
  readThread,
  readsAncestry,
  tagsThreads,
  trace,
  type Address,
  type AncestryReader,
  type Appended,
  type AppendRequest,
  type AppendWritesRequest,
  type BlobInfo,
  type CheckpointRecord,
  type LeaseKeeper,
  type ListedCheckpoint,
  type ListQuery,
  type MaybeAddress,
  type Peek,
  type Reading,
  type RemoveRequest,
  type Stacked,
  type StackLayer,
  type StoredCheckpoint,
  type ThreadCopier,
  type ThreadForker,
  type ThreadInfo,
  type ThreadOutline,
  type ThreadQuery,
  type ThreadTagger,
  type Tier,
} from "@stratigraph/core";
import { Archive } from "./archive.ts";
import { withoutMark } from "./archivedMark.ts";
import { madeOf } from "./chains.ts";
import { HotTier, type HotCounters } from "./hotTier.ts";
import { notRestored } from "./notRestored.ts";
import { isOutage } from "./outage.ts";
import { resolveStack, type RestoreOn, type TierStackOptions } from "./options.ts";
import { Trust } from "./trust.ts";
import { WarmTier } from "./warmTier.ts";

/**
 * Tiers in layers: hot ones hold copies, the warm one owns, the cold one keeps what is idle. A stack is a tier, so stacks
 * nest.
 *
 * Only what cannot change is read from a hot tier: bytes named by their content. Heads, pending writes and records come from
 * the warm tier, in a small query that runs while the hot tier is asked. So a hot tier may be lost, late, cut off or emptied
 * at any moment, and nothing but time is lost.
 */
export class TierStack implements Tier, Stacked {
  readonly name: string;
  readonly maxBytes: number | undefined;
  readonly ancestry?: AncestryReader["ancestry"];
  readonly copyThread?: ThreadCopier["copyThread"];
  readonly outline?: ThreadForker["outline"];
  readonly forkThread?: ThreadForker["forkThread"];
  readonly lease?: LeaseKeeper["lease"];
  readonly tagThread?: ThreadTagger["tagThread"];
  readonly untagThread?: ThreadTagger["untagThread"];
  readonly threadTags?: ThreadTagger["threadTags"];
  /** Every storage that may hold a part of a thread. Replicas aren't among them: they follow the warm tier. */
  readonly layers: readonly StackLayer[];
  readonly #hot: readonly HotTier[];
  readonly #warm: WarmTier;
  readonly #archive: Archive | undefined;
  readonly #trust: Trust | undefined;
  readonly #restoreOn: RestoreOn;
  /** @throws InvalidOptionError */
  constructor(options: TierStackOptions) {
    const stack = resolveStack(options);
    const { warm, cold, now } = stack;
    this.name = [...stack.hot, warm, ...(cold === undefined ? [] : [cold])].map(({ name }) => name).join(">");
    this.maxBytes = warm.maxBytes;
    this.#hot = stack.hot.map((tier) => new HotTier(tier, stack.hotBreaker, stack.queue, now));
    this.#warm = new WarmTier(warm, stack.replicas, stack.coldBreaker, now);
    this.#archive = cold === undefined ? undefined : new Archive(cold, this.#warm, stack.coldBreaker, now);
    this.#trust =
      stack.trustForMs === undefined ? undefined : new Trust(this.#hot, warm, stack.trustForMs, now);
    this.#restoreOn = stack.restoreOn;
    if (readsAncestry(warm)) this.ancestry = (...args) => this.#ancestry(warm, ...args);
    if (copiesThreads(warm)) this.copyThread = (...args) => this.#copyThread(warm, ...args);
    if (forksThreads(warm)) {
      this.outline = (...args) => this.#outline(warm, ...args);
      this.forkThread = (request) => this.#changing(request.targetId, () => warm.forkThread(request));
    }
    if (keepsLeases(warm)) this.lease = (...args) => warm.lease(...args);
    if (tagsThreads(warm)) {
      this.tagThread = (...args) => warm.tagThread(...args);
      this.untagThread = (...args) => warm.untagThread(...args);
      this.threadTags = (...args) => warm.threadTags(...args);
    }
    this.layers = [
      ...stack.hot.map((tier) => ({ role: "hot", tier }) as const),
      { role: "warm", tier: warm },
      ...(cold === undefined ? [] : [{ role: "cold", tier: cold } as const]),
    ];
  }

  /** What the hot tiers did so far, nearest first. */
  get counters(): readonly (HotCounters & { readonly tier: string })[] {
    return this.#hot.map(({ tier, counters }) => ({ tier: tier.name, ...counters }));
  }

  /** Resolves when no copies wait for a hot tier. */
  async idle(): Promise<void> {
    await Promise.all(this.#hot.map((hot) => hot.idle()));
  }

  async peek(at: MaybeAddress): Promise<Peek> {
    return await this.#warm.peek(at);
  }

  async read(at: MaybeAddress): Promise<Reading> {
    const believed = await this.#trust?.read(at, (tiers, peek) =>
      this.#inHot(tiers, { ...at, checkpointId: peek.checkpointId! }, async () => peek.record, peek),
    );
    if (believed !== undefined) return believed;
    try {
      const found = await this.#found(at);
      if (found !== undefined) {
        if (at.checkpointId === undefined) this.#trust?.renew(at);
        return found;
      }
    } catch (error) {
      return await this.#warm.readBehind(at, error);
    }
    const reading = await this.#warm.read(at);
    for (const hot of this.#hot) hot.miss();
    if (at.checkpointId === undefined) this.#trust?.renew(at);
    if (reading.checkpoint !== undefined) {
      this.#promote(this.#hot, reading.checkpoint, reading);
      return reading;
    }
    if (this.#archive === undefined || reading.head === undefined) return reading;
    return await this.#archive.read(at, reading, this.#restoreOn);
  }

  list(query: ListQuery): AsyncIterable<ListedCheckpoint> {
    return this.#archive === undefined ? this.#warm.list(query) : this.#archive.list(query);
  }

  threads(query: ThreadQuery): AsyncIterable<ThreadInfo> {
    return this.#warm.primary.threads(query);
  }

  async blobs(threadId: string): Promise<readonly BlobInfo[]> {
    const warm = await this.#warm.primary.blobs(threadId);
    return this.#archive === undefined ? warm : await this.#archive.blobs(threadId, warm);
  }

  async append(request: AppendRequest): Promise<Appended> {
    await this.#restoreFor(request);
    const written = [...request.heads, ...(request.writes ?? [])].map(({ namespace }) => namespace);
    return await this.#writing(request.threadId, written, async () => {
      const appended = await this.#warm.primary.append(request);
      for (const hot of this.#hot) hot.append(request, appended);
      return appended;
    });
  }

  async appendWrites(request: AppendWritesRequest): Promise<void> {
    await this.#restoreFor(request);
    await this.#writing(request.threadId, [request.namespace], async () => {
      await this.#warm.primary.appendWrites(request);
      for (const hot of this.#hot) hot.appendWrites(request);
    });
  }

  async remove(request: RemoveRequest): Promise<boolean> {
    const { threadId } = request;
    return await this.#changing(threadId, async () => {
      if (this.#archive !== undefined && !(await this.#archive.remove(request))) return false;
      const done = await this.#warm.primary.remove(withoutMark(request));
      if (done) await this.dropCopies(threadId);
      return done;
    });
  }

  /** Drops bytes of the warm tier without archiving them. */
  async evict(threadId: string, revision: number): Promise<boolean> {
    return await this.#changing(threadId, async () => {
      const done = await this.#warm.primary.evict(threadId, revision);
      if (done) await this.dropCopies(threadId);
      return done;
    });
  }

  async deleteThread(threadId: string): Promise<void> {
    await this.#changing(threadId, async () => {
      await this.#warm.primary.deleteThread(threadId);
      await Promise.all([this.dropCopies(threadId), this.#archive?.deleteThread(threadId)]);
    });
  }

  /** Brings archived checkpoints that were written on since back into the warm tier. For the archiver. */
  async restoreWritten(threadId: string): Promise<void> {
    await this.#archive?.restoreWritten(threadId);
  }

  /** Takes the hot tiers' copies of a thread away. For the archiver. */
  async dropCopies(threadId: string): Promise<void> {
    await Promise.all(this.#hot.map((hot) => hot.dropThread(threadId)));
  }

  /** A hot or cold tier that is down when a process starts is no reason not to start; it is traced. */
  async setup(): Promise<void> {
    const optional = [
      ...this.#hot.map(({ tier }) => tier),
      ...(this.#archive === undefined ? [] : [this.#archive.tier]),
    ];
    await Promise.all([
      this.#warm.primary.setup?.(),
      ...optional.map(async (tier) => {
        try {
          await tier.setup?.();
        } catch (error) {
          if (!isOutage(error)) throw error;
          trace({ type: "maintenance", what: "setup failed", data: { tier: tier.name, error } });
        }
      }),
    ]);
  }

  /** Copies what waits to be copied, for as long as the hot tiers answer, and closes every tier. */
  async end(): Promise<void> {
    await this.idle();
    const tiers = [
      ...this.#hot.map(({ tier }) => tier),
      this.#warm.primary,
      ...this.#warm.replicas,
      ...(this.#archive === undefined ? [] : [this.#archive.tier]),
    ];
    const ended = await Promise.allSettled(tiers.map((tier) => tier.end?.()));
    for (const outcome of ended) if (outcome.status === "rejected") throw outcome.reason;
  }

  /** A checkpoint as the warm tier says it is, made of bytes that are nearer. Undefined: read it from the warm tier. */
  async #found(at: MaybeAddress): Promise<Reading | undefined> {
    const [nearest] = this.#hot;
    if (nearest === undefined && !this.#warm.hasReplicas) return undefined;
    const peeking = this.#warm.peek(at);
    const [peek, guess] = await Promise.all([peeking, nearest?.find(at)]);
    const { revision, head, checkpointId } = peek;
    if (checkpointId === undefined) return { revision, head };
    const address: Address = { ...at, checkpointId };
    let record: Promise<CheckpointRecord | undefined> | undefined;
    const recordOf = (): Promise<CheckpointRecord | undefined> =>
      (record ??= peek.record === undefined ? this.#record(address) : Promise.resolve(peek.record));
    const inHot = await this.#inHot(this.#hot, address, recordOf, peek, guess);
    if (inHot !== undefined) return { revision, head, checkpoint: inHot };
    if (!this.#warm.hasReplicas) return undefined;
    const { checkpoint } = (await this.#warm.findOnReplica(address)) ?? {};
    const whole = checkpoint === undefined ? undefined : madeOf(await recordOf(), peek, checkpoint.blobs);
    if (whole === undefined) return undefined;
    for (const hot of this.#hot) hot.miss();
    this.#promote(this.#hot, whole, peek);
    return { revision, head, checkpoint: whole };
  }

  async #inHot(
    tiers: readonly HotTier[],
    address: Address,
    recordOf: () => Promise<CheckpointRecord | undefined>,
    peek: Peek,
    guess?: Reading,
  ): Promise<StoredCheckpoint | undefined> {
    for (const [i, hot] of tiers.entries()) {
      let { checkpoint } = (i === 0 && guess !== undefined ? guess : await hot.find(address)) ?? {};
      if (i === 0 && checkpoint !== undefined && checkpoint.record.checkpointId !== address.checkpointId)
        ({ checkpoint } = (await hot.find(address)) ?? {});
      if (checkpoint === undefined) continue;
      const whole = madeOf(await recordOf(), peek, checkpoint.blobs);
      if (whole === undefined) continue;
      hot.hit();
      for (const nearer of tiers.slice(0, i)) nearer.miss();
      this.#promote(tiers.slice(0, i), whole, peek);
      return whole;
    }
    return undefined;
  }

  /** The record, from a warm tier whose peek doesn't tell it. */
  async #record(at: Address): Promise<CheckpointRecord | undefined> {
    for await (const { record } of this.#warm.primary.list({ ...at, recordsOnly: true, limit: 1 }))
      return record;
    return undefined;
  }

  #promote(tiers: readonly HotTier[], stored: StoredCheckpoint, state: Peek | Reading): void {
    for (const hot of tiers) hot.promote(stored, state.head);
  }

  /** A write that relies on blobs may mean ones that this process read from the archive. */
  async #restoreFor(request: AppendRequest | AppendWritesRequest): Promise<void> {
    if (request.relies !== true || this.#archive?.servedUnrestored(request.threadId) !== true) return;
    if (this.#restoreOn === "never") throw notRestored(this.#warm.primary.name, request);
    await this.#archive.restoreServed(request.threadId);
  }

  async #writing<T>(threadId: string, namespaces: readonly string[], write: () => Promise<T>): Promise<T> {
    return this.#trust === undefined ? await write() : await this.#trust.around(threadId, namespaces, write);
  }

  async #changing<T>(threadId: string, change: () => Promise<T>): Promise<T> {
    return this.#trust === undefined ? await change() : await this.#trust.aroundThread(threadId, change);
  }

  async #ancestry(
    warm: Tier & AncestryReader,
    at: Address,
    seedTags: readonly number[],
    limit: number,
  ): Promise<readonly StoredCheckpoint[]> {
    const found = await warm.ancestry(at, seedTags, limit);
    return this.#archive === undefined ? found : await this.#archive.ancestry(at, found, seedTags, limit);
  }

  async #copyThread(warm: Tier & ThreadCopier, sourceId: string, targetId: string): Promise<boolean> {
    return await this.#changing(targetId, async () => {
      if (this.#archive === undefined || !(await this.#archive.holdsMore(sourceId)))
        return await warm.copyThread(sourceId, targetId);
      const contents = await readThread(this, sourceId, targetId);
      if (contents.records.length === 0) return false;
      await inheritTags(warm, sourceId, targetId);
      await warm.append({ threadId: targetId, ...contents, onConflict: "refuse" });
      return true;
    });
  }

  /** Of threads that are warm as a whole. One with an archived part is forked by who reads it from both tiers. */
  async #outline(
    warm: Tier & ThreadForker,
    threadId: string,
    id?: string,
  ): Promise<ThreadOutline | undefined> {
    const outline = await warm.outline(threadId, id);
    // Asked afterwards: the mark comes before the loss.
    return (await this.#archive?.holdsMore(threadId)) === true ? undefined : outline;
  }
}
