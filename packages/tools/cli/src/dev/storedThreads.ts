import type { TierSaver } from "@stratigraph/core";
import { archivedKey, isArchivedElsewhere, timeOfId } from "@stratigraph/core/internal";
import type { Logger, Ops, ThreadSearch } from "./internals.ts";
import { isInFlight, type OpsFile } from "./opsFile.ts";
import { removeRun } from "./removeRun.ts";
import { standingOf, stateOf } from "./standingOf.ts";

/** How many threads of the storage one search looks at, at most. Older ones are found by their ids. */
export const mostListed = 1000;
const pageSize = 100;
/** How many states are read at the same time. */
const together = 8;

/** What LangGraph itself says of a checkpoint. The rest of its metadata is the thread's and the run's. */
const ofCheckpoint = new Set(["source", "step", "parents", "writes", "run_id", "delta_writes_versioned"]);

const uuid = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i;

/** LangGraph's API knows only such ids of threads. */
export function isUuid(threadId: string): boolean {
  return uuid.test(threadId);
}

/**
 * Threads of the storage that the server's own file doesn't know, or knows otherwise: after the process was killed, or written by another
 * process. The server learns of them when somebody asks for them.
 */
export class StoredThreads {
  readonly #saver: TierSaver;
  readonly #file: OpsFile;
  /** Reads states. Not the one that clients use, which asks this class first. */
  readonly #ops: Ops;
  readonly #graphs: readonly string[];
  readonly #logger: Logger;
  /** The revisions that were last looked at. A question, an answer and an error come without a new head. */
  readonly #seen = new Map<string, number>();
  readonly #looking = new Map<string, Promise<void>>();
  /** Threads of which checkpoints are being removed, perhaps all. What is still there isn't looked at. */
  readonly #removing = new Set<string>();

  constructor(saver: TierSaver, file: OpsFile, ops: Ops, graphs: readonly string[], logger: Logger) {
    this.#saver = saver;
    this.#file = file;
    this.#ops = ops;
    this.#graphs = graphs;
    this.#logger = logger;
  }

  /** Learns what the storage has of a thread. */
  async find(threadId: string): Promise<void> {
    if (!isUuid(threadId)) return;
    const couldBeDeleted = this.#couldBeDeleted(threadId);
    const { head, headless, revision } = await this.#saver.tier.peek({ threadId, namespace: "" });
    // A thread that lost its head wasn't deleted.
    if (head !== undefined || headless === true) await this.#look(threadId, revision);
    else if (this.#file.data.threads[threadId] === undefined) await this.#bringOver(threadId);
    else if (couldBeDeleted && this.#couldBeDeleted(threadId)) await this.#forgetDeleted(threadId);
  }

  /**
   * Looks whether threads were deleted by others, and forgets them.
   * @returns whether some were
   */
  async forgetDeleted(threadIds: readonly string[]): Promise<boolean> {
    const asked = threadIds.filter((threadId) => this.#couldBeDeleted(threadId));
    for (let n = 0; n < asked.length; n += together)
      await Promise.all(
        asked.slice(n, n + together).map((threadId) => this.#tryAlone(threadId, () => this.find(threadId))),
      );
    return asked.some((threadId) => this.#file.data.threads[threadId] === undefined);
  }

  /** A run failed, and its checkpoints needn't say so: at the limit of its steps, no task failed. It counts until the thread is written to. */
  async hasFailed(threadId: string): Promise<void> {
    const { revision } = await this.#saver.tier.peek({ threadId, namespace: "" });
    await this.#file.with(({ threads, failed_at }) => {
      if (threadId in threads) failed_at[threadId] = revision;
    });
  }

  /** A thread has checkpoints in the storage. If it has none later, it was deleted, also while this server is down. */
  isStored(threadId: string): void {
    if (threadId in this.#file.data.threads) this.#file.data.in_storage[threadId] = true;
  }

  #couldBeDeleted(threadId: string): boolean {
    const { in_storage, runs } = this.#file.data;
    return in_storage[threadId] === true && !this.#removing.has(threadId) && !isInFlight(runs, threadId);
  }

  /** A thread that `readThrough` finds elsewhere is here once it was read. */
  async #bringOver(threadId: string): Promise<void> {
    const found = await this.#saver.getTuple({ configurable: { thread_id: threadId, checkpoint_ns: "" } });
    if (found === undefined) return;
    await this.#look(threadId, (await this.#saver.tier.peek({ threadId, namespace: "" })).revision);
  }

  /** The run that wrote a thread's head. */
  async lastRun(threadId: string): Promise<string | undefined> {
    return (await this.#saver.tier.read({ threadId, namespace: "" })).checkpoint?.record.runId;
  }

  /**
   * Learns of the threads that a search may find.
   * @returns those that are in the storage for sure
   */
  async search({
    ids,
    metadata,
    status,
    values,
    offset = 0,
    limit = 10,
  }: ThreadSearch): Promise<ReadonlySet<string>> {
    if (ids !== undefined && ids.length > 0) {
      for (const id of ids) await this.find(id);
      return new Set(ids);
    }
    const isFiltered = [metadata, status, values].some((filter) => filter !== undefined && filter !== null);
    return await this.#list(isFiltered ? mostListed : offset + limit);
  }

  /** A thread was deleted: its id may begin anew. */
  forget(threadId: string): void {
    this.#seen.delete(threadId);
    delete this.#file.data.in_storage[threadId];
    delete this.#file.data.failed_at[threadId];
  }

  /** Removes checkpoints of a thread. If none is left, that isn't taken for a deletion by others. */
  async removing<T>(threadId: string, work: () => Promise<T>): Promise<T> {
    this.#removing.add(threadId);
    try {
      await this.#looking.get(threadId)?.catch(() => undefined);
      return await work();
    } finally {
      this.#removing.delete(threadId);
      this.forget(threadId);
    }
  }

  /** Removes what a run has stored. */
  async removeRun(threadId: string, runId: string): Promise<void> {
    await this.removing(threadId, () => removeRun(this.#saver, threadId, runId));
  }

  /** Deletes a thread that the server doesn't know any more. */
  async delete(threadId: string): Promise<void> {
    await this.#saver.deleteThread(threadId);
    this.forget(threadId);
  }

  /** Learns of the most recently written threads, until enough were found. */
  async #list(enough: number): Promise<ReadonlySet<string>> {
    const found = new Set<string>();
    let cursor: string | undefined;
    for (let listed = 0; listed < mostListed && found.size < enough; listed += pageSize) {
      const page = await this.#saver.listThreads({
        limit: pageSize,
        ...(cursor === undefined ? {} : { cursor }),
      });
      const threads = page.threads.filter(
        ({ threadId, head, headless }) => isUuid(threadId) && (head !== undefined || headless === true),
      );
      for (let n = 0; n < threads.length; n += together)
        await Promise.all(
          threads
            .slice(n, n + together)
            .map(({ threadId, revision }) => this.#tryAlone(threadId, () => this.#look(threadId, revision))),
        );
      for (const { threadId } of threads) found.add(threadId);
      cursor = page.cursor;
      if (cursor === undefined) break;
    }
    return found;
  }

  /** One thread that can't be read doesn't hide the others. */
  async #tryAlone(threadId: string, look: () => Promise<void>): Promise<void> {
    try {
      await look();
    } catch (error) {
      this.#logger.warn(`Thread ${threadId} isn't listed, it can't be read: ${String(error)}`);
    }
  }

  async #look(threadId: string, revision: number): Promise<void> {
    const { runs, threads } = this.#file.data;
    const isKnown = threads[threadId] !== undefined;
    // A run that is under way tells the server itself how it ends.
    if (this.#removing.has(threadId)) return;
    if (isKnown && (this.#seen.get(threadId) === revision || isInFlight(runs, threadId))) return;
    const looking =
      this.#looking.get(threadId) ??
      this.#learn(threadId, revision).finally(() => this.#looking.delete(threadId));
    this.#looking.set(threadId, looking);
    await looking;
  }

  async #learn(threadId: string, revision: number): Promise<void> {
    if (await this.#isArchived(threadId)) {
      await this.#showArchived(threadId);
      this.#seen.set(threadId, revision);
      return;
    }
    if (this.#file.data.threads[threadId]?.metadata["graph_id"] === undefined) await this.#add(threadId);
    const thread = this.#file.data.threads[threadId];
    if (thread === undefined) return;
    const [stands, state] = [
      await standingOf(this.#saver, threadId, this.#logger),
      await stateOf(this.#ops, thread, this.#logger),
    ];
    await this.#file.with(({ runs, failed_at }) => {
      delete thread.metadata[archivedKey];
      if (isInFlight(runs, threadId)) return;
      const hasFailed = stands?.failed !== undefined || failed_at[threadId] === revision;
      thread.status = hasFailed ? "error" : stands?.isDue === true ? "interrupted" : "idle";
      if (state === undefined) return;
      const { values, tasks, createdAt: at } = state;
      thread.values = values;
      if (at !== undefined && thread.updated_at < new Date(at)) thread.updated_at = new Date(at);
      const asked = tasks.filter(({ id }) => stands?.waiting.has(id));
      thread.interrupts = Object.fromEntries(asked.map(({ id, interrupts }) => [id, interrupts]));
    });
    this.#seen.set(threadId, revision);
    this.isStored(threadId);
  }

  /** Whether the head of a thread is in an archive that isn't open. */
  async #isArchived(threadId: string): Promise<boolean> {
    const { tier } = this.#saver;
    if (!(await isArchivedElsewhere(tier, threadId))) return false;
    return (await tier.read({ threadId, namespace: "" })).checkpoint === undefined;
  }

  /** Shows a thread that can't be read, without what was last known of it. */
  async #showArchived(threadId: string): Promise<void> {
    const { head = "" } = await this.#saver.tier.peek({ threadId, namespace: "" });
    const at = new Date(timeOfId(head) ?? Date.now());
    await this.#file.with(({ threads }) => {
      const known = threads[threadId];
      const metadata = { ...(known?.metadata ?? this.#graphOf()), [archivedKey]: true };
      const thread = { created_at: at, updated_at: at, config: {}, ...known };
      threads[threadId] = {
        ...thread,
        thread_id: threadId,
        metadata,
        status: "idle",
        values: {},
        interrupts: {},
      };
    });
  }

  /** The graph of threads that no server began, if there is one graph. */
  #graphOf(): Record<string, unknown> {
    const [only] = this.#graphs.length === 1 ? this.#graphs : [];
    return only === undefined ? {} : { graph_id: only };
  }

  async #add(threadId: string): Promise<void> {
    const found = await this.#saver.getTuple({ configurable: { thread_id: threadId, checkpoint_ns: "" } });
    if (found === undefined) return;
    const own = Object.entries(found.metadata ?? {}).filter(
      ([name]) => !ofCheckpoint.has(name) && !name.startsWith("stratigraph:"),
    );
    const metadata: Record<string, unknown> = { ...this.#graphOf(), ...Object.fromEntries(own) };
    const at = new Date(found.checkpoint.ts);
    await this.#file.with(({ threads }) => {
      threads[threadId] ??= {
        thread_id: threadId,
        created_at: at,
        updated_at: at,
        metadata,
        status: "idle",
        config: {},
      };
      const known = threads[threadId].metadata;
      // A thread that a client made has no graph before its first run, which may be another process'.
      if ("graph_id" in metadata) known["graph_id"] ??= metadata["graph_id"];
    });
  }

  /** A thread that had checkpoints and has none any more was deleted by another process. */
  async #forgetDeleted(threadId: string): Promise<void> {
    this.forget(threadId);
    await this.#file.with(({ runs, threads }) => {
      delete threads[threadId];
      for (const { run_id, thread_id } of Object.values(runs))
        if (thread_id === threadId) delete runs[run_id];
    });
  }
}
