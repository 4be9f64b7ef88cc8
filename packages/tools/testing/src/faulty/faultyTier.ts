// long file: one line per method of a tier
import {
  copiesThreads,
  deletesUnchanged,
  diagnoses,
  forksThreads,
  findsLeftovers,
  inspectsThreads,
  mendsThreads,
  isArchiveSource,
  expiresThreads,
  keepsCopies,
  keepsKeyChecks,
  keepsLeases,
  keepsLocks,
  readsAncestry,
  replacesBytes,
  sweeps,
  tagsThreads,
} from "@stratigraph/core/internal";
import type { ThreadInfo, Tier } from "@stratigraph/core";
import type {
  AncestryReader,
  Appended,
  AppendRequest,
  AppendWritesRequest,
  ArchiveSource,
  BlobHash,
  BlobInfo,
  BytesReplacer,
  CopyKeeper,
  Diagnoser,
  KeyCheckKeeper,
  LeaseKeeper,
  LeftoverFinder,
  LockKeeper,
  ListedCheckpoint,
  ListQuery,
  MaybeAddress,
  Peek,
  Reading,
  Remainder,
  RemoveRequest,
  Sweeper,
  ThreadCopier,
  ThreadExpirer,
  ThreadForker,
  ThreadInspector,
  ThreadMender,
  ThreadQuery,
  ThreadTagger,
  UnchangedDeleter,
} from "@stratigraph/core/tier";
import { Faults, type FailOptions, type FaultPredicate } from "./faults.ts";
import type { Hold } from "./hold.ts";
import type { TierCall, TierMethod } from "./tierCall.ts";

/**
 * Wraps any tier and makes its calls fail as a test plans it. It is deterministic: a fault hits exactly the calls that it was planned
 * for, and all other calls pass through. It has the optional parts of a tier (`setup`, `ping`, `end`, `ancestry`,
 * `copyThread`, `outline`, `forkThread`, `adopt`, `invalidate`, `keyChecks`, `claimKeyCheck`, `someThreads`, `lease`, `lock`, `unlock`,
 * `deleteUnchanged`, `diagnose`, `sweep`, `tombstones`, `strays`, `inspect`, `mendThread`, `leftovers`, `dropLeftover`, `reviveLeftover`,
 * `replaceBytes`, `tagThread`, `untagThread`, `threadTags`) only if the wrapped tier has them.
 *
 * @example
 * const tier = new FaultyTier(new MemoryTier());
 * tier.dropAcknowledgement("append"); // the next append is stored, and its caller gets an error
 */
export class FaultyTier implements Tier {
  readonly name: string;
  readonly maxBytes: number | undefined;
  readonly forgets: boolean | undefined;
  /** The wrapped tier. */
  readonly inner: Tier;
  /** Every call so far, in order of arrival. */
  readonly calls: TierCall[] = [];
  readonly setup?: () => Promise<void>;
  readonly ping?: () => Promise<void>;
  readonly end?: () => Promise<void>;
  readonly ancestry?: AncestryReader["ancestry"];
  readonly copyThread?: ThreadCopier["copyThread"];
  readonly outline?: ThreadForker["outline"];
  readonly forkThread?: ThreadForker["forkThread"];
  readonly adopt?: CopyKeeper["adopt"];
  readonly invalidate?: CopyKeeper["invalidate"];
  readonly ttlMs?: ThreadExpirer["ttlMs"];
  readonly chooseTtl?: ThreadExpirer["chooseTtl"];
  readonly keyChecks?: KeyCheckKeeper["keyChecks"];
  readonly claimKeyCheck?: KeyCheckKeeper["claimKeyCheck"];
  readonly someThreads?: KeyCheckKeeper["someThreads"];
  readonly lease?: LeaseKeeper["lease"];
  readonly lock?: LockKeeper["lock"];
  readonly unlock?: LockKeeper["unlock"];
  readonly deleteUnchanged?: UnchangedDeleter["deleteUnchanged"];
  readonly diagnose?: Diagnoser["diagnose"];
  readonly sweep?: Sweeper["sweep"];
  readonly tombstones?: ArchiveSource["tombstones"];
  readonly strays?: ArchiveSource["strays"];
  readonly inspect?: ThreadInspector["inspect"];
  readonly mendThread?: ThreadMender["mendThread"];
  readonly leftovers?: LeftoverFinder["leftovers"];
  readonly dropLeftover?: LeftoverFinder["dropLeftover"];
  readonly reviveLeftover?: LeftoverFinder["reviveLeftover"];
  readonly replaceBytes?: BytesReplacer["replaceBytes"];
  readonly tagThread?: ThreadTagger["tagThread"];
  readonly untagThread?: ThreadTagger["untagThread"];
  readonly threadTags?: ThreadTagger["threadTags"];
  readonly remains?: readonly Remainder[] | undefined;
  readonly #faults = new Faults();

  constructor(inner: Tier, name: string = inner.name) {
    this.inner = inner;
    this.name = name;
    this.maxBytes = inner.maxBytes;
    this.forgets = inner.forgets;
    this.remains = inner.remains;
    if (inner.setup !== undefined) this.setup = () => this.#run("setup", [], async () => inner.setup?.());
    if (inner.ping !== undefined) this.ping = () => this.#run("ping", [], async () => inner.ping?.());
    if (inner.end !== undefined) this.end = () => this.#run("end", [], async () => inner.end?.());
    if (readsAncestry(inner)) {
      this.ancestry = (...args) => this.#run("ancestry", args, () => inner.ancestry(...args));
    }
    if (copiesThreads(inner)) {
      this.copyThread = (...args) => this.#run("copyThread", args, () => inner.copyThread(...args));
    }
    if (forksThreads(inner)) {
      this.outline = (...args) => this.#run("outline", args, () => inner.outline(...args));
      this.forkThread = (...args) => this.#run("forkThread", args, () => inner.forkThread(...args));
    }
    if (keepsCopies(inner)) {
      this.adopt = (...args) => this.#run("adopt", args, () => inner.adopt(...args));
      this.invalidate = (...args) => this.#run("invalidate", args, () => inner.invalidate(...args));
    }
    if (expiresThreads(inner)) {
      this.ttlMs = inner.ttlMs;
      this.chooseTtl = (...args) => inner.chooseTtl(...args);
    }
    if (keepsLeases(inner)) {
      this.lease = (...args) => this.#run("lease", args, () => inner.lease(...args));
    }
    if (keepsKeyChecks(inner)) {
      this.keyChecks = (...args) => this.#run("keyChecks", args, () => inner.keyChecks(...args));
      this.claimKeyCheck = (...args) => this.#run("claimKeyCheck", args, () => inner.claimKeyCheck(...args));
      const { someThreads } = inner;
      if (someThreads !== undefined)
        this.someThreads = (...args) =>
          this.#iterate("someThreads", args, () => someThreads.call(inner, ...args));
    }
    if (keepsLocks(inner)) {
      this.lock = (...args) => this.#run("lock", args, () => inner.lock(...args));
      this.unlock = (...args) => this.#run("unlock", args, () => inner.unlock(...args));
    }
    if (deletesUnchanged(inner)) {
      this.deleteUnchanged = (...args) =>
        this.#run("deleteUnchanged", args, () => inner.deleteUnchanged(...args));
    }
    if (diagnoses(inner))
      this.diagnose = (...args) => this.#run("diagnose", args, () => inner.diagnose(...args));
    if (sweeps(inner)) this.sweep = (...args) => this.#run("sweep", args, () => inner.sweep(...args));
    if (isArchiveSource(inner)) {
      this.tombstones = (...args) => this.#iterate("tombstones", args, () => inner.tombstones(...args));
      this.strays = (...args) => this.#run("strays", args, () => inner.strays(...args));
    }
    if (inspectsThreads(inner))
      this.inspect = (...args) => this.#run("inspect", args, () => inner.inspect(...args));
    if (mendsThreads(inner))
      this.mendThread = (...args) => this.#run("mendThread", args, () => inner.mendThread(...args));
    if (findsLeftovers(inner)) {
      this.leftovers = () => this.#iterate("leftovers", [], () => inner.leftovers());
      this.dropLeftover = (...args) => this.#run("dropLeftover", args, () => inner.dropLeftover(...args));
      const { reviveLeftover } = inner;
      if (reviveLeftover !== undefined)
        this.reviveLeftover = (...args) =>
          this.#run("reviveLeftover", args, () => reviveLeftover.apply(inner, args));
    }
    if (replacesBytes(inner)) {
      this.replaceBytes = (...args) => this.#run("replaceBytes", args, () => inner.replaceBytes(...args));
    }
    if (tagsThreads(inner)) {
      this.tagThread = (...args) => this.#run("tagThread", args, () => inner.tagThread(...args));
      this.untagThread = (...args) => this.#run("untagThread", args, () => inner.untagThread(...args));
      this.threadTags = (...args) => this.#run("threadTags", args, () => inner.threadTags(...args));
    }
  }

  /**
   * Makes the next calls of a method throw before they reach the wrapped tier. An iteration throws before its first item, or after
   * `items` items. Faults planned for one method are used one after another.
   * @param error Default: an Error that names the method.
   */
  failNext(method: TierMethod, error?: Error, options: FailOptions = {}): void {
    this.#faults.failNext(method, error, options);
  }

  /** Lets the next calls of a method reach the wrapped tier, and then throws instead of answering. */
  dropAcknowledgement(method: TierMethod, error?: Error, options: { times?: number } = {}): void {
    this.#faults.dropAcknowledgement(method, error, options);
  }

  /**
   * Makes every call fail, before it reaches the wrapped tier, for which `predicate` returns an error or true.
   * @returns a function that ends this
   */
  failWhen(predicate: FaultPredicate): () => void {
    return this.#faults.failWhen(predicate);
  }

  /** Delays every call of a method by `ms` milliseconds. 0 ends the delay. */
  delay(method: TierMethod, ms: number): void {
    this.#faults.delay(method, ms);
  }

  /** Holds the next call of a method, before it reaches the wrapped tier, until `release()` of the hold is called. */
  hold(method: TierMethod): Hold {
    return this.#faults.hold(method);
  }

  /** Removes all faults, releases held calls, and empties `calls`. */
  reset(): void {
    this.#faults.reset();
    this.calls.length = 0;
  }

  /** How often a method was called. */
  count(method: TierMethod): number {
    return this.calls.filter((call) => call.method === method).length;
  }

  peek(at: MaybeAddress): Promise<Peek> {
    return this.#run("peek", [at], () => this.inner.peek(at));
  }

  read(at: MaybeAddress): Promise<Reading> {
    return this.#run("read", [at], () => this.inner.read(at));
  }

  list(query: ListQuery): AsyncIterable<ListedCheckpoint> {
    return this.#iterate("list", [query], () => this.inner.list(query));
  }

  threads(query: ThreadQuery): AsyncIterable<ThreadInfo> {
    return this.#iterate("threads", [query], () => this.inner.threads(query));
  }

  blobs(threadId: string, only?: readonly BlobHash[]): Promise<readonly BlobInfo[]> {
    return this.#run("blobs", [threadId, only], () => this.inner.blobs(threadId, only));
  }

  append(request: AppendRequest): Promise<Appended> {
    return this.#run("append", [request], () => this.inner.append(request));
  }

  appendWrites(request: AppendWritesRequest): Promise<void> {
    return this.#run("appendWrites", [request], () => this.inner.appendWrites(request));
  }

  remove(request: RemoveRequest): Promise<boolean> {
    return this.#run("remove", [request], () => this.inner.remove(request));
  }

  evict(threadId: string, revision: number): Promise<boolean> {
    return this.#run("evict", [threadId, revision], () => this.inner.evict(threadId, revision));
  }

  deleteThread(threadId: string): Promise<void> {
    return this.#run("deleteThread", [threadId], () => this.inner.deleteThread(threadId));
  }

  #arrived(method: TierMethod, args: readonly unknown[]): TierCall {
    const call: TierCall = { method, args, outcome: "running" };
    this.calls.push(call);
    return call;
  }

  async #run<T>(method: TierMethod, args: readonly unknown[], work: () => Promise<T>): Promise<T> {
    const call = this.#arrived(method, args);
    const fault = await this.#faults.meet(call);
    if (fault?.kind === "fail") throw refused(call, fault.error);
    const answer = await work().catch((error: unknown) => {
      call.outcome = "failed";
      throw error;
    });
    if (fault !== undefined) {
      call.outcome = "unacknowledged";
      throw fault.error;
    }
    call.outcome = "returned";
    return answer;
  }

  async *#iterate<T>(
    method: TierMethod,
    args: readonly unknown[],
    work: () => AsyncIterable<T>,
  ): AsyncGenerator<T> {
    const call = this.#arrived(method, args);
    const fault = await this.#faults.meet(call);
    let left = fault?.kind === "fail" ? fault.items : Number.POSITIVE_INFINITY;
    if (left === 0) throw refused(call, fault!.error);
    try {
      for await (const item of work()) {
        yield item;
        left -= 1;
        if (left === 0) throw refused(call, fault!.error);
      }
      call.outcome = fault === undefined ? "returned" : "unacknowledged";
    } catch (error) {
      if (call.outcome === "running") call.outcome = "failed";
      throw error;
    } finally {
      if (call.outcome === "running") call.outcome = "stopped";
    }
    if (fault !== undefined) throw fault.error;
  }
}

function refused(call: TierCall, error: Error): Error {
  call.outcome = "refused";
  return error;
}
