// long file: how the server learns what the storage has of a thread, and how it changes that, best read together
import type { ThreadInfo, TierSaver } from "@stratigraph/core";
import {
  archivedKey,
  decodeThreadRecord,
  isArchivedElsewhere,
  timeOfId,
  type ThreadRecord,
} from "@stratigraph/core/internal";
import { reservedNamespaces, type Peek } from "@stratigraph/core/tier";
import { createThreads, type Threads } from "stratigraph";
import type { ApiThread, Ops, ThreadSearch } from "./internals.ts";
import type { LoadedApi } from "./langgraphApi.ts";
import { isInFlight, type OpsFile } from "./opsFile.ts";
import { removeRun } from "./removeRun.ts";
import { standingOf, stateOf } from "./standingOf.ts";

/** How many threads of the storage one search looks at, at most. Older ones are found by their ids. */
export const mostListed = 1000;
const pageSize = 100;
/** How many threads are read at the same time. */
const together = 8;

/** What LangGraph itself says of a checkpoint. The rest of its metadata is the thread's and the run's. */
const ofCheckpoint = new Set(["source", "step", "parents", "writes", "run_id", "delta_writes_versioned"]);

/** Metadata of a thread whose last run failed, and whose checkpoints needn't say so: where it stood then. Clients don't see it. */
const failedKey = "stratigraph:failed";

const uuid = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i;

/** LangGraph's API knows only such ids of threads. */
export function isUuid(threadId: string): boolean {
  return uuid.test(threadId);
}

/**
 * Threads as the storage has them, where any process may change them. The server learns of a change when somebody asks for the thread, and
 * stores its own before it answers: its metadata as `createThreads` does.
 */
export class StoredThreads {
  readonly #saver: TierSaver;
  readonly #threads: Threads;
  readonly #file: OpsFile;
  /** Reads states. Not the one that clients use, which asks this class first. */
  readonly #ops: Ops;
  readonly #graphs: readonly string[];
  readonly #api: Pick<LoadedApi, "logger" | "abortRun">;
  /** The revisions that were last looked at. A question, an answer and an error come without a new head. */
  readonly #seen = new Map<string, number>();
  readonly #looking = new Map<string, Promise<void>>();
  /** Threads that were seen in the storage: one that isn't there any more was deleted. */
  readonly #stored = new Set<string>();
  /** Those whose metadata is stored. */
  readonly #recorded = new Set<string>();
  /** Threads that are being changed here, and by how many. What the storage has of them meanwhile isn't looked at. */
  readonly #held = new Map<string, number>();

  constructor(
    saver: TierSaver,
    file: OpsFile,
    ops: Ops,
    graphs: readonly string[],
    api: Pick<LoadedApi, "logger" | "abortRun">,
  ) {
    this.#saver = saver;
    this.#threads = createThreads(saver);
    this.#file = file;
    this.#ops = ops;
    this.#graphs = graphs;
    this.#api = api;
  }

  /**
   * What is done at the start, before graphs are loaded: stores what the file of an earlier version says of threads, forgets the runs of threads
   * that were deleted meanwhile, and learns of those whose runs wait.
   */
  async begin(): Promise<void> {
    const file = this.#file;
    const { threads, in_storage } = file.old;
    await this.#each(Object.values(threads), async ({ thread_id: threadId, metadata }) => {
      const isThere = (await this.#revisionOf(threadId)) !== undefined;
      const isKnown = isThere
        ? (await this.#recordOf(threadId)) !== undefined
        : in_storage[threadId] === true;
      const { [archivedKey]: _archived, ...own } = metadata;
      if (!isKnown) await this.#threads.set(threadId, { kind: "put", metadata: own });
      delete threads[threadId];
      delete in_storage[threadId];
    });
    await file.flush();
    const { runs } = file.data;
    const ofRuns = [...new Set(Object.values(runs).map(({ thread_id }) => thread_id))];
    await this.#each(
      ofRuns.map((thread_id) => ({ thread_id })),
      async ({ thread_id: threadId }) => {
        if ((await this.#revisionOf(threadId)) === undefined) await this.#forgetDeleted(threadId);
        else if (isInFlight(runs, threadId)) await this.#describe(threadId);
        else if (file.cutOff.has(threadId) && (await this.#root(threadId)).head === undefined)
          await this.hasFailed(threadId);
      },
    );
  }

  /** Learns what the storage has of a thread. */
  async find(threadId: string): Promise<void> {
    if (!isUuid(threadId)) return;
    const couldBeDeleted = this.#couldBeDeleted(threadId);
    const revision = await this.#revisionOf(threadId);
    if (revision !== undefined) await this.#look(threadId, revision);
    else if (this.#file.data.threads[threadId] === undefined) await this.#bringOver(threadId);
    else if (couldBeDeleted && this.#couldBeDeleted(threadId)) await this.#forgetDeleted(threadId);
  }

  /**
   * Looks whether threads were deleted by others, and forgets them.
   * @returns whether some were
   */
  async forgetDeleted(threadIds: readonly string[]): Promise<boolean> {
    const asked = threadIds.filter((threadId) => this.#couldBeDeleted(threadId));
    await this.#each(
      asked.map((thread_id) => ({ thread_id })),
      async ({ thread_id }) => await this.find(thread_id),
    );
    return asked.some((threadId) => this.#file.data.threads[threadId] === undefined);
  }

  /** A run failed, and its checkpoints needn't say so: at the limit of its steps, no task failed. It counts until the thread goes on. */
  async hasFailed(threadId: string): Promise<void> {
    await this.#holding(threadId, async () => {
      await this.#set(threadId, { [failedKey]: placeOf(await this.#root(threadId)) });
    });
  }

  /** A thread has checkpoints in the storage. If it has none later, it was deleted. */
  isStored(threadId: string): void {
    this.#stored.add(threadId);
  }

  #couldBeDeleted(threadId: string): boolean {
    return this.#stored.has(threadId) && !this.#held.has(threadId);
  }

  async #root(threadId: string): Promise<Peek> {
    return await this.#saver.tier.peek({ threadId, namespace: "" });
  }

  /** The revision of a thread that is in the storage. One that lost its head is, and one that was never run. */
  async #revisionOf(threadId: string): Promise<number | undefined> {
    const { head, headless, revision } = await this.#root(threadId);
    if (head !== undefined || headless === true) return revision;
    const record = await this.#saver.tier.peek({ threadId, namespace: reservedNamespaces.thread });
    return record.head === undefined ? undefined : record.revision;
  }

  async #recordOf(threadId: string): Promise<ThreadRecord | undefined> {
    const { tier, coder } = this.#saver;
    const { checkpoint } = await tier.read({ threadId, namespace: reservedNamespaces.thread });
    return checkpoint && (await decodeThreadRecord(coder, checkpoint.record));
  }

  /** A thread that `readThrough` finds elsewhere is here once it was read. */
  async #bringOver(threadId: string): Promise<void> {
    const found = await this.#saver.getTuple({ configurable: { thread_id: threadId, checkpoint_ns: "" } });
    if (found === undefined) return;
    await this.#look(threadId, (await this.#root(threadId)).revision);
  }

  /** The newest checkpoint that a run has in a thread, whoever wrote to it since. */
  async newestOf(threadId: string, runId: string): Promise<string | undefined> {
    const query = { threadId, namespace: "", runIds: [runId], recordsOnly: true, limit: 1 };
    for await (const { record } of this.#saver.tier.list(query)) return record.checkpointId;
    return undefined;
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
    this.#stored.delete(threadId);
    this.#recorded.delete(threadId);
  }

  /** Removes checkpoints of a thread. If none is left, that isn't taken for a deletion by others. */
  async removing<T>(threadId: string, work: () => Promise<T>): Promise<T> {
    return await this.#holding(threadId, async () => {
      try {
        return await work();
      } finally {
        this.forget(threadId);
      }
    });
  }

  /**
   * Changes what the server says of a thread, and stores its metadata. The thread is as before if that fails.
   * @throws NotFoundError if somebody deleted the thread meanwhile
   */
  async changing<T>(threadId: string, work: () => Promise<T>): Promise<T> {
    const { threads } = this.#file.data;
    return await this.#holding(threadId, async () => {
      const known = threads[threadId];
      const before = known && { ...known };
      const done = await work();
      const thread = threads[threadId];
      if (thread === undefined) return done;
      try {
        const changed = Object.entries(thread.metadata).filter(
          ([name, value]) => value !== before?.metadata[name],
        );
        await this.#set(threadId, Object.fromEntries(changed));
      } catch (error) {
        if (before === undefined) delete threads[threadId];
        else threads[threadId] = before;
        this.#seen.delete(threadId);
        throw error;
      }
      return done;
    });
  }

  /** Stores metadata of a thread: all that is known, if none is stored yet. */
  async #set(threadId: string, metadata: Readonly<Record<string, unknown>>): Promise<void> {
    const thread = this.#file.data.threads[threadId];
    const isRecorded = this.#recorded.has(threadId);
    if (isRecorded && Object.keys(metadata).length === 0) return;
    const { created_at } = await this.#threads.set(threadId, {
      kind: this.#stored.has(threadId) ? "patch" : "put",
      metadata: isRecorded ? metadata : { ...thread?.metadata, ...metadata },
    });
    this.#stored.add(threadId);
    this.#recorded.add(threadId);
    if (thread !== undefined && !isRecorded && created_at !== undefined)
      thread.created_at = new Date(created_at);
  }

  /** Does something with a thread that others don't look at meanwhile. */
  async #holding<T>(threadId: string, work: () => Promise<T>): Promise<T> {
    const held = this.#held;
    held.set(threadId, (held.get(threadId) ?? 0) + 1);
    try {
      await this.#looking.get(threadId)?.catch(() => undefined);
      return await work();
    } finally {
      const left = held.get(threadId)! - 1;
      if (left === 0) held.delete(threadId);
      else held.set(threadId, left);
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
    const { tier } = this.#saver;
    const found = new Set<string>();
    let after: ThreadInfo | undefined;
    const onDamaged = (error: Error): void =>
      this.#api.logger.warn(`A thread isn't listed, it can't be read: ${String(error)}`);
    for (let listed = 0; listed < mostListed && found.size < enough; listed += pageSize) {
      const page: ThreadInfo[] = [];
      const query = { order: "newest", after, limit: pageSize, onDamaged } as const;
      for await (const thread of tier.threads(query)) page.push(thread);
      const threads = page.filter(({ threadId }) => isUuid(threadId));
      await this.#each(
        threads.map((thread) => ({ ...thread, thread_id: thread.threadId })),
        async ({ threadId, head, revision: listedAt }) => {
          const revision = head === undefined ? await this.#revisionOf(threadId) : listedAt;
          if (revision === undefined) return;
          found.add(threadId);
          await this.#look(threadId, revision);
        },
      );
      if (page.length < pageSize) break;
      after = page.at(-1);
    }
    return found;
  }

  /** Does something with each thread. One that can't be read doesn't hide the others. */
  async #each<T extends { readonly thread_id: string }>(
    threads: readonly T[],
    work: (thread: T) => Promise<void>,
  ): Promise<void> {
    const tried = async (thread: T): Promise<void> => {
      try {
        await work(thread);
      } catch (error) {
        this.#api.logger.warn(`Thread ${thread.thread_id} isn't listed, it can't be read: ${String(error)}`);
      }
    };
    for (let n = 0; n < threads.length; n += together)
      await Promise.all(threads.slice(n, n + together).map(tried));
  }

  async #look(threadId: string, revision: number): Promise<void> {
    if (this.#held.has(threadId)) return;
    if (this.#file.data.threads[threadId] !== undefined && this.#seen.get(threadId) === revision) return;
    const looking =
      this.#looking.get(threadId) ??
      this.#learn(threadId, revision).finally(() => this.#looking.delete(threadId));
    this.#looking.set(threadId, looking);
    await looking;
  }

  async #learn(threadId: string, revision: number): Promise<void> {
    const { runs } = this.#file.data;
    if (await this.#isArchived(threadId)) {
      await this.#showArchived(threadId);
      this.#seen.set(threadId, revision);
      return;
    }
    const described = await this.#describe(threadId);
    // A run that is under way tells the server itself how it ends.
    if (described === undefined || isInFlight(runs, threadId)) return;
    const { thread, isFailed } = described;
    const { logger } = this.#api;
    const [stands, state] = [
      await standingOf(this.#saver, threadId, logger),
      await stateOf(this.#ops, thread, logger),
    ];
    await this.#file.with(() => {
      if (isInFlight(runs, threadId)) return;
      const hasFailed = isFailed || stands?.failed !== undefined;
      thread.status = hasFailed ? "error" : stands?.isDue === true ? "interrupted" : "idle";
      if (state === undefined) return;
      const { values, tasks, createdAt: at } = state;
      thread.values = values;
      if (at !== undefined && thread.updated_at < new Date(at)) thread.updated_at = new Date(at);
      const asked = tasks.filter(({ id }) => stands?.waiting.has(id));
      thread.interrupts = Object.fromEntries(asked.map(({ id, interrupts }) => [id, interrupts]));
    });
    this.#seen.set(threadId, revision);
  }

  /** Learns the metadata of a thread: what is stored of it, or else what its newest checkpoint says. */
  async #describe(threadId: string): Promise<{ thread: ApiThread; isFailed: boolean } | undefined> {
    const [record, root] = [await this.#recordOf(threadId), await this.#root(threadId)];
    const { [failedKey]: failedAt, ...stored } = record?.metadata ?? {};
    // A thread that a client made has no graph before its first run, which may be another process'.
    const found =
      "graph_id" in stored || (record !== undefined && root.head === undefined)
        ? undefined
        : await this.#saver.getTuple({ configurable: { thread_id: threadId, checkpoint_ns: "" } });
    if (record === undefined && found === undefined) return undefined;
    const own = Object.entries(found?.metadata ?? {}).filter(
      ([name]) => !ofCheckpoint.has(name) && !name.startsWith("stratigraph:"),
    );
    const said: Record<string, unknown> = {
      ...(found === undefined ? {} : this.#graphOf()),
      ...Object.fromEntries(own),
    };
    const at = new Date(record?.createdAt ?? found!.checkpoint.ts);
    return await this.#file.with(({ threads }) => {
      const known = threads[threadId];
      const { [archivedKey]: _archived, ...before } = known?.metadata ?? {};
      const graph = "graph_id" in said ? { graph_id: said["graph_id"] } : {};
      const thread = (threads[threadId] ??= {
        thread_id: threadId,
        created_at: at,
        updated_at: at,
        metadata: {},
        status: "idle",
        config: {},
      });
      thread.metadata = record === undefined ? { ...before, ...said } : { ...graph, ...stored };
      const changed = new Date(record?.changedAtMs ?? 0);
      if (record !== undefined) thread.created_at = at;
      if (thread.updated_at < changed) thread.updated_at = changed;
      this.#stored.add(threadId);
      if (record !== undefined) this.#recorded.add(threadId);
      return { thread, isFailed: failedAt === placeOf(root) };
    });
  }

  /** Whether the head of a thread is in an archive that isn't open. */
  async #isArchived(threadId: string): Promise<boolean> {
    const { tier } = this.#saver;
    if (!(await isArchivedElsewhere(tier, threadId))) return false;
    return (await tier.read({ threadId, namespace: "" })).checkpoint === undefined;
  }

  /** Shows a thread that can't be read, without what was last known of it. */
  async #showArchived(threadId: string): Promise<void> {
    const { head = "" } = await this.#root(threadId);
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

  /** A thread that was in the storage and isn't any more was deleted by another process. Its runs are stopped. */
  async #forgetDeleted(threadId: string): Promise<void> {
    this.forget(threadId);
    await this.#file.with(({ runs, threads }) => {
      delete threads[threadId];
      for (const { run_id, thread_id, status } of Object.values(runs)) {
        if (thread_id !== threadId) continue;
        delete runs[run_id];
        if (status === "running") this.#api.abortRun(run_id);
      }
    });
  }
}

/** Where a thread stands: its head, and what was last written to it. */
function placeOf({ head = "", writes }: Peek): string {
  return `${head}/${writes.at(-1)?.order ?? 0}`;
}
