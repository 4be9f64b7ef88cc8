import { randomUUID } from "node:crypto";
import { inParallel } from "../contract/inParallel.ts";
import { stopwatch } from "../contract/stopwatch.ts";
import { currentRun, watchRuns, type CachedRun } from "./cachedRun.ts";
import type { CacheLayer } from "./cacheLayer.ts";

/** How long after one look at a value that another process computes the next one comes, in milliseconds; it grows up to the second. */
const [firstPauseMs, longestPauseMs] = [10, 250];

const parallelClaims = 16;

/** A namespace as LangGraph passes it: each task has an array of its own, by which it is known again. */
export type Asker = readonly string[];

/** A value as a storage has it. */
export interface Sight {
  readonly layer: CacheLayer;
  readonly value: Uint8Array;
}

/** One call that asks for values. */
export interface Caller {
  /** By the ids of the values that it misses. */
  readonly askers: ReadonlyMap<string, readonly Asker[]>;
  /** Whether it already computes something: then it waits for nobody. */
  readonly isComputing: boolean;
  /** Whether it looked for all of these. */
  readonly hasLooked: boolean;
  /** Looks for values, and takes those that it returns. */
  look(ids: readonly string[]): Promise<ReadonlyMap<string, Sight>>;
  /** Takes a value that another call of this process found. */
  take(id: string, sight: Sight): Promise<void>;
}

interface Claim {
  readonly holder: string;
  /** Since it was asked for. */
  readonly passedMs: () => number;
  readonly run: CachedRun | undefined;
}

interface Waiter {
  readonly caller: Caller;
  readonly since: number;
  end(sight?: Sight): void;
}

/**
 * Has one of many that ask for a missing value compute it, while the others wait: by a lease per value, so in other processes too. In one
 * process one call at a time asks the storage for a value, and the others wait for what it finds; while a task of the process computes it,
 * none asks. LangGraph doesn't say when a computation fails: the run's checkpointer does if it is one of ours, and every lease ends by
 * itself. Nobody waits while holding a lease, so no two wait for each other: one that needs several values claims all of them or none.
 */
export class SingleFlight {
  readonly #layer: CacheLayer;
  readonly #waitMs: number;
  readonly #claims = new Map<string, Claim>();
  /** Who asks the storage for a value, for all of this process. */
  readonly #asking = new Map<string, Caller>();
  /** What a task computes now. */
  readonly #tasks = new WeakMap<Asker, Map<string, Claim>>();
  readonly #waiting = new Map<string, Set<Waiter>>();
  /** Counts calls and looks, as one that began after another is answered by no look from before. */
  #turn = 0;
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
    return claim !== undefined && this.#leftMs(claim) > 0;
  }

  /** Whether a task was to compute a value, and another may have computed it since: its lease has ended, or was given back. */
  isLate(id: string, asker: Asker): boolean {
    const claim = this.#tasks.get(asker)?.get(id);
    return claim !== undefined && (this.#leftMs(claim) <= 0 || this.#claims.get(id) !== claim);
  }

  /** Whether somebody in this process computes a value, or asks for it: who waits for that needs no look of its own. */
  isTaken(id: string, caller?: Caller): boolean {
    const claim = this.#claims.get(id);
    const asks = this.#asking.get(id) ?? caller;
    return asks !== caller || (claim !== undefined && this.#leftMs(claim) > 0 && !isOfEarlierRun(claim));
  }

  /** Resolves when the values that are still missing are to be computed by the caller, at the latest after two times of a lease. */
  async claim(caller: Caller): Promise<void> {
    const passedMs = stopwatch();
    const since = (this.#turn += 1);
    const missing = new Set([...caller.askers.keys()].sort());
    let hasLooked = caller.hasLooked;
    let asksFor: string | undefined;
    try {
      for (let pauseMs = firstPauseMs; missing.size > 0; hasLooked = false) {
        const leftMs = 2 * this.#waitMs - passedMs();
        const waits = !caller.isComputing && leftMs > 0;
        const taken = [...missing].find((id) => this.isTaken(id, caller));
        let sight: Sight | undefined;
        if (waits && taken !== undefined) {
          // Who asks on behalf of others never waits for one who does so, too.
          if (asksFor !== taken) this.#passOn(asksFor, caller);
          asksFor = taken;
          const claim = this.#claims.get(taken);
          const endsMs = this.#asking.has(taken) || claim === undefined ? leftMs : this.#leftMs(claim);
          sight = await this.#wait(taken, caller, since, Math.min(endsMs, leftMs));
        } else {
          asksFor = await this.#ask(caller, missing, hasLooked, waits);
          if (asksFor === undefined) return;
          sight = await this.#wait(asksFor, caller, since, Math.min(pauseMs, leftMs));
          pauseMs = Math.min(2 * pauseMs, longestPauseMs);
        }
        if (sight !== undefined) {
          await caller.take(asksFor, sight);
          missing.delete(asksFor);
          this.#passOn(asksFor, caller);
        }
      }
    } finally {
      this.#passOn(asksFor, caller);
    }
  }

  /** Gives a lease back, and has those who wait in this process look. */
  async settled(id: string, asker: Asker): Promise<void> {
    this.#tasks.get(asker)?.delete(id);
    const claim = this.#claims.get(id);
    if (claim === undefined) this.#wake(id);
    else await this.#release(id, claim);
  }

  #leftMs(claim: Claim): number {
    return this.#waitMs - claim.passedMs();
  }

  /**
   * Looks for values, unless that was done, and claims those that are still missing.
   * @returns undefined: the caller computes what it misses; an id: somebody has it, the caller asks for it again, for all of this process
   */
  async #ask(
    caller: Caller,
    missing: Set<string>,
    hasLooked: boolean,
    waits: boolean,
  ): Promise<string | undefined> {
    const free = [...missing].filter((id) => !this.isTaken(id, caller));
    let refused: string | undefined;
    for (const id of free) this.#asking.set(id, caller);
    try {
      if (!hasLooked) for (const id of await this.#look(caller, [...missing])) missing.delete(id);
      const claimed = await this.#claimAll(
        free.filter((id) => missing.has(id)),
        !waits,
      );
      if (typeof claimed === "string") return (refused = claimed);
      // Somebody may have stored a value, and given the lease back, since it was looked for.
      const found = await this.#look(caller, [...claimed.keys()]);
      for (const [id, claim] of claimed) {
        if (found.has(id)) await this.#release(id, claim);
        else for (const asker of caller.askers.get(id)!) this.#computes(asker, id, claim);
      }
      return undefined;
    } finally {
      for (const id of caller.askers.keys()) if (id !== refused) this.#passOn(id, caller);
    }
  }

  /** Looks for values, for all who wait for them. @returns those that were found */
  async #look(caller: Caller, ids: readonly string[]): Promise<ReadonlySet<string>> {
    if (ids.length === 0) return new Set();
    const turn = (this.#turn += 1);
    const found = await caller.look(ids);
    for (const [id, sight] of found)
      // Who called meanwhile may know that the value was cleared since.
      for (const { since, end } of this.#waiting.get(id) ?? []) if (since < turn) end(sight);
    return new Set(found.keys());
  }

  /** Leaves a value to the next who waits for it. */
  #passOn(id: string | undefined, caller: Caller): void {
    if (id === undefined || (this.#asking.get(id) ?? caller) !== caller) return;
    this.#asking.delete(id);
    this.#wake(id);
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
    if (ids.length === 0) return claimed;
    const run = currentRun();
    let refused: string | undefined;
    const claim = async (id: string): Promise<void> => {
      const before = this.#claims.get(id);
      // An earlier run of the same thread has ended, without a result: the thread would wait for itself.
      if (before !== undefined && isOfEarlierRun(before)) await this.#release(id, before);
      const mine = { holder: randomUUID(), passedMs: stopwatch(), run };
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
    this.#wake(id);
  }

  /** Resolves when the value was found, or the name is woken, or the time is over. */
  async #wait(id: string, caller: Caller, since: number, ms: number): Promise<Sight | undefined> {
    const waiting = this.#waiting.get(id) ?? new Set();
    this.#waiting.set(id, waiting);
    return await new Promise((resolve) => {
      const end = (sight?: Sight): void => {
        clearTimeout(timer);
        waiting.delete(waiter);
        if (waiting.size === 0 && this.#waiting.get(id) === waiting) this.#waiting.delete(id);
        resolve(sight);
      };
      const waiter = { caller, since, end };
      const timer = setTimeout(end, ms);
      waiting.add(waiter);
    });
  }

  /** Wakes who asks for a value, or else one who then does so. */
  #wake(id: string): void {
    const asks = this.#asking.get(id);
    for (const { caller, end } of this.#waiting.get(id) ?? []) if ((asks ?? caller) === caller) return end();
  }
}

/** Whether an earlier run of the caller's thread has a claim. It has ended, without a result: the thread would wait for itself. */
function isOfEarlierRun({ run }: Claim): boolean {
  const now = currentRun();
  return now !== undefined && run?.threadId === now.threadId && run !== now;
}
