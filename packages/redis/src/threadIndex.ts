import type { ThreadInfo, ThreadQuery } from "@stratigraph/core";
import type { Connection } from "./connection.ts";
import { decodeId, encodeId } from "./ids.ts";
import type { Keys } from "./keys.ts";

/** How many threads a page has. */
const pageSize = 200;

/** How long a run's set outlives its last write where threads expire: later its threads are gone too, or nobody rolls it back. */
const runsLiveMs = 7 * 86_400_000;

/** A thread as the index knows it. */
export interface IndexedThread {
  readonly threadId: string;
  readonly writtenAtMs: number;
}

/**
 * Which threads there are, and which threads a run wrote to. These keys belong to no thread, so in a cluster they live in
 * other slots and no script can write them together with a thread: they are written beside it, and may name threads that
 * are gone. Whoever reads them looks at the thread itself. Reading a checkpoint never needs them.
 */
export class ThreadIndex {
  readonly #connection: Connection;
  readonly #keys: Keys;
  readonly #ttlMs: number;
  /** Where the next sweep goes on: after this thread, and behind so many runs. */
  #sweptThread: IndexedThread | undefined;
  #sweptRuns = 0;

  constructor(connection: Connection, keys: Keys, ttlMs: number) {
    this.#connection = connection;
    this.#keys = keys;
    this.#ttlMs = ttlMs;
  }

  /** After a thread was written. Failing is no failure of the write, which is done; the next write of the thread makes up for it. */
  async written(threadId: string, writtenAtMs: number): Promise<void> {
    await Promise.allSettled([
      this.#connection.command("ZADD", this.#keys.threads, writtenAtMs, encodeId(threadId)),
    ]);
    // Nobody waits for it, and what it misses the next one finds.
    if (this.#ttlMs > 0) this.#sample().catch(() => undefined);
  }

  /** Before a run writes to a thread: a name too many does no harm, a missing one would hide what the run wrote. */
  async wroteTo(runId: string, threadId: string): Promise<void> {
    const key = this.#keys.run(runId);
    // In this order: a sweep that finds the name of a thread that isn't there yet finds the run's new score, too.
    const commands = [
      this.#connection.command("ZADD", this.#keys.runs, Date.now(), encodeId(runId)),
      this.#connection.command("SADD", key, encodeId(threadId)),
    ];
    if (this.#ttlMs > 0) {
      commands.push(this.#connection.command("PEXPIRE", key, Math.max(runsLiveMs, 2 * this.#ttlMs)));
    }
    await Promise.allSettled(commands);
  }

  /** After a thread was deleted. */
  async deleted(threadId: string): Promise<void> {
    await Promise.allSettled([this.#connection.command("ZREM", this.#keys.threads, encodeId(threadId))]);
  }

  /**
   * Takes away names of threads that are gone: of those that expired, as nobody tells the index, and those that runs wrote
   * to. Each call looks at a page of threads and a page of runs, and goes on where the last one ended.
   * @param beforeMs only what was written before this instant
   * @returns how many names went
   */
  async sweep(beforeMs: number): Promise<number> {
    return (await this.#sweepThreads(beforeMs)) + (await this.#sweepRuns(beforeMs));
  }

  async #sweepThreads(beforeMs: number): Promise<number> {
    const page = await this.#page(false, beforeMs, this.#sweptThread);
    this.#sweptThread = page.length < pageSize ? undefined : page.at(-1);
    let swept = 0;
    for (const thread of page) {
      if (thread.writtenAtMs >= beforeMs || (await this.#info(thread.threadId)) !== "gone") continue;
      swept += await this.#gone(thread);
    }
    return swept;
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

  /** How many threads a run's set names, and those of them that aren't there. */
  async #goneOf(set: string): Promise<[number, Buffer[]]> {
    const members = [...((await this.#connection.command("SMEMBERS", set)) as Iterable<Buffer>)];
    const gone: Buffer[] = [];
    for (const member of members) if ((await this.#info(decodeId(member))) === "gone") gone.push(member);
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

  /** Threads that have checkpoints, as they are now. */
  async *threads(query: ThreadQuery): AsyncGenerator<ThreadInfo> {
    let found = 0;
    if (query.limit === 0) return;
    for await (const page of this.pages(query)) {
      const infos = await Promise.all(
        page.map(async (thread): Promise<ThreadInfo | undefined> => {
          const info = await this.#info(thread.threadId);
          if (info === "gone") await this.#gone(thread);
          if (typeof info === "string") return undefined;
          const { lastWrittenMs, ...state } = info;
          // The index may not know yet that the thread was written again: it isn't as old as it seems.
          const isInTime = query.writtenBeforeMs === undefined || lastWrittenMs < query.writtenBeforeMs;
          return isInTime ? { ...thread, ...state } : undefined;
        }),
      );
      for (const info of infos) {
        if (info === undefined || (query.includeEvicted === false && info.evicted)) continue;
        yield info;
        found += 1;
        if (found === query.limit) return;
      }
    }
  }

  /** All threads in order, a page at a time. */
  async *pages(
    query: Pick<ThreadQuery, "order" | "after" | "writtenBeforeMs">,
  ): AsyncGenerator<IndexedThread[]> {
    const newest = query.order === "newest";
    const max = query.writtenBeforeMs ?? "";
    let after: IndexedThread | undefined = query.after;
    for (;;) {
      const page = await this.#page(newest, max, after);
      const seen = after;
      after = page.at(-1);
      const isAfter = (thread: IndexedThread): boolean =>
        seen === undefined || comesAfter(thread, seen, newest);
      const inTime = ({ writtenAtMs }: IndexedThread): boolean => max === "" || writtenAtMs < max;
      yield page.filter((thread) => isAfter(thread) && inTime(thread));
      if (after === undefined || page.length < pageSize || (!newest && !inTime(after))) return;
    }
  }

  async #info(
    threadId: string,
  ): Promise<
    (Omit<ThreadInfo, "threadId" | "writtenAtMs"> & { readonly lastWrittenMs: number }) | "gone" | "headless"
  > {
    const fields = ["id", "rev", "h", "evi", "nh", "dead", "at"];
    const [id, revision, head, evicted, heads, dead, at] = (
      (await this.#connection.command(
        "HMGET",
        this.#keys.thread(threadId)[0],
        ...fields,
      )) as (Buffer | null)[]
    ).map((value) => (value === null ? undefined : value));
    if (id?.toString() !== threadId || dead?.toString() === "1") return "gone";
    if (heads === undefined || heads.toString() === "0") return "headless";
    return {
      revision: Number(revision),
      head: head === undefined ? undefined : decodeId(head),
      evicted: evicted?.toString() === "1",
      lastWrittenMs: Number(at ?? 0),
    };
  }

  /** A thread that the index names is gone: unless it was written meanwhile, its name goes too. */
  async #gone({ threadId, writtenAtMs }: IndexedThread): Promise<number> {
    const args = [encodeId(threadId), writtenAtMs];
    return Number(await this.#connection.run("unindex", [this.#keys.threads], args));
  }

  async #page(newest: boolean, max: number | "", after: IndexedThread | undefined): Promise<IndexedThread[]> {
    const cursor = after === undefined ? ["", ""] : [encodeId(after.threadId), after.writtenAtMs];
    const args = [newest ? 1 : 0, max, pageSize, ...cursor];
    const flat = (await this.#connection.run("threadPage", [this.#keys.threads], args)) as Buffer[];
    const threads: IndexedThread[] = [];
    for (let i = 0; i < flat.length; i += 2) {
      threads.push({ threadId: decodeId(flat[i]!), writtenAtMs: Number(String(flat[i + 1])) });
    }
    return threads;
  }

  /**
   * Where threads expire, nobody tells the index. So each write of it looks at two of its names at random and drops those
   * that are gone: as each write adds one name at most, no more than about half of the names are ever of threads gone.
   */
  async #sample(): Promise<void> {
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

function comesAfter(a: IndexedThread, b: IndexedThread, newest: boolean): boolean {
  if (a.writtenAtMs !== b.writtenAtMs)
    return newest ? a.writtenAtMs < b.writtenAtMs : a.writtenAtMs > b.writtenAtMs;
  return newest ? a.threadId < b.threadId : a.threadId > b.threadId;
}
