// long file: all that reads and cleans the index of threads is best read side by side
import { randomInt } from "node:crypto";
import { StratigraphError, type ThreadInfo } from "@stratigraph/core";
import { remembering, statusOfLetter } from "@stratigraph/core/internal";
import type { ThreadQuery, ThreadTag } from "@stratigraph/core/tier";
import type { Connection } from "./connection.ts";
import { corruptThread, ofThread } from "./corruptThread.ts";
import { decodeId, encodeId, encodeCheckpointKey } from "./checkpointKeys.ts";
import type { KeyNames } from "./keyNames.ts";
import { decodeRecord } from "./fieldValues.ts";
import { encodeTag, TagIndex, tagsIn } from "./tagIndex.ts";

/** How many threads a page has. */
const pageSize = 200;

/** How many threads are remembered that this process put into the index of open ones. */
const rememberedOpen = 10_000;

/**
 * How long a run's set is kept after its last write, at least, if threads expire. After that its threads have expired too, or nobody
 * will roll the run back any more.
 */
const runsLiveMs = 7 * 86_400_000;

/**
 * A member of the index of open threads that is no thread's: no id is encoded so. While it isn't there, threads that older versions wrote
 * may be missing from the index, so all threads are looked at. It is lost with the index, if the server is short of memory.
 */
const wholeMark = "\0\0whole";
const wholeBytes = Buffer.from(wholeMark);

/** An entry of the index of all threads. */
export interface IndexedThread {
  readonly threadId: string;
  readonly writtenAtMs: number;
}

/** A thread's state and tags; "headless" if it has no checkpoint. */
type Looked =
  | { readonly info: ThreadInfo; readonly tags: ReadonlySet<string> }
  | "gone"
  | "headless"
  | "damaged";

/**
 * Which threads there are, and which threads each run wrote to. In a cluster these keys are in other slots than the threads, so no
 * script can write them together with a thread. They are written separately and may name threads that are gone, so readers look at
 * the thread itself. Reading a checkpoint never needs them.
 */
export class ThreadIndex {
  readonly #connection: Connection;
  readonly #keys: KeyNames;
  readonly #ttlMs: number;
  readonly tags: TagIndex;
  /** Threads that this process put into the index of open ones, and hasn't made idle since. */
  readonly #entered = remembering<true>(rememberedOpen);
  /** Where the next sweep continues: after this thread of an index, and after so many runs. */
  readonly #sweptThreads = new Map<string, IndexedThread | undefined>();
  #sweptRuns = 0;

  constructor(connection: Connection, keys: KeyNames, ttlMs: number) {
    this.#connection = connection;
    this.#keys = keys;
    this.#ttlMs = ttlMs;
    this.tags = new TagIndex(connection, keys);
  }

  /**
   * Puts a thread into the index of open threads, before a write that opens it: if this process dies right after the write, nobody else
   * would. Not awaited, so that the write follows at once, on the same connection. If it fails, {@link written} makes up for it.
   */
  opening(threadId: string): void {
    if (this.#entered.get(threadId) === true) return;
    this.#enter(threadId, Date.now()).then(
      () => this.#entered.set(threadId, true),
      () => undefined,
    );
  }

  /**
   * Indexes a thread after it was written. Never rejects: the write succeeded, and the thread's next write indexes it again.
   * @param writtenAtMs 0 if the index of all threads has it
   * @param stands how it stands, a letter, and when it was written; empty if the index of open threads has that
   */
  async written(threadId: string, writtenAtMs: number, stands: string): Promise<void> {
    const member = encodeId(threadId);
    // In one round trip: a thread that is idle now leaves the index of open threads in the background.
    const opening =
      stands === "" || stands.startsWith("i")
        ? undefined
        : this.#enter(threadId, Number(stands.slice(1))).catch(() => undefined);
    if (stands.startsWith("i")) this.#entered.delete(threadId);
    const added =
      writtenAtMs === 0
        ? undefined
        : await this.#connection
            .command("ZADD", this.#keys.threads, writtenAtMs, member)
            .catch(() => undefined);
    await opening;
    if (stands.startsWith("i")) this.#leave(threadId).catch(() => undefined);
    if (this.#ttlMs === 0 || Number(String(added)) !== 1) return;
    // Nobody waits for this: if it fails, the next sample makes up for it.
    this.#sample()
      .then(() => this.tags.sample())
      .catch(() => undefined);
  }

  /**
   * Indexes a thread before a run writes to it. An extra name does no harm; a missing one would hide what the run wrote. Never rejects:
   * the write itself decides.
   * @returns false if the thread may not be indexed, so that the run's next write has to try again
   */
  async wroteTo(runId: string, threadId: string): Promise<boolean> {
    const key = this.#keys.run(runId);
    // The score comes first: a sweep that sees the name but not yet the thread then sees the new score too, and keeps the name.
    const commands = [
      this.#connection.command("ZADD", this.#keys.runs, Date.now(), encodeId(runId)),
      this.#connection.command("SADD", key, encodeId(threadId)),
    ];
    if (this.#ttlMs > 0) {
      commands.push(this.#connection.command("PEXPIRE", key, Math.max(runsLiveMs, 2 * this.#ttlMs)));
    }
    const ends = await Promise.allSettled(commands);
    return ends.every(({ status }) => status === "fulfilled");
  }

  /**
   * Puts a thread into the index of open threads. Each time with another score within the second: so {@link #leave} sees that it was put
   * there anew.
   */
  async #enter(threadId: string, writtenAtMs: number, ...only: "NX"[]): Promise<void> {
    const second = Math.floor(writtenAtMs / 1000) * 1000;
    const score = second + randomInt(1000 * 1024) / 1024;
    await this.#connection.command("ZADD", this.#keys.open, ...only, score, encodeId(threadId));
  }

  /** Takes a thread out of the index of open threads if it is idle or gone, and wasn't put there meanwhile. */
  async #leave(threadId: string): Promise<void> {
    const score = await this.#connection.command("ZSCORE", this.#keys.open, encodeId(threadId));
    if (score === null) return;
    const found = await this.#look(threadId, { status: "unknown" });
    if (isOpen(found)) return;
    await this.#connection.run("unindex", [this.#keys.open], [encodeId(threadId), String(score)]);
  }

  /** Removes a thread that was deleted. */
  async deleted(threadId: string): Promise<void> {
    this.#entered.delete(threadId);
    const member = encodeId(threadId);
    await Promise.allSettled([
      this.#connection.command("ZREM", this.#keys.threads, member),
      this.#connection.command("ZREM", this.#keys.open, member),
    ]);
  }

  /**
   * Removes the names of threads that are gone from the indexes, which don't notice when threads expire. Puts those that are open into the
   * index of open threads, should they be missing there. Each call looks at a page of each index, and continues where the last one ended.
   * @param beforeMs only names that were written before this instant, in milliseconds since 1970
   * @returns how many names were removed
   */
  async sweep(beforeMs: number): Promise<number> {
    let swept = 0;
    for (const key of [this.#keys.threads, this.#keys.open]) swept += await this.#sweepThreads(key, beforeMs);
    return swept + (await this.#sweepRuns(beforeMs)) + (await this.tags.sweep(beforeMs));
  }

  async #sweepThreads(key: string, beforeMs: number): Promise<number> {
    const page = await this.#page(false, beforeMs, this.#sweptThreads.get(key), key);
    this.#sweptThreads.set(key, page.length < pageSize ? undefined : page.at(-1));
    const swept = page.map(async (thread): Promise<number> => {
      if (thread.writtenAtMs >= beforeMs || thread.threadId === wholeMark) return 0;
      const found = await this.#lookOrTell(thread.threadId, {
        status: "unknown",
        onDamaged: () => undefined,
      });
      if (found === "gone") return await this.#gone(thread, key);
      if (isOpen(found)) await this.#enter(thread.threadId, found.info.writtenAtMs, "NX");
      return 0;
    });
    return (await Promise.all(swept)).reduce((sum, many) => sum + many, 0);
  }

  async #sweepRuns(beforeMs: number): Promise<number> {
    const key = this.#keys.runs;
    const from = this.#sweptRuns;
    const page = (await this.#connection.command(
      ...(["ZRANGEBYSCORE", key, "-inf", `(${beforeMs}`, "LIMIT", from, pageSize] as const),
    )) as Buffer[];
    let swept = 0;
    let left = 0;
    for (const runId of page) {
      const set = this.#keys.run(decodeId(runId));
      const [members, gone] = await this.#goneOf(set);
      const score = await this.#connection.command("ZSCORE", key, runId);
      if (score !== null && Number(String(score)) >= beforeMs) continue;
      for (const member of gone) swept += Number(await this.#connection.command("SREM", set, member));
      if (gone.length === members) await this.#connection.command("ZREM", key, runId);
      else left += 1;
    }
    this.#sweptRuns = page.length < pageSize ? 0 : from + left;
    return swept;
  }

  /** How many threads a run's set names, and which of them are gone. */
  async #goneOf(set: string): Promise<[number, Buffer[]]> {
    const members = [...((await this.#connection.command("SMEMBERS", set)) as Iterable<Buffer>)];
    const gone: Buffer[] = [];
    for (const member of members) if (await this.#isGone(decodeId(member))) gone.push(member);
    return [members.length, gone];
  }

  /** Threads that runs wrote to. */
  async ofRuns(runIds: readonly string[]): Promise<string[]> {
    const found = new Set<string>();
    for (const runId of runIds) {
      const members = (await this.#connection.command("SMEMBERS", this.#keys.run(runId))) as Iterable<Buffer>;
      for (const member of members) found.add(decodeId(member));
    }
    return [...found];
  }

  /** Threads that have checkpoints, in their current state. */
  async *threads(query: ThreadQuery): AsyncGenerator<ThreadInfo> {
    let found = 0;
    if (query.limit === 0) return;
    const pages = query.tags === undefined ? this.#infos(query) : this.#tagged(query, query.tags);
    for await (const page of pages) {
      for (const info of page) {
        if (query.includeEvicted === false && info.evicted) continue;
        if (!hasTerms(info, query.headTerms)) continue;
        if (query.status !== undefined && info.status !== undefined && info.status !== query.status) continue;
        yield info;
        found += 1;
        if (found === query.limit) return;
      }
    }
  }

  async *#infos(query: ThreadQuery): AsyncGenerator<ThreadInfo[]> {
    const { status } = query;
    const asksForOpen = status !== undefined && status !== "idle";
    const isWhole =
      asksForOpen && (await this.#connection.command("ZSCORE", this.#keys.open, wholeMark)) !== null;
    const from = isWhole ? this.#keys.open : this.#keys.threads;
    for await (const page of this.pages(query, from)) {
      const infos = await Promise.all(
        page.map(async (thread): Promise<ThreadInfo | undefined> => {
          const found = await this.#lookOrTell(thread.threadId, query);
          if (found === "gone") await this.#gone(thread);
          if (asksForOpen) await this.#settle(thread, found, isWhole);
          if (typeof found !== "object") return undefined;
          // The thread may have been written to again without the index showing it yet.
          const isInTime =
            query.writtenBeforeMs === undefined || found.info.writtenAtMs < query.writtenBeforeMs;
          return isInTime ? { ...found.info, writtenAtMs: thread.writtenAtMs } : undefined;
        }),
      );
      yield infos.filter((info) => info !== undefined);
    }
    // Every thread was looked at, and those that are open were put into the index.
    if (asksForOpen && !isWhole && query.after === undefined && query.writtenBeforeMs === undefined)
      await this.#connection.command("ZADD", this.#keys.open, 0, wholeMark);
  }

  /** Corrects the index of open threads by what was found of one of them. */
  async #settle({ threadId }: IndexedThread, found: Looked, isWhole: boolean): Promise<void> {
    // Nobody knows how it stands: it stays where it is, so that the next listing tells of it, too.
    if (found === "damaged") return;
    if (isWhole && !isOpen(found)) await this.#leave(threadId);
    if (!isWhole && isOpen(found)) await this.#enter(threadId, found.info.writtenAtMs);
  }

  /** Threads that carry all tags, in order. A tag has few threads, so all are looked up and then sorted. */
  async *#tagged(query: ThreadQuery, tags: readonly ThreadTag[]): AsyncGenerator<ThreadInfo[]> {
    const [first] = tags;
    if (first === undefined) return yield* this.#infos(query);
    const wanted = tags.map((tag) => encodeTag(tag).toString("hex"));
    const { after, order, writtenBeforeMs = Number.POSITIVE_INFINITY } = query;
    const isNewest = order === "newest";
    const infos: ThreadInfo[] = [];
    const look = async (threadId: string): Promise<void> => {
      const found = await this.#lookOrTell(threadId, query);
      const carried = typeof found === "object" ? found.tags : new Set<string>();
      if (!carried.has(wanted[0]!)) await this.tags.check(threadId, encodeTag(first));
      if (typeof found !== "object" || !wanted.every((tag) => carried.has(tag))) return;
      const { info } = found;
      if (info.writtenAtMs < writtenBeforeMs && (after === undefined || comesAfter(info, after, isNewest)))
        infos.push(info);
    };
    const threadIds = [...(await this.tags.threads(first))];
    for (let at = 0; at < threadIds.length; at += pageSize)
      await Promise.all(threadIds.slice(at, at + pageSize).map(look));
    yield infos.sort((a, b) => (comesAfter(a, b, isNewest) ? 1 : -1));
  }

  /** All threads in order, a page at a time. */
  async *pages(
    query: Pick<ThreadQuery, "order" | "after" | "writtenBeforeMs">,
    key = this.#keys.threads,
  ): AsyncGenerator<IndexedThread[]> {
    const newest = query.order === "newest";
    const max = query.writtenBeforeMs ?? "";
    let after: IndexedThread | undefined = query.after;
    for (;;) {
      const page = await this.#page(newest, max, after, key);
      const seen = after;
      after = page.at(-1);
      const isAfter = (thread: IndexedThread): boolean =>
        seen === undefined || comesAfter(thread, seen, newest);
      const inTime = ({ writtenAtMs }: IndexedThread): boolean => max === "" || writtenAtMs < max;
      yield page.filter((thread) => thread.threadId !== wholeMark && isAfter(thread) && inTime(thread));
      if (after === undefined || page.length < pageSize || (!newest && !inTime(after))) return;
    }
  }

  /** Whether nothing of a thread is here. False if it is damaged. */
  async #isGone(threadId: string): Promise<boolean> {
    try {
      return (await this.#look(threadId)) === "gone";
    } catch (error) {
      if (StratigraphError.is(error, "CORRUPT")) return false;
      throw error;
    }
  }

  /** Like `#look`, but reports a damaged thread to `onDamaged`, if there is one. */
  async #lookOrTell(threadId: string, query: ThreadQuery): Promise<Looked> {
    try {
      return await this.#look(threadId, query);
    } catch (caught) {
      const error = ofThread(threadId, caught);
      if (query.onDamaged === undefined || !StratigraphError.is(error, "CORRUPT")) throw error;
      query.onDamaged(error);
      return "damaged";
    }
  }

  /**
   * A thread's current state and its tags; "headless" if it has no checkpoint.
   * @throws StratigraphError "CORRUPT" if its own fields are damaged
   */
  async #look(threadId: string, { headTerms, status }: ThreadQuery = {}): Promise<Looked> {
    const fields = ["id", "rev", "h", "evi", "nh", "dead", "at", "g", "n", "q"];
    const [key] = this.#keys.thread(threadId);
    const [id, revision, head, evicted, heads, dead, at, tags, records, kept] =
      (await this.#connection.command("HMGET", key, ...fields)) as (Buffer | null)[];
    const wrong = wrongIn(threadId, { id, revision, head, heads, dead, records });
    if (wrong !== undefined) throw corruptThread(threadId, wrong);
    if (id === null || dead?.toString() === "1") return "gone";
    if (!heads || heads.toString() === "0") return "headless";
    const [of, letter] = String(kept ?? "").split(":");
    const stands = status === undefined || of !== String(revision) ? undefined : statusOfLetter(letter);
    const info: ThreadInfo = {
      threadId,
      revision: Number(revision),
      head: head ? decodeId(head) : undefined,
      evicted: evicted?.toString() === "1",
      writtenAtMs: Number(at ?? 0),
      ...(stands === undefined ? {} : { status: stands }),
    };
    if (headTerms === undefined || info.head === undefined) return { info, tags: tagsIn(tags) };
    const recordKey = Buffer.from(encodeCheckpointKey("", info.head));
    const name = Buffer.concat([Buffer.from("r"), recordKey]);
    const record = (await this.#connection.command("HGET", key, name)) as Buffer | null;
    const headRecord = record === null ? undefined : decodeRecord(threadId, recordKey, record);
    return { info: { ...info, ...(headRecord === undefined ? {} : { headRecord }) }, tags: tagsIn(tags) };
  }

  /** Removes the name of a thread that is gone from an index, unless the thread was written to meanwhile. */
  async #gone({ threadId, writtenAtMs }: IndexedThread, key = this.#keys.threads): Promise<number> {
    const args = [encodeId(threadId), writtenAtMs];
    return Number(await this.#connection.run("unindex", [key], args));
  }

  async #page(
    newest: boolean,
    max: number | "",
    after: IndexedThread | undefined,
    key = this.#keys.threads,
  ): Promise<IndexedThread[]> {
    const cursor = after === undefined ? ["", ""] : [encodeId(after.threadId), after.writtenAtMs];
    const args = [newest ? 1 : 0, max, pageSize, ...cursor];
    const flat = (await this.#connection.run("threadPage", [key], args)) as Buffer[];
    const threads: IndexedThread[] = [];
    for (let i = 0; i < flat.length; i += 2) {
      threads.push({
        threadId: flat[i]!.equals(wholeBytes) ? wholeMark : decodeId(flat[i]!),
        writtenAtMs: Number(String(flat[i + 1])),
      });
    }
    return threads;
  }

  /**
   * Looks at two random names, and removes those whose threads are gone. Redis doesn't tell the index when a thread expires, so this
   * is called for each name that is added. It keeps the names of expired threads below about half of all names.
   */
  async #sample(): Promise<void> {
    const open = (await this.#connection.command("ZRANDMEMBER", this.#keys.open, 2)) as Buffer[];
    for (const member of open)
      if (!member.equals(wholeBytes)) {
        const [threadKey] = this.#keys.thread(decodeId(member));
        if ((await this.#connection.command("EXISTS", threadKey)) === 0) await this.#leave(decodeId(member));
      }
    const key = this.#keys.threads;
    const picked = (await this.#connection.command("ZRANDMEMBER", key, 2)) as Buffer[];
    for (const member of picked) {
      const threadId = decodeId(member);
      const score = await this.#connection.command("ZSCORE", key, member);
      const here = await this.#connection.command("EXISTS", this.#keys.thread(threadId)[0]);
      if (here === 0 && score !== null) await this.#gone({ threadId, writtenAtMs: Number(String(score)) });
    }
  }
}

/** What is wrong with these fields of a thread; undefined if nothing is. */
function wrongIn(
  threadId: string,
  fields: Readonly<
    Record<"id" | "revision" | "head" | "heads" | "dead" | "records", Buffer | null | undefined>
  >,
): string | undefined {
  const { id, revision, head, heads, dead, records } = fields;
  const is = (value: Buffer | null | undefined): boolean => value !== null && value !== undefined;
  const positive = (value: Buffer | null | undefined): boolean => is(value) && String(value) !== "0";
  if (is(id) && id!.toString() !== threadId) return "id names another thread";
  if (!is(id)) return is(revision) || is(head) || is(records) ? "id isn't there" : undefined;
  const isHeaded = is(head) || positive(heads);
  if ((isHeaded || positive(records)) && !/^\d+$/.test(String(revision))) return "rev isn't a number";
  if (isHeaded && dead?.toString() === "1") return "dead says that it was deleted, though it has checkpoints";
  if (is(head) && !positive(heads)) return "nh says that it has no head, though it has one";
  return undefined;
}

/** Whether a thread isn't idle, or nobody knows. It was looked at with a status. */
function isOpen(found: Looked): found is Exclude<Looked, string> {
  return typeof found === "object" && found.info.status !== "idle";
}

/** Whether a thread's newest root record carries all terms. True if the record isn't here. */
function hasTerms({ headRecord }: ThreadInfo, terms: readonly number[] = []): boolean {
  return headRecord === undefined || terms.every((term) => headRecord.terms.includes(term));
}

function comesAfter(a: IndexedThread, b: IndexedThread, newest: boolean): boolean {
  if (a.writtenAtMs !== b.writtenAtMs)
    return newest ? a.writtenAtMs < b.writtenAtMs : a.writtenAtMs > b.writtenAtMs;
  return newest ? a.threadId < b.threadId : a.threadId > b.threadId;
}
