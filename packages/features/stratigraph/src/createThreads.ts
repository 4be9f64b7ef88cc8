// long file: what a thread of the API is, how it is found and changed, best read together
import { isSaver } from "@stratigraph/branch/internal";
import {
  EvictedError,
  InvalidOptionError,
  NotFoundError,
  StratigraphError,
  type TierSaver,
} from "@stratigraph/core";
import {
  checkOptions,
  decodeThreadRecord,
  encodeThreadRecord,
  archivedKey,
  headlessOrEvicted,
  isArchivedElsewhere,
  isDamaged,
  kindOf,
  listEach,
  matches,
  tagsThreads,
  threadTerms,
  validId,
  type ThreadRecord,
  timeOfId,
  trace,
} from "@stratigraph/core/internal";
import { reservedNamespaces, type CheckpointRecord, type ThreadTag } from "@stratigraph/core/tier";

/** Metadata of a thread, as LangGraph's API has it. */
export type ThreadMetadata = Readonly<Record<string, unknown>>;

/** A thread, as LangGraph's API has it. */
export interface StoredThread {
  readonly thread_id: string;
  readonly metadata: Record<string, unknown>;
  /** ISO 8601. Of a thread that no server began: when it was last written. */
  readonly created_at?: string;
  /** When it was last written; ISO 8601. Only a search says so. */
  readonly updated_at?: string;
}

/** What {@link Threads.search} looks for. */
export interface ThreadSearch {
  /** Only threads whose metadata has all of this. */
  readonly metadata?: ThreadMetadata | null | undefined;
  readonly limit: number;
  readonly offset: number;
  readonly sortBy: "created_at" | "updated_at";
  readonly sortOrder: "asc" | "desc";
}

/** The threads of a checkpointer, as `createEmbedServer` of `@langchain/langgraph-api/experimental/embed` takes them: its `ThreadSaver`. */
export interface Threads {
  /** @throws NotFoundError, which a Hono server answers with 404; EvictedError if it is archived, and its archive isn't open */
  get(id: string): Promise<StoredThread>;
  /**
   * Adds metadata to a thread, key by key. "put" begins the thread if it isn't there.
   * @throws NotFoundError from "patch", as {@link get}; InvalidOptionError for metadata that can't be stored or be a tag
   */
  set(
    id: string,
    options: { readonly kind: "put" | "patch"; readonly metadata?: ThreadMetadata | null | undefined },
  ): Promise<StoredThread>;
  /** Deletes a thread with all its checkpoints. An unknown one is no error. */
  delete(id: string): Promise<void>;
  /**
   * The threads of one page, each with the number of all that were found. A thread whose metadata is in an archive that isn't open has
   * `"stratigraph:archived": true` there. One that is damaged is left out, and traced ("dropped").
   * @throws EvictedError if there is such a thread, and its tags don't tell whether it is looked for
   */
  search(options: ThreadSearch): AsyncGenerator<{ thread: StoredThread; total: number }>;
}

/** Options of {@link createThreads}. */
export interface CreateThreadsOptions {
  /**
   * The graph of threads that no server began, but `invoke` or `copyThread`: what `graph_id` of their metadata says. Default: none; then the
   * API shows the state of such a thread once a run through the server has named a graph.
   */
  readonly graph?: string | undefined;
}

const namespace = reservedNamespaces.thread;

/** Metadata that threads are tagged with, besides what the checkpointer's option `threadTags` names. */
const alwaysTags = ["graph_id"];

/** How many threads are read at the same time. */
const readTogether = 16;

/** How often a change is tried, if others change the thread at the same time. */
const mostTries = 32;

/**
 * Threads for LangGraph's `createEmbedServer`, on a checkpointer's storage: they outlive the server, and several servers share them. A
 * thread's metadata is stored with the thread, before its first checkpoint too, and is archived, moved, forked and deleted with it.
 *
 * Metadata that the checkpointer's `threadTags` names become tags, as in a run's config. A search by one of them, or by `graph_id`, reads
 * only the threads that have it; another search reads all threads.
 *
 * @example
 * const app = createEmbedServer({ graph: { agent }, checkpointer, threads: createThreads(checkpointer) });
 * @throws InvalidOptionError
 */
export function createThreads(checkpointer: TierSaver, options: CreateThreadsOptions = {}): Threads {
  if (!isSaver(checkpointer))
    throw new InvalidOptionError(
      "checkpointer",
      kindOf(checkpointer),
      "Pass one of Stratigraph's savers, such as createCheckpointer opened.",
    );
  checkOptions<CreateThreadsOptions>("createThreads", options, { graph: true }, { graphId: "Write graph." });
  const { graph } = options;
  if (graph !== undefined && (typeof graph !== "string" || graph === ""))
    throw new InvalidOptionError(
      "graph",
      kindOf(graph),
      "Pass the name that the server has the graph under.",
    );
  return new SavedThreads(checkpointer, graph);
}

/** A thread as it was read. */
interface Read {
  readonly record: CheckpointRecord | undefined;
  readonly known: ThreadRecord | undefined;
  readonly revision: number;
  readonly isThere: boolean;
}

class SavedThreads implements Threads {
  readonly #saver: TierSaver;
  readonly #graph: string | undefined;

  constructor(saver: TierSaver, graph: string | undefined) {
    this.#saver = saver;
    this.#graph = graph;
  }

  async get(id: string): Promise<StoredThread> {
    const { known, isThere } = await this.#read(validId("thread_id", id));
    if (!isThere) throw new UnknownThreadError(id);
    return this.#shown(id, known);
  }

  async set(
    id: string,
    {
      kind,
      metadata,
    }: { readonly kind: "put" | "patch"; readonly metadata?: ThreadMetadata | null | undefined },
  ): Promise<StoredThread> {
    const threadId = validId("thread_id", id);
    for (let tries = 1; ; tries += 1) {
      const read = await this.#read(threadId);
      if (kind === "patch" && !read.isThere) throw new UnknownThreadError(id);
      try {
        return this.#shown(id, await this.#add(threadId, read, metadata ?? {}));
      } catch (error) {
        // Somebody else changed the thread, or deleted it.
        const isPassing = ["CHECKPOINT_CONFLICT", "THREAD_DELETED", "STALE_READ"].some((code) =>
          StratigraphError.is(error, code as never),
        );
        if (!isPassing || tries === mostTries) throw error;
      }
    }
  }

  async delete(id: string): Promise<void> {
    await this.#saver.deleteThread(id);
  }

  async *search(options: ThreadSearch): AsyncGenerator<{ thread: StoredThread; total: number }> {
    const { limit, offset, sortBy, sortOrder } = options;
    const found: StoredThread[] = [];
    for await (const thread of this.#found(options.metadata ?? {})) found.push(thread);
    const key = (thread: StoredThread): string => `${thread[sortBy]} ${thread.thread_id}`;
    found.sort((a, b) => (key(a) < key(b) ? -1 : 1));
    if (sortOrder === "desc") found.reverse();
    for (const thread of found.slice(offset, offset + limit)) yield { thread, total: found.length };
  }

  /** Adds to what is known of a thread that was read. */
  async #add(
    threadId: string,
    { record, known, revision, isThere }: Read,
    more: ThreadMetadata,
  ): Promise<ThreadRecord> {
    const metadata = { ...(known?.metadata ?? this.#begun()), ...more };
    const now = new Date();
    const createdAt = known?.createdAt ?? now.toISOString();
    const next: ThreadRecord = { metadata, createdAt, changedAtMs: now.getTime() };
    const tags = await this.#saver.tagsIn(metadata, alwaysTags);
    const appended = await encodeThreadRecord(this.#saver.coder, threadId, next, record);
    // The tags come first: a thread that isn't found by the tag of a person would be left out when the person is deleted.
    const tagged = await this.#tag(threadId, tags);
    const isSame =
      known !== undefined && Object.keys(more).every((key) => isEqual(more[key], known.metadata[key]));
    if (isSame) return known;
    const seen = isThere ? revision : tagged;
    await this.#saver.tier.append({ threadId, ...appended, onConflict: "refuse", seen });
    return next;
  }

  async #tag(threadId: string, tags: readonly ThreadTag[]): Promise<number | undefined> {
    const { tier } = this.#saver;
    return tags.length > 0 && tagsThreads(tier) ? await tier.tagThread(threadId, tags) : undefined;
  }

  async #read(threadId: string): Promise<Read> {
    const { tier, coder } = this.#saver;
    const [{ checkpoint, head, revision }, root] = await Promise.all([
      tier.read({ threadId, namespace }),
      tier.peek({ threadId, namespace: "" }),
    ]);
    if (head !== undefined && checkpoint === undefined)
      throw new EvictedError(tier.name, { threadId, namespace, checkpointId: head });
    if (root.headless === true) throw await headlessOrEvicted(tier, { threadId, namespace: "" });
    const record = checkpoint?.record;
    const known = record === undefined ? undefined : await decodeThreadRecord(coder, record);
    return { record, known, revision, isThere: record !== undefined || root.head !== undefined };
  }

  /** The threads whose metadata has all of a filter. */
  async *#found(filter: ThreadMetadata): AsyncGenerator<StoredThread> {
    const { tier } = this.#saver;
    const isBegun = this.#graph !== undefined && filter["graph_id"] === this.#graph;
    const tags = await this.#saver.tagsIn(filter, isBegun ? [] : alwaysTags);
    const damaged = new Map<string, Error>();
    const onDamaged = (error: Error): void => void damaged.set(error.message, error);
    const all = tags.length > 0 ? undefined : await this.#allWith(filter, onDamaged);
    let reading: Promise<StoredThread | undefined>[] = [];
    for await (const info of tier.threads(tags.length > 0 ? { tags, onDamaged } : { onDamaged })) {
      const { threadId, head, writtenAtMs } = info;
      const one = async (): Promise<StoredThread | undefined> => {
        const record = all?.get(threadId);
        const known =
          all === undefined
            ? await this.#recordOf(threadId)
            : record && (await decodeThreadRecord(this.#saver.coder, record));
        const archived =
          known === undefined && info.evicted ? await this.#archived(threadId, filter) : undefined;
        if (archived === false || (known === undefined && archived === undefined && head === undefined))
          return undefined;
        // What a tier tells may be exact to the minute; the id of the head to the millisecond.
        const updated = new Date(
          Math.max(writtenAtMs, timeOfId(head ?? "") ?? 0, known?.changedAtMs ?? 0),
        ).toISOString();
        const shown = { created_at: updated, ...this.#shown(threadId, known), updated_at: updated };
        if (archived !== undefined) return { ...shown, metadata: archived };
        return matches(shown.metadata, filter) ? shown : undefined;
      };
      reading.push(
        one().catch((error: unknown) => {
          if (!isDamaged(error)) throw error;
          onDamaged(error);
          return undefined;
        }),
      );
      if (reading.length < readTogether) continue;
      for (const thread of await Promise.all(reading)) if (thread !== undefined) yield thread;
      reading = [];
    }
    for (const thread of await Promise.all(reading)) if (thread !== undefined) yield thread;
    const [error] = damaged.values();
    const what = "damaged threads, which a search leaves out";
    if (error !== undefined) trace({ type: "dropped", tier: tier.name, what, count: damaged.size, error });
  }

  /**
   * What is shown as the metadata of a thread whose own is in an archive that isn't open; undefined if it isn't. False if the thread doesn't
   * have the tags that the filter asks for.
   * @throws EvictedError if tags don't tell whether the filter fits
   */
  async #archived(
    threadId: string,
    filter: ThreadMetadata,
  ): Promise<Record<string, unknown> | false | undefined> {
    const { tier } = this.#saver;
    const { head: checkpointId } = await tier.peek({ threadId, namespace });
    if (checkpointId === undefined || !(await isArchivedElsewhere(tier, threadId))) return undefined;
    const asked = await this.#saver.tagsIn(filter, alwaysTags);
    if (asked.length < Object.keys(filter).length)
      throw new EvictedError(tier.name, { threadId, namespace, checkpointId });
    const has = tagsThreads(tier) ? await tier.threadTags(threadId) : [];
    const isTagged = asked.every((tag) =>
      has.some(({ key, value }) => key === tag.key && value === tag.value),
    );
    return isTagged && { ...filter, [archivedKey]: true };
  }

  async #recordOf(threadId: string): Promise<ThreadRecord | undefined> {
    const query = { threadId, namespace, recordsOnly: true };
    for await (const { record, head } of this.#saver.tier.list(query))
      if (record.checkpointId === head) return await decodeThreadRecord(this.#saver.coder, record);
    return undefined;
  }

  /** The records of all threads whose metadata may have all of a filter. */
  async #allWith(
    filter: ThreadMetadata,
    onDamaged: (error: Error) => void,
  ): Promise<Map<string, CheckpointRecord>> {
    const found = new Map<string, CheckpointRecord>();
    const query = { namespace, terms: threadTerms(filter), recordsOnly: true };
    for await (const { record, head } of listEach(this.#saver.tier, query, onDamaged))
      if (record.checkpointId === head) found.set(record.threadId, record);
    return found;
  }

  #shown(id: string, known: ThreadRecord | undefined): StoredThread {
    if (known === undefined) return { thread_id: id, metadata: this.#begun() };
    return { thread_id: id, created_at: known.createdAt, metadata: { ...known.metadata } };
  }

  /** Metadata of a thread that no server began. */
  #begun(): Record<string, unknown> {
    return this.#graph === undefined ? {} : { graph_id: this.#graph };
  }
}

/** When LangGraph made the id of a checkpoint, in milliseconds since 1970; 0 if it isn't one of its ids. */
function isEqual(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** The error of a thread that isn't there. Hono answers with the response that an error brings along. */
class UnknownThreadError extends NotFoundError {
  constructor(threadId: string) {
    super(`There is no thread ${JSON.stringify(threadId)}. Create it first: threads.create().`, { threadId });
  }

  getResponse(): Response {
    return Response.json({ error: this.message, code: this.code }, { status: 404 });
  }
}
