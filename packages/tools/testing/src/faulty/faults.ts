import { setTimeout as sleep } from "node:timers/promises";
import { Hold } from "./hold.ts";
import type { TierCall, TierMethod } from "./tierCall.ts";

/** Options of a planned failure. */
export interface FailOptions {
  /** How many calls fail. Default 1. */
  readonly times?: number;
  /** For iterations (list, threads): after how many items the error is thrown. Default 0. */
  readonly items?: number;
}

/** Decides whether a call fails. It fails with the error returned, or with a generic one if `true` is returned. */
export type FaultPredicate = (call: TierCall) => Error | boolean | undefined;

/** A planned fault. "fail": the call throws without reaching the tier. "drop": the tier is called, and then the call throws. */
export type Fault =
  | { readonly kind: "fail"; readonly error: Error; readonly items: number }
  | { readonly kind: "drop"; readonly error: Error };

/** The faults that are planned for a FaultyTier. */
export class Faults {
  readonly #planned = new Map<TierMethod, Fault[]>();
  readonly #holds = new Map<TierMethod, Hold[]>();
  /** Holds in which calls may be waiting. */
  readonly #open = new Set<Hold>();
  readonly #delays = new Map<TierMethod, number>();
  readonly #predicates = new Set<FaultPredicate>();

  failNext(method: TierMethod, error: Error | undefined, { times = 1, items = 0 }: FailOptions): void {
    this.#plan(method, times, { kind: "fail", error: error ?? planned(method), items });
  }

  dropAcknowledgement(method: TierMethod, error: Error | undefined, { times = 1 }: { times?: number }): void {
    this.#plan(method, times, { kind: "drop", error: error ?? planned(method) });
  }

  failWhen(predicate: FaultPredicate): () => void {
    this.#predicates.add(predicate);
    return () => {
      this.#predicates.delete(predicate);
    };
  }

  delay(method: TierMethod, ms: number): void {
    if (ms > 0) this.#delays.set(method, ms);
    else this.#delays.delete(method);
  }

  hold(method: TierMethod): Hold {
    const hold = new Hold();
    this.#open.add(hold);
    this.#holds.set(method, [...(this.#holds.get(method) ?? []), hold]);
    return hold;
  }

  reset(): void {
    for (const hold of this.#open) hold.release();
    this.#open.clear();
    this.#holds.clear();
    this.#planned.clear();
    this.#delays.clear();
    this.#predicates.clear();
  }

  /**
   * Waits as planned, and returns the fault for a call. The fault is taken off the plan before waiting, so that calls get their faults
   * in the order in which they arrive.
   */
  async meet(call: TierCall): Promise<Fault | undefined> {
    const fault = this.#planned.get(call.method)?.shift();
    const hold = this.#holds.get(call.method)?.shift();
    const ms = this.#delays.get(call.method);
    if (hold !== undefined) await hold.wait();
    if (ms !== undefined) await sleep(ms);
    if (fault !== undefined) return fault;
    for (const predicate of this.#predicates) {
      const answer = predicate(call);
      if (answer instanceof Error) return { kind: "fail", error: answer, items: 0 };
      if (answer === true) return { kind: "fail", error: planned(call.method), items: 0 };
    }
    return undefined;
  }

  #plan(method: TierMethod, times: number, fault: Fault): void {
    const faults = this.#planned.get(method) ?? [];
    for (let n = 0; n < times; n += 1) faults.push(fault);
    this.#planned.set(method, faults);
  }
}

function planned(method: TierMethod): Error {
  return new Error(`FaultyTier: planned failure of ${method}`);
}
