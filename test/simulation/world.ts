import type { Tier } from "@stratigraph/core";
import { Machine, outside } from "./machine.ts";
import type { VirtualClock } from "./virtualClock.ts";
import { WireCall } from "./wireCall.ts";

/** Most that may happen in one simulation: what goes on for longer never ends. */
const mostEvents = 20_000;
/** Methods of a tier that answer item by item. */
export const iterations: ReadonlySet<string> = new Set(["list", "threads", "tombstones", "leftovers"]);
/** Members of a tier that have methods of their own. */
export const parts: ReadonlySet<string> = new Set(["items", "workspaces"]);
/** Methods of a tier that answer at once, from what the client knows. */
export const local: ReadonlySet<string> = new Set(["chooseTtl", "owners", "hasBlob", "setupScript"]);

/** Which calls a {@link Held} waits for. */
export interface Wanted {
  /** Undefined: any. */
  readonly method?: string | undefined;
  readonly from?: Machine | undefined;
  readonly to?: Machine | undefined;
  readonly when?: ((call: WireCall) => boolean) | undefined;
}

/** A call that a test keeps from going on by itself. */
export class Held {
  /** Resolves when the call was made. */
  readonly reached: Promise<WireCall>;
  readonly wanted: Wanted;
  #reach!: (call: WireCall) => void;

  constructor(wanted: Wanted) {
    this.wanted = wanted;
    this.reached = new Promise((resolve) => {
      this.#reach = resolve;
    });
  }

  takes(call: WireCall): boolean {
    const { method, from, to, when } = this.wanted;
    return (
      (method === undefined || call.method === method) &&
      (from === undefined || call.from === from) &&
      (to === undefined || call.to === to) &&
      (when === undefined || when(call))
    );
  }

  take(call: WireCall): void {
    call.held = true;
    this.#reach(call);
  }

  /** The server does it, while the caller still waits. */
  async arrive(): Promise<void> {
    await (await this.reached).arrive();
  }

  /** Lets the call go on by itself. */
  async release(): Promise<void> {
    (await this.reached).held = false;
  }

  /** The caller gets an error: a refusal, or the loss of an answer where the call has arrived. */
  async fail(error?: unknown): Promise<void> {
    (await this.reached).fail(error);
  }

  /** The caller hears nothing, until its driver gives up. */
  async silence(): Promise<void> {
    (await this.reached).silence();
  }
}

/** Something that may happen next. */
interface Event {
  readonly happen: () => unknown;
}

/** How a schedule may differ from calls that are answered at once, in order. */
export interface Chances {
  /** How many calls may fail, lose their answer, or never be answered. Default 0. */
  readonly faults?: number | undefined;
}

/**
 * Processes, servers, the wires between them, and time. One thing happens after another, and what happens next is chosen: by
 * `choices`, or, where these have ended, what would happen without any trouble: calls are answered at once and in order, and time passes only where everybody waits for it.
 */
export class World {
  readonly clock: VirtualClock;
  /** What has happened so far, a line each. */
  readonly story: string[] = [];
  readonly #choices: readonly number[];
  #chosen = 0;
  #quiet = false;
  #faultsLeft: number;
  readonly #calls = new Set<WireCall>();
  /** What real servers are asked. */
  readonly #asked = new Set<Promise<unknown>>();
  readonly #holds: Held[] = [];
  readonly #offers = new Set<{ readonly what: string; readonly happen: () => void }>();

  constructor(clock: VirtualClock, choices: readonly number[] = [], { faults = 0 }: Chances = {}) {
    this.clock = clock;
    this.#choices = choices;
    this.#faultsLeft = faults;
  }

  /** A new process, or a server. */
  machine(name: string): Machine {
    return new Machine(name);
  }

  /** The tier of a server, as a process reaches it. @param without optional methods that this tier hasn't got */
  connect<T extends Tier>(from: Machine, to: Machine, tier: T, without: readonly string[] = []): T {
    return this.#reached(from, to, tier, without, "");
  }

  /** @param within what the names of its methods begin with */
  #reached<T extends object>(
    from: Machine,
    to: Machine,
    tier: T,
    without: readonly string[],
    within: string,
  ): T {
    return new Proxy(tier, {
      get: (target, name) => {
        if (without.includes(name as string)) return undefined;
        const member = Reflect.get(target, name, target) as unknown;
        if (parts.has(name as string) && typeof member === "object" && member !== null)
          return this.#reached(from, to, member, [], `${String(name)}.`);
        if (typeof member !== "function" || typeof name !== "string") return member;
        const call = member as (...args: unknown[]) => unknown;
        if (local.has(name)) return call.bind(target);
        const method = `${within}${name}`;
        if (iterations.has(method))
          return (...args: unknown[]) =>
            this.#iterate({ from, to, method, args }, () => Reflect.apply(call, target, args));
        return (...args: unknown[]) =>
          this.#call({ from, to, method, args }, () => Reflect.apply(call, target, args));
      },
      has: (target, name) => !without.includes(name as string) && name in target,
    });
  }

  /** Does something in real time, for which the simulation waits. */
  async really<T>(work: () => T): Promise<Awaited<T>> {
    const asked = outside(async () => await work());
    this.#asked.add(asked);
    try {
      return await asked;
    } finally {
      this.#asked.delete(asked);
    }
  }

  /** Keeps the next call of this kind from going on by itself. */
  hold(method: string | undefined, wanted: Omit<Wanted, "method"> = {}): Held {
    const held = new Held({ method, ...wanted });
    this.#holds.push(held);
    return held;
  }

  /** Something that may happen once, at any time. A schedule without choices never takes it. */
  offer(what: string, happen: () => void): void {
    this.#offers.add({ what, happen });
  }

  /** One of so many: 0 where nothing was chosen. */
  choose(count: number): number {
    if (count <= 1 || this.#quiet) return 0;
    const choice = this.#choices[this.#chosen] ?? 0;
    this.#chosen += 1;
    return choice % count;
  }

  /** Waits until so much time has passed: all that is due meanwhile happens. */
  async pass(ms: number): Promise<void> {
    await new Promise((resolve) => {
      setTimeout(resolve, ms);
    });
  }

  /** Does what comes before the scenario proper: without any trouble, and without taking choices for it. */
  async quietly<T>(work: () => Promise<T>): Promise<T> {
    const faults = this.#faultsLeft;
    [this.#quiet, this.#faultsLeft] = [true, 0];
    try {
      return await work();
    } finally {
      [this.#quiet, this.#faultsLeft] = [false, faults];
    }
  }

  /** From now on nothing goes wrong any more. Resolves when all that was under way has ended. */
  async calm(): Promise<void> {
    this.tell("calm");
    this.#faultsLeft = 0;
    this.#offers.clear();
    this.#chosen = this.#choices.length;
    await this.pass(3_600_000);
  }

  tell(what: string): void {
    this.story.push(`${String(Math.round(this.clock.nowMs)).padStart(8)} ms  ${what}`);
  }

  /** Lets things happen until `work` has ended. @throws what it throws */
  async drive<T>(work: () => Promise<T>): Promise<T> {
    let ended = false;
    const working = work().finally(() => {
      ended = true;
    });
    working.catch(() => undefined);
    for (let events = 0; ; events += 1) {
      await this.clock.settle();
      for (; this.#asked.size > 0; await this.clock.settle()) await Promise.allSettled(this.#asked);
      if (ended) return await working;
      if (events > mostEvents) throw new Error(`It doesn't end: ${mostEvents} events`);
      const possible = this.#possible();
      if (possible.length === 0) throw new Error("Everybody waits, and nothing can happen any more");
      possible[this.choose(possible.length)]!.happen();
    }
  }

  /** What may happen next. First of all what would without any trouble. */
  #possible(): Event[] {
    const [arrivals, answers, faults]: [Event[], Event[], Event[]] = [[], [], []];
    for (const call of this.#calls) {
      if (call.state === "ended") this.#calls.delete(call);
      if (call.held) continue;
      if (call.state === "sent") arrivals.push({ happen: () => void call.arrive() });
      if (call.state === "executed" && call.from.runs) answers.push({ happen: () => call.deliver() });
      if (this.#faultsLeft > 0 && call.from.runs && (call.state === "sent" || call.state === "executed"))
        faults.push({ happen: () => this.#fault(() => call.fail()) });
      if (this.#faultsLeft > 0 && call.from.runs && (call.state === "sent" || call.state === "executed"))
        faults.push({ happen: () => this.#fault(() => call.silence()) });
    }
    const timer = this.clock.next();
    const timers = timer === undefined ? [] : [{ happen: () => this.clock.fire(timer) }];
    const offers =
      arrivals.length + answers.length + timers.length === 0
        ? []
        : [...this.#offers].map((offer) => ({ happen: () => this.#take(offer) }));
    return [...answers, ...arrivals, ...timers, ...offers, ...faults];
  }

  #take(offer: { readonly what: string; readonly happen: () => void }): void {
    this.#offers.delete(offer);
    this.tell(offer.what);
    offer.happen();
  }

  #fault(happen: () => void): void {
    this.#faultsLeft -= 1;
    happen();
  }

  async #call(
    call: Pick<WireCall, "from" | "to" | "method" | "args">,
    execute: () => unknown,
  ): Promise<unknown> {
    const sent = new WireCall(
      call,
      async () => await execute(),
      (what) => this.tell(what),
    );
    // What a killed process does in memory afterwards reaches nobody.
    if (!call.from.alive) return await sent.answer;
    this.#calls.add(sent);
    const hold = this.#holds.findIndex((held) => held.takes(sent));
    if (hold >= 0) this.#holds.splice(hold, 1)[0]!.take(sent);
    return await sent.answer;
  }

  async *#iterate(
    call: Pick<WireCall, "from" | "to" | "method" | "args">,
    open: () => unknown,
  ): AsyncGenerator<unknown> {
    let items: AsyncIterator<unknown> | undefined;
    try {
      for (;;) {
        const next = (await this.#call(call, () => {
          items ??= (open() as AsyncIterable<unknown>)[Symbol.asyncIterator]();
          return items.next();
        })) as IteratorResult<unknown>;
        if (next.done === true) return;
        yield next.value;
      }
    } finally {
      await items?.return?.();
    }
  }
}
