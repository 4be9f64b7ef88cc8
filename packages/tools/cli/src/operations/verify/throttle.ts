import { setImmediate, setTimeout } from "node:timers/promises";
import type { Size } from "@stratigraph/core";
import { bytesOf } from "@stratigraph/core/internal";

/** A limit on the speed of verifying. */
export type Rate = { readonly threads: number } | { readonly bytes: number };

/** "50" and "50/s" are threads per second, "20mb" and "20mb/s" bytes per second. @throws InvalidOptionError */
export function rateOf(text: string): Rate {
  const [, amount = "", unit = ""] = /^(\d+(?:\.\d+)?)([a-z]*)(?:\/s)?$/.exec(text) ?? [];
  if (amount !== "" && unit === "" && Number(amount) > 0) return { threads: Number(amount) };
  return { bytes: Math.max(1, bytesOf("rate", (amount === "" ? text : amount + unit) as Size)) };
}

/** How long work goes on at most before other work of this process gets its turn, in milliseconds. */
const turnMs = 20;

/** Keeps work to a rate, and lets other work of this process run in between. */
export class Throttle {
  readonly #rate: Rate | undefined;
  readonly #signal: AbortSignal;
  readonly #beganMs = performance.now();
  #threads = 0;
  #bytes = 0;
  #turnBeganMs = performance.now();

  constructor(rate: Rate | undefined, signal: AbortSignal) {
    this.#rate = rate;
    this.#signal = signal;
  }

  async tookThread(): Promise<void> {
    this.#threads += 1;
    await this.#pause();
  }

  async took(bytes: number): Promise<void> {
    this.#bytes += bytes;
    await this.#pause();
  }

  async #pause(): Promise<void> {
    const now = performance.now();
    const dueMs = this.#beganMs + this.#shortestMs();
    if (dueMs > now && !this.#signal.aborted) {
      await setTimeout(dueMs - now, undefined, { signal: this.#signal }).catch(() => undefined);
      this.#turnBeganMs = performance.now();
    } else if (now - this.#turnBeganMs > turnMs) {
      await setImmediate();
      this.#turnBeganMs = performance.now();
    }
  }

  /** How long the work so far should have taken at least, in milliseconds. */
  #shortestMs(): number {
    if (this.#rate === undefined) return 0;
    const seconds =
      "threads" in this.#rate ? this.#threads / this.#rate.threads : this.#bytes / this.#rate.bytes;
    return seconds * 1000;
  }
}
