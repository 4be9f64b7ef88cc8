// long file: one class has to have every method that LangGraph and users call; each of them is short
import type { RunnableConfig } from "@langchain/core/runnables";
import {
  BaseCheckpointSaver,
  ERROR,
  INTERRUPT,
  TASKS,
  maxChannelVersion,
} from "@langchain/langgraph-checkpoint";
import type {
  ChannelVersions,
  Checkpoint,
  CheckpointListOptions,
  CheckpointMetadata,
  CheckpointTuple,
  DeltaChannelHistory,
  PendingWrite,
} from "@langchain/langgraph-checkpoint";
import {
  addressOf,
  checkpointIdOf,
  configOf,
  maybeThreadOf,
  namespaceOf,
  validId,
  validThreadId,
} from "./address.ts";
import { checkDeltaOptions, checkListOptions, checkWrites, checkedIds, checkedPut } from "./arguments.ts";
import { BestEffort, type LooseReadings } from "./bestEffort.ts";
import { addressKey } from "../contract/keys.ts";
import { checkOptions } from "../contract/checkOptions.ts";
import { endsWithin } from "../contract/answerWithin.ts";
import { checkTier } from "../contract/checkTier.ts";
import {
  CheckpointCoder,
  type Before,
  type CapturedPut,
  type CheckpointPut,
} from "../encode/checkpointCoder.ts";
import { listConflicts, type Conflict } from "../operations/conflicts.ts";
import { headlessOrEvicted, refuseEvicted, refuseShortList } from "../operations/archivedElsewhere.ts";
import { copyThread } from "../operations/copyThread.ts";
import { deltaChannelHistory } from "../operations/deltaChannelHistory.ts";
import {
  checkSelection,
  deleteThreads,
  type DeleteThreadsOptions,
  type DeletionReport,
  type ThreadSelection,
} from "../operations/deleteThreads.ts";
import { Envelope } from "../encode/envelope.ts";
import {
  closedError,
  EvictedError,
  InvalidAddressError,
  InvalidOptionError,
  NotFoundError,
  StratigraphError,
} from "../contract/errors.ts";
import { healthOf, type Health, type HealthOptions } from "../operations/health.ts";
import { keysInUse, type KeysInUse, type KeysInUseOptions } from "../operations/keysInUse.ts";
import { KeyGuard } from "./keyGuard.ts";
import { Lineage, type Ancestor } from "./lineage.ts";
import { listThreads, type ThreadListOptions, type ThreadPage } from "../operations/listThreads.ts";
import { convertCheckpoint, stateOf } from "../stateVersions/convertCheckpoint.ts";
import { convertWrites } from "../stateVersions/convertWrites.ts";
import type { StateVersions } from "../stateVersions/stateVersions.ts";
import { tellOfLostRace } from "./lostRace.ts";
import { keepsItems } from "../contract/items.ts";
import { beginsRun, stopsComputing } from "../cache/cachedRun.ts";
import { cacheOptionNames, resolveCacheOptions, type CacheOptions } from "../cache/cacheOptions.ts";
import { cachesOf, TierCache } from "../cache/tierCache.ts";
import { ItemCoder } from "../items/itemCoder.ts";
import { ItemIndex } from "../items/itemIndex.ts";
import { storeOptionNames, TierStore, type StoreOptions } from "../items/tierStore.ts";
import { refreshOf, ttlOf } from "../items/ttl.ts";
import { headLineFirst } from "./headLineFirst.ts";
import { HeadRights, runOf } from "./headRights.ts";
import { KnownThreads } from "./knownThreads.ts";
import { aboutConfig, listing, operation, type Notes } from "./operation.ts";
import { resolveOptions, type ConflictPolicy, type SaverOptions } from "./options.ts";
import {
  checkMaintainOptions,
  everyMsOf,
  type MaintainOptions,
  type StartMaintenanceOptions,
} from "../maintenance/maintainOptions.ts";
import { Maintenance } from "../maintenance/maintenance.ts";
import { repeated, stopAll, type Repeated } from "../maintenance/repeated.ts";
import { evictLooseTask } from "../maintenance/evictLoose.ts";
import { noteStatusTask } from "../maintenance/noteStatus.ts";
import { deleteIdleTask, pruneInUseTask, type RetentionParts } from "../maintenance/retention.ts";
import { checkRetention, type ResolvedRetention } from "../maintenance/retentionOptions.ts";
import type { MaintenanceReport, MaintenanceTask } from "../maintenance/steps.ts";
import { sweepsTiers } from "../maintenance/sweepsTiers.ts";
import { promote } from "../operations/promote.ts";
import { prune, removeRuns } from "../operations/prune.ts";
import { checkPruneOptions, type PruneOptions } from "../operations/pruneOptions.ts";
import { reencrypt, type ReencryptOptions, type ReencryptReport } from "../operations/reencrypt.ts";
import { matches, metadataTerms } from "../encode/metadataTerms.ts";
import { runIdOf } from "./runIdOf.ts";
import { RunsUnderWay } from "./runsUnderWay.ts";
import { withRunMetadata } from "./runMetadata.ts";
import type { ReadThrough } from "./readThrough.ts";
import { StoredWaits, patienceOf, type StoredOptions } from "./storedWaits.ts";
import { ThreadTags, type Tags } from "./threadTags.ts";
import type {
  Address,
  Appended,
  AppendRequest,
  ListedCheckpoint,
  MaybeAddress,
  Namespace,
  Peek,
  Reading,
  StoredCheckpoint,
  ThreadState,
  ThreadTag,
  Tier,
} from "../contract/tier.ts";
import { trace } from "../contract/trace.ts";
import { appendTraffic, storedSize, writesTraffic } from "../contract/traffic.ts";
import type { DecodedAhead, Series, ValueReading } from "../encode/valueCoder.ts";
import { ownersOf, tagsThreads, type DiagnoseRequest, type Diagnosis } from "../contract/tierExtensions.ts";
import { BlobEncoder } from "../encode/blobEncoder.ts";
import { asPendingWrite } from "../encode/writeCoder.ts";
import { isStored, isStoredWithWrites, lostParent } from "../operations/brokenLine.ts";
import { settledHead } from "../operations/settledHead.ts";
import { wasArchived, withoutBytes } from "../operations/withoutBytes.ts";
import { rebuiltChannels } from "../langgraph/rebuiltChannels.ts";
import { failsRun, mayRefuse, outcomeOf } from "../contract/threadStatus.ts";
import { pendingBatches } from "./chosenBatches.ts";
import { Writers } from "./writers.ts";

/** How long a stop waits for maintenance, and for values to be written, as a tier may never answer. Milliseconds. */
const longestStopMs = 10_000;

/**
 * A LangGraph checkpointer over any tier: the one class that speaks LangGraph's language.
 *
 * @example
 * const graph = builder.compile({ checkpointer: new TierSaver(tier) });
 */
export class TierSaver extends BaseCheckpointSaver {
  readonly tier: Tier;
  /** Encodes and decodes checkpoints. Public for the packages that are built on this one. */
  readonly coder: CheckpointCoder;
  /** The version of the state that this saver's application is at. @internal */
  readonly stateVersions: StateVersions;
  readonly #conflict: ConflictPolicy;
  readonly #onConflict: SaverOptions["onConflict"];
  readonly #rights = new HeadRights();
  readonly #known: KnownThreads;
  /** @internal Encodes the items of stores and workspaces. */
  readonly itemCoder: ItemCoder;
  readonly #lineage: Lineage;
  readonly #bestEffort: BestEffort;
  readonly #waits: StoredWaits;
  readonly #runs: RunsUnderWay;
  readonly #writers = new Writers();
  #ended: Promise<void> | undefined;
  readonly #retention: ResolvedRetention;
  #maintenance: Maintenance | undefined;
  readonly #running = new Set<Repeated>();
  readonly #tags: ThreadTags;
  readonly #options: SaverOptions;
  readonly #keys: KeyGuard | undefined;
  #readThrough: ReadThrough | undefined;

  /** @throws InvalidOptionError */
  constructor(tier: Tier, options: SaverOptions = {}) {
    checkTier("tier", tier, true);
    const resolved = resolveOptions(options);
    super(resolved.serde);
    this.#options = options;
    this.tier = tier;
    this.stateVersions = resolved.stateVersions;
    this.#conflict = resolved.conflict;
    this.#onConflict = resolved.onConflict;
    const { cipher, maxValueBytes } = resolved;
    this.#keys = cipher === undefined ? undefined : new KeyGuard(tier, cipher, maxValueBytes);
    const envelope = new Envelope(this.#keys?.sealer, maxValueBytes);
    const stored = { tier: tier.name, maxBytes: tier.maxBytes ?? Infinity };
    const blobs = new BlobEncoder(envelope, resolved, stored);
    this.coder = new CheckpointCoder(resolved.serde, blobs);
    this.itemCoder = new ItemCoder(resolved.serde, blobs);
    this.#tags = new ThreadTags(tier, resolved.threadTags, resolved.hashKey);
    this.#known = new KnownThreads(tier, this.coder, this.#tags, this.stateVersions);
    this.#lineage = new Lineage(tier, this.coder);
    this.#bestEffort = new BestEffort(tier, this.coder, resolved.bestEffort);
    this.#runs = RunsUnderWay.of(tier);
    this.#waits = new StoredWaits(tier, (at) => this.#known.parents.get(at) !== undefined);
    checkRetention(tier, options);
    this.#retention = resolved.retention;
  }

  /**
   * Creates what the storage needs. Safe to repeat, and from many processes at once. Only PostgresSaver's takes options. With `encryption`,
   * the keys are compared with those that the storage was written with.
   * @throws StratigraphError "KEY_MISMATCH"
   */
  async setup(options?: undefined): Promise<void> {
    checkOptions<object>("setup of this saver", options, {});
    await this.tier.setup?.();
    await this.checkKeys();
  }

  /** A saver with this one's options, except those of maintenance, over a part of its tier. @internal */
  over(part: Tier): TierSaver {
    return new TierSaver(part, { ...this.#options, deleteAfter: undefined });
  }

  /** For `setup` of subclasses. @param options `write` false: missing check values aren't stored */
  protected async checkKeys({ write = true }: { readonly write?: boolean } = {}): Promise<void> {
    await this.#keys?.setUp({ write });
  }

  /** What each storage reports about the keys, for a diagnosis: one request each. Empty without `encryption`. Never rejects. */
  async diagnoseKeys(request: Pick<DiagnoseRequest, "timeoutMs">): Promise<readonly Diagnosis[]> {
    return (await this.#keys?.diagnose(request)) ?? [];
  }

  /**
   * From now on, threads that this storage doesn't know are brought from elsewhere when `getTuple`, `list`, a journal or events first ask
   * for them. Pass the result of `readThrough` of `@stratigraph/migrate`. Other methods know only the threads that were brought.
   */
  readThrough(readThrough: ReadThrough): void {
    this.#readThrough = readThrough;
  }

  /** As the tier's `peek`. A thread without this head is brought from elsewhere first, as {@link bring} says. @internal */
  async peek(at: Namespace): Promise<Peek> {
    const found = await this.tier.peek(at);
    return found.head === undefined && (await this.bring(at.threadId)) ? await this.tier.peek(at) : found;
  }

  /**
   * Brings a thread without a root head from elsewhere, if {@link readThrough} says from where. Whether it was brought.
   * @param isUse its journal or its events are used, see {@link ReadThrough.bring}
   * @internal
   */
  async bring(threadId: string, isUse = false): Promise<boolean> {
    if (this.#readThrough === undefined) return false;
    const root = { threadId, namespace: "" };
    return await this.#brought(root, await this.tier.peek(root), isUse);
  }

  /**
   * The state of every tier, for a readiness probe: one cheap request each. An outage is reported in the answer, which doesn't reject then.
   * @throws InvalidOptionError
   */
  async health(options: HealthOptions = {}): Promise<Health> {
    return await healthOf(this.tier, options);
  }

  /**
   * Runs one batch of maintenance: deletes and prunes as {@link RetentionOptions} say, and removes what crashes left. If the storage
   * keeps leases, only one process works at a time. Safe to interrupt at any moment. For cron, or a worker process.
   * @param options `dryRun` only reports what would be done; `signal` ends the batch after the thread under way
   * @throws InvalidOptionError; StratigraphError "UNAVAILABLE" if the storage can't be reached, "CLOSED" after `end()`
   */
  async maintain(options: MaintainOptions = {}): Promise<MaintenanceReport> {
    checkMaintainOptions(options);
    this.#checkOpen();
    return await this.#maintain(options);
  }

  /**
   * Runs maintenance again and again in this process, the first time after `every`. `stop()` and `end()` wait for the thread under
   * way, up to 10 seconds: `process.once("SIGTERM", () => maintenance.stop())`. Doesn't keep the process alive. A failure is traced,
   * and the next run tries again.
   * @throws InvalidOptionError; StratigraphError "CLOSED" after `end()`
   */
  startMaintenance(options: StartMaintenanceOptions): { stop(): Promise<void> } {
    const everyMs = everyMsOf(options);
    this.#checkOpen();
    const maintenance = repeated((signal) => this.#maintain({ signal }, { keepsAlive: false }), everyMs);
    this.#running.add(maintenance);
    return {
      stop: async () => {
        await stopAll([maintenance], longestStopMs);
        this.#running.delete(maintenance);
      },
    };
  }

  /** The tasks of maintenance, in order. Savers over several tiers override it, because they have more to do. */
  protected maintenanceTasks(parts: RetentionParts): readonly MaintenanceTask[] {
    return [
      deleteIdleTask(parts),
      pruneInUseTask(parts),
      evictLooseTask(parts),
      noteStatusTask(parts),
      sweepsTiers([parts.tier], parts.now),
    ];
  }

  /**
   * Closes what this saver opened itself; clients that were passed in stay open. Waits for maintenance under way, up to 10 seconds, and for
   * values of `bestEffort` channels that aren't written yet, as long.
   * May be called again. Let runs finish first: later calls are refused with code "CLOSED".
   */
  async end(): Promise<void> {
    await (this.#ended ??= this.#end());
  }

  /** As {@link end}, for `await using checkpointer = await createCheckpointer()`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
  }

  /**
   * The checkpoint that a config names, or the head of its namespace.
   * @throws InvalidAddressError, CorruptionError, EvictedError; StratigraphError "KEY_MISSING", "KEY_UNAVAILABLE",
   * "PLAINTEXT_REFUSED", "UNREGISTERED_TYPE", "NEWER_FORMAT", "SERIALIZATION" if the stored data can't be decoded; "STATE_VERSION",
   * "STATE_STEP_FAILED" if its state can't become that of {@link SaverOptions.stateVersions}
   */
  override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const about = aboutConfig(config);
    beginsRun(about.threadId, about.namespace);
    const reading = operation("getTuple", about, async (notes) => {
      const tuple = await this.#getTuple(config, notes);
      if (notes === undefined) return tuple;
      notes.checkpointId = tuple?.checkpoint.id;
      if (tuple === undefined) notes.outcome = "none";
      return tuple;
    });
    return await this.#runs.reads(config, about.threadId, reading);
  }

  /**
   * Checkpoints, newest first. Pages are fetched as they are consumed. Where a thread's other checkpoints are in an archive that isn't open,
   * the list doesn't end, but fails with "EVICTED". Of a list of all threads, a thread of which a part is here isn't told.
   * @throws InvalidAddressError, EvictedError, InvalidOptionError, CorruptionError; StratigraphError as {@link getTuple}
   */
  override list(
    config: RunnableConfig,
    options: CheckpointListOptions = {},
  ): AsyncGenerator<CheckpointTuple> {
    return listing("list", aboutConfig(config), () => this.#list(config, options));
  }

  async *#list(config: RunnableConfig, options: CheckpointListOptions): AsyncGenerator<CheckpointTuple> {
    checkListOptions(options);
    const { thread_id: threadId, checkpoint_ns: namespace } = maybeThreadOf(config);
    const { limit, filter } = options;
    if (limit === 0) return;
    const query = {
      threadId:
        threadId === undefined || threadId === null ? undefined : validThreadId("thread_id", threadId),
      namespace:
        namespace === undefined || namespace === null
          ? undefined
          : validId("checkpoint_ns", namespace, { empty: true }),
      checkpointId: checkpointIdOf(config),
      before: options.before === undefined ? undefined : checkpointIdOf(options.before),
      terms: filter === undefined ? undefined : metadataTerms(filter),
      // The terms are hashes of some leaves of the filter, so they find more than it asks for. The limit counts what passes the filter.
      limit: filter === undefined ? limit : undefined,
    };
    if (query.threadId !== undefined) await this.bring(query.threadId);
    await this.#runs.othersEnded(config, query.threadId);
    let found = 0;
    // Parents that weren't listed: an archive may have them. A list that has all of them asks nothing more.
    const awaited = new Set<string>();
    const series: Series = new Map();
    const readings: LooseReadings = new Map();
    for await (const stored of headLineFirst(this.tier, query)) {
      const { record } = stored;
      awaited.delete(addressKey(record, record.checkpointId));
      if (record.parentId !== undefined) awaited.add(addressKey(record, record.parentId));
      const tuple = await this.#listed(config, stored, filter, { series, readings });
      if (tuple === undefined) continue;
      yield tuple;
      found += 1;
      if (found === limit) return;
    }
    // One that was asked for by its id is all of the list.
    const isWhole = query.checkpointId !== undefined || (query.threadId !== undefined && awaited.size === 0);
    if (found === 0 || !isWhole) await refuseShortList(this.tier, query);
  }

  /**
   * Stores a checkpoint and moves the head, by compare-and-set.
   * @param newVersions the channels whose values are new. Without it all are, and the checkpoint has exactly the values given
   * @returns a config with exactly thread_id, checkpoint_ns and checkpoint_id
   * @throws CheckpointConflictError if another writer moved the head first (see {@link SaverOptions.conflict}), ThreadDeletedError,
   * InvalidAddressError, InvalidOptionError; StratigraphError "SERIALIZATION" names channel and path; "KEY_UNAVAILABLE" if the active key
   * can't be fetched: nothing was stored
   */
  override async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions?: ChannelVersions,
  ): Promise<RunnableConfig> {
    const about = aboutConfig(config);
    const storing = operation("put", about, (notes) =>
      this.#put(config, checkpoint, metadata, newVersions, notes),
    );
    return await this.#runs.stores(config, about.threadId, storing);
  }

  async #put(
    config: RunnableConfig,
    given: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions | undefined,
    notes: Notes | undefined,
  ): Promise<RunnableConfig> {
    const checkpoint = checkedPut(given, metadata, newVersions);
    if (notes !== undefined) Object.assign(notes, { checkpointId: checkpoint.id, step: metadata.step });
    const at: Address = { ...namespaceOf(config), checkpointId: validId("checkpoint.id", checkpoint.id) };
    const parentId = checkpointIdOf(config);
    const stored = withRunMetadata(config, metadata);
    this.#rights.used(config, at);
    this.#lineage.puts(at, parentId, checkpoint, metadata);
    try {
      const runId = runIdOf(config, metadata);
      this.#runs.refuseLate(config, at.threadId, runId);
      const stateVersion = this.stateVersions.current;
      const put = { checkpoint, metadata: stored, newVersions, runId, stateVersion };
      const appending = this.#append(config, at, parentId, put, notes);
      this.#waits.began(at, appending);
      const appended = await appending;
      const outcome = appended?.heads.find(({ namespace }) => namespace === at.namespace);
      if (outcome !== undefined && !outcome.moved && outcome.head !== at.checkpointId) {
        if (notes !== undefined) notes.outcome = "branched";
        tellOfLostRace(this.#onConflict, { ...at, parentId, head: outcome.head, outcome: "branched" });
      }
    } catch (error) {
      this.#deliver(config, at, parentId, error, notes);
    }
    return configOf(at);
  }

  /**
   * Stores pending writes of a task. Their checkpoint need not exist yet.
   * @param taskPath the place of the task in its step, which LangGraph passes from 1.5 on. Pending writes come back in the order of
   * their paths, then of task ids and positions.
   * @throws ThreadDeletedError, InvalidAddressError, InvalidOptionError; StratigraphError "SERIALIZATION"
   */
  override async putWrites(
    config: RunnableConfig,
    writes: PendingWrite[],
    taskId: string,
    taskPath = "",
  ): Promise<void> {
    const about = aboutConfig(config);
    const storing = operation("putWrites", about, (notes) =>
      this.#putWrites(config, writes, taskId, taskPath, notes),
    );
    await this.#runs.stores(config, about.threadId, storing);
  }

  async #putWrites(
    config: RunnableConfig,
    writes: PendingWrite[],
    taskId: string,
    taskPath: string,
    notes: Notes | undefined,
  ): Promise<void> {
    const checkpointId = checkpointIdOf(config);
    if (notes !== undefined) notes.checkpointId = checkpointId;
    if (checkpointId === undefined) {
      throw new InvalidAddressError(
        "checkpoint_id",
        "nothing",
        "putWrites stores writes of a checkpoint; name it in config.configurable.",
      );
    }
    const at: Address = { ...namespaceOf(config), checkpointId };
    checkWrites(writes, taskId, taskPath);
    if (writes.length === 0) return;
    if (writes.some(([channel]) => channel === INTERRUPT || channel === ERROR)) stopsComputing();
    if (at.namespace === "" && failsRun(writes)) this.#runs.failed(config, at.threadId);
    // Capture the values before anything is awaited, because a graph may change in place what it wrote.
    const batchId = this.#writers.nextBatchId(config, at, taskId);
    const omitted = this.#bestEffort.omitted(at, writes);
    const stateVersion = this.stateVersions.current;
    const origin = { taskPath, batchId, omitted, stateVersion };
    const captured = this.coder.writes.capture(at, taskId, origin, writes);
    // What a run under durability "exit" stores for its own checkpoints isn't pending.
    const isPending = pendingBatches([{ ...captured, stateVersion, writes: [] }]).length > 0;
    const outcome = !isPending
      ? "nothing"
      : // Whether the question waits again isn't known without what else the task wrote: whoever asks reads it.
        writes.some(([channel, value]) => channel === ERROR && mayRefuse(value))
        ? undefined
        : outcomeOf(
            taskId,
            captured.writes.map(({ channel }) => channel),
          );
    const tags = this.#tags.named(config);
    try {
      this.#runs.refuseLate(config, at.threadId, runIdOf(config));
      const write = { at, continues: true, branches: false };
      const storing = this.#known.write(config, write, async ({ seen }) => {
        const tagging = this.#tags.ensure(at.threadId, tags, false);
        if (tagging !== undefined) await tagging;
        const early = this.#known.parents.get(at) === undefined;
        const { batch, values, relies } = await this.coder.writes.encode(at, captured, early);
        const newBlobs = values.flatMap(({ blob }) => (blob === undefined ? [] : [blob]));
        const request = { ...at, ...batch, outcome, newBlobs, relies, seen: seen() };
        if (notes !== undefined) notes.bytes = writesTraffic(request).sent;
        const noteStored = this.#known.beginsWrites(config, at.threadId);
        await this.tier.appendWrites(request);
        noteStored();
        this.#known.parents.storedWrites(at.threadId, values);
      });
      this.#writers.writing(config, at, { batchId, taskId }, storing);
      await storing;
    } catch (error) {
      this.#deliver(config, at, undefined, error, notes);
    }
  }

  /**
   * Resolves once the checkpoint that a config names is stored as durably as its storage makes it. If this saver read or stored it: at
   * once, without a round trip. If its put is under way here, or begins meanwhile, as it may under durability "async": with that put.
   * Otherwise once another process has stored it: the saver looks after 50 ms, and then ever more rarely, at least once in a second. For
   * tools, which must not act before the message that asked for it is certain to survive a crash.
   *
   * @param config names thread and checkpoint: `{ configurable: { thread_id, checkpoint_ns, checkpoint_id } }`. If it has the `control` of
   * a run's config, a checkpoint of a subgraph of that run with `checkpointer: false` is looked for only once
   * @throws StratigraphError "NOT_DURABLE" when time is up; the error of the put if it fails meanwhile; the signal's reason;
   * InvalidAddressError, InvalidOptionError
   */
  async stored(config: RunnableConfig, options: StoredOptions = {}): Promise<void> {
    const patience = patienceOf(options);
    const checkpointId = checkpointIdOf(config);
    if (checkpointId === undefined)
      throw new InvalidAddressError("checkpoint_id", "nothing", "Name the checkpoint to wait for.");
    const at = { ...namespaceOf(config), checkpointId };
    await this.#waits.wait(at, patience, () => this.#rights.leavesOut(config, at));
  }

  /**
   * The checkpoint that a config names and its ancestors, nearest first, as far as they are stored. No round trip for those that this
   * saver put.
   * @throws InvalidAddressError; CorruptionError
   */
  async *lineage(config: RunnableConfig): AsyncGenerator<Ancestor> {
    const checkpointId = checkpointIdOf(config);
    if (checkpointId !== undefined) yield* this.#lineage.of({ ...namespaceOf(config), checkpointId });
  }

  /** Deletes a thread with all its namespaces. A tombstone keeps late writes from bringing it back. Unknown threads are no error. */
  override async deleteThread(threadId: string): Promise<void> {
    await operation("deleteThread", { threadId }, async () => {
      await this.#delete(validThreadId("threadId", threadId));
    });
  }

  async #delete(threadId: string): Promise<void> {
    await this.tier.deleteThread(threadId);
    this.#runs.deleted(threadId);
    this.#known.forget(threadId);
  }

  /**
   * Deletes every thread that carries all of these tags, from every tier, and proves it: the report says what was there, whether
   * each storage was empty when it was asked again afterwards, and what remains for how long. A thread that fails doesn't stop the
   * others. Safe to repeat. Finds threads that are tagged while it runs. Select unverified ones again by `threadIds`, because
   * their tags are gone. With {@link readThrough}, nothing is deleted in the source: `remains` names it, and by tags it is never complete.
   * @throws InvalidOptionError if no tag is named, or the tier keeps none; nothing was deleted then
   */
  async deleteThreads(
    selection: ThreadSelection,
    options: DeleteThreadsOptions = {},
  ): Promise<DeletionReport> {
    const checked = checkSelection(selection, options, this.#tags);
    await this.#keys?.beforeHashing();
    const { source } = this.#readThrough ?? {};
    return await operation("deleteThreads", {}, () =>
      deleteThreads(this.tier, checked, { ...options, source }, (threadId) => this.deleteThread(threadId)),
    );
  }

  /**
   * Gives a thread further tags, besides those of the option `threadTags`: `tagThread("42", { user_id: "anna" })`. They stay until
   * the thread is deleted. Copies and forks inherit them.
   * @throws NotFoundError if the thread has no checkpoint; InvalidOptionError, InvalidAddressError
   */
  async tagThread(threadId: string, tags: Tags): Promise<void> {
    const stored = this.#tags.stored("tags", tags);
    const tagger = this.#tags.tagger("tags");
    await this.#keys?.beforeHashing();
    const { head } = await tagger.peek({ threadId: validId("threadId", threadId), namespace: "" });
    if (head === undefined)
      throw new NotFoundError(
        `Thread ${JSON.stringify(threadId)} has no checkpoints. Tag it once it was written, or name its tags in threadTags.`,
        { threadId },
      );
    await tagger.tagThread(threadId, stored);
  }

  /**
   * Removes tags from a thread. Tags that it doesn't have are no error. A writer whose config names them adds them again.
   * @throws InvalidOptionError, InvalidAddressError
   */
  async untagThread(threadId: string, tags: Tags): Promise<void> {
    const untagged = this.#tags.untagged(tags);
    await this.#keys?.beforeHashing();
    await this.#tags.tagger("tags").untagThread(validId("threadId", threadId), untagged);
    this.#tags.forget(threadId);
  }

  /**
   * The tags that metadata of a thread names, as they are stored: those of the option `threadTags`, and `also`. None if the tier keeps no
   * tags. @internal @throws InvalidOptionError
   */
  async tagsIn(metadata: Readonly<Record<string, unknown>>, also: readonly string[]): Promise<ThreadTag[]> {
    const named = tagsThreads(this.tier) ? this.#tags.named({ metadata: { ...metadata } }, also) : [];
    if (named.length > 0) await this.#keys?.beforeHashing();
    return named;
  }

  /** For LangGraph's DeltaChannel: each channel's last stored value, and its writes since. One round trip, if the tier can. */
  override async getDeltaChannelHistory(options: {
    config: RunnableConfig;
    channels: string[];
  }): Promise<Record<string, DeltaChannelHistory>> {
    checkDeltaOptions(options);
    const { config, channels } = options;
    if (channels.length === 0) return {};
    if (maybeThreadOf(config)["thread_id"] === undefined)
      return Object.fromEntries(channels.map((channel) => [channel, { writes: [] }]));
    const at = addressOf(config);
    const reading = operation("getDeltaChannelHistory", at, () =>
      settledHead(this.tier, () =>
        deltaChannelHistory(this.tier, this.coder, this.stateVersions, at, channels, (of) =>
          this.#known.parents.find(of, () => {}),
        ),
      ),
    );
    return await this.#runs.reads(config, at.threadId, reading);
  }

  /**
   * Copies a thread with all its namespaces, under the same checkpoint ids and in the same order. An unknown source is a no-op.
   * @throws StratigraphError "THREAD_EXISTS" if the target has checkpoints
   */
  async copyThread(sourceThreadId: string, targetThreadId: string): Promise<void> {
    const source = validId("sourceThreadId", sourceThreadId);
    const target = validId("targetThreadId", targetThreadId);
    await operation("copyThread", { threadId: target }, async () => {
      await this.#runs.othersEnded({}, source);
      await copyThread(this.tier, source, target);
    });
  }

  /**
   * Deletes the checkpoints of runs with their pending writes, in all threads and namespaces. A run is known by the `run_id` in its
   * config's `metadata` or `configurable`; LangGraph's `config.runId` never reaches a checkpointer. A head that is deleted is
   * replaced by its nearest remaining ancestor. Unknown runs and an empty list are no-ops. The arguments and results of the runs' calls are
   * erased by the journal that was made on this checkpointer. What a run wrote to a checkpoint of another run, such as its answer, stays. What
   * a run still stores afterwards in this process is refused, until a run with its id begins anew.
   * @throws InvalidOptionError, InvalidAddressError, StratigraphError "MISCONFIGURED" if a thread has a journal and this checkpointer has
   * none; nothing was deleted then. EvictedError if a part of any thread is in an archive that isn't open: it may have checkpoints of the
   * runs. All other threads were done then
   */
  async deleteForRuns(runIds: readonly string[]): Promise<void> {
    const ids = checkedIds("runIds", runIds);
    await operation("deleteForRuns", {}, async () => {
      // A run that was stopped may still store checkpoints.
      await this.#runs.othersEnded({});
      try {
        await this.#runs.deletesRuns(ids);
        await removeRuns(this, ids, (threadId) => this.#known.forget(threadId));
      } catch (error) {
        // What isn't archived elsewhere was deleted.
        if (!StratigraphError.is(error, "EVICTED")) this.#runs.keepsRuns(ids);
        throw error;
      }
    });
  }

  /**
   * Removes old checkpoints. "keep_latest" keeps the newest `keepLast` (default 1) of every namespace, those that their
   * DeltaChannels need, and those with unresolved interrupts. "delete" removes whole threads. The strategy has no default, because
   * what is removed is gone for good.
   * @throws InvalidOptionError, InvalidAddressError; no thread was touched then. EvictedError if a part of a thread is in an archive that
   * isn't open: it and those after it weren't pruned
   */
  async prune(threadIds: readonly string[], options: PruneOptions): Promise<void> {
    checkPruneOptions(options);
    for (const threadId of checkedIds("threadIds", threadIds))
      await operation("prune", { threadId }, async () => {
        await this.#runs.othersEnded({}, threadId);
        if (options.strategy === "delete") return await this.#delete(threadId);
        await prune(this.tier, this.coder, threadId, options);
        this.#known.forget(threadId);
      });
  }

  /**
   * Threads by their tags, their status and the metadata of their newest root checkpoint, most recently written first.
   * @throws InvalidOptionError
   */
  async listThreads(options: ThreadListOptions = {}): Promise<ThreadPage> {
    return await operation("listThreads", {}, async () => {
      await this.#keys?.beforeHashing();
      return await listThreads(this.tier, this.coder, this.#tags, options);
    });
  }

  /**
   * The side branches of a thread: work that lost a race for the head, but was kept.
   * @throws EvictedError if a part of the thread is in an archive that isn't open
   */
  async conflicts(threadId: string): Promise<Conflict[]> {
    return await listConflicts(this.tier, validId("threadId", threadId));
  }

  /**
   * Which keys the stored data is encrypted with, and how much isn't encrypted: this shows whether a key is still needed. Reads everything
   * once, a page at a time, and decrypts nothing, so it needs no key.
   * @throws InvalidOptionError, InvalidAddressError; StratigraphError "NEWER_FORMAT"; CorruptionError
   */
  async keysInUse(options: KeysInUseOptions = {}): Promise<KeysInUse> {
    return await keysInUse(this.tier, options);
  }

  /**
   * Re-encrypts with the active key all that is encrypted with other keys, or not at all. Others can read and write meanwhile. Safe to
   * repeat, and to interrupt at any moment. Afterwards {@link keysInUse} reports whether anything is left. Of threads in an archive that isn't
   * open, only what is here is re-encrypted: the report names them as failed.
   * @throws InvalidOptionError without `encryption`; StratigraphError "KEY_UNAVAILABLE", "UNAVAILABLE": call again
   */
  async reencrypt(options: ReencryptOptions = {}): Promise<ReencryptReport> {
    return await reencrypt(this.tier, this.coder.blobs.envelope, options);
  }

  /**
   * Makes a checkpoint the head of its namespace, for instance the tip of a side branch. If its step went on since, the step is
   * wound back, so that an interrupt that was answered waits for an answer again. Later checkpoints stay readable by their ids.
   * Promoting the old head undoes it.
   * @returns the head before
   * @throws NotFoundError if there is no such checkpoint, or none is named; EvictedError if it may be in an archive that isn't open;
   * CheckpointConflictError if the head moves meanwhile; InvalidAddressError
   */
  async promote(config: RunnableConfig): Promise<string | undefined> {
    const at = addressOf(config);
    if (at.checkpointId === undefined) {
      throw new NotFoundError("promote needs the checkpoint_id to make the head.", { ...at });
    }
    const { checkpointId } = at;
    return await operation("promote", at, async () => {
      await this.#runs.othersEnded({}, at.threadId);
      return await promote(this.tier, this.coder, { ...at, checkpointId });
    });
  }

  /**
   * A store on this saver's storage, for `compile({ checkpointer, store })`: long-term memory that all threads share. It has the saver's
   * serializer, and is closed with the saver. The times to live are those of this store's own writes.
   * @throws InvalidOptionError if the storage keeps no items
   */
  store(options: StoreOptions = {}): TierStore {
    checkOptions("store", options, storeOptionNames);
    if (!keepsItems(this.tier))
      throw new InvalidOptionError(
        "store",
        `tier ${this.tier.name}`,
        "It keeps no items. Memory, Redis and one PostgreSQL database do, and stacks with one of these as the warm tier.",
      );
    if (this.#keys !== undefined && options.index !== undefined)
      throw new InvalidOptionError(
        "index",
        "embeddings of encrypted values",
        "They would be stored readable, and tell what the values say. Leave it out, or open the store by a checkpointer without encryption.",
      );
    const index = options.index === undefined ? undefined : new ItemIndex(options.index);
    const { ttl } = options;
    return new TierStore(this.tier.items, this.itemCoder, ttlOf(ttl), index, undefined, refreshOf(ttl));
  }

  /**
   * A cache of what nodes and tasks return, on this saver's storage, for `compile({ checkpointer, cache })`. In a stack, hot tiers answer
   * before the warm tier. It has the saver's serializer and encryption, and is closed with the saver.
   * @throws InvalidOptionError if the storage keeps no caches
   */
  cache(options: CacheOptions = {}): TierCache {
    checkOptions("cache", options, cacheOptionNames);
    const resolved = resolveCacheOptions(options);
    const tiers = cachesOf(this.tier);
    if (tiers.length === 0)
      throw new InvalidOptionError(
        "cache",
        `tier ${this.tier.name}`,
        "It keeps no caches. Memory, Redis and one PostgreSQL database do, and stacks with one of these.",
      );
    return new TierCache(tiers, this.itemCoder, resolved);
  }

  async #end(): Promise<void> {
    // Await only if there is something to stop: otherwise the tier must refuse calls as soon as end() is called.
    if (this.#running.size > 0) await stopAll(this.#running, longestStopMs);
    const ended = this.#runs.othersEnded({});
    // What can't be stored in time is refused, as are the next calls of runs that weren't stopped.
    if (ended !== undefined) await endsWithin(longestStopMs, () => ended).catch(() => undefined);
    if (this.#bestEffort.isWriting) await this.#bestEffort.flush(longestStopMs);
    await this.#readThrough?.close();
    await this.tier.end?.();
  }

  async #getTuple(config: RunnableConfig, notes: Notes | undefined): Promise<CheckpointTuple | undefined> {
    if (maybeThreadOf(config)["thread_id"] === undefined) return undefined;
    const at = addressOf(config);
    const others = this.#runs.othersEnded(config, at.threadId);
    if (others !== undefined) await others;
    this.#rights.reads(config, at);
    this.#readThrough?.met(at.threadId);
    const latest = this.#known.latest(at.threadId);
    const known = await this.#known.heads.readKnown(at);
    if (known !== undefined && known.revision >= latest) {
      try {
        if (notes !== undefined) Object.assign(notes, { from: "memory", bytes: 0 } satisfies Notes);
        return await this.#read(config, at, known);
      } catch (error) {
        // A value may have been forgotten since it was found in memory. Its bytes are read then.
        if (!StratigraphError.is(error, "CORRUPT")) throw error;
      }
    }
    return await settledHead(this.tier, () => this.#readStored(config, at, notes));
  }

  async #readStored(
    config: RunnableConfig,
    at: MaybeAddress,
    notes: Notes | undefined,
  ): Promise<CheckpointTuple | undefined> {
    const latest = this.#known.latest(at.threadId);
    let reading = await this.#known.heads.read(at);
    if (this.#readThrough !== undefined && (await this.#brought(at, reading)))
      reading = await this.#known.heads.read(at);
    if (reading.revision < latest) this.#known.wentBack(at.threadId, reading.revision);
    if (notes !== undefined) {
      notes.from = "tier";
      notes.bytes = reading.checkpoint === undefined ? 0 : storedSize(reading.checkpoint);
    }
    return await this.#read(config, at, reading);
  }

  /** Whether a thread that was read had no head, and was brought from elsewhere. */
  async #brought(
    { threadId, namespace }: Namespace,
    { head, revision, headless }: ThreadState,
    isUse = false,
  ): Promise<boolean> {
    if (this.#readThrough === undefined || head !== undefined || headless === true) return false;
    // A run begins with the root. A subgraph of a thread that is here may have no head yet.
    if (namespace !== "" && revision > 0) return false;
    const brought = await this.#readThrough.bring(this, threadId, isUse);
    if (brought) this.#known.forget(threadId);
    return brought;
  }

  /**
   * Refuses maintenance after end(): maintenance itself goes on when a tier fails.
   * @throws StratigraphError "CLOSED"
   */
  #checkOpen(): void {
    if (this.#ended !== undefined) throw closedError(this.tier.name);
  }

  async #maintain(
    options: MaintainOptions,
    background?: { readonly keepsAlive: boolean },
  ): Promise<MaintenanceReport> {
    return await operation("maintain", {}, async (notes) => {
      const report = await this.#maintaining().run(options, background);
      // Another process works.
      if (notes !== undefined && !report.ran) notes.outcome = "none";
      return report;
    });
  }

  #maintaining(): Maintenance {
    const parts: RetentionParts = {
      tier: this.tier,
      coder: this.coder,
      retention: this.#retention,
      forget: (threadId) => this.#known.forget(threadId),
      now: Date.now,
    };
    this.#maintenance ??= new Maintenance(this.tier, this.maintenanceTasks(parts), this.#retention);
    return this.#maintenance;
  }

  /** Makes the answer of getTuple from what was read from the tier. */
  async #read(
    config: RunnableConfig,
    at: MaybeAddress,
    { checkpoint, head, revision, headless, sealed, ahead }: Reading & { readonly ahead?: DecodedAhead },
  ): Promise<CheckpointTuple | undefined> {
    const othersWrote = this.#known.sawRevision(config, at, revision);
    if (checkpoint !== undefined) {
      // A run would refuse only what its nodes have done.
      if (sealed === true && runOf(config) !== undefined)
        throw new EvictedError(
          this.tier.name,
          { ...at, checkpointId: checkpoint.record.checkpointId },
          undefined,
          true,
        );
      // Another process may have deleted the thread before it wrote, and the tags with it.
      if (at.namespace === "" && (othersWrote || this.#known.parents.get(checkpoint.record) === undefined))
        this.#tags.forget(at.threadId);
      return await this.#tuple(config, checkpoint, head, { remember: true, ahead });
    }
    const checkpointId = at.checkpointId ?? head;
    if (checkpointId === undefined) {
      if (headless === true) throw await headlessOrEvicted(this.tier, at);
      this.#rights.handedOut(config, at, undefined, undefined);
      // The thread was deleted or never existed, so it has no tags. A run reads the root namespace before it writes anything.
      if (at.namespace === "") this.#tags.forget(at.threadId);
      // A run that was stopped before it read began before the deletion, if there was one, whoever deleted the thread.
      if (at.namespace === "" && config.signal?.aborted === true)
        this.#known.caughtUp(config, at.threadId, 0);
      return undefined;
    }
    // Unlike a read, a listing also finds a checkpoint that lacks blobs. Decoding it names what is missing.
    for await (const stored of this.tier.list({ ...at, checkpointId, limit: 1 }))
      return await this.#tuple(config, stored, stored.head, { remember: true });
    if (checkpointId === head) throw await withoutBytes(this.tier, { ...at, checkpointId });
    // An archive that is open was asked, too.
    const isWhole = revision === 0 || ownersOf(this.tier).length > 1;
    if (!isWhole && (await wasArchived(this.tier, at.threadId)))
      throw new EvictedError(this.tier.name, { ...at, checkpointId });
    return undefined;
  }

  async #append(
    config: RunnableConfig,
    at: Address,
    parentId: string | undefined,
    given: Omit<CheckpointPut, "consumed">,
    notes: Notes | undefined,
  ): Promise<Appended | undefined> {
    const { source } = given.metadata;
    // Capture the values before anything is awaited, because a graph may change them in place as soon as it goes on.
    const before = this.#known.before(at, parentId);
    const { put, brought } = this.#bestEffort.split(at, before, given);
    const consumed = this.#writers.consumed(config, at, before.parentId, put);
    const captured = this.coder.capture(at, before, { ...put, consumed });
    const tags = this.#tags.named(config);
    // Values of DeltaChannels are rebuilt from pending writes of the parent, so they must be stored before. A process that dies now might
    // otherwise leave the checkpoint without them.
    const rebuilt = before.parentId === at.checkpointId ? [] : rebuiltChannels(put);
    const isKnown = runOf(config) !== undefined || before.parent !== undefined;
    const needsParents = rebuilt.length > 0 && before.parentId !== undefined && isKnown;
    const origin = { ...at, checkpointId: before.parentId ?? "" };
    if (needsParents) await this.#writers.stored(config, origin);
    const branches = !this.#refuses(config);
    const write = { at, parentId, continues: parentId !== undefined, branches };
    let attempt = 0;
    return await this.#known.write(config, write, async ({ seen, lost }) => {
      attempt += 1;
      const { atFirst, ...found } = await this.#known.findBefore(config, at, parentId);
      // At the first attempt, the tier may know that the thread was deleted.
      const isUnsure = needsParents && found.parent === undefined && attempt > 1;
      const mayLack = needsParents && this.#known.mayLack(at.threadId);
      if (
        (isUnsure && !(await isStored(this.tier, origin))) ||
        (mayLack && !(await isStoredWithWrites(this.tier, this.coder.writes, origin, captured.consumed)))
      )
        throw lostParent(this.tier.name, at, origin.checkpointId, rebuilt);
      const made = atFirst === undefined ? captured : { ...captured, consumed: atFirst.consumed };
      const encoded = await this.coder.encodeCaptured(at, found, await this.#withConverted(at, found, made));
      // Outside a run, a put without a parent is an import or begins the thread anew, which is allowed right after a deletion.
      const begins = parentId === undefined && runOf(config) === undefined;
      const isLate = this.#runs.hasEnded(config, at.threadId) && this.#rights.isOvertaken(config, at);
      const expected = lost || isLate ? [] : this.#rights.expected(config, at, parentId, source);
      // The tags are stored first, so that no put is acknowledged while its thread can't be found by them.
      const tagging = this.#tags.ensure(at.threadId, tags, begins);
      const tagged = tagging === undefined ? undefined : await tagging;
      const request: AppendRequest = {
        threadId: at.threadId,
        records: [encoded.record],
        blobs: encoded.blobs,
        relies: encoded.relies,
        needsParents,
        heads: [
          { namespace: at.namespace, to: at.checkpointId, expected: expected === "any" ? [] : expected },
        ],
        onConflict: branches ? "branch" : "refuse",
        seen: begins ? tagged : seen(needsParents),
      };
      if (notes !== undefined) notes.bytes = appendTraffic(request).sent;
      const appended = await this.#storedOnce(request, at, expected === "any");
      if (appended === undefined) return undefined;
      this.#known.wrote(config, encoded, appended.revision);
      this.#bestEffort.write(at, brought, appended.revision);
      return appended;
    });
  }

  /**
   * A put with the values that it doesn't give, and that can't be carried over as they are stored, because the parent was written under
   * another version of the state. LangGraph gives all values.
   */
  async #withConverted(
    at: Address,
    { parentId, parent }: Before,
    captured: CapturedPut,
  ): Promise<CapturedPut> {
    if (parentId === undefined) return captured;
    const of = { ...at, checkpointId: parentId };
    const { stateVersion } = this.#known.parents.get(of) ?? {};
    if (stateVersion === undefined || stateVersion === captured.stateVersion) return captured;
    const { header, newChannels, given } = captured;
    const lacking = Object.entries(header.channel_versions).filter(
      ([channel, version]) =>
        !newChannels.has(channel) &&
        given[channel] === undefined &&
        parent?.get(channel)?.version !== version,
    );
    const { checkpoint: stored } = lacking.length === 0 ? {} : await this.tier.read(of);
    if (stored === undefined) return captured;
    const body = await this.coder.decodeBody(stored.record);
    const [before, metadata] = [
      await this.coder.checkpoint(stored, body, {}),
      await this.coder.metadata(stored.record, body),
    ];
    const { checkpoint } = await convertCheckpoint(this.stateVersions, of, stateVersion, before, metadata);
    const values = lacking.flatMap(([channel, version]) =>
      checkpoint.channel_versions[channel] === version
        ? [[channel, checkpoint.channel_values[channel]] as const]
        : [],
    );
    return { ...captured, given: { ...given, ...Object.fromEntries(values) } };
  }

  /**
   * Appends a checkpoint. It is no conflict if the checkpoint is there already, perhaps in an archive, where a tier's append doesn't
   * look.
   *
   * @param isImport whether this is a put without a parent by a writer that never read the namespace. It may begin a thread, or add
   * a checkpoint newer than the head, or one that is missing below it. An import that is repeated after the thread went on must not
   * move the head back.
   * @returns undefined if it is there already
   */
  async #storedOnce(request: AppendRequest, at: Address, isImport: boolean): Promise<Appended | undefined> {
    try {
      return await this.tier.append(isImport ? { ...request, onConflict: "refuse" } : request);
    } catch (error) {
      if (!StratigraphError.is(error, "CHECKPOINT_CONFLICT")) throw error;
      const head = String(error.data["head"]);
      // This writer never read the thread.
      if (isImport) await refuseEvicted(this.tier, at.threadId);
      if (isImport && at.checkpointId > head) {
        const heads = request.heads.map((move) => ({ ...move, expected: [head] }));
        return await this.tier.append({ ...request, heads });
      }
      if (await isStored(this.tier, at)) return undefined;
      if (isImport && (await this.#isParent(at))) return await this.tier.append({ ...request, heads: [] });
      if (request.onConflict === "refuse") throw error;
      return await this.tier.append(request);
    }
  }

  /** Whether a checkpoint that is stored names this one as its parent. */
  async #isParent({ threadId, namespace, checkpointId }: Address): Promise<boolean> {
    for await (const { record } of this.tier.list({ threadId, namespace, recordsOnly: true }))
      if (record.parentId === checkpointId) return true;
    return false;
  }

  /** Whether a conflict is thrown. "auto" branches under "async", because the run has taken further steps by then. */
  #refuses(config: RunnableConfig): boolean {
    if (this.#conflict !== "auto") return this.#conflict === "throw";
    const { durability } = config as { durability?: unknown };
    return runOf(config) === undefined || durability === "sync" || durability === "exit";
  }

  /**
   * Rethrows the error of a write. Under "async" a late write to a deleted thread is only traced, because nothing would catch the error,
   * and it would end the process. So is a write that continues what the storage lost, if it can't be a side branch.
   */
  #deliver(
    config: RunnableConfig,
    at: Address,
    parentId: string | undefined,
    error: unknown,
    notes: Notes | undefined,
  ): void {
    const isLate =
      StratigraphError.is(error, "THREAD_DELETED") || StratigraphError.is(error, "CHECKPOINT_CONFLICT");
    if (isLate && !this.#refuses(config)) {
      if (notes !== undefined) notes.outcome = "dropped";
      trace({
        type: "late-write-dropped",
        threadId: at.threadId,
        namespace: at.namespace,
        checkpointId: at.checkpointId,
      });
      return;
    }
    if (StratigraphError.is(error, "CHECKPOINT_CONFLICT")) {
      const head = error.data["head"] as string | undefined;
      tellOfLostRace(this.#onConflict, { ...at, parentId, head, outcome: "thrown" });
    }
    throw error;
  }

  async #listed(
    config: RunnableConfig,
    stored: ListedCheckpoint,
    filter: Record<string, unknown> | undefined,
    reading: ValueReading & { readonly readings: LooseReadings },
  ): Promise<CheckpointTuple | undefined> {
    if (filter !== undefined) {
      const metadata = await this.coder.metadata(stored.record, await this.coder.decodeBody(stored.record));
      if (!matches(metadata as Record<string, unknown>, filter)) return undefined;
    }
    return await this.#tuple(config, stored, stored.head, reading);
  }

  async #tuple(
    config: RunnableConfig,
    stored: StoredCheckpoint,
    head: string | undefined,
    reading: ValueReading & { readonly readings?: LooseReadings },
  ): Promise<CheckpointTuple> {
    const { record } = stored;
    const body = await this.coder.decodeBody(record);
    // State that can't be known isn't handed out, nor looked at: its types may be unknown here, too.
    if (body.manifest.size > 0) this.stateVersions.path(record, body.stateVersion);
    this.#rights.handedOut(config, record, record.checkpointId, head);
    this.#rights.handedOutParent(record, record.parentId, head);
    if (reading.remember) this.#known.parents.set(record, body);
    const opened = await this.coder.writes.open(record, stored.writes);
    // At the head, what a newer application wrote is work that mustn't be done again. A checkpoint that it went on from is as it was.
    const batches =
      record.checkpointId === head
        ? opened
        : opened.filter(({ stateVersion }) => this.stateVersions.knows(record, stateVersion));
    const durable = await this.coder.checkpoint(stored, body, reading);
    const checkpoint =
      body.loose.length === 0
        ? durable
        : await this.#bestEffort.filled(record, body.loose, durable, {
            omitted: new Set(pendingBatches(batches).flatMap((batch) => batch.omitted ?? [])),
            readings: reading.readings,
          });
    if (checkpoint.v < 4 && record.parentId !== undefined)
      await this.#migrateSends(checkpoint, { ...record, checkpointId: record.parentId });
    const metadata = await this.coder.metadata(record, body);
    const { stateVersion } = body;
    const converted = await convertCheckpoint(this.stateVersions, record, stateVersion, checkpoint, metadata);
    const written = await this.coder.writes.pending(record, batches, stored.blobs, {
      known: reading.remember === true,
    });
    const writes = await convertWrites(this.stateVersions, record, written, {
      stateVersion,
      state: async () => stateOf(checkpoint, metadata),
    });
    this.#writers.handedOut(config, record, batches, {
      parentId: record.parentId,
      consumed: body.consumed,
      values: converted.checkpoint.channel_values,
    });
    const tuple: CheckpointTuple = {
      config: configOf(record),
      ...converted,
      pendingWrites: writes.map(asPendingWrite),
    };
    if (record.parentId !== undefined)
      tuple.parentConfig = configOf({ ...record, checkpointId: record.parentId });
    return tuple;
  }

  /** Before format 4, a step's Sends were pending writes of the parent checkpoint. LangGraph now expects them in a channel. */
  async #migrateSends(checkpoint: Checkpoint, parent: MaybeAddress & Address): Promise<void> {
    const { checkpoint: stored } = await this.tier.read(parent);
    const channels = new Set([TASKS]);
    const sends =
      stored === undefined
        ? []
        : await this.coder.writes.decode(stored.record, stored.writes, stored.blobs, { channels });
    const versions = Object.values(checkpoint.channel_versions);
    checkpoint.channel_values[TASKS] = sends.map(({ value }) => value);
    checkpoint.channel_versions[TASKS] =
      versions.length > 0 ? maxChannelVersion(...versions) : this.getNextVersion(undefined);
  }
}
