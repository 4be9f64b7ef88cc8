import type { RunnableConfig } from "@langchain/core/runnables";
import { CheckpointConflictError, StratigraphError } from "../contract/errors.ts";
import type { Address, Namespace, Tier } from "../contract/tier.ts";
import type { Before, CheckpointCoder, EncodedCheckpoint, Manifest } from "../encode/checkpointCoder.ts";
import { HeadCache } from "./headCache.ts";
import { runOf } from "./headRights.ts";
import { type CachedParent, ParentCache } from "./parentCache.ts";
import { remembering } from "./remembering.ts";
import type { StateVersions } from "../stateVersions/stateVersions.ts";
import type { ThreadTags } from "./threadTags.ts";

/** For how many threads a saver remembers the revision. An entry is about 200 bytes. */
const remembered = 20_000;

/** How often a write is tried at most, if the thread is pruned again and again. */
const attempts = 8;

/** A write of a checkpoint, or of its pending writes. */
export interface RetriedWrite {
  readonly at: Address;
  readonly parentId?: string | undefined;
  /** Whether it continues what its writer read or stored before. */
  readonly continues: boolean;
  /** Whether it may be stored as a side branch. */
  readonly branches: boolean;
}

/** One attempt at a write. */
export interface Attempt {
  /**
   * The revision that the writer last read; with `withWrites`, the one that its own pending writes must have made since. Ask once the write
   * is encoded: encoding may read.
   */
  readonly seen: (withWrites?: boolean) => number | undefined;
  /** Whether the storage lost what the writer continued: then the write must not move a head. */
  readonly lost: boolean;
}

/**
 * What a saver believes of threads: the revision that each is at, which checkpoints are stored, which tags it has. Anybody may change a
 * thread meanwhile, and a storage may go back to an older state. This class finds that out by the revision, and forgets the thread.
 */
export class KnownThreads {
  readonly parents: ParentCache;
  readonly heads: HeadCache;
  readonly #tier: Tier;
  readonly #tags: ThreadTags;
  readonly #versions: StateVersions;
  readonly #revisions = remembering<number>(remembered);
  readonly #explained = remembering<number>(remembered);
  readonly #setBack = remembering<true>(remembered);
  readonly #runRevisions = new WeakMap<object, Map<string, number>>();
  /** How many pending writes runs began, and stored, after a revision of a thread was noted. A revision noted later may include them. */
  readonly #runWrites = new WeakMap<object, Map<string, { readonly revision: number; count: number }>>();

  constructor(tier: Tier, coder: CheckpointCoder, tags: ThreadTags, versions: StateVersions) {
    this.parents = new ParentCache(tier, coder);
    this.heads = new HeadCache(tier, coder, this.parents);
    this.#tier = tier;
    this.#tags = tags;
    this.#versions = versions;
  }

  /** Forgets what is remembered of a thread, because it may not be true any more. Its revision is kept. */
  forget(threadId: string): void {
    this.parents.forgetThread(threadId);
    this.#tags.forget(threadId);
  }

  /**
   * Notes that a thread was at `revision` when somebody read a namespace of it. A run begins by reading the root namespace: its revision is
   * set anew then, because several runs may share the object that stands for a run.
   * @returns whether the revision shows that somebody else wrote to the thread
   */
  sawRevision(config: RunnableConfig, { threadId, namespace }: Namespace, revision: number): boolean {
    const othersWrote = revision > this.#explainedBy(threadId);
    if (namespace === "") this.caughtUp(config, threadId, revision);
    else this.#keptFirst(config, threadId, revision);
    return othersWrote;
  }

  /**
   * What is remembered of the parent of a checkpoint that is put, and of the checkpoint itself, in the names of this application's state.
   * @throws StratigraphError "STATE_VERSION"
   */
  before(at: Address, parentId: string | undefined): Before {
    const itself = this.parents.get(at);
    const parent = parentId === at.checkpointId ? (itself?.parentId ?? parentId) : parentId;
    const cached = parent === undefined ? undefined : this.parents.get({ ...at, checkpointId: parent });
    return {
      parentId: parent,
      parent: this.#manifestOf(at, cached),
      again: this.#manifestOf(at, itself),
      loose: this.#looseOf(at, itself ?? cached),
    };
  }

  /**
   * As {@link before}, but reads what isn't remembered. Durability "exit" puts the last checkpoint again, with itself as the parent. It keeps
   * the parent that it had, and was made from the same pending writes as the first time: `atFirst`.
   */
  async findBefore(
    config: RunnableConfig,
    at: Address,
    parentId: string | undefined,
  ): Promise<Before & { readonly atFirst: CachedParent | undefined }> {
    const find = async (checkpointId: string): Promise<CachedParent | undefined> =>
      await this.parents.find({ ...at, checkpointId }, (revision) => {
        this.#keptFirst(config, at.threadId, revision);
      });
    const isAgain = parentId === at.checkpointId;
    const itself = isAgain ? await find(parentId) : this.parents.get(at);
    const parent = isAgain ? itself?.parentId : parentId;
    const cached = parent === undefined ? undefined : await find(parent);
    return {
      parentId: parent,
      parent: this.#manifestOf(at, cached),
      again: this.#manifestOf(at, itself),
      atFirst: isAgain ? itself : undefined,
    };
  }

  #manifestOf(at: Address, known: CachedParent | undefined): Manifest | undefined {
    return known && this.#versions.manifest(at, known.stateVersion, known.manifest);
  }

  #looseOf(at: Address, known: CachedParent | undefined): CachedParent["loose"] | undefined {
    return known && this.#versions.loose(at, known.stateVersion, known.loose);
  }

  /** Notes that a checkpoint was put: the next put can patch its values and carry them over. */
  wrote(config: RunnableConfig, encoded: EncodedCheckpoint, revision: number): void {
    this.caughtUp(config, encoded.record.threadId, revision);
    this.parents.stored(encoded);
    this.heads.wrote(encoded.record);
  }

  /** Notes that the thread was at `revision` when a run began, after a write that wasn't late, or when a refused write is repeated. */
  caughtUp(config: RunnableConfig, threadId: string, revision: number): void {
    this.#raise(threadId, revision);
    const run = runOf(config);
    if (run === undefined) return;
    const revisions = this.#runRevisions.get(run) ?? new Map<string, number>();
    this.#runRevisions.set(run, revisions.set(threadId, revision));
    this.#runWrites.get(run)?.delete(threadId);
  }

  /** The latest revision of a thread that anybody read or wrote through this saver. */
  latest(threadId: string): number {
    return this.#revisions.get(threadId) ?? 0;
  }

  /**
   * Notes that the thread is at an earlier revision than {@link latest} was: the storage was restored to an older state, and what is
   * remembered may not be stored any more. A run under way keeps the revision that it read, which shows that it continues lost data.
   */
  wentBack(threadId: string, revision: number): void {
    this.#revisions.set(threadId, revision);
    this.#explained.delete(threadId);
    this.#setBack.set(threadId, true);
    this.forget(threadId);
  }

  /** Whether {@link wentBack} was noted for a thread: acknowledged writes may be gone. */
  mayLack(threadId: string): boolean {
    return this.#setBack.get(threadId) === true;
  }

  /**
   * Notes that a run begins to store pending writes.
   * @returns the function to call once they are stored
   */
  beginsWrites(config: RunnableConfig, threadId: string): () => void {
    const run = runOf(config);
    const revision = run === undefined ? undefined : this.#runRevisions.get(run)?.get(threadId);
    if (run === undefined || revision === undefined) return () => undefined;
    return () => {
      const threads = this.#runWrites.get(run) ?? new Map<string, { revision: number; count: number }>();
      const known = threads.get(threadId);
      if (known?.revision === revision) known.count += 1;
      else this.#runWrites.set(run, threads.set(threadId, { revision, count: 1 }));
    };
  }

  /**
   * Writes to a thread. Calls `attempt`, and again from the beginning if the tier refused the write as stale, because the thread was pruned
   * since it was read, or the storage went back to an older state: up to eight times, because the thread may be pruned again and again.
   * @throws CheckpointConflictError if the storage was restored to a state older than what the writer last read, unless the write may be
   * stored as a side branch
   */
  async write<T>(
    config: RunnableConfig,
    write: RetriedWrite,
    attempt: (attempt: Attempt) => Promise<T>,
  ): Promise<T> {
    const { threadId, namespace } = write.at;
    let seen: number | undefined;
    let lost = false;
    this.#explained.set(threadId, this.#explainedBy(threadId) + 1);
    for (let count = 1; ; count += 1) {
      try {
        return await attempt({
          seen: (withWrites) => (seen = this.#revisionOf(config, threadId, withWrites)),
          lost,
        });
      } catch (error) {
        if (!StratigraphError.is(error, "STALE_READ") || count === attempts) throw error;
        this.forget(threadId);
        const { revision, head } = await this.#tier.peek({ threadId, namespace });
        const wentBackTo = error.data["revision"] as number | undefined;
        if (wentBackTo !== undefined) {
          if (write.continues && (head === undefined || !write.branches))
            throw wentBack(write, head, seen, wentBackTo);
          this.wentBack(threadId, revision);
          lost ||= write.continues;
        }
        this.caughtUp(config, threadId, revision);
      }
    }
  }

  /**
   * The revision that a write of this run, or a write outside runs, is based on.
   * @param withWrites whether it is made from the run's own pending writes: each of them made a revision, which the storage must have
   */
  #revisionOf(config: RunnableConfig, threadId: string, withWrites = false): number | undefined {
    const run = runOf(config);
    const own = run === undefined ? undefined : this.#runRevisions.get(run)?.get(threadId);
    if (own === undefined) return this.#revisions.get(threadId);
    const wrote = withWrites ? this.#runWrites.get(run!)?.get(threadId) : undefined;
    return wrote?.revision === own ? own + wrote.count : own;
  }

  /** The latest revision that a thread can be at without anybody else having written to it. */
  #explainedBy(threadId: string): number {
    return Math.max(this.#explained.get(threadId) ?? 0, this.latest(threadId));
  }

  /**
   * Notes a revision that was read. A run keeps the one that it read first: if the thread was deleted since, what others read through the
   * same saver must not make the run's late writes look timely.
   */
  #keptFirst(config: RunnableConfig, threadId: string, revision: number): void {
    const run = runOf(config);
    const isFirst = run !== undefined && this.#runRevisions.get(run)?.has(threadId) !== true;
    if (isFirst) this.caughtUp(config, threadId, revision);
    else this.#raise(threadId, revision);
  }

  #raise(threadId: string, revision: number): void {
    if (revision > (this.#revisions.get(threadId) ?? -1)) this.#revisions.set(threadId, revision);
  }
}

function wentBack(
  { at, parentId }: RetriedWrite,
  head: string | undefined,
  seen: number | undefined,
  revision: number,
): CheckpointConflictError {
  const { threadId, namespace, checkpointId } = at;
  return new CheckpointConflictError(
    { ...at, parentId, head, expected: [], seen, revision },
    `Thread ${JSON.stringify(threadId)}, namespace ${JSON.stringify(namespace)}: the storage went back from revision ${String(seen)} to ` +
      `${revision} while this writer worked, as after a failover to a replica that lagged, or when a backup was restored. What was ` +
      `acknowledged in between is lost, and nothing of checkpoint ${checkpointId} was stored. Read the thread again and repeat: a run ` +
      `that begins now goes on from what is there.`,
  );
}
