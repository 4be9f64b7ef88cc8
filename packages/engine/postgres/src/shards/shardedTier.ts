// long file: every method of the contract, nearly all one call of the shard that has the thread; read as one piece
import {
  StratigraphError,
  type ThreadInfo,
  type ThreadStatus,
  type Tier,
  type TierHealth,
} from "@stratigraph/core";
import { copyByReading, tierHealth } from "@stratigraph/core/internal";
import type {
  Address,
  AncestryReader,
  Appended,
  AppendRequest,
  AppendWritesRequest,
  ArchiveSource,
  BlobHash,
  BlobInfo,
  BytesReplacer,
  Diagnoser,
  DiagnoseRequest,
  Diagnosis,
  HealthReporter,
  KeyCheckPlaces,
  LeaseKeeper,
  LockKeeper,
  LockState,
  Leftover,
  LeftoverFinder,
  ListedCheckpoint,
  ListQuery,
  MaybeAddress,
  Peek,
  Reading,
  RemoveRequest,
  ReplaceBytesRequest,
  ScriptedSetup,
  StoredCheckpoint,
  Sweeper,
  ThreadCopier,
  ThreadInspection,
  ThreadInspector,
  ThreadQuery,
  ThreadTag,
  ThreadTagger,
  Tombstone,
  TombstoneQuery,
  UnchangedDeleter,
  StatusKeeper,
} from "@stratigraph/core/tier";
import type { PostgresTier } from "../postgresTier.ts";
import type { SetupOptions } from "../schema/setUp.ts";
import { keyOf } from "../wire/keys.ts";
import { diagnoseShard } from "./diagnoseShard.ts";
import { merged } from "./merged.ts";
import { setUpShards } from "./setUpShards.ts";
import type { Shard } from "./shard.ts";
import { shardOf } from "./shardOf.ts";
import { cursorIn, precedes } from "./threadCursor.ts";

/**
 * A tier that spreads threads over several PostgreSQL databases. A hash of a thread's id says which one has the whole thread, so every
 * call that concerns one thread is a call of one database. While a database can't be reached, calls for its threads and listings of
 * all threads fail with "UNAVAILABLE"; calls for other threads work.
 */
export class ShardedTier
  implements
    Tier,
    AncestryReader,
    ThreadCopier,
    KeyCheckPlaces,
    LeaseKeeper,
    LockKeeper,
    UnchangedDeleter,
    ArchiveSource,
    BytesReplacer,
    Diagnoser,
    HealthReporter,
    ScriptedSetup,
    StatusKeeper,
    ThreadTagger,
    ThreadInspector,
    LeftoverFinder,
    Sweeper
{
  readonly name = "postgres";
  readonly schema: string;
  readonly maxBytes: number;
  readonly peeksRecords = true;
  readonly remains: PostgresTier["remains"];
  readonly #shards: readonly Shard[];
  #family: string | undefined;

  /** @param shards all of them, in their order; made by `postgres({ shards })` */
  constructor(shards: readonly Shard[]) {
    const [{ tier }] = shards as readonly [Shard];
    this.schema = tier.schema;
    this.maxBytes = tier.maxBytes;
    this.remains = tier.remains;
    this.#shards = shards;
  }

  /** How many databases there are. */
  get shards(): number {
    return this.#shards.length;
  }

  /** The tier of each database, in their order, for looking at the databases. Use threads only through this tier. */
  get parts(): readonly Tier[] {
    return this.#shards.map(({ tier }) => tier);
  }

  /** The number of the shard that has a thread, from 0. */
  shardOf(threadId: string): number {
    return shardOf(threadId, this.#shards.length);
  }

  async peek(at: MaybeAddress): Promise<Peek> {
    return await this.#of(at.threadId, (tier) => tier.peek(at));
  }

  async read(at: MaybeAddress): Promise<Reading> {
    return await this.#of(at.threadId, (tier) => tier.read(at));
  }

  /** Without a thread, lists the checkpoints of one shard after the other. */
  async *list(query: ListQuery): AsyncGenerator<ListedCheckpoint> {
    const { threadId, limit } = query;
    const shards = threadId === undefined ? this.#shards : [this.#shards[this.shardOf(threadId)]!];
    let left = limit ?? Number.POSITIVE_INFINITY;
    for (const shard of shards) {
      if (left <= 0) return;
      await this.#checked(shard);
      const ofShard = shard.tier.list(limit === undefined ? query : { ...query, limit: left });
      for await (const checkpoint of ofShard) {
        left -= 1;
        yield checkpoint;
      }
    }
  }

  async *threads(query: ThreadQuery): AsyncGenerator<ThreadInfo> {
    let left = query.limit ?? Number.POSITIVE_INFINITY;
    if (left <= 0) return;
    const home = query.after === undefined ? undefined : this.shardOf(query.after.threadId);
    const sequences = this.#shards.map((shard) => this.#threadsOf(shard, query, home));
    for await (const [, thread] of merged(sequences, precedes(query.order))) {
      yield thread;
      left -= 1;
      if (left <= 0) return;
    }
  }

  async blobs(threadId: string, only?: readonly BlobHash[]): Promise<readonly BlobInfo[]> {
    return await this.#of(threadId, (tier) => tier.blobs(threadId, only));
  }

  async append(request: AppendRequest): Promise<Appended> {
    return await this.#of(request.threadId, (tier) => tier.append(request));
  }

  async appendWrites(request: AppendWritesRequest): Promise<void> {
    await this.#of(request.threadId, (tier) => tier.appendWrites(request));
  }

  async remove(request: RemoveRequest): Promise<boolean> {
    return await this.#of(request.threadId, (tier) => tier.remove(request));
  }

  async replaceBytes(request: ReplaceBytesRequest): Promise<number | undefined> {
    return await this.#of(request.threadId, (tier) => tier.replaceBytes(request));
  }

  async evict(threadId: string, revision: number): Promise<boolean> {
    return await this.#of(threadId, (tier) => tier.evict(threadId, revision));
  }

  async noteStatus(threadId: string, revision: number, status: ThreadStatus): Promise<boolean> {
    return await this.#of(threadId, (tier) => tier.noteStatus(threadId, revision, status));
  }

  async deleteThread(threadId: string): Promise<void> {
    await this.#of(threadId, (tier) => tier.deleteThread(threadId));
  }

  async deleteUnchanged(threadId: string, revision: number): Promise<boolean> {
    return await this.#of(threadId, (tier) => tier.deleteUnchanged(threadId, revision));
  }

  async ancestry(
    at: Address,
    seedTerms: readonly number[],
    limit: number,
  ): Promise<readonly StoredCheckpoint[]> {
    return await this.#of(at.threadId, (tier) => tier.ancestry(at, seedTerms, limit));
  }

  /** Copies inside the server if both threads are in one database; otherwise reads the thread here and appends it there. */
  async copyThread(sourceId: string, targetId: string): Promise<boolean> {
    if (this.shardOf(sourceId) !== this.shardOf(targetId))
      return await copyByReading(this, sourceId, targetId);
    return await this.#of(sourceId, (tier) => tier.copyThread(sourceId, targetId));
  }

  async strays(threadId: string): Promise<readonly Address[]> {
    return await this.#of(threadId, (tier) => tier.strays(threadId));
  }

  async inspect(threadId: string): Promise<ThreadInspection | undefined> {
    return await this.#of(threadId, (tier) => tier.inspect(threadId));
  }

  async mendThread(threadId: string): Promise<boolean> {
    return await this.#of(threadId, (tier) => tier.mendThread(threadId));
  }

  async tagThread(threadId: string, tags: readonly ThreadTag[]): Promise<number> {
    return await this.#of(threadId, (tier) => tier.tagThread(threadId, tags));
  }

  async untagThread(threadId: string, tags: readonly ThreadTag[]): Promise<void> {
    await this.#of(threadId, (tier) => tier.untagThread(threadId, tags));
  }

  async threadTags(threadId: string): Promise<readonly ThreadTag[]> {
    return await this.#of(threadId, (tier) => tier.threadTags(threadId));
  }

  /** A lease is in one database, by a hash of its name: while that one can't be reached, nobody takes or prolongs the lease. */
  async lease(name: string, holder: string, forMs: number): Promise<boolean> {
    return await this.#of(name, (tier) => tier.lease(name, holder, forMs));
  }

  async keyCheckPlaces(): Promise<readonly Tier[]> {
    const outcomes = await Promise.allSettled(this.#shards.map((shard) => this.#checked(shard)));
    for (const outcome of outcomes)
      if (outcome.status === "rejected" && !StratigraphError.is(outcome.reason, "UNAVAILABLE"))
        throw outcome.reason;
    return this.parts.filter((_, number) => outcomes[number]!.status === "fulfilled");
  }

  /** Like a lease, a lock is in one database, by a hash of its name. */
  async lock(name: string, holder: string, forMs: number): Promise<LockState> {
    return await this.#of(name, (tier) => tier.lock(name, holder, forMs));
  }

  async unlock(name: string, holder: string): Promise<void> {
    await this.#of(name, (tier) => tier.unlock(name, holder));
  }

  async *tombstones(query: TombstoneQuery): AsyncGenerator<Tombstone> {
    await Promise.all(this.#shards.map((shard) => this.#checked(shard)));
    const sequences = this.#shards.map(({ tier }) => tier.tombstones(query));
    yield* merged(sequences, (a, b) =>
      a.deletedAtMs === b.deletedAtMs
        ? Buffer.compare(keyOf(a.threadId), keyOf(b.threadId)) < 0
        : a.deletedAtMs < b.deletedAtMs,
    );
  }

  async *leftovers(): AsyncGenerator<Leftover> {
    for (const shard of this.#shards) {
      await this.#checked(shard);
      for await (const leftover of shard.tier.leftovers())
        yield { ...leftover, id: `${shard.number}:${leftover.id}` };
    }
  }

  async dropLeftover(id: string): Promise<boolean> {
    return await this.#withLeftover(id, (tier, ofShard) => tier.dropLeftover(ofShard));
  }

  async reviveLeftover(id: string, threadId: string): Promise<boolean> {
    return await this.#withLeftover(id, async (tier, ofShard) => {
      // In a database other than the one for its id, the thread would never be found.
      const isIn = await this.#of(threadId, async (of) => of === tier);
      return isIn && (await tier.reviveLeftover(ofShard, threadId));
    });
  }

  async #withLeftover(
    id: string,
    work: (tier: PostgresTier, ofShard: string) => Promise<boolean>,
  ): Promise<boolean> {
    const [, number, ofShard] = /^(\d+):(.+)$/.exec(id) ?? [];
    const shard = this.#shards[Number(number)];
    if (shard === undefined || ofShard === undefined) return false;
    await this.#checked(shard);
    return await work(shard.tier, ofShard);
  }

  /** Sweeps every database that can be reached. @throws after that, the first error of a database that couldn't be swept */
  async sweep(olderThanMs: number): Promise<number> {
    const outcomes = await Promise.allSettled(
      this.#shards.map(async (shard) => {
        await this.#checked(shard);
        return await shard.tier.sweep(olderThanMs);
      }),
    );
    let swept = 0;
    for (const outcome of outcomes) {
      if (outcome.status === "rejected") throw outcome.reason;
      swept += outcome.value;
    }
    return swept;
  }

  /**
   * Creates or updates the schemas, and notes in each database which shard it is. All databases have to be there the first time. It
   * may be repeated, and called by many processes at once.
   * @throws StratigraphError "MISCONFIGURED" if the number or the order of the databases changed, or one of them is of another set,
   * lost its contents, or has threads that were stored without shards; what {@link PostgresTier.setup} throws
   */
  async setup(options: SetupOptions = {}): Promise<void> {
    this.#family = await setUpShards(this.#shards, options);
  }

  /** The SQL that creates the schema, to be run in each database. After that, {@link setup} notes in each which shard it is. */
  setupScript(options: Pick<SetupOptions, "createSchema"> = {}): string {
    return this.#shards[0]!.tier.setupScript(options);
  }

  /** Succeeds if any of the databases would serve calls now: threads in the others can't be served by any other process either. */
  async ping(): Promise<void> {
    const health = await Promise.allSettled(this.#shards.map(({ tier }) => tier.ping()));
    if (health.some(({ status }) => status === "fulfilled")) return;
    throw (health[0] as PromiseRejectedResult).reason;
  }

  /** The state of the tier, which is ok while any database answers, and of each database. Never rejects. */
  async health(timeoutMs: number): Promise<readonly TierHealth[]> {
    const shards = await Promise.all(
      this.#shards.map(({ tier }) =>
        tierHealth({ name: tier.name, role: "warm", ping: () => tier.ping() }, timeoutMs),
      ),
    );
    const down = shards.find(({ ok }) => !ok);
    return [
      {
        name: this.name,
        role: "warm",
        ok: shards.some(({ ok }) => ok),
        ms: Math.max(...shards.map(({ ms }) => ms)),
        ...(down === undefined ? {} : { error: down.error }),
        shards,
      },
    ];
  }

  async diagnose(request: DiagnoseRequest): Promise<readonly Diagnosis[]> {
    const findings = this.#shards.map(async (shard) => [
      ...(await shard.tier.diagnose(request)),
      ...(await diagnoseShard(shard, this.#family, request)),
    ]);
    return (await Promise.all(findings)).flat();
  }

  async end(): Promise<void> {
    await Promise.all(this.#shards.map(({ tier }) => tier.end()));
  }

  /** Calls the shard of a thread. Before the first call it checks that the database is that shard. */
  async #of<T>(threadId: string, call: (tier: PostgresTier) => Promise<T>): Promise<T> {
    const shard = this.#shards[this.shardOf(threadId)]!;
    // No await if the shard was checked before, so that the call takes its values at once.
    if (!shard.isChecked) await this.#checked(shard);
    return await call(shard.tier);
  }

  /** @throws StratigraphError "MISCONFIGURED" if the database is another shard; "NOT_SET_UP"; what a call throws */
  async #checked(shard: Shard): Promise<void> {
    if (shard.isChecked) return;
    await shard.check((found) => (this.#family ??= found));
  }

  async *#threadsOf(
    shard: Shard,
    query: ThreadQuery,
    home: number | undefined,
  ): AsyncGenerator<readonly [number, ThreadInfo]> {
    await this.#checked(shard);
    const after = cursorIn(shard.number, query, home);
    for await (const thread of shard.tier.threads({ ...query, after })) yield [shard.number, thread];
  }
}
