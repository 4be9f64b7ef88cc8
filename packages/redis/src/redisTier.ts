// long file: every method of the contract is one call of one script, read side by side
import {
  conflictOf,
  StaleReadError,
  ThreadDeletedError,
  tombstoneMs,
  validId,
  type Address,
  type AncestryReader,
  type Appended,
  type AppendRequest,
  type AppendWritesRequest,
  type BlobHash,
  type BlobInfo,
  type CopyKeeper,
  type LeaseKeeper,
  type NamespaceCopy,
  type ListedCheckpoint,
  type ListQuery,
  type MaybeAddress,
  type Peek,
  type Reading,
  type RemoveRequest,
  type StoredCheckpoint,
  type ThreadCopier,
  type ThreadInfo,
  type ThreadQuery,
  type ThreadTag,
  type ThreadTagger,
  type Tier,
} from "@stratigraph/core";
import { Connection } from "./connection.ts";
import { decodeId, encodeId, encodeKey, type Bytes } from "./ids.ts";
import type { Keys } from "./keys.ts";
import { withLarge } from "./largeBlobs.ts";
import { listThread, type ListReply } from "./listThread.ts";
import {
  resolveRedisOptions,
  type RedisOptions,
  type RedisSource,
  type ResolvedRedisOptions,
} from "./options.ts";
import { peekFrom, readingFrom, type ReadReply } from "./reading.ts";
import { adoptArgs, appendArgs, appendWritesArgs } from "./requests.ts";
import { blobArgs } from "./storedForms.ts";
import { storedFrom, type ListedReply } from "./storedFrom.ts";
import { decodeTag, encodeTag, tagsIn } from "./tagIndex.ts";
import { ThreadIndex } from "./threadIndex.ts";

/** What append.lua and appendWrites.lua answer. */
type WriteReply = [Buffer, ...(Buffer | number)[]];

/**
 * Checkpoints in Redis, on plain commands and Lua scripts: a thread is one hash with one sorted set beside it, both in one
 * slot, so that every change is one atomic script, a thread expires or is evicted as a whole, and reading is one round trip
 * (two where values of 32 kB and more are fetched). As durable as the server is.
 */
export class RedisTier implements Tier, AncestryReader, ThreadCopier, CopyKeeper, LeaseKeeper, ThreadTagger {
  readonly name: string = "redis";
  readonly remains = [
    {
      what: "a key named after the thread, with its id (its tombstone)",
      forMs: tombstoneMs,
      removedBy: "Redis, by expiry; then the server's own snapshots and append-only file",
    },
  ];
  readonly #connection: Connection;
  readonly #options: ResolvedRedisOptions;
  readonly #keys: Keys;
  readonly #index: ThreadIndex;
  /** Runs that this instance has put into the index, newest last. */
  readonly #runs = new Set<string>();

  /** @throws InvalidOptionError */
  constructor(options: RedisSource & RedisOptions) {
    this.#options = resolveRedisOptions(options);
    this.#keys = this.#options.keys;
    this.#connection = new Connection(this.#options.server, this.#options.commandTimeoutMs);
    this.#index = new ThreadIndex(this.#connection, this.#keys, this.#options.ttlMs);
  }

  /** Finds out whether the server answers. @throws StratigraphError "UNAVAILABLE" */
  async setup(): Promise<void> {
    await this.#connection.command("EXISTS", this.#keys.threads);
  }

  async end(): Promise<void> {
    await this.#connection.end();
  }

  async peek(at: MaybeAddress): Promise<Peek> {
    return peekFrom(at, await this.#read(at, false));
  }

  async read(at: MaybeAddress): Promise<Reading> {
    const { reply, large, missing } = await withLarge(
      this.#connection,
      this.#keys.thread(at.threadId)[0],
      async () => await this.#read(at, true),
      (reply) => reply[7],
    );
    return readingFrom(at, reply, missing ? undefined : large);
  }

  async *list(query: ListQuery): AsyncGenerator<ListedCheckpoint> {
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

  threads(query: ThreadQuery): AsyncGenerator<ThreadInfo> {
    return this.#index.threads(query);
  }

  async blobs(threadId: string): Promise<BlobInfo[]> {
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

  async append(request: AppendRequest): Promise<Appended> {
    await this.#indexRuns(request);
    const args = appendArgs(request, this.#options.ttlMs);
    const reply = await this.#write("append", request.threadId, args);
    if (reply[0].toString() === "conflict") {
      throw conflictOf(request, request.heads[Number(reply[1]) - 1]!, decodeId(reply[2] as Buffer));
    }
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

  async appendWrites(request: AppendWritesRequest): Promise<void> {
    await this.#write("appendWrites", request.threadId, appendWritesArgs(request, this.#options.ttlMs));
  }

  async remove(request: RemoveRequest): Promise<boolean> {
    const { threadId, revision, checkpoints, dropBlobs, replaceBlobs, heads } = request;
    const args = [
      ...[threadId, revision],
      ...[checkpoints.length, ...checkpoints.map((at) => encodeKey(at.namespace, at.checkpointId))],
      ...[dropBlobs.length, ...dropBlobs],
      ...blobArgs(replaceBlobs),
      ...[
        heads.length,
        ...heads.flatMap(({ namespace, to }) => [namespace, to === undefined ? "" : encodeId(to)]),
      ],
    ];
    return (await this.#run("remove", threadId, args)) === 1;
  }

  async evict(threadId: string, revision: number): Promise<boolean> {
    return (await this.#run("evict", threadId, [threadId, revision])) === 1;
  }

  async deleteThread(threadId: string): Promise<void> {
    const tags = (await this.#run("deleteThread", threadId, [threadId])) as Buffer[];
    await this.#index.deleted(threadId);
    for (const tag of tags) await this.#index.tags.check(threadId, tag);
  }

  async tagThread(threadId: string, tags: readonly ThreadTag[]): Promise<number> {
    const args = [threadId, this.#options.ttlMs, tags.length, ...tags.map(encodeTag)];
    const revision = Number(await this.#run("tagThread", threadId, args));
    await this.#index.tags.add(threadId, tags);
    return revision;
  }

  async untagThread(threadId: string, tags: readonly ThreadTag[]): Promise<void> {
    const encoded = tags.map(encodeTag);
    await this.#run("untagThread", threadId, [threadId, tags.length, ...encoded]);
    for (const tag of encoded) await this.#index.tags.check(threadId, tag);
  }

  async threadTags(threadId: string): Promise<ThreadTag[]> {
    const [id, tags] = (await this.#connection.command(
      "HMGET",
      this.#keys.thread(threadId)[0],
      "id",
      "g",
    )) as (Buffer | null)[];
    if (id?.toString() !== threadId) return [];
    return [...tagsIn(tags)].map((tag) => decodeTag(Buffer.from(tag, "hex")));
  }

  async ancestry(at: Address, seedTags: readonly number[], limit: number): Promise<StoredCheckpoint[]> {
    const found: StoredCheckpoint[] = [];
    const open = new Set(seedTags);
    let from: string = at.checkpointId;
    for (;;) {
      const args = [
        ...[at.threadId, this.#options.refreshMs, encodeKey(at.namespace, from), at.namespace],
        ...[limit - found.length, seedTags.length, ...seedTags],
      ];
      const { reply, large } = await withLarge(
        this.#connection,
        this.#keys.thread(at.threadId)[0],
        async () => (await this.#run("ancestry", at.threadId, args)) as AncestryReply,
        (reply) => reply[3],
      );
      const [more, items = [], blobs = []] = reply;
      for (const stored of storedFrom(at.threadId, items, blobs, large)) {
        found.push(stored);
        for (const tag of stored.record.tags) open.delete(tag);
      }
      const last = found.at(-1);
      if (more === 0 || last === undefined || open.size === 0) return found;
      from = last.record.checkpointId;
    }
  }

  async copyThread(sourceId: string, targetId: string): Promise<boolean> {
    const [revision, fields] = (await this.#run("dump", sourceId, [sourceId])) as [number, Buffer[]?];
    if (fields === undefined) return false;
    const tags = await this.threadTags(sourceId);
    if (tags.length > 0) await this.tagThread(targetId, tags);
    const args = [targetId, this.#options.ttlMs, revision, fields.length / 2, ...fields];
    const due = Number(await this.#run("paste", targetId, args));
    await this.#index.written(targetId, due);
    return true;
  }

  async adopt(copy: NamespaceCopy): Promise<void> {
    const due = Number(await this.#run("adopt", copy.threadId, adoptArgs(copy, this.#options.ttlMs)));
    if (due !== 0) await this.#index.written(copy.threadId, due);
  }

  async invalidate(threadId: string, before = 0): Promise<void> {
    await this.#run("invalidate", threadId, [threadId, this.#options.ttlMs, before]);
  }

  async lease(name: string, holder: string, forMs: number): Promise<boolean> {
    return (await this.#connection.run("lease", [this.#keys.lease(name)], [holder, Math.round(forMs)])) === 1;
  }

  /** Keeps a thread from expiring, until {@link unpin}. False where the thread isn't here. */
  async pin(threadId: string): Promise<boolean> {
    validId("threadId", threadId);
    return (await this.#run("pin", threadId, [threadId, this.#options.ttlMs, 1])) === 1;
  }

  /** Lets a pinned thread expire again, a whole `ttl` from now. False where the thread isn't here. */
  async unpin(threadId: string): Promise<boolean> {
    validId("threadId", threadId);
    return (await this.#run("pin", threadId, [threadId, this.#options.ttlMs, 0])) === 1;
  }

  async #run(
    name: Parameters<Connection["run"]>[0],
    threadId: string,
    args: readonly (Bytes | number)[],
  ): Promise<unknown> {
    return await this.#connection.run(name, this.#keys.thread(threadId), args);
  }

  async #read(at: MaybeAddress, whole: boolean): Promise<ReadReply> {
    const wanted = at.checkpointId === undefined ? "" : encodeId(at.checkpointId);
    const args = [at.threadId, this.#options.refreshMs, whole ? 1 : 0, at.namespace, wanted];
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
    if (said === "stale") throw new StaleReadError(threadId);
    if (said === "ok" && reply[2] !== 0) await this.#index.written(threadId, Number(reply[2]));
    return reply;
  }

  async #indexRuns({ threadId, records }: AppendRequest): Promise<void> {
    for (const runId of new Set(records.map((record) => record.runId))) {
      if (runId === undefined) continue;
      const known = JSON.stringify([runId, threadId]);
      if (this.#runs.has(known)) continue;
      await this.#index.wroteTo(runId, threadId);
      this.#runs.add(known);
      if (this.#runs.size > rememberedRuns) this.#runs.delete(this.#runs.values().next().value!);
    }
  }

  #listThread(threadId: string, query: ListQuery): AsyncGenerator<ListedCheckpoint> {
    const run = async (args: (Bytes | number)[]) =>
      await withLarge(
        this.#connection,
        this.#keys.thread(threadId)[0],
        async () => (await this.#run("list", threadId, args)) as ListReply,
        (reply) => reply[3],
      );
    return listThread(run, threadId, query, this.#options.refreshMs);
  }

  async *#threadIds({ runIds }: ListQuery): AsyncGenerator<string> {
    if (runIds !== undefined) {
      yield* await this.#index.ofRuns(runIds);
      return;
    }
    // Least recently written first: a thread written meanwhile moves to the end and comes again rather than not at all.
    const seen = new Set<string>();
    for await (const page of this.#index.pages({})) {
      for (const { threadId } of page) if (!seen.has(threadId)) yield threadId;
      for (const { threadId } of page) seen.add(threadId);
    }
  }
}

/** How many runs an instance remembers to have indexed; forgetting one costs a command. */
const rememberedRuns = 4096;

/** What ancestry.lua answers: whether there is more, checkpoints, blobs, names of large ones. */
type AncestryReply = [number, ListedReply[]?, Buffer[]?, Buffer[]?];
