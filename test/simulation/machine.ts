import { AsyncLocalStorage } from "node:async_hooks";

/** Which machine of a simulation the code that runs now belongs to, or that it is the scenario's own. */
const current = new AsyncLocalStorage<Machine | "scenario">();

/** Runs a scenario: only its code, and what it starts, lives in virtual time. Other tests' code may share the process. */
export function asScenario<T>(work: () => T): T {
  return current.run("scenario", work);
}

/** Runs code that no simulation knows of, in real time: that of a real server's client, for example. */
export function outside<T>(work: () => T): T {
  return current.exit(work);
}

/** Whether the calling code belongs to a simulation. */
export function isSimulated(): boolean {
  return current.getStore() !== undefined;
}

/** A process, or a server: something with a clock of its own, which can be suspended and killed. */
export class Machine {
  readonly name: string;
  /** How far its wall clock is ahead of the world's, in milliseconds. May be negative, and may change. */
  clockAheadMs = 0;
  /** Resolves when it is killed. */
  readonly killed: Promise<void>;
  #alive = true;
  #suspended = false;
  #end!: () => void;

  constructor(name: string) {
    this.name = name;
    this.killed = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  /** The machine that the calling code belongs to. Undefined: it is the scenario's own. */
  static get current(): Machine | undefined {
    const machine = current.getStore();
    return machine === "scenario" ? undefined : machine;
  }

  /** Whether timers of this machine fire, and answers reach it. */
  get runs(): boolean {
    return this.#alive && !this.#suspended;
  }

  get alive(): boolean {
    return this.#alive;
  }

  /** Runs code of this machine: timers that it sets, and calls that it makes, die with it. */
  run<T>(work: () => T): T {
    return current.run(this, work);
  }

  /** Runs code of this machine to its end, or until the machine is killed. */
  async finish(work: () => Promise<unknown>): Promise<void> {
    await Promise.race([this.run(work), this.killed]);
  }

  /** As SIGKILL: nothing of it goes on. What it sent may still arrive. */
  kill(): void {
    this.#alive = false;
    this.#end();
  }

  /** As SIGSTOP: time passes, but nothing of it goes on until {@link resume}. */
  suspend(): void {
    this.#suspended = true;
  }

  resume(): void {
    this.#suspended = false;
  }
}
