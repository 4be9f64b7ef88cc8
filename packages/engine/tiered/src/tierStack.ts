// long file: every method of the contract over several tiers, best read together
import { EvictedError, type ThreadInfo, type Tier, type TierHealth } from "@stratigraph/core";
import {
  answerWithin,
  CallGate,
  copiesThreads,
  deletesUnchanged,
  diagnosisOf,
  endsWithin,
  forksThreads,
  copyByReading,
  keepsLeases,
  keepsItems,
  keepsStatus,
  keepsWorkspaces,
  keepsLocks,
  looksOnly,
  ownersOf,
  pingTier,
  readInParts,
  readsAncestry,
  replacesBytes,
  tagsThreads,
  tierHealth,
} from "@stratigraph/core/internal";
import type {
  Address,
  AncestryReader,
  Appended,
  AppendRequest,
  AppendWritesRequest,
  BlobHash,
  BlobInfo,
  CheckpointRecord,
  Diagnoser,
  DiagnoseRequest,
  Diagnosis,
  HealthReporter,
  LayeredTier,
  LeaseKeeper,
  Items,
  WorkspaceStorage,
  LockKeeper,
  ListedCheckpoint,
  ListQuery,
  MaybeAddress,
  MovedThread,
  OwningTier,
  Peek,
  Reading,
  RemoveRequest,
  Replicated,
  Stacked,
  StackLayer,
  StoredCheckpoint,
  ThreadArchiver,
  ThreadCopier,
  ThreadForker,
  ThreadOutline,
  ThreadQuery,
  StatusKeeper,
  ThreadTagger,
  TierRole,
  UnchangedDeleter,
} from "@stratigraph/core/tier";
import { reservedNamespaces } from "@stratigraph/core/tier";
import { adaptTtl } from "./adaptiveTtl.ts";
import { Archive, type BeforeDeletion, type DeletedArchive } from "./archive.ts";
import { withoutMark } from "./archivedMark.ts";
import type { BreakerState } from "./breaker.ts";
import { assembled } from "./assembled.ts";
import { HotTier, type HotCounters } from "./hotTier.ts";
import { moveToArchive } from "./moveToArchive.ts";
import { openOptional } from "./openOptional.ts";
import { resolveStack, type RestoreOn, type TierStackOptions } from "./options.ts";
import { unendedError } from "./unendedError.ts";
import { TrustedHeads } from "./trustedHeads.ts";
import { WarmTier } from "./warmTier.ts";

/** How many times a conditional deletion of a thread is tried. It fails if somebody writes to the thread meanwhile. */
const deletionAttempts = 3;

/**
 * A tier made of tiers: hot tiers hold copies, the warm tier owns threads, the cold tier keeps idle ones. A stack is a tier itself, so
 * stacks can be nested.
 *
 * With the default `consistency`, only blobs, which never change, are read from hot tiers. Heads, pending writes and records come from the
 * warm tier, by a small query that runs while the hot tier is asked. So a hot tier may be lost, late, unreachable or emptied at any moment,
 * and that costs only time. {@link TrustedHeads} implements the other `consistency`.
 */
export class TierStack implements Tier, Diagnoser, HealthReporter, LayeredTier, Replicated, Stacked {
  readonly name: string;
  readonly maxBytes: number | undefined;
  readonly ancestry?: AncestryReader["ancestry"];
  readonly copyThread?: ThreadCopier["copyThread"];
  readonly outline?: ThreadForker["outline"];
  readonly forkThread?: ThreadForker["forkThread"];
  readonly lease?: LeaseKeeper["lease"];
  readonly lock?: LockKeeper["lock"];
  readonly unlock?: LockKeeper["unlock"];
  readonly deleteUnchanged?: UnchangedDeleter["deleteUnchanged"];
  readonly noteStatus?: StatusKeeper["noteStatus"];
  readonly tagThread?: ThreadTagger["tagThread"];
  readonly untagThread?: ThreadTagger["untagThread"];
  readonly threadTags?: ThreadTagger["threadTags"];
  readonly items?: Items;
  readonly workspaces?: WorkspaceStorage;
  readonly archiveThread?: ThreadArchiver["archiveThread"];
  readonly restoreThread?: ThreadArchiver["restoreThread"];
  /** Every tier that may hold a part of a thread. Replicas aren't among them, because they follow the warm tier. */
  readonly layers: readonly StackLayer[];
  readonly #hot: readonly HotTier[];
  readonly #warm: WarmTier;
  readonly #archive: Archive | undefined;
  readonly #trustedHeads: TrustedHeads | undefined;
  readonly #restoreOn: RestoreOn;
  readonly #openForMs: number;
  readonly #drainForMs: number;
  readonly #endForMs: number;
  readonly #gate: CallGate;
  #ended: Promise<void> | undefined;

  /** @throws InvalidOptionError */
  constructor(options: TierStackOptions, now: () => number = Date.now) {
    const stack = resolveStack(options);
    const { warm, cold } = stack;
    this.name = [...stack.hot, warm, ...(cold === undefined ? [] : [cold])].map(({ name }) => name).join(">");
    this.maxBytes = warm.maxBytes;
    this.#hot = stack.hot.map(
      (tier) =>
        new HotTier(
          tier,
          stack.hotBreaker,
          stack.queue,
          now,
          stack.adaptiveTtl ? adaptTtl(tier, now) : undefined,
        ),
    );
    this.#warm = new WarmTier(warm, stack.replicas, stack.coldBreaker, now);
    this.#archive = cold === undefined ? undefined : new Archive(cold, this.#warm, stack.coldBreaker, now);
    this.#trustedHeads =
      stack.trustForMs === undefined ? undefined : new TrustedHeads(this.#hot, warm, stack.trustForMs, now);
    this.#restoreOn = stack.restoreOn;
    this.#openForMs = stack.coldBreaker.timeoutMs;
    this.#drainForMs = stack.drainForMs;
    this.#endForMs = stack.endForMs;
    const gate = new CallGate(this.name);
    this.#gate = gate;
    if (readsAncestry(warm)) this.ancestry = (...args) => gate.run(() => this.#ancestry(warm, ...args));
    if (copiesThreads(warm)) this.copyThread = (...args) => gate.run(() => this.#copyThread(warm, ...args));
    if (forksThreads(warm)) {
      this.outline = (...args) => gate.run(() => this.#outline(warm, ...args));
      this.forkThread = (request) =>
        gate.run(() => this.#changing(request.targetId, () => warm.forkThread(request)));
    }
    if (keepsLeases(warm)) this.lease = (...args) => gate.run(() => warm.lease(...args));
    if (keepsLocks(warm)) {
      this.lock = (...args) => gate.run(() => warm.lock(...args));
      this.unlock = (...args) => gate.run(() => warm.unlock(...args));
    }
    if (deletesUnchanged(warm))
      this.deleteUnchanged = (...args) => gate.run(() => this.#deleteUnchanged(warm, ...args));
    if (tagsThreads(warm)) {
      this.tagThread = (...args) => gate.run(() => warm.tagThread(...args));
      this.untagThread = (...args) => gate.run(() => warm.untagThread(...args));
      this.threadTags = (...args) => gate.run(() => warm.threadTags(...args));
    }
    if (keepsStatus(warm)) this.noteStatus = (...args) => gate.run(() => warm.noteStatus(...args));
    if (keepsItems(warm)) {
      const { items } = warm;
      this.items = {
        read: (...args) => gate.run(() => items.read(...args)),
        change: (...args) => gate.run(() => items.change(...args)),
        search: (...args) => gate.run(() => items.search(...args)),
        nearest: (...args) => gate.run(() => items.nearest(...args)),
        namespaces: (...args) => gate.run(() => items.namespaces(...args)),
        all: (...args) => gate.run(() => items.all(...args)),
        replace: (...args) => gate.run(() => items.replace(...args)),
      };
    }
    if (keepsWorkspaces(warm)) {
      const { workspaces } = warm;
      this.workspaces = {
        commit: (...args) => gate.run(() => workspaces.commit(...args)),
        log: (...args) => gate.run(() => workspaces.log(...args)),
        itemsAt: (...args) => gate.run(() => workspaces.itemsAt(...args)),
        list: (...args) => gate.run(() => workspaces.list(...args)),
        trim: (...args) => gate.run(() => workspaces.trim(...args)),
        delete: (...args) => gate.run(() => workspaces.delete(...args)),
        replace: (...args) => gate.run(() => workspaces.replace(...args)),
        ...(workspaces.changed !== undefined && { changed: (...args) => workspaces.changed!(...args) }),
      };
    }
    const archive = this.#archive;
    if (archive !== undefined) {
      this.archiveThread = (...args) => gate.run(() => this.#archiveThread(archive, ...args));
      this.restoreThread = (threadId) => gate.run(() => archive.restoreThread(threadId));
    }
    this.layers = [
      ...stack.hot.map((tier) => ({ role: "hot", tier }) as const),
      { role: "warm", tier: warm },
      ...(cold === undefined ? [] : [{ role: "cold", tier: cold } as const]),
    ];
  }

  /** The owning tiers of the warm and the cold tier. Changing a thread through one of the warm tier's also deletes its hot copies. */
  owners(): readonly OwningTier[] {
    const cold = this.#archive?.tier;
    const warm = ownersOf(this.#warm.primary).map((tier) => this.#dropping(tier));
    return cold === undefined ? warm : [...warm, ...ownersOf(cold)];
  }

  /** The read replicas of the warm tier. */
  get replicas(): readonly Tier[] {
    return this.#warm.replicas.map(({ tier }) => tier);
  }

  /** The counters of each hot tier, nearest first. */
  get counters(): readonly (HotCounters & { readonly tier: string })[] {
    return this.#hot.map(({ tier, counters }) => ({ tier: tier.name, ...counters }));
  }

  /** Resolves when no copies to hot tiers wait or are being made. */
  async idle(): Promise<void> {
    await Promise.all(this.#hot.map((hot) => hot.idle()));
  }

  async peek(at: MaybeAddress): Promise<Peek> {
    return await this.#gate.run(() => this.#warm.peek(at));
  }

  async read(at: MaybeAddress): Promise<Reading> {
    return await this.#gate.run(() => this.#read(at));
  }

  list(query: ListQuery): AsyncIterable<ListedCheckpoint> {
    return this.#gate.iterate(() => (this.#archive ?? this.#warm).list(query));
  }

  threads(query: ThreadQuery): AsyncIterable<ThreadInfo> {
    return this.#gate.iterate(() => this.#warm.primary.threads(query));
  }

  async blobs(threadId: string, only?: readonly BlobHash[]): Promise<readonly BlobInfo[]> {
    return await this.#gate.run(async () => {
      const warm = await this.#warm.primary.blobs(threadId, only);
      const isWhole = only !== undefined && holdsAll(warm, only);
      return this.#archive === undefined || isWhole ? warm : await this.#archive.blobs(threadId, warm);
    });
  }

  async append(request: AppendRequest): Promise<Appended> {
    const written = [...request.heads, ...(request.writes ?? [])].map(
      // Whether the root has lost its head depends on the mark of a copy.
      ({ namespace }) => (namespace === reservedNamespaces.copy ? "" : namespace),
    );
    return await this.#gate.run(async () => {
      await this.#restoreFor(request);
      return await this.#writing(request.threadId, written, async () => {
        // The parent may be in the archive.
        const warm = this.#archive === undefined ? request : { ...request, needsParents: false };
        const appended = await this.#warm.primary.append(warm);
        for (const hot of this.#hot) hot.append(request, appended);
        return appended;
      });
    });
  }

  async appendWrites(request: AppendWritesRequest): Promise<void> {
    await this.#gate.run(async () => {
      await this.#restoreFor(request);
      await this.#writing(request.threadId, [request.namespace], async () => {
        await this.#warm.primary.appendWrites(request);
        for (const hot of this.#hot) hot.appendWrites(request);
      });
    });
  }

  async remove(request: RemoveRequest): Promise<boolean> {
    const { threadId } = request;
    return await this.#gate.run(() =>
      this.#changing(threadId, async () => {
        if (this.#archive !== undefined && !(await this.#archive.remove(request))) return false;
        const done = await this.#warm.primary.remove(withoutMark(request));
        if (done) await this.dropCopies(threadId);
        return done;
      }),
    );
  }

  /** Evicts a thread from the warm tier without archiving it. */
  async evict(threadId: string, revision: number): Promise<boolean> {
    return await this.#gate.run(() =>
      this.#changing(threadId, async () => {
        const done = await this.#warm.primary.evict(threadId, revision);
        if (done) await this.dropCopies(threadId);
        return done;
      }),
    );
  }

  async deleteThread(threadId: string): Promise<void> {
    await this.#gate.run(() => this.#deleteThread(threadId));
  }

  /** Restores archived checkpoints that have received pending writes since. For the archiver. */
  async restoreWritten(threadId: string): Promise<void> {
    await this.#archive?.restoreWritten(threadId);
  }

  /** Deletes the hot tiers' copies of a thread. For the archiver. */
  async dropCopies(threadId: string): Promise<void> {
    await Promise.all(this.#hot.map((hot) => hot.dropThread(threadId)));
  }

  /**
   * Sets up every tier. If a hot tier, the cold tier or a replica can't be reached, that is only traced ("unreachable"), so that the
   * process can start. If one can't work until somebody changes something, that is an error.
   * @throws StratigraphError, which names the tier's role unless it is the warm tier
   */
  async setup(): Promise<void> {
    await this.#gate.run(async () => {
      const optional = this.#parts().flatMap(({ role, tier }) => (role === "warm" ? [] : [{ role, tier }]));
      const opened = await Promise.allSettled([
        this.#warm.primary.setup?.(),
        ...optional.map((each) => openOptional(each, this.#openForMs)),
      ]);
      for (const outcome of opened) if (outcome.status === "rejected") throw outcome.reason;
    });
  }

  /** @throws what a call to the warm tier would throw */
  async ping(): Promise<void> {
    await this.#gate.run(() => pingTier(this.#warm.primary));
  }

  /**
   * The health of every tier, nearest first. Breakers don't keep tiers from being asked. Never rejects.
   * @param timeoutMs time limit for each tier, in milliseconds
   */
  async health(timeoutMs: number): Promise<readonly TierHealth[]> {
    return await Promise.all(
      this.#parts().map(async ({ role, tier, breaker, hot }) => {
        // Ping the warm tier through the stack's own ping(), so that a stack that is being closed isn't healthy.
        const ping = role === "warm" ? () => this.ping() : () => pingTier(tier);
        const asked = await tierHealth({ name: tier.name, role, ping }, timeoutMs);
        const found = hot === undefined ? asked : { ...asked, copies: hot.counters };
        return breaker === undefined || breaker === "closed" ? found : { ...found, breaker };
      }),
    );
  }

  /** The diagnosis of every tier, nearest first. All are asked at the same time, even if their breakers are open. Never rejects. */
  async diagnose({ role: own, ...request }: DiagnoseRequest): Promise<readonly Diagnosis[]> {
    const findings = await Promise.all(
      // A nested stack owns threads only if it is the warm tier of the outer one.
      this.#parts().map(({ role, tier }) =>
        diagnosisOf(tier, { ...request, role: own === "warm" ? role : own }),
      ),
    );
    return findings.flat();
  }

  /**
   * Refuses new calls ("CLOSED"), waits at most `drainFor` for calls in progress and waiting copies, and then ends every tier, even if one
   * of them fails or hangs. Further calls have the same result. Takes at most `drainFor` plus `endFor`.
   * @throws the error of the first tier that failed; StratigraphError "UNAVAILABLE" for one that didn't end within `endFor`
   */
  async end(): Promise<void> {
    await (this.#ended ??= this.#end());
  }

  async #end(): Promise<void> {
    // No call is in progress and no copy waits, or time is up.
    await endsWithin(this.#drainForMs, () => this.#gate.close(this.#drainForMs).then(() => this.idle()));
    for (const hot of this.#hot) hot.close();
    const ended = await Promise.allSettled(
      this.#parts().map(({ tier }) =>
        answerWithin(
          this.#endForMs,
          async () => await tier.end?.(),
          () => unendedError(tier.name, this.#endForMs),
        ),
      ),
    );
    for (const outcome of ended) if (outcome.status === "rejected") throw outcome.reason;
  }

  /** Every tier with its role, nearest first. */
  #parts(): { role: TierRole; tier: Tier; breaker?: BreakerState; hot?: HotTier }[] {
    const archive = this.#archive;
    return [
      ...this.#hot.map((hot) => ({ role: "hot" as const, tier: hot.tier, breaker: hot.breaker, hot })),
      { role: "warm", tier: this.#warm.primary },
      ...this.#warm.replicas.map(({ tier, breaker }) => ({ role: "replica" as const, tier, breaker })),
      ...(archive === undefined
        ? []
        : [{ role: "cold" as const, tier: archive.tier, breaker: archive.breaker }]),
    ];
  }

  async #read(at: MaybeAddress): Promise<Reading> {
    if (looksOnly()) return await this.#look(at);
    const believed = await this.#trustedHeads?.read(at, (tiers, peek) =>
      this.#fromHot(tiers, { ...at, checkpointId: peek.checkpointId! }, async () => peek.record, peek),
    );
    if (believed !== undefined) return believed;
    try {
      const found = await this.#fromCopies(at);
      if (found !== undefined) {
        if (at.checkpointId === undefined) this.#trustedHeads?.renew(at);
        return found;
      }
    } catch (error) {
      return await this.#warm.readBehind(at, error);
    }
    const reading = await this.#warm.read(at);
    for (const hot of this.#hot) hot.miss(at.threadId);
    if (reading.checkpoint !== undefined) this.#copyInto(this.#hot, reading.checkpoint, reading);
    // Renew after copying: each write to a hot tier ends the trust in a namespace's copy.
    if (at.checkpointId === undefined) this.#trustedHeads?.renew(at);
    const found = await this.#orArchived(at, reading, this.#restoreOn);
    const isSealed = this.#restoreOn === "never" && found.checkpoint !== reading.checkpoint;
    return isSealed ? { ...found, sealed: true } : found;
  }

  /** Reads without the hot tiers: they get no copies, and such a read doesn't extend how long their copies stay. */
  async #look(at: MaybeAddress): Promise<Reading> {
    const reading = await this.#warm.read(at).catch((error) => this.#warm.readBehind(at, error));
    return await this.#orArchived(at, reading, "never");
  }

  async #orArchived(at: MaybeAddress, reading: Reading, restoreOn: RestoreOn): Promise<Reading> {
    if (reading.checkpoint !== undefined) return reading;
    if (this.#archive === undefined) return reading;
    if (reading.head !== undefined) return await this.#archive.read(at, reading, restoreOn);
    // Whoever asks for the head is told of it by the answer.
    if (reading.headless === true && at.checkpointId !== undefined)
      await this.#archive.refuseHeadless(at.threadId);
    return reading;
  }

  /**
   * Reads a checkpoint whose record and pending writes come from the warm tier, and its blobs from a hot tier or replica. Undefined on
   * a miss.
   */
  async #fromCopies(at: MaybeAddress): Promise<Reading | undefined> {
    const [nearest] = this.#hot;
    if (nearest === undefined && !this.#warm.hasReplicas) return undefined;
    const peeking = this.#warm.peek(at);
    const [peek, nearestReading] = await Promise.all([peeking, nearest?.find(at)]);
    const { revision, head, checkpointId, headless } = peek;
    if (checkpointId === undefined) return { revision, head, headless };
    const address: Address = { ...at, checkpointId };
    let record: Promise<CheckpointRecord | undefined> | undefined;
    const ownersRecord = (): Promise<CheckpointRecord | undefined> =>
      (record ??= peek.record === undefined ? this.#record(address) : Promise.resolve(peek.record));
    const inHot = await this.#fromHot(this.#hot, address, ownersRecord, peek, nearestReading);
    if (inHot !== undefined) return { revision, head, checkpoint: inHot };
    if (!this.#warm.hasReplicas) return undefined;
    const { checkpoint } = (await this.#warm.findOnReplica(address)) ?? {};
    const whole =
      checkpoint === undefined ? undefined : assembled(await ownersRecord(), peek, checkpoint.blobs);
    if (whole === undefined) return undefined;
    for (const hot of this.#hot) hot.miss(at.threadId);
    this.#copyInto(this.#hot, whole, peek);
    return { revision, head, checkpoint: whole };
  }

  async #fromHot(
    tiers: readonly HotTier[],
    address: Address,
    ownersRecord: () => Promise<CheckpointRecord | undefined>,
    peek: Peek,
    nearestReading?: Reading,
  ): Promise<StoredCheckpoint | undefined> {
    for (const [i, hot] of tiers.entries()) {
      let { checkpoint } =
        (i === 0 && nearestReading !== undefined ? nearestReading : await hot.find(address)) ?? {};
      if (i === 0 && checkpoint !== undefined && checkpoint.record.checkpointId !== address.checkpointId)
        ({ checkpoint } = (await hot.find(address)) ?? {});
      if (checkpoint === undefined) continue;
      const whole = assembled(await ownersRecord(), peek, checkpoint.blobs);
      if (whole === undefined) continue;
      hot.hit(address.threadId);
      for (const nearer of tiers.slice(0, i)) nearer.miss(address.threadId);
      this.#copyInto(tiers.slice(0, i), whole, peek);
      return whole;
    }
    return undefined;
  }

  /** Reads a record from the warm tier, if its peek doesn't return it. */
  async #record(at: Address): Promise<CheckpointRecord | undefined> {
    for await (const { record } of this.#warm.primary.list({ ...at, recordsOnly: true, limit: 1 }))
      return record;
    return undefined;
  }

  #copyInto(tiers: readonly HotTier[], stored: StoredCheckpoint, state: Peek | Reading): void {
    for (const hot of tiers) hot.copyRead(stored, state.head);
  }

  /**
   * Before a write to a thread of which this process has read something from the archive: restores that if the write may rely on it.
   * @throws EvictedError under `restoreOn: "never"`, if the write continues it
   */
  async #restoreFor(request: AppendRequest | AppendWritesRequest): Promise<void> {
    if (this.#archive?.servedUnrestored(request.threadId) !== true) return;
    if (this.#restoreOn === "never") {
      const archived = await this.#archive.archivedAmong(continuedBy(request));
      if (archived !== undefined) throw new EvictedError(this.name, archived, undefined, true);
    } else if (request.relies === true) await this.#archive.restoreServed(request.threadId);
  }

  #dropping(tier: OwningTier): OwningTier {
    const dropped = async <T>(threadId: string, change: () => Promise<T>): Promise<T> =>
      await this.#changing(threadId, async () => {
        const done = await change();
        await this.dropCopies(threadId);
        return done;
      });
    return {
      name: tier.name,
      of: tier.of ?? (tier as Tier),
      peek: (at) => tier.peek(at),
      list: (query) => tier.list(query),
      threads: (query) => tier.threads(query),
      blobs: (threadId) => tier.blobs(threadId),
      remove: (request) => dropped(request.threadId, () => tier.remove(request)),
      ...(replacesBytes(tier)
        ? { replaceBytes: (request) => dropped(request.threadId, () => tier.replaceBytes(request)) }
        : {}),
      ...(tier.strays === undefined ? {} : { strays: (threadId) => tier.strays!(threadId) }),
    };
  }

  async #writing<T>(threadId: string, namespaces: readonly string[], write: () => Promise<T>): Promise<T> {
    return this.#trustedHeads === undefined
      ? await write()
      : await this.#trustedHeads.around(threadId, namespaces, write);
  }

  async #changing<T>(threadId: string, change: () => Promise<T>): Promise<T> {
    return this.#trustedHeads === undefined
      ? await change()
      : await this.#trustedHeads.aroundThread(threadId, change);
  }

  async #deleteThread(threadId: string): Promise<void> {
    const warm = this.#warm.primary;
    await this.#deleting(threadId, async (look) => {
      for (let attempt = 1; attempt <= deletionAttempts; attempt += 1) {
        const before = await look();
        if (before === undefined || before.mayHold || before.revision === 0) {
          await warm.deleteThread(threadId);
          return before ?? true;
        }
        // An archiver may announce itself right now. So delete the thread only if it is unchanged.
        if (!deletesUnchanged(warm)) break;
        if (await warm.deleteUnchanged(threadId, before.revision)) return before;
      }
      await warm.deleteThread(threadId);
      return { mayHold: true, isAnnounced: true, isCopied: false };
    });
  }

  async #deleteUnchanged(
    warm: Tier & UnchangedDeleter,
    threadId: string,
    revision: number,
  ): Promise<boolean> {
    return await this.#deleting(threadId, async (look) => {
      const before = await look();
      return (await warm.deleteUnchanged(threadId, revision)) && (before ?? true);
    });
  }

  /**
   * Deletes a thread from the warm tier by calling `work`, and then from the other tiers.
   * @param work calls `look` before it deletes the thread, because the deletion also deletes the mark. Returns what it saw, or whether it
   * deleted the thread
   */
  async #deleting(
    threadId: string,
    work: (look: () => Promise<BeforeDeletion | undefined>) => Promise<DeletedArchive | boolean>,
  ): Promise<boolean> {
    return await this.#changing(threadId, async () => {
      const archive = this.#archive;
      const deleted = await work(async () => await archive?.beforeDeletion(threadId));
      if (deleted === false) return false;
      const copy = deleted === true ? undefined : deleted;
      await Promise.all([
        this.dropCopies(threadId),
        copy?.mayHold === true ? archive?.deleteThread(threadId, copy) : undefined,
      ]);
      if (copy !== undefined && (await archive?.isBack(threadId, copy)) === true) {
        await this.#warm.primary.deleteThread(threadId);
        await this.dropCopies(threadId);
      }
      return true;
    });
  }

  async #ancestry(
    warm: Tier & AncestryReader,
    at: Address,
    seedTerms: readonly number[],
    limit: number,
  ): Promise<readonly StoredCheckpoint[]> {
    const found = await warm.ancestry(at, seedTerms, limit);
    return this.#archive === undefined ? found : await this.#archive.ancestry(at, found, seedTerms, limit);
  }

  async #copyThread(warm: Tier & ThreadCopier, sourceId: string, targetId: string): Promise<boolean> {
    const archive = this.#archive;
    return await this.#changing(targetId, async () => {
      if (archive === undefined) return await warm.copyThread(sourceId, targetId);
      if (!(await archive.holdsMore(sourceId))) {
        const done = await warm.copyThread(sourceId, targetId);
        // If the copy has the mark, an archiver was moving the thread meanwhile: its checkpoints may be in the archive.
        if (!(await archive.holdsMore(targetId))) return done;
        await warm.deleteThread(targetId);
      }
      return await copyByReading(this, sourceId, targetId, warm);
    });
  }

  async #archiveThread(
    archive: Archive,
    threadId: string,
    check: Parameters<ThreadArchiver["archiveThread"]>[1],
    { dryRun = false }: { readonly dryRun?: boolean | undefined } = {},
  ): Promise<MovedThread | undefined> {
    const warm = this.#warm.primary;
    if (!dryRun) return await moveToArchive({ stack: this, warm, cold: archive.tier }, threadId, check);
    const reading = await readInParts(warm, threadId);
    return reading && { done: false, checkpoints: reading.keys.size, bytes: reading.bytes };
  }

  /** Undefined for a partly archived thread, which is forked by reading it from both tiers. */
  async #outline(
    warm: Tier & ThreadForker,
    threadId: string,
    id?: string,
  ): Promise<ThreadOutline | undefined> {
    const outline = await warm.outline(threadId, id);
    // Ask for the mark afterwards, because the archiver sets it before the warm tier drops anything.
    return (await this.#archive?.holdsMore(threadId)) === true ? undefined : outline;
  }
}

/** The checkpoints that a write continues, or moves a head to. */
function continuedBy(request: AppendRequest | AppendWritesRequest): Address[] {
  const { threadId } = request;
  if (!("heads" in request)) return [request];
  const parents = request.records.flatMap(({ namespace, parentId }) =>
    parentId === undefined ? [] : [{ threadId, namespace, checkpointId: parentId }],
  );
  const heads = request.heads.map(({ namespace, to }) => ({ threadId, namespace, checkpointId: to }));
  return [...parents, ...heads, ...(request.writes ?? [])];
}

function holdsAll(blobs: readonly BlobInfo[], hashes: readonly BlobHash[]): boolean {
  const held = new Set(blobs.map(({ hash }) => hash));
  return hashes.every((hash) => held.has(hash));
}
