import { AsyncResource } from "node:async_hooks";
import { syncBuiltinESMExports } from "node:module";
import timersPromises from "node:timers/promises";
import { isSimulated, Machine } from "./machine.ts";

/** When a simulation begins: a Tuesday in 2026. Milliseconds since 1970. */
const beginsAtMs = Date.UTC(2026, 0, 6);

/** Node's own turn of the event loop, whatever stands in its place meanwhile. */
const turn = globalThis.setImmediate;

type Callback = (...args: unknown[]) => void;

/** One timer that was set, in place of Node's. */
class VirtualTimer extends AsyncResource {
  readonly machine = Machine.current;
  dueMs: number;
  readonly #clock: VirtualClock;
  readonly #everyMs: number | undefined;
  readonly #delayMs: number;
  readonly #call: () => void;

  constructor(clock: VirtualClock, call: () => void, delayMs: number, everyMs?: number) {
    // Keeps the contexts in which it was set, as Node's timers do.
    super("VirtualTimer");
    this.#clock = clock;
    this.#call = call;
    this.#delayMs = delayMs;
    this.#everyMs = everyMs;
    this.dueMs = clock.nowMs + delayMs;
  }

  fire(): void {
    if (this.#everyMs === undefined) this.#clock.remove(this);
    else this.dueMs = this.#clock.nowMs + this.#everyMs;
    this.runInAsyncScope(this.#call);
  }

  refresh(): this {
    this.dueMs = this.#clock.nowMs + this.#delayMs;
    this.#clock.add(this);
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return true;
  }

  close(): void {
    this.#clock.remove(this);
  }

  [Symbol.dispose](): void {
    this.#clock.remove(this);
  }
}

/**
 * Time that passes only where the simulation says so. While it is installed, timers, `Date`, `performance.now` and
 * `timers/promises` that code of the simulation asks for are its own, so that the code under test runs unchanged. Other code of the
 * process, such as a browser's connection that another test file left, keeps Node's.
 */
export class VirtualClock {
  /** Milliseconds since the simulation began. */
  nowMs = 0;
  /** When that was by its clocks. Milliseconds since 1970. */
  beganAtMs = beginsAtMs;
  readonly #timers = new Set<VirtualTimer>();

  add(timer: VirtualTimer): void {
    this.#timers.add(timer);
  }

  remove(timer: VirtualTimer): void {
    this.#timers.delete(timer);
  }

  /** Begins anew: no timer is set, and no time has passed. */
  reset(): void {
    this.#timers.clear();
    this.nowMs = 0;
    this.beganAtMs = beginsAtMs;
  }

  /** The timer that is due first, of those whose machine runs. */
  next(): VirtualTimer | undefined {
    let first: VirtualTimer | undefined;
    for (const timer of this.#timers) {
      if (timer.machine?.alive === false) this.#timers.delete(timer);
      else if (timer.machine?.runs !== false && (first === undefined || timer.dueMs < first.dueMs))
        first = timer;
    }
    return first;
  }

  /** Lets time pass until a timer is due, and fires it. */
  fire(timer: VirtualTimer): void {
    this.nowMs = Math.max(this.nowMs, timer.dueMs);
    timer.fire();
  }

  /** Lets all that is ready go on: promises, and whatever they continue. */
  async settle(): Promise<void> {
    await new Promise<void>((resolve) => {
      turn(resolve);
    });
  }

  /** Takes the place of Node's clocks and timers. @returns a function that ends this */
  install(): () => void {
    const real = {
      setTimeout: globalThis.setTimeout,
      setInterval: globalThis.setInterval,
      setImmediate: globalThis.setImmediate,
      clearTimeout: globalThis.clearTimeout,
      clearInterval: globalThis.clearInterval,
      clearImmediate: globalThis.clearImmediate,
      Date: globalThis.Date,
    };
    const realPromises = { setTimeout: timersPromises.setTimeout, setImmediate: timersPromises.setImmediate };
    const realNow = performance.now.bind(performance);
    const set = (call: Callback, delayMs: number, args: unknown[], everyMs?: number): VirtualTimer => {
      const timer = new VirtualTimer(this, () => call(...args), delayMs, everyMs);
      this.add(timer);
      return timer;
    };
    const wallMs = (): number =>
      isSimulated()
        ? this.beganAtMs + Math.floor(this.nowMs) + (Machine.current?.clockAheadMs ?? 0)
        : real.Date.now();
    const delayOf = (ms: unknown): number => Math.max(1, Number(ms) || 1);
    Object.assign(globalThis, {
      setTimeout: (call: Callback, ms?: number, ...args: unknown[]) =>
        isSimulated() ? set(call, delayOf(ms), args) : real.setTimeout(call, ms, ...args),
      setInterval: (call: Callback, ms?: number, ...args: unknown[]) =>
        isSimulated() ? set(call, delayOf(ms), args, delayOf(ms)) : real.setInterval(call, ms, ...args),
      setImmediate: (call: Callback, ...args: unknown[]) =>
        isSimulated() ? set(call, 0, args) : real.setImmediate(call, ...args),
      clearTimeout: this.#cleared(real.clearTimeout),
      clearInterval: this.#cleared(real.clearInterval),
      clearImmediate: this.#cleared(real.clearImmediate),
      Date: new Proxy(real.Date, {
        construct: (target, args: [], newTarget) =>
          Reflect.construct(target, args.length === 0 ? [wallMs()] : args, newTarget) as Date,
        get: (target, name, receiver) =>
          name === "now" ? wallMs : (Reflect.get(target, name, receiver) as unknown),
      }),
    });
    Object.assign(timersPromises, {
      setTimeout: (ms?: number, value?: unknown, options?: { signal?: AbortSignal }) =>
        isSimulated()
          ? waited(set, delayOf(ms), value, options?.signal)
          : realPromises.setTimeout(ms, value, options),
      setImmediate: (value?: unknown, options?: { signal?: AbortSignal }) =>
        isSimulated() ? waited(set, 0, value, options?.signal) : realPromises.setImmediate(value, options),
    });
    syncBuiltinESMExports();
    Object.defineProperty(performance, "now", {
      configurable: true,
      value: () => (isSimulated() ? this.nowMs : realNow()),
    });
    return () => {
      Object.assign(globalThis, real);
      Object.assign(timersPromises, realPromises);
      syncBuiltinESMExports();
      Reflect.deleteProperty(performance, "now");
    };
  }

  /** Ends a timer, whoever set it: what is no virtual one is Node's. */
  #cleared<T>(real: (timer: T) => void): (timer: T) => void {
    return (timer) => {
      if (timer instanceof VirtualTimer) this.remove(timer);
      else real(timer);
    };
  }
}

function waited(
  set: (call: Callback, delayMs: number, args: unknown[]) => VirtualTimer,
  delayMs: number,
  value: unknown,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return void reject(aborted());
    const abort = (): void => {
      timer.close();
      reject(aborted());
    };
    const timer = set(
      () => {
        signal?.removeEventListener("abort", abort);
        resolve(value);
      },
      delayMs,
      [],
    );
    signal?.addEventListener("abort", abort);
  });
}

function aborted(): DOMException {
  return new DOMException("This operation was aborted", "AbortError");
}
