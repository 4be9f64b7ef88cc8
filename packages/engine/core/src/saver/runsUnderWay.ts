// long file: all that a process knows of the runs of its threads
import type { RunnableConfig } from "@langchain/core/runnables";
import { answerWithin } from "../contract/answerWithin.ts";
import { StratigraphError, ThreadDeletedError } from "../contract/errors.ts";
import type { Tier } from "../contract/tier.ts";
import { runOf } from "./headRights.ts";
import { nextTurn } from "./nextTurn.ts";
import { remembering } from "./remembering.ts";
import { runIdOf } from "./runIdOf.ts";

/** For how many threads it is remembered which runs read them. An entry is about 200 bytes. */
const remembered = 20_000;
/** How many runs are remembered of a thread. */
const mostRuns = 16;
/** How long runs that have ended are waited for: a put takes less by default, repetitions included. Milliseconds. */
const longestMs = 30_000;

/** A call that a run makes: it reads, or stores something. */
interface Call {
  readonly config: RunnableConfig;
  /** The id of its run, if it stores something. */
  readonly runId: string | undefined;
  /** Resolves when the call has ended and, if its run has, too, the run had time to make the next one. */
  readonly gone: Promise<void>;
}

/**
 * What the runs of this process do with the threads of a tier. When a run is stopped, or something of it can't be stored, LangGraph rejects
 * `invoke` at once, and goes on storing what the run had done, one checkpoint after another. Whoever reads the thread then has to wait for
 * that: he would go on from an older checkpoint, and lose the race for the head against a run that has ended as far as anybody can see.
 *
 * Only runs that have ended are waited for. A run under way is another writer, and of two writers one wins.
 */
export class RunsUnderWay {
  readonly #tier: string;
  readonly #calls = new Map<string, Set<Call>>();
  readonly #failed = new WeakSet<object>();
  /** By what a run and its subgraphs have in common, the threads in which it failed, and how often their locks had been given on by then. */
  readonly #failedIn = new WeakMap<object, Map<string, number>>();
  /** By thread, how often its lock was given on. */
  readonly #givenOn = remembering<number>(remembered);
  /** By thread, the signals of runs that read it: those that fire between two calls of their run. */
  readonly #signals = remembering<readonly WeakRef<AbortSignal>[]>(remembered);
  /** By run, the threads that were deleted since it began. */
  readonly #late = new WeakMap<object, Set<string>>();
  /** By the ids of runs that were deleted here, how many had begun anew when a run began anew under the id; Infinity: none has. */
  readonly #deletedRuns = remembering<number>(remembered);
  #begunAnew = 0;
  /** By what a run and its subgraphs have in common, its number among those that began. */
  readonly #numbers = new WeakMap<object, number>();
  #begun = 0;
  /** By thread, how many had when those that had begun were given up. */
  readonly #givenUp = remembering<number>(remembered);
  /**
   * By run, how many had begun anew when it read first: by its signal, and by what it has in common with its subgraphs. One that begins at a
   * checkpoint that is named reads no subgraph before it stores something of it.
   */
  readonly #firstReads = new WeakMap<object, number>();

  private constructor(tier: string) {
    this.#tier = tier;
  }

  /** Savers of one tier share it, because an application may make one for each request. */
  static of(tier: Tier): RunsUnderWay {
    let runs = runsOf.get(tier);
    if (runs === undefined) runsOf.set(tier, (runs = new RunsUnderWay(tier.name)));
    return runs;
  }

  /** Notes a call that stores something. @returns what settles with it, for the caller to await */
  stores<T>(config: RunnableConfig, threadId: string | undefined, stored: Promise<T>): Promise<T> {
    if (threadId !== undefined) this.#began(config, threadId, stored, runIdOf(config));
    return stored;
  }

  /** As {@link stores}, for a call that reads. What is read outside runs isn't noted. */
  reads<T>(config: RunnableConfig, threadId: string | undefined, read: Promise<T>): Promise<T> {
    const { signal } = threadId === undefined ? {} : config;
    if (threadId === undefined || signal === undefined) return read;
    // A task may run a graph of its own again after that failed: LangGraph counts these, as in "|1".
    if (!namespaceIn(config).includes(":")) this.#failedIn.get(runOf(config) ?? signal)?.delete(threadId);
    this.#began(config, threadId, read);
    const signals = this.#signals.get(threadId) ?? [];
    if (!signals.some((ref) => ref.deref() === signal)) {
      this.#signals.set(threadId, [...signals.slice(1 - mostRuns), new WeakRef(signal)]);
      this.#readsFirst(config, signal);
    }
    if (isRoot(config) && !signal.aborted) this.#numbers.set(runOf(config) ?? signal, (this.#begun += 1));
    return read;
  }

  /**
   * Waits until runs that were stopped, or failed, make no more calls. Undefined if there is nothing to wait for. A run that has ended itself
   * waits for none, so that no two wait for each other.
   * @param threadId default: all threads
   * @throws StratigraphError "UNAVAILABLE" if that takes too long
   */
  othersEnded(config: RunnableConfig, threadId?: string): Promise<void> | undefined {
    return this.#wait(threadId, () => {
      if (this.hasEnded(config, threadId)) return [];
      if (threadId !== undefined) return this.#ofEnded(threadId);
      // A run that is between two calls is known by its signal only.
      return [...new Set([...this.#calls.keys(), ...this.#signals.keys()])].flatMap((id) =>
        this.#ofEnded(id),
      );
    });
  }

  /**
   * Waits until all calls under way have ended, and further ones of runs that have ended. Undefined if there are none.
   * @throws StratigraphError "UNAVAILABLE" if that takes too long
   */
  allEnded(threadId: string): Promise<void> | undefined {
    const first = [...(this.#calls.get(threadId) ?? [])].map(({ gone }) => gone);
    return this.#wait(threadId, () => [...first.splice(0), ...this.#ofEnded(threadId)]);
  }

  /**
   * Notes that a task of the root failed, and with it the run. LangGraph rejects `invoke` then, while subgraphs of other tasks still work:
   * these have other signals, of which some never fire.
   */
  failed(config: RunnableConfig, threadId: string): void {
    const run = runOf(config);
    if (run === undefined) return;
    const failedIn = this.#failedIn.get(run) ?? new Map<string, number>();
    this.#failedIn.set(run, failedIn.set(threadId, this.#givenOn.get(threadId) ?? 0));
  }

  /**
   * Notes that a lock on a thread is given to the next holder, whose run does again what failed ones had under way: what is left of them, and
   * between two calls, isn't stored any more. Resolves once their calls under way have ended.
   */
  async givesOn(threadId: string): Promise<void> {
    await this.allEnded(threadId)?.catch(() => undefined);
    this.#givenOn.set(threadId, (this.#givenOn.get(threadId) ?? 0) + 1);
  }

  /** Whether a run was stopped, or failed. */
  hasEnded(config: RunnableConfig, threadId: string | undefined): boolean {
    const of = runOf(config);
    const failed = of !== undefined && threadId !== undefined && this.#failedIn.get(of)?.has(threadId);
    return failed === true || config.signal?.aborted === true || this.#failed.has(runIn(config));
  }

  /**
   * Notes the deletion of a thread: the runs under way began before. One that was stopped and reads afterwards is refused by the tier, as it
   * counts as never having read the thread.
   */
  deleted(threadId: string): void {
    for (const ref of this.#signals.get(threadId) ?? []) {
      const run = ref.deref();
      if (run !== undefined) this.#late.set(run, (this.#late.get(run) ?? new Set()).add(threadId));
    }
  }

  /**
   * Notes that runs are deleted: of what they do from now on, nothing is stored. A run that failed may go on, as LangGraph rejects `invoke`
   * while subgraphs of other nodes are still under way. Resolves once the calls under way that store something of the runs have ended.
   * @throws StratigraphError "UNAVAILABLE" if that takes too long
   */
  async deletesRuns(runIds: readonly string[]): Promise<void> {
    for (const id of runIds) this.#deletedRuns.set(id, Number.POSITIVE_INFINITY);
    const storing = [...this.#calls.values()].flatMap((calls) =>
      [...calls].filter(({ runId }) => runId !== undefined && runIds.includes(runId)),
    );
    await this.#wait(undefined, () => storing.splice(0).map(({ gone }) => gone));
  }

  /** Notes that runs weren't deleted after all. */
  keepsRuns(runIds: readonly string[]): void {
    for (const id of runIds) this.#deletedRuns.delete(id);
  }

  /** Notes that a thread goes back to where it was: what the runs that have begun in it still do isn't taken any more. */
  givesUp(threadId: string): void {
    this.#givenUp.set(threadId, this.#begun);
  }

  /** Whether a run was given up. In LangGraph before 1.7 a task's config doesn't tell its run. */
  isGivenUp(
    config: { readonly control?: unknown; readonly signal?: AbortSignal | undefined },
    threadId: string,
  ): boolean {
    const by = this.#givenUp.get(threadId);
    if (by === undefined) return false;
    const run = runOf(config as RunnableConfig);
    const began = run && this.#numbers.get(run);
    return began !== undefined && began <= by;
  }

  /**
   * Refuses what a run would store in a thread that was deleted since the run began. The tier refuses it, too, if the run read the thread
   * before: a run that began before and reads afterwards can be told from a new one only here. So is what a run would store that was deleted
   * itself, and what is left of a run that failed before a lock on the thread was given on, or that was given up.
   * @throws ThreadDeletedError; StratigraphError "LOCK_LOST", "TRANSACTION_ENDED"
   */
  refuseLate(config: RunnableConfig, threadId: string, runId: string | undefined): void {
    const run = runIn(config);
    if (this.#late.get(run)?.has(threadId) === true) throw new ThreadDeletedError(threadId);
    const failedAt = this.#failedIn.get(runOf(config) ?? run)?.get(threadId);
    if (failedAt !== undefined && failedAt < (this.#givenOn.get(threadId) ?? 0)) throw lockGivenOn(threadId);
    if (this.isGivenUp(config, threadId)) throw givenUp(threadId);
    // What is stored outside runs is meant to be stored.
    if (runId === undefined || config.signal === undefined) return;
    const newFrom = this.#deletedRuns.get(runId) ?? 0;
    const firstRead = this.#firstReads.get(run) ?? this.#firstReads.get(runOf(config) ?? run) ?? 0;
    if (firstRead < newFrom) throw new ThreadDeletedError(threadId, runId);
  }

  /** A run begins with the root. A subgraph that reads after the deletion of its run may belong to what goes on of it. */
  #readsFirst(config: RunnableConfig, signal: AbortSignal): void {
    if (this.#firstReads.has(signal)) return;
    const id = runIdOf(config) ?? "";
    if (isRoot(config) && !signal.aborted && this.#deletedRuns.get(id) === Number.POSITIVE_INFINITY)
      this.#deletedRuns.set(id, (this.#begunAnew += 1));
    const of = runOf(config) ?? signal;
    if (isRoot(config)) this.#firstReads.set(of, this.#begunAnew);
    this.#firstReads.set(signal, this.#firstReads.get(of) ?? this.#begunAnew);
  }

  #began(config: RunnableConfig, threadId: string, ends: Promise<unknown>, runId?: string): void {
    const calls = this.#calls.get(threadId) ?? new Set<Call>();
    if (calls.size === 0) this.#calls.set(threadId, calls);
    const gone = async (): Promise<void> => {
      await ends.catch(() => this.#failed.add(runIn(config)));
      if (this.hasEnded(config, threadId)) await nextTurn();
      calls.delete(call);
      if (calls.size === 0 && this.#calls.get(threadId) === calls) this.#calls.delete(threadId);
    };
    const call: Call = { config, runId, gone: gone() };
    calls.add(call);
  }

  #wait(threadId: string | undefined, waiting: () => readonly Promise<void>[]): Promise<void> | undefined {
    const first = waiting();
    if (first.length === 0) return undefined;
    const ended = async (): Promise<void> => {
      for (let left = first; left.length > 0; left = waiting()) await Promise.all(left);
    };
    return answerWithin(longestMs, ended, () => notEnded(this.#tier, threadId));
  }

  /** The calls under way of runs that have ended. A run that was stopped since somebody looked may be about to make one. */
  #ofEnded(threadId: string): Promise<void>[] {
    // Not `get`: a look at all threads makes none of them the newest.
    const signals = this.#signals.peek(threadId) ?? [];
    for (const ref of signals) {
      const signal = ref.deref();
      if (signal?.aborted === true) this.#began({ signal }, threadId, Promise.resolve());
    }
    const live = signals.filter((ref) => ref.deref()?.aborted === false);
    if (live.length === 0) this.#signals.delete(threadId);
    else if (live.length < signals.length) this.#signals.set(threadId, live);
    return [...(this.#calls.get(threadId) ?? [])]
      .filter(({ config }) => this.hasEnded(config, threadId))
      .map(({ gone }) => gone);
  }
}

const runsOf = new WeakMap<Tier, RunsUnderWay>();

/**
 * What stands for a run, here: its signal, as every run has its own, while an application may give one `control` to several. Outside runs
 * the config, which LangGraph's updateState uses for all its calls.
 */
function runIn(config: RunnableConfig): object {
  return config.signal ?? config;
}

function namespaceIn(config: RunnableConfig): string {
  return String(config.configurable?.["checkpoint_ns"] ?? "");
}

function isRoot(config: RunnableConfig): boolean {
  return namespaceIn(config) === "";
}

function givenUp(threadId: string): StratigraphError {
  return new StratigraphError(
    "TRANSACTION_ENDED",
    `Thread ${JSON.stringify(threadId)} went back to a savepoint after this run began. What the run still does isn't stored.`,
    { threadId },
  );
}

function lockGivenOn(threadId: string): StratigraphError {
  return new StratigraphError(
    "LOCK_LOST",
    `Thread ${JSON.stringify(threadId)}: this run failed, and its lock was given to the next run, which does again what was still under way. ` +
      "What a subgraph of the failed run does now isn't stored.",
    { threadId },
  );
}

function notEnded(tier: string, threadId: string | undefined): StratigraphError {
  return new StratigraphError(
    "UNAVAILABLE",
    `${threadId === undefined ? "A thread" : `Thread ${JSON.stringify(threadId)}`}: a run that was stopped, or failed, still stores what it had done, and ${tier} hasn't answered ` +
      `for ${longestMs} ms. What the thread is can't be told before. Repeat the call.`,
    { tier, threadId, timeoutMs: longestMs },
  );
}
