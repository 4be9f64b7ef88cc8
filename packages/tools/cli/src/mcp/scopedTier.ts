import { StratigraphError, type ThreadInfo, type Tier } from "@stratigraph/core";
import { listEach, threadNamedBy } from "@stratigraph/core/internal";
import type {
  AppendRequest,
  Appended,
  AppendWritesRequest,
  BlobHash,
  BlobInfo,
  KeyCheckKeeper,
  ListedCheckpoint,
  LockKeeper,
  ListQuery,
  MaybeAddress,
  Peek,
  Reading,
  RemoveRequest,
  ThreadQuery,
  ThreadTagger,
} from "@stratigraph/core/tier";

/**
 * A part of a tier: the threads whose ids begin with one of some texts. Of others it knows nothing, and writes to none. It has no parts
 * that aren't about single threads, except those that compare keys, and locks, whose names are hashes.
 */
export class ScopedTier implements Tier {
  readonly name: string;
  readonly maxBytes: number | undefined;
  readonly peeksRecords: boolean | undefined;
  readonly tagThread?: ThreadTagger["tagThread"];
  readonly untagThread?: ThreadTagger["untagThread"];
  readonly threadTags?: ThreadTagger["threadTags"];
  readonly keyChecks?: KeyCheckKeeper["keyChecks"];
  readonly claimKeyCheck?: KeyCheckKeeper["claimKeyCheck"];
  readonly lock?: LockKeeper["lock"];
  readonly unlock?: LockKeeper["unlock"];
  readonly #tier: Tier;
  readonly #prefixes: readonly string[];

  constructor(tier: Tier, prefixes: readonly string[]) {
    this.#tier = tier;
    this.#prefixes = prefixes;
    this.name = tier.name;
    this.maxBytes = tier.maxBytes;
    this.peeksRecords = tier.peeksRecords;
    const { tagThread, untagThread, threadTags, keyChecks, claimKeyCheck, lock, unlock } = tier as Tier &
      Partial<ThreadTagger & KeyCheckKeeper & LockKeeper>;
    if (tagThread !== undefined && untagThread !== undefined && threadTags !== undefined) {
      this.tagThread = (id, tags) => tagThread.call(tier, this.#own(id), tags);
      this.untagThread = (id, tags) => untagThread.call(tier, this.#own(id), tags);
      this.threadTags = async (id) => (this.#has(id) ? await threadTags.call(tier, id) : []);
    }
    if (keyChecks !== undefined && claimKeyCheck !== undefined) {
      this.keyChecks = (names) => keyChecks.call(tier, names);
      this.claimKeyCheck = (name, value) => claimKeyCheck.call(tier, name, value);
    }
    if (lock !== undefined && unlock !== undefined) {
      this.lock = (name, holder, forMs) => lock.call(tier, name, holder, forMs);
      this.unlock = (name, holder) => unlock.call(tier, name, holder);
    }
  }

  async peek(at: MaybeAddress): Promise<Peek> {
    return this.#has(at.threadId) ? await this.#tier.peek(at) : { revision: 0, writes: [] };
  }

  async read(at: MaybeAddress): Promise<Reading> {
    return this.#has(at.threadId) ? await this.#tier.read(at) : { revision: 0 };
  }

  async *list(query: ListQuery): AsyncIterable<ListedCheckpoint> {
    const { threadId, limit = Infinity, ...others } = query;
    if (threadId !== undefined) {
      if (this.#has(threadId)) yield* this.#tier.list(query);
      return;
    }
    let left = limit;
    for await (const each of this.#listAll(others)) {
      yield each;
      left -= 1;
      if (left <= 0) return;
    }
  }

  /** Lists these threads' checkpoints, whatever is damaged of others. */
  async *#listAll(query: ListQuery): AsyncGenerator<ListedCheckpoint> {
    const within = {
      list: (each: ListQuery) => this.#tier.list(each),
      threads: (each: ThreadQuery) => this.threads(each),
    };
    const refuse = (error: Error): void => {
      if (!this.#isOfOther(error)) throw error;
    };
    for await (const each of listEach(within, query, refuse)) if (this.#has(each.record.threadId)) yield each;
  }

  async *threads({ limit = Infinity, ...query }: ThreadQuery): AsyncIterable<ThreadInfo> {
    const onDamaged = (error: Error): void => {
      if (this.#isOfOther(error)) return;
      if (query.onDamaged === undefined) throw error;
      query.onDamaged(error);
    };
    let left = limit;
    for await (const each of this.#tier.threads({ ...query, onDamaged })) {
      if (!this.#has(each.threadId)) continue;
      yield each;
      left -= 1;
      if (left <= 0) return;
    }
  }

  /** Whether an error tells of damage of a thread that isn't known to be one of these. */
  #isOfOther(error: unknown): boolean {
    if (!StratigraphError.is(error, "CORRUPT")) return false;
    const threadId = threadNamedBy(error);
    return threadId === undefined || !this.#has(threadId);
  }

  async blobs(threadId: string, only?: readonly BlobHash[]): Promise<readonly BlobInfo[]> {
    return this.#has(threadId) ? await this.#tier.blobs(threadId, only) : [];
  }

  async append(request: AppendRequest): Promise<Appended> {
    this.#own(request.threadId);
    return await this.#tier.append(request);
  }

  async appendWrites(request: AppendWritesRequest): Promise<void> {
    this.#own(request.threadId);
    await this.#tier.appendWrites(request);
  }

  async remove(request: RemoveRequest): Promise<boolean> {
    this.#own(request.threadId);
    return await this.#tier.remove(request);
  }

  async evict(threadId: string, revision: number): Promise<boolean> {
    return await this.#tier.evict(this.#own(threadId), revision);
  }

  async deleteThread(threadId: string): Promise<void> {
    await this.#tier.deleteThread(this.#own(threadId));
  }

  #has(threadId: string): boolean {
    return isWithin(threadId, this.#prefixes);
  }

  #own(threadId: string): string {
    refuseOutside(threadId, this.#prefixes);
    return threadId;
  }
}

/** Whether a thread is one of those whose ids begin with one of these texts. */
export function isWithin(threadId: string, prefixes: readonly string[]): boolean {
  return prefixes.some((prefix) => threadId.startsWith(prefix));
}

/** @throws StratigraphError "ACCESS_DENIED" */
export function refuseOutside(threadId: string, prefixes: readonly string[], field = "thread"): void {
  if (isWithin(threadId, prefixes)) return;
  const own = prefixes.map((prefix) => JSON.stringify(prefix)).join(" or ") || "nothing";
  throw new StratigraphError(
    "ACCESS_DENIED",
    `\`${field}\`: this client may use threads whose ids begin with ${own}, and ${JSON.stringify(threadId.slice(0, 200))} doesn't.`,
    { field },
  );
}
