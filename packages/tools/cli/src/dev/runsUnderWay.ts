import { AsyncLocalStorage } from "node:async_hooks";
import { setImmediate as nextTurn } from "node:timers/promises";
import { StratigraphError } from "@stratigraph/core";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { FolderLock } from "@stratigraph/core/internal";
import type { ApiRun } from "./internals.ts";

interface UnderWay {
  readonly run: ApiRun;
  readonly signal: AbortSignal;
  /** What it asked of the storage and hasn't got yet. */
  readonly calls: Set<Promise<unknown>>;
  readonly ended: Promise<void>;
  readonly end: () => void;
}

/**
 * Runs that are under way, and what they still ask of the storage. LangGraph gives up a run that is stopped while its checkpoints are being
 * stored: here it has ended when these are stored, and it writes nothing afterwards.
 */
export class RunsUnderWay {
  readonly #runs = new Map<string, UnderWay>();
  /** Runs that were stopped, or whose thread was deleted: they write nothing any more. */
  readonly #closed = new Set<string>();
  readonly #keeping = new AsyncLocalStorage<string>();
  readonly #lock: Pick<FolderLock, "check">;
  /** Changes of threads that no run may begin in the midst of. */
  readonly #changes = new Map<string, Promise<unknown>>();

  /** @param lock that of the server's folder: runs of a server that lost it are another one's, or cut off, and write nothing */
  constructor(lock: Pick<FolderLock, "check">) {
    this.#lock = lock;
  }

  began(run: ApiRun, signal: AbortSignal): void {
    let end!: () => void;
    const ended = new Promise<void>((resolve) => (end = resolve));
    this.#runs.set(run.run_id, { run, signal, calls: new Set(), ended, end });
  }

  /** The run's worker is done with it. */
  ended(runId: string): void {
    this.#runs.get(runId)?.end();
    this.#runs.delete(runId);
  }

  /** Makes a call of a run to the storage, unless the run has ended. */
  async call<T>({ configurable }: RunnableConfig, work: () => Promise<T>): Promise<T> {
    this.#lock.check();
    const runId: unknown = configurable?.["run_id"];
    if (typeof runId !== "string") return await work();
    if (this.#closed.has(runId) && this.#keeping.getStore() !== runId)
      throw new StratigraphError("CLOSED", `Run ${runId} has ended: it writes nothing any more.`, { runId });
    const calls = this.#runs.get(runId)?.calls;
    const call = work();
    calls?.add(call);
    try {
      return await call;
    } finally {
      calls?.delete(call);
    }
  }

  /**
   * Waits until a run that gives up its work has stored what it has, and closes it if it was stopped.
   * @returns why it was stopped, if it was
   */
  async settled(runId: string): Promise<unknown> {
    const underWay = this.#runs.get(runId);
    if (underWay === undefined) return undefined;
    // A checkpoint is stored after the one before it: the next call comes right after the last one has ended.
    do {
      await Promise.allSettled(underWay.calls);
      await nextTurn();
    } while (underWay.calls.size > 0);
    if (!underWay.signal.aborted) return undefined;
    this.#closed.add(runId);
    return underWay.signal.reason;
  }

  /** Stores something in the place of a run that was stopped. */
  async inPlaceOf<T>(runId: string, work: () => Promise<T>): Promise<T> {
    return await this.#keeping.run(runId, work);
  }

  /** Lets runs write nothing any more from now on, and waits for what they are writing. */
  async close(runIds: readonly string[]): Promise<void> {
    for (const runId of runIds) this.#closed.add(runId);
    await Promise.allSettled(runIds.flatMap((runId) => [...(this.#runs.get(runId)?.calls ?? [])]));
  }

  has(runId: string): boolean {
    return this.#runs.has(runId);
  }

  /** The runs of a thread that are under way, oldest first. */
  of(threadId: string): string[] {
    return [...this.#runs.values()].flatMap(({ run }) => (run.thread_id === threadId ? [run.run_id] : []));
  }

  /** Waits until runs have ended, if they are being stopped. */
  async stopped(runs: readonly string[]): Promise<void> {
    for (const runId of runs) {
      const underWay = this.#runs.get(runId);
      if (underWay?.signal.aborted === true) await underWay.ended;
    }
  }

  /** Changes a thread. No run of it begins meanwhile. */
  async changing<T>(threadId: string, work: () => Promise<T>): Promise<T> {
    const before = this.#changes.get(threadId);
    const change = (async () => {
      await before;
      return await work();
    })();
    const done = change.catch(() => undefined);
    this.#changes.set(threadId, done);
    try {
      return await change;
    } finally {
      if (this.#changes.get(threadId) === done) this.#changes.delete(threadId);
    }
  }

  /** Waits for changes of a thread. */
  async changed(threadId: string): Promise<void> {
    await this.#changes.get(threadId);
  }
}
