// long file: every method of the contract, nearly all one call of one function of the database; read as one piece
import {
  InvalidOptionError,
  StaleReadError,
  StratigraphError,
  ThreadDeletedError,
  type ThreadInfo,
  type ThreadStatus,
  type Tier,
} from "@stratigraph/core";
import { blobsOf, News, statusLetters, statusOfLetter, headlessError } from "@stratigraph/core/internal";
import {
  checkStoredSize,
  conflictOf,
  threadExists,
  tombstoneMs,
  type Address,
  type AncestryReader,
  type Appended,
  type AppendRequest,
  type AppendWritesRequest,
  type ArchiveSource,
  type BlobHash,
  type BlobInfo,
  type BytesReplacer,
  type CacheKeeper,
  type Diagnoser,
  type DiagnoseRequest,
  type Diagnosis,
  type ForkRequest,
  type ItemKeeper,
  type KeyCheckKeeper,
  type LeaseKeeper,
  type LockKeeper,
  type LockState,
  type Leftover,
  type LeftoverFinder,
  type ListedCheckpoint,
  type ListQuery,
  type MaybeAddress,
  type Peek,
  type Reading,
  type RemoveRequest,
  type ReplaceBytesRequest,
  type ScriptedSetup,
  type StoredCheckpoint,
  type Sweeper,
  type ThreadCopier,
  type ThreadForker,
  type ThreadInspection,
  type ThreadInspector,
  type ThreadMender,
  type ThreadOutline,
  type ThreadQuery,
  type ThreadState,
  type ThreadTag,
  type ThreadTagger,
  type Tombstone,
  type TombstoneQuery,
  type UnchangedDeleter,
  type WorkspaceKeeper,
  type StatusKeeper,
} from "@stratigraph/core/tier";
import { appendArguments } from "./append/appendArguments.ts";
import { GroupCommit } from "./append/groupCommit.ts";
import { pendingAppend, pendingWrites, type PendingAppend } from "./append/pendingAppend.ts";
import { PostgresCaches } from "./items/postgresCaches.ts";
import { PostgresItems } from "./items/postgresItems.ts";
import { PostgresWorkspaces } from "./items/postgresWorkspaces.ts";
import { BinaryArgument } from "./wire/binaryArgument.ts";
import type { Executor, PgResult } from "./connection/client.ts";
import { hashText, hexOf } from "./wire/hex.ts";
import { corruptKey } from "./wire/corruptKey.ts";
import { keyOf, KeyReader, keyText, longIdOf, UnknownKey } from "./wire/keys.ts";
import { pageOf, unknownKeys, type Page, type ReadRow } from "./wire/readRows.ts";
import { identityIn, isShard } from "./shards/shardIdentity.ts";
import { diagnose } from "./diagnose/diagnose.ts";
import { explaining } from "./schema/rights.ts";
import { checkInstalled, setUp, type SetupOptions } from "./schema/setUp.ts";
import { setupSql, statementsIn, type Statement } from "./schema/statements.ts";

/**
 * How many checkpoints the first page of a list has: few, so that reading one costs little. Each further page is twice as large, up to
 * `largestPage` checkpoints and `pageBytes` bytes.
 */
const firstPage = 16;
const [largestPage, pageBytes] = [128, 8 * 1024 * 1024];
/** Pages of records alone may be larger: up to this many checkpoints and bytes. */
const [largestRecordsPage, recordsPageBytes] = [2048, 2 * 1024 * 1024];
const threadsPerPage = 500;
const threadsPerSweep = 200;

/** How many ancestors are followed at most: more than any thread has, and few enough for PostgreSQL's integer. */
const mostAncestors = 1_000_000;

/** How many records the next page may have. */
function recordsPageAfter(checkpoints: readonly ListedCheckpoint[]): number {
  let bytes = 1;
  for (const { record, writes } of checkpoints) {
    bytes += record.body.length + record.blobs.length * 20 + record.terms.length * 12;
    for (const { body } of writes) bytes += body.length;
  }
  const fitting = Math.floor((recordsPageBytes * checkpoints.length) / bytes);
  return Math.min(Math.max(fitting, largestPage), largestRecordsPage);
}

/** How many checkpoints, with their values, the next page may have. */
function pageAfter(checkpoints: readonly ListedCheckpoint[]): number {
  let bytes = 1;
  // A page holds each value once.
  const counted = new Set<BlobHash>();
  for (const listed of checkpoints) {
    bytes += listed.record.body.length;
    for (const { body } of listed.writes) bytes += body.length;
    for (const blob of blobsOf(listed, counted)) {
      counted.add(blob.hash);
      bytes += blob.bytes.length;
    }
  }
  return Math.min(Math.max(Math.floor((pageBytes * checkpoints.length) / bytes), 1), largestPage);
}

/** The name of the lease that holds a check value. */
function keyCheckLease(name: string): Buffer {
  return keyOf(`stratigraph.keyCheck/${name}`);
}

function maybeKey(id: string | undefined): Buffer | null {
  return id === undefined ? null : keyOf(id);
}

/**
 * The longest column that can be read back, in bytes. Results arrive as hex text, two digits per byte, and V8's longest string has
 * 2^29 - 24 characters. A longer column would end the process inside pg's parser, where the error can't be caught.
 */
const longestResult = 255 * 1024 * 1024;

/** The largest write, in bytes. PostgreSQL's largest parameter has 1 GB, some of which is overhead. */
const longestParameter = 1000 * 1024 * 1024;

/** The thread id in a row of threads. */
function threadIdOf(row: Readonly<Record<string, unknown>>, keys: KeyReader): string {
  const longId = row["long_id"] as Uint8Array | null;
  return longId === null ? keys.id(row["key"] as Uint8Array) : Buffer.from(longId).toString("utf8");
}

/** Reports a key that stands for no id to `onDamaged`. @throws StratigraphError "CORRUPT" without `onDamaged` */
function refuseKey(
  what: string,
  key: Uint8Array,
  context: { readonly threadId?: string },
  onDamaged: ThreadQuery["onDamaged"],
): void {
  const error = corruptKey(what, new UnknownKey(key), context);
  if (onDamaged === undefined) throw error;
  onDamaged(error);
}

/** As {@link refuseKey}, of a tombstone. Nothing of its thread is here to be restored. */
function refuseMark(key: Uint8Array, onDamaged: TombstoneQuery["onDamaged"]): void {
  const error = new StratigraphError(
    "CORRUPT",
    `The mark of a deleted thread can't be read: ${new UnknownKey(key).message}. Its stored bytes were damaged. Maintenance removes it a week ` +
      `after the deletion. If the thread was archived, its copy stays in the archive: if you know its id, delete it there alone ` +
      `(stratigraph delete THREAD --url URL_OF_THE_ARCHIVE).`,
    {},
  );
  if (onDamaged === undefined) throw error;
  onDamaged(error);
}

/** The id that a column's key stands for. @throws StratigraphError "CORRUPT" */
function keyed(keys: KeyReader, key: Uint8Array, column: string, threadId: string): string {
  if (!keys.knows(key))
    throw corruptKey(`Column ${column} of thread ${JSON.stringify(threadId)}`, new UnknownKey(key), {
      threadId,
      column,
    });
  return keys.id(key);
}

/** Whether the thread id of a row is known. */
function namesThread(row: Readonly<Record<string, unknown>>, keys: KeyReader): boolean {
  return row["long_id"] !== null || keys.knows(row["key"] as Uint8Array);
}

/** Keys and values of tags, in two lists. */
function tagColumns(tags: readonly ThreadTag[]): [Buffer[], Buffer[]] {
  return [tags.map(({ key }) => Buffer.from(key)), tags.map(({ value }) => Buffer.from(value))];
}

/** The record in a row of threads_tagged_1, as a row of read_1. */
function recordRow(row: Readonly<Record<string, unknown>>): ReadRow {
  const column = (name: string): Uint8Array | null => row[name] as Uint8Array | null;
  return {
    kind: "c",
    thread: row["thread"] as string,
    id: column("head"),
    ns: keyOf(""),
    a: column("parent"),
    b: column("lost_to"),
    c: column("run"),
    d: column("blobs"),
    n: null,
    terms: row["terms"] as string | null,
    body: column("body"),
  };
}

/** @throws ThreadDeletedError, StaleReadError, StratigraphError "CORRUPT" if an append was refused */
function refuse(
  { threadId, seen }: Pick<AppendRequest, "threadId" | "seen">,
  { status, revision }: PgResult["rows"][number],
): void {
  if (status === "deleted") throw new ThreadDeletedError(threadId);
  if (status === "headless") throw headlessError({ threadId, namespace: "" });
  if (status !== "stale") return;
  // The row has the revision that the append would have made, one more than the present one.
  const now = Number(revision) - 1;
  throw new StaleReadError(threadId, seen !== undefined && seen > now ? now : undefined);
}

/** A tier in PostgreSQL. Every method is one statement of sql/statements.sql, nearly always a call of one function. */
export class PostgresTier
  implements
    Tier,
    AncestryReader,
    ThreadCopier,
    ThreadForker,
    KeyCheckKeeper,
    LeaseKeeper,
    LockKeeper,
    UnchangedDeleter,
    ItemKeeper,
    WorkspaceKeeper,
    CacheKeeper,
    ArchiveSource,
    BytesReplacer,
    Diagnoser,
    ScriptedSetup,
    ThreadTagger,
    StatusKeeper,
    ThreadInspector,
    ThreadMender,
    LeftoverFinder,
    Sweeper
{
  readonly name: string;
  readonly schema: string;
  readonly maxBytes = longestResult;
  readonly peeksRecords = true;
  readonly remains = [
    {
      what: "a row with the thread's id (its tombstone)",
      forMs: tombstoneMs,
      removedBy:
        "later deletions, ten at a time, and maintenance; then the database's own backups and WAL archive",
    },
  ];
  readonly items: PostgresItems;
  readonly workspaces: PostgresWorkspaces;
  readonly caches: PostgresCaches;
  readonly #executor: Executor;
  readonly #sql: ReturnType<typeof statementsIn>;
  readonly #appends: GroupCommit;
  readonly #news: News;

  /** @throws InvalidOptionError */
  constructor(given: Executor, schema: string, name = "postgres") {
    if (typeof given?.send !== "function")
      throw new InvalidOptionError("executor", typeof given, "A tier over a pool is postgres({ pool }).");
    const executor = explaining(given, schema);
    this.name = name;
    this.schema = schema;
    this.#executor = executor;
    this.#sql = statementsIn(schema);
    this.#appends = new GroupCommit(executor, this.#sql);
    const { notify, listen } = this.#sql;
    this.#news = new News(
      executor.isAlone === true
        ? undefined
        : {
            send: (text) => this.#run(notify, [text]),
            listen: executor.listen && ((...args) => executor.listen!(listen.text, ...args)),
          },
    );
    this.items = new PostgresItems(executor, this.#sql);
    this.caches = new PostgresCaches(executor, this.#sql);
    this.workspaces = new PostgresWorkspaces(executor, this.#sql, this.#news);
  }

  async peek(at: MaybeAddress): Promise<Peek> {
    const { state, page } = await this.#read(at, false);
    if (state === undefined) return { revision: 0, writes: [] };
    const record = page.checkpoints[0]?.record;
    return {
      ...state,
      checkpointId: at.checkpointId ?? state.head,
      ...(record === undefined ? {} : { record }),
      writes: page.writes,
    };
  }

  async read(at: MaybeAddress): Promise<Reading> {
    const { state, page } = await this.#read(at, true);
    if (state === undefined) return { revision: 0 };
    const checkpoint = page.checkpoints.find(({ whole }) => whole);
    if (checkpoint === undefined) return state;
    const { record, blobs, writes } = checkpoint;
    return { ...state, checkpoint: { record, blobs, writes } };
  }

  async *list(query: ListQuery): AsyncGenerator<ListedCheckpoint> {
    let left = query.limit ?? Number.POSITIVE_INFINITY;
    let size = Math.min(query.recordsOnly === true ? largestPage : firstPage, left);
    let last: ReadRow | undefined;
    while (left > 0) {
      const values = [
        maybeKey(query.threadId),
        maybeKey(query.namespace),
        maybeKey(query.checkpointId),
        maybeKey(query.before),
        query.terms === undefined ? null : [...query.terms],
        query.runIds?.map(keyOf) ?? null,
        query.lost === true,
        query.recordsOnly !== true,
        last?.thread ?? null,
        last?.id ?? null,
        last?.ns ?? null,
        size,
      ];
      const rows = await this.#rows(this.#sql.list, values, query.threadId);
      const known = await this.#keys(rows);
      const { checkpoints } =
        query.threadId === undefined
          ? pageOf(rows, known, new Map())
          : this.#pageOfThread(rows, known, query.threadId);
      for (const { record, blobs, writes, head } of checkpoints) yield { record, blobs, writes, head };
      if (checkpoints.length < size) return;
      left -= checkpoints.length;
      last = checkpoints.at(-1)!.row;
      size = Math.min(
        size * 2,
        query.recordsOnly === true ? recordsPageAfter(checkpoints) : pageAfter(checkpoints),
        left,
      );
    }
  }

  async *threads(query: ThreadQuery): AsyncGenerator<ThreadInfo> {
    let left = query.limit ?? Number.POSITIVE_INFINITY;
    let last: Readonly<Record<string, unknown>> | undefined;
    const { status } = query;
    const wanted = status === undefined || status === "unknown" ? undefined : statusLetters[status];
    const isByStatus = status !== undefined && query.tags === undefined && query.headTerms === undefined;
    // Whether this process leaves threads out: by tags and status those that stand otherwise, else those that are damaged.
    let isSifted = status !== undefined && !isByStatus;
    while (left > 0) {
      const size = isSifted ? threadsPerPage : Math.min(left, threadsPerPage);
      const asked = [
        query.writtenBeforeMs ?? null,
        query.order === "newest",
        query.includeEvicted !== false,
        last?.["written_ms"] ?? query.after?.writtenAtMs ?? null,
        last === undefined ? maybeKey(query.after?.threadId) : null,
        last?.["thread"] ?? null,
        size,
      ];
      const page = isByStatus
        ? await this.#run(this.#sql.threadsByStatus, [...asked, wanted ?? null])
        : await this.#run(this.#sql.threads, [
            ...asked,
            ...(query.tags === undefined ? [null, null] : tagColumns(query.tags)),
            query.headTerms === undefined ? null : [...query.headTerms],
          ]);
      let yielded = 0;
      last = page.at(-1);
      // A last row without a key says where the next page continues: one call looks at a limited number of threads.
      const isCut = last !== undefined && last["key"] === null;
      const rows = isCut ? page.slice(0, -1) : page;
      const records = rows.filter(({ body }) => (body ?? null) !== null).map(recordRow);
      const standing =
        status !== undefined && !isByStatus
          ? await this.#statuses(rows.map(({ thread }) => thread as string))
          : undefined;
      const heads = rows.flatMap(({ head }) => (head === null ? [] : [head as Uint8Array]));
      const keys = await this.#keysOf([...heads, ...unknownKeys(records, new KeyReader())]);
      const named = rows.filter((row) => namesThread(row, keys));
      for (const row of rows)
        if (!namesThread(row, keys)) refuseKey("A thread", row["key"] as Uint8Array, {}, query.onDamaged);
      const ids = new Map(named.map((row) => [row["thread"] as string, threadIdOf(row, keys)]));
      const headRecords = new Map(
        pageOf(records, keys, ids).checkpoints.map(({ record }) => [record.threadId, record]),
      );
      for (const row of named) {
        const threadId = threadIdOf(row, keys);
        const headRecord = headRecords.get(threadId);
        const head = row["head"] as Uint8Array | null;
        const isDamaged = head !== null && !keys.knows(head);
        const stands =
          status === undefined
            ? undefined
            : statusOfLetter(standing === undefined ? row["status"] : standing.get(row["thread"] as string));
        if (stands !== undefined && status !== undefined && stands !== status) continue;
        const info: ThreadInfo = {
          threadId,
          revision: Number(row["revision"]),
          head: head === null || isDamaged ? undefined : keys.id(head),
          writtenAtMs: Number(row["written_ms"]),
          evicted: row["evicted"] === true,
          ...(headRecord === undefined ? {} : { headRecord }),
          ...(stands === undefined ? {} : { status: stands }),
        };
        if (isDamaged) {
          refuseKey(`The head of thread ${JSON.stringify(threadId)}`, head, { threadId }, query.onDamaged);
          continue;
        }
        yield info;
        yielded += 1;
        if (yielded === left) return;
      }
      if (rows.length < size && !isCut) return;
      left -= yielded;
      isSifted ||= yielded < rows.length;
    }
  }

  async #statuses(threads: readonly string[]): Promise<ReadonlyMap<string, unknown>> {
    if (threads.length === 0) return new Map();
    const rows = await this.#run(this.#sql.statuses, [[...threads]]);
    return new Map(rows.map(({ thread, status }) => [thread as string, status]));
  }

  async noteStatus(threadId: string, revision: number, status: ThreadStatus): Promise<boolean> {
    const values = [keyOf(threadId), revision, statusLetters[status]];
    return (await this.#run(this.#sql.noteStatus, values, threadId)).length > 0;
  }

  async blobs(threadId: string, only?: readonly BlobHash[]): Promise<BlobInfo[]> {
    const key = keyOf(threadId);
    const rows =
      only === undefined
        ? await this.#run(this.#sql.blobs, [key], threadId)
        : await this.#run(
            this.#sql.blobsNamed,
            [key, only.map((hash) => Buffer.from(hash, "hex"))],
            threadId,
          );
    return rows.map(({ hash, base, size }) => ({
      hash: hexOf(hash as Uint8Array),
      base: base === null ? undefined : hexOf(base as Uint8Array),
      size: Number(size),
    }));
  }

  async append(request: AppendRequest): Promise<Appended> {
    checkStoredSize(this.name, this.maxBytes, request);
    const rows = await this.#appends.append(this.#fitting(pendingAppend(request)));
    const first = rows[0]!;
    refuse(request, first);
    const others = rows.flatMap(({ head }) => (head === null ? [] : [head as Uint8Array]));
    const keys = others.length === 0 ? new KeyReader() : await this.#keysOf(others);
    if (first["status"] === "conflict") {
      const at = rows.findIndex(({ moved }) => moved === null);
      throw conflictOf(
        request,
        request.heads[at]!,
        keyed(keys, rows[at]!["head"] as Uint8Array, "heads.id", request.threadId),
      );
    }
    const heads = request.heads.map(({ namespace, to }, i) => {
      const { head, moved } = rows[i]!;
      return {
        namespace,
        head: head === null ? to : keyed(keys, head as Uint8Array, "heads.id", request.threadId),
        moved: moved === true,
      };
    });
    return { revision: Number(first["revision"]), heads };
  }

  async appendWrites(request: AppendWritesRequest): Promise<void> {
    const { threadId, newBlobs } = request;
    checkStoredSize(this.name, this.maxBytes, { threadId, blobs: newBlobs, writes: [request] });
    const rows = await this.#appends.append(this.#fitting(pendingWrites(request)));
    refuse(request, rows[0]!);
  }

  /** Refuses a write that is longer than a parameter may be: PostgreSQL would end the connection. */
  #fitting(append: PendingAppend): PendingAppend {
    const { bytes, threadId } = append;
    if (bytes <= longestParameter) return append;
    throw new StratigraphError(
      "SERIALIZATION",
      `Thread ${JSON.stringify(threadId)}: nothing was stored. One write brings ${bytes} bytes; PostgreSQL takes at most ` +
        `${longestParameter} at once. Put large values in steps of their own, or keep them elsewhere and their keys in the state.`,
      { threadId, tier: this.name, bytes, maxBytes: longestParameter },
    );
  }

  async remove(request: RemoveRequest): Promise<boolean> {
    checkStoredSize(this.name, this.maxBytes, { threadId: request.threadId, blobs: request.replaceBlobs });
    const data = new BinaryArgument();
    const changes = {
      checkpoints: request.checkpoints.map(({ checkpointId, namespace }) => ({
        id: keyText(checkpointId),
        ns: keyText(namespace),
      })),
      drop_blobs: request.dropBlobs.map(hashText),
      replace_blobs: request.replaceBlobs.map(({ hash, base, bytes }) => ({
        hash: hashText(hash),
        base: hashText(base),
        bytes_start: data.add(bytes),
        bytes_length: bytes.length,
      })),
      heads: request.heads.map(({ namespace, to }) => ({
        ns: keyText(namespace),
        id: to === undefined ? undefined : keyText(to),
      })),
    };
    const values = [keyOf(request.threadId), request.revision, JSON.stringify(changes), data.value()];
    const rows = await this.#run(this.#sql.remove, values, request.threadId);
    return rows[0]!["done"] === true;
  }

  async replaceBytes(request: ReplaceBytesRequest): Promise<number | undefined> {
    const { threadId, revision, records, writes, blobs } = request;
    const sized = blobs.map(({ hash, bytes }) => ({ hash, bytes }));
    checkStoredSize(this.name, this.maxBytes, { threadId, blobs: sized });
    const data = new BinaryArgument();
    const body = ({ checkpointId, namespace, body: bytes }: Address & { body: Uint8Array }): object => ({
      id: keyText(checkpointId),
      ns: keyText(namespace),
      body_start: data.add(bytes),
      body_length: bytes.length,
    });
    const replaced = {
      records: records.map(body),
      writes: writes.map((batch) => ({ ...body(batch), place: batch.place })),
      blobs: blobs.map(({ hash, bytes }) => ({
        hash: hashText(hash),
        bytes_start: data.add(bytes),
        bytes_length: bytes.length,
      })),
    };
    const values = [keyOf(threadId), revision, JSON.stringify(replaced), data.value()];
    const [row] = await this.#run(this.#sql.replaceBytes, values, threadId);
    return row === undefined ? undefined : Number(row["revision"]);
  }

  async evict(threadId: string, revision: number): Promise<boolean> {
    const rows = await this.#run(this.#sql.evict, [keyOf(threadId), revision], threadId);
    return rows[0]!["done"] === true;
  }

  async deleteThread(threadId: string): Promise<void> {
    await this.#run(this.#sql.deleteThread, [keyOf(threadId), longIdOf(threadId) ?? null], threadId);
  }

  async deleteUnchanged(threadId: string, revision: number): Promise<boolean> {
    const rows = await this.#run(this.#sql.deleteUnchanged, [keyOf(threadId), revision], threadId);
    return rows.length > 0;
  }

  async ancestry(at: Address, seedTerms: readonly number[], limit: number): Promise<StoredCheckpoint[]> {
    const values = [keyOf(at.threadId), keyOf(at.namespace), keyOf(at.checkpointId), [...seedTerms], limit];
    const rows = await this.#rows(this.#sql.ancestry, values, at.threadId);
    return this.#pageOfThread(rows, await this.#keys(rows), at.threadId).checkpoints.map(
      ({ record, blobs, writes }) => ({ record, blobs, writes }),
    );
  }

  async copyThread(sourceId: string, targetId: string): Promise<boolean> {
    const values = [keyOf(sourceId), keyOf(targetId), longIdOf(targetId) ?? null];
    const rows = await this.#run(this.#sql.copyThread, values);
    return rows[0]!["done"] === true;
  }

  async outline(threadId: string, checkpointId?: string): Promise<ThreadOutline> {
    const values = [keyOf(threadId), maybeKey(checkpointId)];
    const rows = await this.#rows(this.#sql.outline, values, threadId);
    const state = rows.find(({ kind }) => kind === "s");
    const { checkpoints } = this.#pageOfThread(rows, await this.#keys(rows), threadId);
    const wanted = checkpointId ?? checkpoints.find(({ record }) => record.namespace === "")?.head;
    return {
      revision: Number(state?.n ?? 0),
      checkpoint: checkpoints.find(({ record }) => record.namespace === "" && record.checkpointId === wanted),
      continued: state !== undefined && state.b !== null,
      heads: checkpoints.filter(({ record, head }) => record.checkpointId === head),
    };
  }

  async forkThread({
    sourceId,
    targetId,
    seen,
    tips,
    also,
  }: ForkRequest): Promise<{ checkpoints: number; bytes: number } | undefined> {
    const heads = tips.map(({ namespace, checkpointId }) => ({ namespace, to: checkpointId, expected: [] }));
    const append = {
      ...pendingAppend({
        threadId: targetId,
        ...also,
        heads: [...heads, ...also.heads],
        onConflict: "refuse",
      }),
      // The copy begins a thread, whatever is written with it. So a target that was deleted may be created again.
      goesOn: false,
    };
    const tipRows = tips.map(({ namespace, checkpointId, ancestors, until, writes }) => ({
      ns: keyText(namespace),
      id: keyText(checkpointId),
      ancestors: Math.min(ancestors, mostAncestors),
      until,
      writes,
    }));
    const rows = await this.#run(this.#sql.forkThread, [
      keyOf(sourceId),
      seen,
      keyOf(targetId),
      longIdOf(targetId) ?? null,
      JSON.stringify(tipRows),
      ...appendArguments([[append]]),
    ]);
    const { status, head, checkpoints, bytes } = rows[0]!;
    if (status === "exists") {
      const keys = await this.#keysOf([head as Uint8Array]);
      throw threadExists(targetId, keys.id(head as Uint8Array));
    }
    return status === "ok" ? { checkpoints: Number(checkpoints), bytes: Number(bytes) } : undefined;
  }

  async lease(name: string, holder: string, forMs: number): Promise<boolean> {
    const rows = await this.#run(this.#sql.lease, [keyOf(name), keyOf(holder), forMs]);
    return rows[0]!["done"] === true;
  }

  async keyChecks(names: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const leases = new Map(names.map((name) => [hexOf(keyCheckLease(name)), name]));
    const rows = await this.#run(this.#sql.keyChecks, [names.map(keyCheckLease)]);
    return new Map(
      rows.map(({ name, holder }) => [
        leases.get(hexOf(name as Uint8Array))!,
        Buffer.from(holder as Uint8Array).toString("latin1"),
      ]),
    );
  }

  /** @throws StratigraphError "ACCESS_DENIED" if nothing can be written. Asked first, as a refused write would be repeated for a while. */
  async claimKeyCheck(name: string, value: string): Promise<string> {
    const [server] = await this.#run(this.#sql.writable, []);
    if (server!["writable"] !== true)
      throw new StratigraphError("ACCESS_DENIED", "The server or this role takes no writes.", {
        tier: this.name,
      });
    const [row] = await this.#run(this.#sql.claimKeyCheck, [keyCheckLease(name), Buffer.from(value)]);
    return Buffer.from(row!["holder"] as Uint8Array).toString("latin1");
  }

  async lock(name: string, holder: string, forMs: number): Promise<LockState> {
    const values = [keyOf(name), Buffer.from(holder), forMs];
    const [row] = await this.#run(this.#sql.lock, values);
    // No row: the lock that was in the way was swept meanwhile, so it isn't in the way of the next attempt.
    if (row === undefined) return await this.lock(name, holder, forMs);
    return {
      held: row["held"] === true,
      holder: Buffer.from(row["owner"] as Uint8Array).toString("utf8"),
      token: Number(row["token"]),
      sinceMs: Math.floor(Number(row["since_ms"])),
    };
  }

  async unlock(name: string, holder: string): Promise<void> {
    await this.#run(this.#sql.unlock, [keyOf(name), Buffer.from(holder)]);
  }

  async tagThread(threadId: string, tags: readonly ThreadTag[]): Promise<number> {
    const values = [keyOf(threadId), longIdOf(threadId) ?? null, ...tagColumns(tags)];
    const rows = await this.#run(this.#sql.tagThread, values, threadId);
    return Number(rows[0]!["revision"]);
  }

  async untagThread(threadId: string, tags: readonly ThreadTag[]): Promise<void> {
    const values = [keyOf(threadId), ...tagColumns(tags)];
    await this.#run(this.#sql.untagThread, values, threadId);
  }

  async threadTags(threadId: string): Promise<ThreadTag[]> {
    const rows = await this.#run(this.#sql.threadTags, [keyOf(threadId)], threadId);
    return rows.map(({ key, value }) => ({
      key: Buffer.from(key as Uint8Array).toString("utf8"),
      value: Buffer.from(value as Uint8Array).toString("utf8"),
    }));
  }

  async *tombstones({ deletedFromMs = 0, after, onDamaged }: TombstoneQuery): AsyncGenerator<Tombstone> {
    let [lastMs, lastKey] = [after?.deletedAtMs ?? null, maybeKey(after?.threadId)];
    for (;;) {
      const rows = await this.#run(this.#sql.tombstones, [deletedFromMs, lastMs, lastKey, threadsPerPage]);
      const keys = new KeyReader();
      for (const row of rows) {
        [lastMs, lastKey] = [Number(row["deleted_ms"]), Buffer.from(row["key"] as Uint8Array)];
        if (namesThread(row, keys)) yield { threadId: threadIdOf(row, keys), deletedAtMs: lastMs };
        else refuseMark(lastKey, onDamaged);
      }
      if (rows.length < threadsPerPage) return;
    }
  }

  async strays(threadId: string): Promise<Address[]> {
    const rows = await this.#run(this.#sql.strays, [keyOf(threadId)], threadId);
    const keys = await this.#keysOf(rows.flatMap(({ id, ns }) => [id as Uint8Array, ns as Uint8Array]));
    return rows.map(({ id, ns }) => ({
      threadId,
      namespace: keyed(keys, ns as Uint8Array, "writes.ns", threadId),
      checkpointId: keyed(keys, id as Uint8Array, "writes.id", threadId),
    }));
  }

  async inspect(threadId: string): Promise<ThreadInspection | undefined> {
    const rows = await this.#run(this.#sql.inspect, [keyOf(threadId)], threadId);
    const state = rows.find(({ kind }) => kind === "s");
    if (state === undefined) return undefined;
    const places = rows.filter(({ kind }) => kind !== "s");
    const keys = await this.#keysOf(places.flatMap(({ id, ns }) => [id as Uint8Array, ns as Uint8Array]));
    const addresses = (kind: string): Address[] => {
      const table = kind === "h" ? "heads" : "writes";
      return places
        .filter((row) => row["kind"] === kind)
        .map(({ id, ns }) => ({
          threadId,
          namespace: keyed(keys, ns as Uint8Array, `${table}.ns`, threadId),
          checkpointId: keyed(keys, id as Uint8Array, `${table}.id`, threadId),
        }));
    };
    return {
      revision: Number(state["revision"]),
      deleted: state["deleted"] === true,
      evicted: state["evicted"] === true,
      removedAt: Number(state["removed_at"]),
      heads: new Map(addresses("h").map(({ namespace, checkpointId }) => [namespace, checkpointId])),
      strays: addresses("w"),
      ...(state["contradicts"] === true ? { contradictions: ["live"] } : {}),
    };
  }

  async mendThread(threadId: string): Promise<boolean> {
    return (await this.#run(this.#sql.mendThread, [keyOf(threadId)], threadId)).length > 0;
  }

  async *leftovers(): AsyncGenerator<Leftover> {
    const keys = new KeyReader();
    let after = "0";
    for (;;) {
      const rows = await this.#run(this.#sql.leftovers, [after, threadsPerPage]);
      for (const row of rows) {
        after = row["thread"] as string;
        if (row["kind"] === null) continue;
        const { checkpoints, blobs, writes } = row;
        const kind = row["kind"] as Leftover["kind"];
        yield {
          id: after,
          kind,
          ...(row["key"] === null || !namesThread(row, keys) ? {} : { threadId: threadIdOf(row, keys) }),
          ...(kind === "lost" ? await this.#lost(after) : {}),
          what: `${String(checkpoints)} checkpoints, ${String(blobs)} blobs, ${String(writes)} batches of pending writes`,
        };
      }
      if (rows.length < threadsPerPage) return;
    }
  }

  async dropLeftover(id: string): Promise<boolean> {
    const [row] = await this.#run(this.#sql.dropLeftover, [id]);
    return Number(row!["dropped"]) > 0;
  }

  async reviveLeftover(id: string, threadId: string): Promise<boolean> {
    const values = [id, keyOf(threadId), longIdOf(threadId) ?? null];
    return (await this.#run(this.#sql.reviveLeftover, values, threadId)).length > 0;
  }

  async #lost(thread: string): Promise<Pick<Leftover, "restore" | "heads">> {
    const rows = await this.#run(this.#sql.leftoverHeads, [thread]);
    const keys = await this.#keysOf(rows.flatMap(({ ns, id }) => [ns as Uint8Array, id as Uint8Array]));
    const known = rows.filter(({ ns, id }) => keys.knows(ns as Uint8Array) && keys.knows(id as Uint8Array));
    return {
      restore: `the row thread = ${thread} of ${this.schema}.threads`,
      heads: new Map(known.map(({ ns, id }) => [keys.id(ns as Uint8Array), keys.id(id as Uint8Array)])),
    };
  }

  /**
   * Creates or updates the schema. It may be repeated, and called by many processes at once.
   * @throws StratigraphError "NOT_SET_UP" if something is missing under `verifyOnly`, or if a newer version applied a breaking
   * migration; "MISCONFIGURED" if this is one of several shards
   */
  async setup(options: SetupOptions = {}): Promise<void> {
    await setUp(this.#executor, this.schema, options);
    const found = identityIn(await this.#run(this.#sql.shard, []));
    if (found !== undefined) throw isShard(this.schema, found);
  }

  /** The SQL that {@link setup} runs, for applying migrations by other means. */
  setupScript({ createSchema = true }: Pick<SetupOptions, "createSchema"> = {}): string {
    return setupSql(this.schema, { createSchema });
  }

  /**
   * Checks by one statement, which is not repeated, whether calls would be served now.
   * @throws StratigraphError "UNAVAILABLE", "NOT_SET_UP", or what any other call would throw
   */
  async ping(): Promise<void> {
    checkInstalled(this.schema, await this.#run(this.#sql.ping, []));
  }

  /** Looks at the server, the schema, the rights of this user, and the pool. Changes nothing. */
  async diagnose(request: DiagnoseRequest): Promise<readonly Diagnosis[]> {
    return await diagnose(this.#executor, this.name, this.schema, request);
  }

  /**
   * Deletes threads that have only pending writes, because their writer died before the first checkpoint, and tombstones older than a
   * week: at most 200 of each per call. Also deletes leases that their holders didn't give back, expired items, and
   * namespaces without items.
   * @param olderThanMs milliseconds since the thread was last written, or since the lease expired
   * @throws StratigraphError
   */
  async sweep(olderThanMs: number): Promise<number> {
    const [row] = await this.#run(this.#sql.sweep, [olderThanMs, threadsPerSweep]);
    // In a transaction of its own: it waits for changes of items, and they may wait for the rows that the other one holds.
    const [namespaces] = await this.#run(this.#sql.sweepNamespaces, []);
    return Number(row!["swept"]) + Number(namespaces!["swept"]);
  }

  /**
   * Refuses further calls (code "CLOSED"), waits at most `statementTimeout` for those under way, and closes the pool or the
   * embedded database that was opened here. May be called again.
   */
  async end(): Promise<void> {
    await Promise.all([this.#news.end(), this.#executor.end()]);
  }

  async #read(at: MaybeAddress, blobs: boolean): Promise<{ state?: ThreadState; page: Page }> {
    const values = [keyOf(at.threadId), keyOf(at.namespace), maybeKey(at.checkpointId), blobs];
    const rows = await this.#rows(blobs ? this.#sql.read : this.#sql.peek, values, at.threadId);
    const keys = await this.#keys(rows);
    const page = this.#pageOfThread(rows, keys, at.threadId);
    const state = rows.find(({ kind }) => kind === "s");
    if (state === undefined) return { page };
    return {
      page,
      state: {
        revision: Number(state.n),
        head: state.a === null ? undefined : keyed(keys, state.a, "heads.id", at.threadId),
        ...(state.b === null ? {} : { headless: true }),
      },
    };
  }

  #pageOfThread(rows: readonly ReadRow[], keys: KeyReader, threadId: string): Page {
    return pageOf(rows, keys, new Map(rows.map(({ thread }) => [thread, threadId])));
  }

  /** @param threadId the thread that the statement concerns, if it concerns exactly one */
  async #run(statement: Statement, values: readonly unknown[], threadId?: string): Promise<PgResult["rows"]> {
    return (await this.#executor.run({ ...statement, values, threadId })).rows;
  }

  async #rows(statement: Statement, values: readonly unknown[], threadId?: string): Promise<ReadRow[]> {
    return (await this.#run(statement, values, threadId)) as unknown as ReadRow[];
  }

  async #keys(rows: readonly ReadRow[]): Promise<KeyReader> {
    return await this.#keysOf(unknownKeys(rows, new KeyReader()));
  }

  /** A reader that knows these keys. Only keys of ids over 512 bytes cost a statement. */
  async #keysOf(keys: readonly Uint8Array[]): Promise<KeyReader> {
    const reader = new KeyReader();
    const long = keys.filter((key) => !reader.knows(key)).map((key) => Buffer.from(key));
    if (long.length === 0) return reader;
    const rows = await this.#run(this.#sql.longIds, [long]);
    for (const { key, id } of rows) reader.learn(key as Uint8Array, id as Uint8Array);
    return reader;
  }
}
