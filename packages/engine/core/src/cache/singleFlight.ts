import { randomUUID } from "node:crypto";
import { inParallel } from "../contract/inParallel.ts";
import { Waiters } from "../contract/waiters.ts";
import { currentRun, watchRuns, type CachedRun } from "./cachedRun.ts";
import type { CacheLayer } from "./cacheLayer.ts";

/** How long after one look at a value that another process computes the next one comes, in milliseconds; it grows up to the second. */
const [firstPauseMs, longestPauseMs] = [10, 250];

const parallelClaims = 16;

/** A namespace as LangGraph passes it: each task has an array of its own, by which it is known again. */
export type Asker = readonly string[];

interface Claim {
  readonly holder: string;
  readonly untilMs: number;
  readonly run: CachedRun | undefined;
}

/**
 * Has one of many that ask for a missing value compute it, while the others wait: by a lease per value, so in other processes too. LangGraph
 * doesn't say when a computation fails: the run's checkpointer does if it is one of ours, and every lease ends by itself. Nobody waits while
 * holding a lease, so no two wait for each other: one that needs several values claims all of them or none.
 */
export class SingleFlight {
  readonly #layer: CacheLayer;
  readonly #waitMs: number;
  readonly #claims = new Map<string, Claim>();
  /** What a task computes now. */
  readonly #tasks = new WeakMap<Asker, Map<string, Claim>>();
  readonly #waiters = new Waiters();
  /** A task that failed is collected some time, often before its lease ends. */
  readonly #forgotten = new FinalizationRegistry<readonly [id: string, claim: Claim]>(
    ([id, claim]) => void this.#release(id, claim),
  );

  /** @param waitMs how long a lease lasts, in milliseconds */
  constructor(layer: CacheLayer, waitMs: number) {
    this.#layer = layer;
    this.#waitMs = waitMs;
    watchRuns();
  }

  /** Whether one of these tasks is computing: its run must not wait for another, which may wait for it. */
  isComputing(id: string, asker: Asker): boolean {
    const claim = this.#tasks.get(asker)?.get(id);
    return claim !== undefined && claim.untilMs > performance.now();
  }

  /**
   * Resolves when the values that are still missing are to be computed by the caller, at the latest after two times of a lease.
   * @param askers by the ids of their values
   * @param look which of these values are still missing
   * @param isComputing whether the caller already computes something
   */
  async claim(
    askers: ReadonlyMap<string, readonly Asker[]>,
    isComputing: boolean,
    look: (ids: readonly string[]) => Promise<readonly string[]>,
  ): Promise<void> {
    const untilMs = performance.now() + 2 * this.#waitMs;
    let missing: readonly string[] = [...askers.keys()].sort();
    for (let pauseMs = firstPauseMs; missing.length > 0; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
      const leftMs = untilMs - performance.now();
      const claimed = await this.#claimAll(missing, isComputing || leftMs <= 0);
      if (typeof claimed !== "string") {
        // Somebody may have stored a value, and given the lease back, since it was looked for.
        const still = new Set(claimed.size === 0 ? [] : await look([...claimed.keys()]));
        for (const [id, claim] of claimed) {
          if (!still.has(id)) await this.#release(id, claim);
          else for (const asker of askers.get(id)!) this.#computes(asker, id, claim);
        }
        return;
      }
      await this.#wait(claimed, Math.min(pauseMs, leftMs));
      missing = await look(missing);
    }
  }

  /** Gives a lease back, and wakes those who wait in this process. */
  async settled(id: string, asker: Asker): Promise<void> {
    this.#tasks.get(asker)?.delete(id);
    const claim = this.#claims.get(id);
    if (claim === undefined) this.#waiters.wake(id);
    else await this.#release(id, claim);
  }

  #computes(asker: Asker, id: string, claim: Claim): void {
    const computed = this.#tasks.get(asker) ?? new Map<string, Claim>();
    computed.set(id, claim);
    this.#tasks.set(asker, computed);
    this.#forgotten.register(asker, [id, claim]);
    claim.run?.releases.set(claim, () => void this.#release(id, claim));
  }

  /** @param any whether to claim those that nobody has, if others have some @returns what was claimed; an id: another has it, and nothing was claimed */
  async #claimAll(ids: readonly string[], any: boolean): Promise<ReadonlyMap<string, Claim> | string> {
    const claimed = new Map<string, Claim>();
    const run = currentRun();
    let refused: string | undefined;
    const claim = async (id: string): Promise<void> => {
      const before = this.#claims.get(id);
      // An earlier run of the same thread has ended, without a result: the thread would wait for itself.
      if (run !== undefined && before?.run?.threadId === run.threadId && before.run !== run)
        await this.#release(id, before);
      const mine = { holder: randomUUID(), untilMs: performance.now() + this.#waitMs, run };
      const given = await this.#layer.lease(id, mine.holder, this.#waitMs);
      if (given === false) refused ??= id;
      if (given !== true) return;
      this.#claims.set(id, mine);
      claimed.set(id, mine);
    };
    // The first one decides between runs that ask for the same values.
    await claim(ids[0]!);
    if (refused === undefined || any) await inParallel(ids.slice(1), parallelClaims, claim);
    if (refused === undefined || any) return claimed;
    await inParallel([...claimed], parallelClaims, ([id, mine]) => this.#release(id, mine));
    return refused;
  }

  async #release(id: string, claim: Claim): Promise<void> {
    if (this.#claims.get(id) !== claim) return;
    this.#claims.delete(id);
    claim.run?.releases.delete(claim);
    await this.#layer.lease(id, claim.holder, 0);
    this.#waiters.wake(id);
  }

  async #wait(id: string, ms: number): Promise<void> {
    const over = new AbortController();
    const timer = setTimeout(() => over.abort(), ms);
    await this.#waiters.wait(id, over.signal);
    clearTimeout(timer);
  }
}
