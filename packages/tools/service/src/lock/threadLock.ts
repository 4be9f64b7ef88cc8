import { createHash, randomUUID } from "node:crypto";
import { answerWithin, Renewal, stopwatch } from "@stratigraph/core/internal";
import type { LockKeeper, LockState } from "@stratigraph/core/tier";
import { LockLostError } from "../errors.ts";

/** How many times a lock is prolonged per lease time. */
const renewals = 3;
/** How long giving the lock back may take, in milliseconds. It expires by itself if that fails. */
const givingBackMs = 2000;

/** The lock of a thread, held by one run and prolonged until it is given back. */
export class ThreadLock {
  /** Fires when the lock is lost: it expired because the storage couldn't be asked in time, or another holder has it. */
  readonly signal: AbortSignal;
  readonly #keeper: LockKeeper;
  readonly #name: string;
  readonly #holder: string;
  readonly #leaseMs: number;
  readonly #lost = new AbortController();
  readonly #renewal: Renewal;
  #over = false;
  /** False while it is certain that this holder doesn't have the lock. */
  #mayHold = false;

  /** @param by who holds it, for people */
  constructor(keeper: LockKeeper, threadId: string, by: string, leaseMs: number) {
    this.#keeper = keeper;
    this.#name = lockNameOf(threadId);
    this.#holder = `${by}/${randomUUID()}`;
    this.#leaseMs = leaseMs;
    this.signal = this.#lost.signal;
    this.#renewal = new Renewal({
      forMs: leaseMs,
      times: renewals,
      renew: () => this.#renew(),
      onLost: (why) => this.#lost.abort(new LockLostError(threadId, why)),
    });
  }

  /** Takes the lock if nobody has it. */
  async take(): Promise<LockState> {
    const ageMs = stopwatch();
    this.#mayHold = true;
    const state = await this.#keeper.lock(this.#name, this.#holder, this.#leaseMs);
    this.#mayHold = state.held;
    if (state.held) this.#renewal.begin(ageMs);
    return state;
  }

  /** Gives the lock back, which takes a limited time. Never rejects: a lock that can't be given back expires by itself. */
  async giveBack(): Promise<void> {
    this.#over = true;
    this.#renewal.stop();
    if (!this.#mayHold) return;
    const late = (): Error => new Error("the lock wasn't given back in time");
    await answerWithin(givingBackMs, () => this.#keeper.unlock(this.#name, this.#holder), late).catch(
      () => undefined,
    );
  }

  async #renew(): Promise<string | undefined> {
    const { held, holder } = await this.#keeper.lock(this.#name, this.#holder, this.#leaseMs);
    // An answer that came after the lock was given back may have taken it again.
    if (held && this.#over) await this.giveBack();
    return held ? undefined : `${personOf(holder)} has it now`;
  }
}

/** The holder's name, without the suffix that makes it unique. */
export function personOf(holder: string): string {
  return holder.slice(0, Math.max(0, holder.lastIndexOf("/")));
}

/** A hash, so that no thread id outlives its thread. */
function lockNameOf(threadId: string): string {
  return `run/${createHash("sha256").update(threadId).digest("hex")}`;
}
