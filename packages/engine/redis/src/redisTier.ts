// long file: nearly every method of the contract is one call of one script, and they are best read side by side
import {
  StaleReadError,
  ThreadDeletedError,
  type ThreadInfo,
  type ThreadStatus,
  type Tier,
} from "@stratigraph/core";
import {
  appendTraffic,
  peekTraffic,
  readTraffic,
  writesTraffic,
  Calls,
  News,
  remembering,
  statusTerms,
  statusLetters,
  validId,
  headlessError,
} from "@stratigraph/core/internal";
import {
  storedSize,
  conflictOf,
  lockRememberedMs,
  tombstoneMs,
  type Address,
  type AncestryReader,
  type Appended,
  type AppendRequest,
  type AppendWritesRequest,
  type BlobHash,
  type BlobInfo,
  type BytesReplacer,
  type CacheKeeper,
  type CopyKeeper,
  type Diagnoser,
  type DiagnoseRequest,
  type Diagnosis,
  type KeyCheckKeeper,
  type ItemKeeper,
  type LeaseKeeper,
  type LockKeeper,
  type LockState,
  type NamespaceCopy,
  type ListedCheckpoint,
  type ListQuery,
  type MaybeAddress,
  type Peek,
  type Reading,
  type RemoveRequest,
  type ReplaceBytesRequest,
  type StoredCheckpoint,
  type Sweeper,
  type ThreadCopier,
  type ThreadExpirer,
  type ThreadInspection,
  type ThreadInspector,
  type ThreadMender,
  type ThreadQuery,
  type ThreadTag,
  type ThreadTagger,
  type UnchangedDeleter,
  type WorkspaceKeeper,
  type StatusKeeper,
} from "@stratigraph/core/tier";
import { Connection } from "./connection.ts";
import { copyThread } from "./copyThread.ts";
import { ofThread } from "./corruptThread.ts";
import { diagnose } from "./diagnose/diagnose.ts";
import { decodeId, encodeId, encodeCheckpointKey, type Bytes } from "./checkpointKeys.ts";
import { inspectThread } from "./inspectThread.ts";
import type { KeyNames } from "./keyNames.ts";
import { withLarge, type NamedBlobs, type WithLarge } from "./largeBlobs.ts";
import { RedisCaches } from "./redisCaches.ts";
import { RedisItems } from "./items/redisItems.ts";
import { RedisWorkspaces } from "./items/redisWorkspaces.ts";
import { Spaces } from "./items/spaces.ts";
import { listThread, type ListReply } from "./listThread.ts";
import { resolveRedisOptions, type RedisSource, type ResolvedRedisOptions } from "./options.ts";
import type { RedisOptions } from "./redisOptions.ts";
import { peekFrom, readingFrom, type ReadReply } from "./readReply.ts";
import { adoptArgs, appendArgs, appendWritesArgs, removeArgs, replaceBytesArgs } from "./requests.ts";
import { checkpointsFrom, type ListedReply } from "./listReply.ts";
import { decodeTag, encodeTag, tagsIn } from "./tagIndex.ts";
import { ThreadIndex } from "./threadIndex.ts";

/** How many pairs of run and thread an instance remembers as indexed. Forgetting one costs a repeated command. */
const rememberedRuns = 4096;

/** After so many names, a sweep ends. */
const mostSwept = 5000;

/** What append.lua and appendWrites.lua answer. */
type WriteReply = [Buffer, ...(Buffer | number)[]];

/**
 * Keeps checkpoints in Redis with plain commands and Lua scripts. A thread is one hash with one sorted set beside it, both in one
 * slot. So every change is one atomic script, a thread expires or is evicted as a whole, and a read is one round trip (two if
 * values of 32 kB and more are fetched). It is as durable as the server.
 */
export class RedisTier
  implements
    Tier,
    AncestryReader,
    ThreadCopier,
    CopyKeeper,
    Diagnoser,
    KeyCheckKeeper,
    LeaseKeeper,
    LockKeeper,
    UnchangedDeleter,
    BytesReplacer,
    ThreadExpirer,
    ThreadTagger,
    StatusKeeper,
    ThreadInspector,
    ThreadMender,
    Sweeper,
    ItemKeeper,
    WorkspaceKeeper,
    CacheKeeper
{
  readonly name: string = "redis";
  readonly remains = [
    {
      what: "a key named after the thread, with its id (its tombstone)",
      forMs: tombstoneMs,
      removedBy: "Redis, by expiry; then the server's own snapshots and append-only file",
    },
  ];
  readonly items: RedisItems;
  readonly workspaces: RedisWorkspaces;
  readonly caches: RedisCaches;
  readonly #connection: Connection;
  readonly #options: ResolvedRedisOptions;
  readonly #keys: KeyNames;
  readonly #index: ThreadIndex;
  readonly #spaces: Spaces;
  /**
   * By pub/sub, after a commit: what is told may be lost, so a stream would cost memory for nothing. Not by the commit's script: a user
   * who may not publish would have an entry in the server's log of refusals with each commit.
   */
  readonly #news: News;
  readonly #calls = new Calls("redis", ofThread);
  /** How long a thread stays after its last use, in milliseconds, if a stack decides it. */
  #chosenTtlMs: ((threadId: string) => number) | undefined;
  /** Pairs of run and thread that this instance has put into the index. */
  readonly #indexedRuns = remembering<true>(rememberedRuns);

  /** @throws InvalidOptionError */
  constructor(options: RedisSource & RedisOptions) {
    this.#options = resolveRedisOptions(options);
    this.#keys = this.#options.keys;
    this.#connection = new Connection(this.#options.server, this.#options.commandTimeoutMs);
    this.#index = new ThreadIndex(this.#connection, this.#keys, this.#options.ttlMs);
    this.#spaces = new Spaces(this.#connection, this.#keys);
    this.items = new RedisItems(this.#spaces, this.#calls);
    this.caches = new RedisCaches(this.#connection, this.#keys, this.#calls);
    const { news } = this.#keys;
    this.#news = new News({
      send: (text) =>
        this.#calls.run("notify", undefined, () => this.#connection.command("PUBLISH", news, text)),
      listen: (...args) => this.#connection.subscribe(news, ...args),
    });
    this.workspaces = new RedisWorkspaces(this.#spaces, this.#calls, this.#news);
  }

  get ttlMs(): number {
    return this.#options.refreshMs;
  }

  chooseTtl(choose: (threadId: string) => number): void {
    this.#chosenTtlMs = choose;
  }

  /**
   * Checks that the server answers, has the commands needed, and lets this user write.
   * @throws StratigraphError "ACCESS_DENIED", "MISCONFIGURED", "DRIVER_MISSING"; "UNAVAILABLE", which may pass
   */
  async setup(): Promise<void> {
    await this.#calls.run("setup", undefined, async () => {
      await this.#connection.command("EXISTS", this.#keys.threads);
      await this.#connection.run("probe", [this.#keys.lease("setup")], []);
    });
  }

  /** Looks at the server's role, memory, eviction, persistence and clock. Writes nothing. */
  async diagnose(request: DiagnoseRequest): Promise<readonly Diagnosis[]> {
    return await diagnose(this.#connection, this.#options, request);
  }

  /** @throws StratigraphError as any other call would */
  async ping(): Promise<void> {
    await this.#calls.run("ping", undefined, async () => {
      await this.#connection.command("PING");
    });
  }

  /** Refuses new calls, waits up to ten seconds for those in progress, and closes the client if this tier opened it. */
  async end(): Promise<void> {
    const told = this.#news.end();
    await this.#calls.close();
    await told;
    this.#connection.end();
  }

  async peek(at: MaybeAddress): Promise<Peek> {
    return await this.#calls.run(
      "peek",
      at.threadId,
      async () => peekFrom(at, await this.#reply(at, false)),
      peekTraffic,
    );
  }

  async read(at: MaybeAddress): Promise<Reading> {
    const read = async (): Promise<Reading> => {
      const { reply, large, missing } = await this.#withLarge(
        at.threadId,
        async () => await this.#reply(at, true),
        (reply) => reply[7],
      );
      return readingFrom(at, reply, missing ? undefined : large);
    };
    return await this.#calls.run("read", at.threadId, read, readTraffic);
  }

  list(query: ListQuery): AsyncGenerator<ListedCheckpoint> {
    return this.#calls.iterate("list", query.threadId, this.#list(query), storedSize);
  }

  threads(query: ThreadQuery): AsyncGenerator<ThreadInfo> {
    return this.#calls.iterate("threads", undefined, this.#index.threads(query));
  }

  async blobs(threadId: string): Promise<BlobInfo[]> {
    return await this.#calls.run("blobs", threadId, () => this.#blobs(threadId));
  }

  async append(request: AppendRequest): Promise<Appended> {
    const append = async (): Promise<Appended> => {
      if (opens(request)) this.#index.opening(request.threadId);
      await this.#indexRuns(request);
      const reply = await this.#write(
        "append",
        request.threadId,
        appendArgs(request, this.#ttlMs(request.threadId)),
      );
      return appendedFrom(request, reply);
    };
    return await this.#calls.run("append", request.threadId, append, () => appendTraffic(request));
  }

  async appendWrites(request: AppendWritesRequest): Promise<void> {
    await this.#calls.run(
      "appendWrites",
      request.threadId,
      async () => {
        const { threadId, namespace, outcome } = request;
        if (namespace === "" && outcome !== "ended" && outcome !== "nothing") this.#index.opening(threadId);
        await this.#write("appendWrites", threadId, appendWritesArgs(request, this.#ttlMs(threadId)));
      },
      () => writesTraffic(request),
    );
  }

  async remove(request: RemoveRequest): Promise<boolean> {
    const { threadId } = request;
    return await this.#calls.run("remove", threadId, async () => {
      const done = String(await this.#run("remove", threadId, removeArgs(request)));
      if (done === "0") return false;
      if (done !== "1") await this.#index.written(threadId, 0, done.slice(1));
      return true;
    });
  }

  async evict(threadId: string, revision: number): Promise<boolean> {
    return await this.#calls.run(
      "evict",
      threadId,
      async () => (await this.#run("evict", threadId, [threadId, revision])) === 1,
    );
  }

  async noteStatus(threadId: string, revision: number, status: ThreadStatus): Promise<boolean> {
    return await this.#calls.run("noteStatus", threadId, async () => {
      const done = String(
        await this.#run("noteStatus", threadId, [threadId, revision, statusLetters[status]]),
      );
      if (done !== "") await this.#index.written(threadId, 0, done);
      return done !== "";
    });
  }

  async deleteThread(threadId: string): Promise<void> {
    await this.#calls.run("deleteThread", threadId, async () => {
      const tags = (await this.#run("deleteThread", threadId, [threadId])) as Buffer[];
      await this.#unindex(threadId, tags);
    });
  }

  async replaceBytes(request: ReplaceBytesRequest): Promise<number | undefined> {
    return await this.#calls.run("replaceBytes", request.threadId, async () => {
      const now = (await this.#run("replaceBytes", request.threadId, replaceBytesArgs(request))) as number;
      return now === 0 ? undefined : now;
    });
  }

  async deleteUnchanged(threadId: string, revision: number): Promise<boolean> {
    return await this.#calls.run("deleteUnchanged", threadId, async () => {
      const tags = (await this.#run("deleteThread", threadId, [threadId, revision])) as Buffer[] | 0;
      if (tags === 0) return false;
      await this.#unindex(threadId, tags);
      return true;
    });
  }

  async tagThread(threadId: string, tags: readonly ThreadTag[]): Promise<number> {
    return await this.#calls.run("tagThread", threadId, async () => {
      const args = [threadId, this.#ttlMs(threadId), tags.length, ...tags.map(encodeTag)];
      const revision = Number(await this.#run("tagThread", threadId, args));
      await this.#index.tags.add(threadId, tags);
      return revision;
    });
  }

  async untagThread(threadId: string, tags: readonly ThreadTag[]): Promise<void> {
    await this.#calls.run("untagThread", threadId, async () => {
      const encoded = tags.map(encodeTag);
      await this.#run("untagThread", threadId, [threadId, tags.length, ...encoded]);
      for (const tag of encoded) await this.#index.tags.check(threadId, tag);
    });
  }

  async threadTags(threadId: string): Promise<ThreadTag[]> {
    return await this.#calls.run("threadTags", threadId, () => this.#tagsOf(threadId));
  }

  async inspect(threadId: string): Promise<ThreadInspection | undefined> {
    return await this.#calls.run("inspect", threadId, () =>
      inspectThread((cursor) => this.#run("inspect", threadId, [threadId, cursor]), threadId),
    );
  }

  async mendThread(threadId: string): Promise<boolean> {
    return await this.#calls.run(
      "mendThread",
      threadId,
      async () => (await this.#run("mend", threadId, [threadId])) !== 0,
    );
  }

  async ancestry(at: Address, seedTerms: readonly number[], limit: number): Promise<StoredCheckpoint[]> {
    return await this.#calls.run("ancestry", at.threadId, () => this.#ancestry(at, seedTerms, limit));
  }

  /**
   * Copies in small pieces, so that the server can serve other clients in between. Readers see the whole copy or nothing of it. If
   * the process dies meanwhile, the unfinished copy expires within ten minutes.
   * @throws StratigraphError "THREAD_EXISTS" if the target has a head; "OVERLOADED" if the source was written to in every attempt
   */
  async copyThread(sourceId: string, targetId: string): Promise<boolean> {
    return await this.#calls.run("copyThread", targetId, async () => {
      const context = { connection: this.#connection, keys: this.#keys, ttlMs: this.#ttlMs(targetId) };
      // Index the target before the copy exists. An extra name does no harm; a missing one would hide the copy from a deletion by tag.
      await this.#index.tags.add(targetId, await this.#tagsOf(sourceId));
      const copied = await copyThread(context, sourceId, targetId);
      if (copied === undefined) return false;
      // Again: the source may have got other tags meanwhile, and whoever looked before the copy existed took its name out.
      await this.#index.tags.add(targetId, await this.#tagsOf(targetId));
      await this.#index.written(targetId, copied.due, copied.stands);
      return true;
    });
  }

  async adopt(copy: NamespaceCopy): Promise<void> {
    await this.#calls.run("adopt", copy.threadId, async () => {
      const due = Number(
        await this.#run("adopt", copy.threadId, adoptArgs(copy, this.#ttlMs(copy.threadId))),
      );
      if (due !== 0) await this.#index.written(copy.threadId, due, "");
    });
  }

  async invalidate(threadId: string, before = 0): Promise<void> {
    await this.#calls.run("invalidate", threadId, () =>
      this.#run("invalidate", threadId, [threadId, this.#ttlMs(threadId), before]),
    );
  }

  async lease(name: string, holder: string, forMs: number): Promise<boolean> {
    return await this.#calls.run("lease", undefined, async () => {
      const keys = [this.#keys.lease(name)];
      return (await this.#connection.run("lease", keys, [holder, Math.round(forMs)])) === 1;
    });
  }

  async keyChecks(names: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return await this.#calls.run("keyChecks", undefined, async () => {
      const values = await this.#connection.fields(this.#keys.keyChecks, names, 0);
      return new Map(
        names.flatMap((name, n) => (values[n] ? [[name, values[n].toString("latin1")] as const] : [])),
      );
    });
  }

  async claimKeyCheck(name: string, value: string): Promise<string> {
    return await this.#calls.run("claimKeyCheck", undefined, async () => {
      await this.#connection.command("HSETNX", this.#keys.keyChecks, name, value);
      const [stored] = await this.#connection.fields(this.#keys.keyChecks, [name], 0);
      // No value: the server was emptied in between.
      return stored?.toString("latin1") ?? value;
    });
  }

  async lock(name: string, holder: string, forMs: number): Promise<LockState> {
    return await this.#calls.run("lock", undefined, async () => {
      const args = [holder, Math.max(1, Math.round(forMs)), lockRememberedMs];
      const [held, by, token, sinceMs] = (await this.#connection.run(
        "lock",
        [this.#keys.lock(name)],
        args,
      )) as [number, ...Buffer[]];
      return { held: held === 1, holder: String(by), token: Number(token), sinceMs: Number(sinceMs) };
    });
  }

  async unlock(name: string, holder: string): Promise<void> {
    await this.#calls.run("unlock", undefined, async () => {
      await this.#connection.run("unlock", [this.#keys.lock(name)], [holder]);
    });
  }

  /**
   * Removes from the indexes the names of threads that are gone: expired threads, and deleted ones that runs wrote to. Unfinished
   * copies and tombstones expire by themselves. Looks at 200 names of each index, and at the next ones as long as it finds names to remove,
   * up to about 5,000. The next call continues there. Removes also items that have expired.
   */
  async sweep(olderThanMs: number): Promise<number> {
    return await this.#calls.run("sweep", undefined, async () => {
      const beforeMs = Date.now() - olderThanMs;
      let swept = 0;
      for (let found = 1; found > 0 && swept < mostSwept; swept += found)
        found = await this.#index.sweep(beforeMs);
      return swept + (await this.#spaces.sweep());
    });
  }

  /** Keeps a thread from expiring until {@link unpin}. False if the thread isn't here. */
  async pin(threadId: string): Promise<boolean> {
    return await this.#setPin("pin", threadId);
  }

  /** Lets a pinned thread expire again, a full `ttl` from now. False if the thread isn't here. */
  async unpin(threadId: string): Promise<boolean> {
    return await this.#setPin("unpin", threadId);
  }

  #ttlMs(threadId: string): number {
    return this.#chosenTtlMs?.(threadId) ?? this.#options.ttlMs;
  }

  #refreshMs(threadId: string): number {
    return this.#chosenTtlMs?.(threadId) ?? this.#options.refreshMs;
  }

  async #setPin(method: "pin" | "unpin", threadId: string): Promise<boolean> {
    validId("threadId", threadId);
    const args = [threadId, this.#ttlMs(threadId), method === "pin" ? 1 : 0];
    return await this.#calls.run(
      method,
      threadId,
      async () => (await this.#run("pin", threadId, args)) === 1,
    );
  }

  async *#list(query: ListQuery): AsyncGenerator<ListedCheckpoint> {
    if (query.threadId !== undefined) {
      yield* this.#listThread(query.threadId, query);
      return;
    }
    let found = 0;
    for await (const threadId of this.#threadIds(query)) {
      const limit = query.limit === undefined ? undefined : query.limit - found;
      for await (const listed of this.#listThread(threadId, { ...query, limit })) {
        yield listed;
        found += 1;
      }
      if (query.limit !== undefined && found >= query.limit) return;
    }
  }

  async #blobs(threadId: string): Promise<BlobInfo[]> {
    const infos = new Map<BlobHash, BlobInfo>();
    let cursor = "0";
    do {
      const [next, flat] = (await this.#run("blobs", threadId, [threadId, cursor])) as [
        Buffer,
        (Buffer | number)[],
      ];
      for (let i = 0; i < flat.length; i += 3) {
        const hash = String(flat[i]);
        const base = String(flat[i + 1]);
        infos.set(hash, { hash, base: base === "" ? undefined : base, size: Number(flat[i + 2]) });
      }
      cursor = next.toString();
    } while (cursor !== "0");
    return [...infos.values()];
  }

  async #unindex(threadId: string, tags: readonly Buffer[]): Promise<void> {
    await this.#index.deleted(threadId);
    for (const tag of tags) await this.#index.tags.check(threadId, tag);
  }

  async #tagsOf(threadId: string): Promise<ThreadTag[]> {
    const [key] = this.#keys.thread(threadId);
    const [id, tags] = (await this.#connection.command("HMGET", key, "id", "g")) as (Buffer | null)[];
    if (id?.toString() !== threadId) return [];
    return [...tagsIn(tags)].map((tag) => decodeTag(Buffer.from(tag, "hex")));
  }

  async #ancestry(at: Address, seedTerms: readonly number[], limit: number): Promise<StoredCheckpoint[]> {
    const found: StoredCheckpoint[] = [];
    const open = new Set(seedTerms);
    let from: string = at.checkpointId;
    for (;;) {
      const args = [
        ...[at.threadId, this.#refreshMs(at.threadId), encodeCheckpointKey(at.namespace, from), at.namespace],
        ...[limit - found.length, seedTerms.length, ...seedTerms],
      ];
      const { reply, large } = await this.#withLarge(
        at.threadId,
        async () => (await this.#run("ancestry", at.threadId, args)) as AncestryReply,
        (reply) => reply[3],
      );
      const [more, items = [], blobs = []] = reply;
      for (const stored of checkpointsFrom(at.threadId, items, blobs, large)) {
        found.push(stored);
        for (const term of stored.record.terms) open.delete(term);
      }
      const last = found.at(-1);
      if (more === 0 || last === undefined || open.size === 0) return found;
      from = last.record.checkpointId;
    }
  }

  async #run(
    name: Parameters<Connection["run"]>[0],
    threadId: string,
    args: readonly (Bytes | number)[],
  ): Promise<unknown> {
    return await this.#connection.run(name, this.#keys.thread(threadId), args);
  }

  async #reply(at: MaybeAddress, whole: boolean): Promise<ReadReply> {
    const wanted = at.checkpointId === undefined ? "" : encodeId(at.checkpointId);
    const args = [at.threadId, this.#refreshMs(at.threadId), whole ? 1 : 0, at.namespace, wanted];
    return (await this.#run("read", at.threadId, args)) as ReadReply;
  }

  async #write(
    name: "append" | "appendWrites",
    threadId: string,
    args: (Bytes | number)[],
  ): Promise<WriteReply> {
    const reply = (await this.#run(name, threadId, args)) as WriteReply;
    const said = reply[0].toString();
    if (said === "deleted") throw new ThreadDeletedError(threadId);
    if (said === "headless") throw headlessError({ threadId, namespace: "" });
    if (said === "stale")
      throw new StaleReadError(threadId, reply[1] === undefined ? undefined : Number(reply[1]));
    if (said === "ok") {
      const stands = String(reply.at(-1));
      if (reply[2] !== 0 || stands !== "") await this.#index.written(threadId, Number(reply[2]), stands);
    }
    return reply;
  }

  async #indexRuns({ threadId, records }: AppendRequest): Promise<void> {
    for (const runId of new Set(records.map((record) => record.runId))) {
      if (runId === undefined) continue;
      const pair = JSON.stringify([runId, threadId]);
      if (this.#indexedRuns.get(pair) === true) continue;
      if (await this.#index.wroteTo(runId, threadId)) this.#indexedRuns.set(pair, true);
    }
  }

  async #withLarge<Reply>(
    threadId: string,
    run: () => Promise<Reply>,
    named: (reply: Reply) => NamedBlobs | undefined,
  ): Promise<WithLarge<Reply>> {
    return await withLarge(this.#connection, this.#keys.thread(threadId)[0], run, named);
  }

  #listThread(threadId: string, query: ListQuery): AsyncGenerator<ListedCheckpoint> {
    const run = async (args: (Bytes | number)[]) =>
      await this.#withLarge(
        threadId,
        async () => (await this.#run("list", threadId, args)) as ListReply,
        (reply) => reply[3],
      );
    return listThread(run, threadId, query, this.#refreshMs(threadId));
  }

  async *#threadIds({ runIds }: ListQuery): AsyncGenerator<string> {
    if (runIds !== undefined) {
      yield* await this.#index.ofRuns(runIds);
      return;
    }
    // Walk from the least recently written thread. One that is written meanwhile moves to the end: it may come twice, but isn't missed.
    const seen = new Set<string>();
    for await (const page of this.#index.pages({})) {
      for (const { threadId } of page) if (!seen.has(threadId)) yield threadId;
      for (const { threadId } of page) seen.add(threadId);
    }
  }
}

/** Whether a thread may not be idle after this. */
function opens({ records, heads }: AppendRequest): boolean {
  return heads.some(
    ({ namespace, to }) =>
      namespace === "" &&
      records.some(
        (record) =>
          record.namespace === "" && record.checkpointId === to && !record.terms.includes(statusTerms.idle),
      ),
  );
}

/** What ancestry.lua answers: whether there is more, checkpoints, blobs, names of large blobs. */
type AncestryReply = [number, ListedReply[]?, Buffer[]?, NamedBlobs?];

/** The answer of Tier.append. @throws CheckpointConflictError */
function appendedFrom(request: AppendRequest, reply: WriteReply): Appended {
  if (reply[0].toString() === "conflict")
    throw conflictOf(request, request.heads[Number(reply[1]) - 1]!, decodeId(reply[2] as Buffer));
  const outcomes = reply.slice(3);
  return {
    revision: Number(reply[1]),
    heads: request.heads.map(({ namespace }, i) => ({
      namespace,
      head: decodeId(outcomes[2 * i] as Buffer),
      moved: outcomes[2 * i + 1] === 1,
    })),
  };
}
