import { randomUUID } from "node:crypto";
import { isMainThread, threadId } from "node:worker_threads";
import type { Tier } from "@stratigraph/core";
import { keepsLeases, livenessOf, stopwatch, thisProcess, unstarted } from "@stratigraph/core/internal";
import type { Session as KnownSession } from "../log/calls.ts";
import type { Writer } from "../log/journalLog.ts";
import { shared } from "../shared.ts";

/** How long a process counts as alive after its last sign of life, in milliseconds. */
const defaultLeaseMs = 30_000;

/** Overrides the default place of a session. */
export interface SessionPlace {
  /** Two processes of the same machine see each other's ids. */
  readonly machine?: string | undefined;
  /** How long the process counts as alive after its last sign of life, in milliseconds. */
  readonly leaseMs?: number | undefined;
}

/** How many names of sessions are remembered at most. */
const mostNames = 10_000;

/** How many calls each session of this thread of the process is running: 0 for an idle one. */
const running = shared("running", () => new Map<string, number>());

/** Sessions of this process that were found idle: their unfinished calls count as ended, so they go on under other names. */
const takenForDead = shared("taken-for-dead", () => new Set<string>());

/** Remembers a name. If there are too many, forgets the one that was remembered first. */
function remember(names: Set<string> | Map<string, number>, name: string, value = 0): void {
  names.delete(name);
  if (names instanceof Set) names.add(name);
  else names.set(name, value);
  if (names.size > mostNames) names.delete(names.keys().next().value!);
}

/** Identifies where this process runs. A worker has its own memory, so only the lease shows others what it is doing. */
function thisMachine(): string {
  const { machine } = thisProcess();
  return isMainThread ? machine : `${machine} thread ${threadId}`;
}

/**
 * The maker of calls: a journal in a process. While it runs calls it holds a lease in the storage, which shows others that it is alive. If
 * it was killed, processes on the same machine notice that at once, and others when its lease expires. A journal whose lease expired goes
 * on under another name, as others may have found it dead.
 */
export class Session implements Writer {
  readonly machine: string;
  readonly pid = process.pid;
  readonly #tier: Tier;
  readonly #leaseMs: number;
  #name = randomUUID();
  readonly #own = new Set<string>([this.#name]);
  /** Since the last sign of life that the storage has. */
  #ageMs = unstarted;
  #timer: NodeJS.Timeout | undefined;
  #taking: Promise<void> | undefined;
  #running = 0;
  /** When this process first saw a claim by a session whose liveness can't be determined; monotonic milliseconds. */
  readonly #firstSeenMs = new Map<string, number>();
  readonly #dead = new Set<string>();

  constructor(tier: Tier, { machine = thisMachine(), leaseMs = defaultLeaseMs }: SessionPlace = {}) {
    this.#tier = tier;
    this.machine = machine;
    this.#leaseMs = leaseMs;
  }

  /** Its current name. */
  get session(): string {
    return this.#name;
  }

  /** All names that it ever had. */
  get own(): ReadonlySet<string> {
    return this.#own;
  }

  /** Processes that are known to be dead. None of them comes back. */
  get dead(): ReadonlySet<string> {
    return this.#dead;
  }

  /** Runs a call, during which this session is known to be alive. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    await this.#sayAlive();
    const name = this.#name;
    this.#running += 1;
    remember(running, name, (running.get(name) ?? 0) + 1);
    this.#timer ??= setInterval(() => void this.#prolong().catch(() => undefined), this.#leaseMs / 4).unref();
    try {
      return await work();
    } finally {
      this.#running -= 1;
      remember(running, name, (running.get(name) ?? 1) - 1);
      if (this.#running === 0) this.#rest();
    }
  }

  /** Gives the lease back. Calls under way go on, but their process may then be considered dead. */
  async end(): Promise<void> {
    this.#rest();
    if (this.#ageMs() >= this.#leaseMs) return;
    this.#ageMs = unstarted;
    // A lease that can't be given back expires by itself.
    await this.#ask(0).catch(() => false);
  }

  /** Finds out whether the holder of a claim is alive. */
  async isAlive(holder: string, known: KnownSession | undefined): Promise<boolean> {
    if (this.#dead.has(holder)) return false;
    // How many calls it runs, if it is in this memory.
    const runs = known?.machine === this.machine ? running.get(holder) : undefined;
    const alive = runs === undefined ? await this.#looksAlive(holder, known) : runs > 0;
    if (!alive) {
      remember(this.#dead, holder);
      if (runs !== undefined) remember(takenForDead, holder);
    }
    return alive;
  }

  async #looksAlive(holder: string, known: KnownSession | undefined): Promise<boolean> {
    // A process with the same id may be this process in another memory, or an earlier one with that id: the lease decides.
    if (known?.machine === this.machine && livenessOf(known) === "dead") return false;
    if (!keepsLeases(this.#tier)) {
      // Its liveness can't be determined, so it counts as alive for as long as a lease would have lasted.
      const sinceMs = this.#firstSeenMs.get(holder) ?? performance.now();
      remember(this.#firstSeenMs, holder, sinceMs);
      return performance.now() - sinceMs < this.#leaseMs;
    }
    // A lease that can be taken has expired, or was never held. It is taken only for a moment.
    return !(await this.#tier.lease(leaseOf(holder), this.#name, 1));
  }

  async #sayAlive(): Promise<void> {
    if (takenForDead.delete(this.#name)) this.#ageMs = unstarted;
    if (this.#ageMs() < this.#leaseMs / 2) return;
    this.#taking ??= this.#prolong().finally(() => (this.#taking = undefined));
    await this.#taking;
  }

  async #prolong(): Promise<void> {
    if (this.#ageMs() >= this.#leaseMs) this.#rename();
    const ageMs = stopwatch();
    const kept = await this.#ask(this.#leaseMs);
    this.#ageMs = kept ? ageMs : unstarted;
  }

  async #ask(forMs: number): Promise<boolean> {
    return !keepsLeases(this.#tier) || (await this.#tier.lease(leaseOf(this.#name), this.#name, forMs));
  }

  #rename(): void {
    this.#name = randomUUID();
    remember(this.#own, this.#name);
  }

  /** Stops renewing the lease, which expires by itself if no call comes soon. */
  #rest(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

function leaseOf(session: string): string {
  return `calls/${session}`;
}
