import { answerWithin } from "../contract/answerWithin.ts";
import { checkOptions, kindOf, type OptionNames } from "../contract/checkOptions.ts";
import { InvalidOptionError, StratigraphError } from "../contract/errors.ts";
import { addressKey } from "../contract/keys.ts";
import { waitMsOf, type Duration } from "../contract/units.ts";
import type { Address, Tier } from "../contract/tier.ts";

/** The first pause between two looks into the storage, and the longest. Milliseconds. */
const [firstPauseMs, longestPauseMs] = [50, 1000];

/** Options of `stored`. */
export interface StoredOptions {
  /** How long to wait at most. Default "30s". */
  readonly timeout?: Duration | undefined;
  /** Ends the waiting, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** {@link StoredOptions} as they are used. */
export interface Patience {
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

const names: OptionNames<StoredOptions> = { timeout: true, signal: true };
const advice = { timeoutMs: 'Write timeout, with a unit: "30s".' };

/** Checks the options. @throws InvalidOptionError */
export function patienceOf(options: StoredOptions): Patience {
  checkOptions("stored", options, names, advice);
  const { timeout = "30s", signal } = options;
  if (signal !== undefined && typeof signal?.addEventListener !== "function")
    throw new InvalidOptionError("signal", kindOf(signal), "Pass the signal of an AbortController.");
  return { timeoutMs: waitMsOf("timeout", timeout), signal };
}

/** A put under way. It is wrapped in an object, because a promise of a promise resolves to the inner one's value. */
interface Put {
  readonly acknowledged: Promise<unknown>;
}

/**
 * Waits for checkpoints to be stored. Knows the puts of its saver only while they are under way. For checkpoints that others put, it looks
 * into the storage again and again.
 */
export class StoredWaits {
  readonly #tier: Tier;
  readonly #isKnown: (at: Address) => boolean;
  readonly #underWay = new Map<string, Put>();
  readonly #waiting = new Map<string, Set<(put: Put) => void>>();

  /** @param isKnown whether a checkpoint was read from the storage, or its put acknowledged; it may forget */
  constructor(tier: Tier, isKnown: (at: Address) => boolean) {
    this.#tier = tier;
    this.#isKnown = isKnown;
  }

  /** Notes a put. @param acknowledged settles when the put does */
  began(at: Address, acknowledged: Promise<unknown>): void {
    const key = addressKey(at, at.checkpointId);
    const put: Put = { acknowledged };
    this.#underWay.set(key, put);
    const ended = (): void => {
      if (this.#underWay.get(key) === put) this.#underWay.delete(key);
    };
    acknowledged.then(ended, ended);
    for (const tell of this.#waiting.get(key) ?? []) tell(put);
  }

  /**
   * Resolves once a checkpoint is stored.
   * @param neverComes whether nothing in this process will put it, as far as is known
   * @throws StratigraphError "NOT_DURABLE" when time is up, or if it never comes; the error of the put under way, if it fails; the signal's
   * reason
   */
  async wait(
    at: Address,
    { timeoutMs, signal }: Patience,
    neverComes: () => boolean = () => false,
  ): Promise<void> {
    signal?.throwIfAborted();
    if (this.#isKnown(at)) return;
    const stop = new AbortController();
    const outage: { error?: unknown } = {};
    const found = () => this.#found(at, stop.signal, outage, neverComes);
    const late = () => notDurable(at, timeoutMs, outage.error);
    try {
      await answerWithin(timeoutMs, found, late, signal);
    } finally {
      stop.abort();
    }
  }

  /** @param outage receives the error of a look that may succeed later */
  async #found(
    at: Address,
    stop: AbortSignal,
    outage: { error?: unknown },
    neverComes: () => boolean,
  ): Promise<void> {
    const key = addressKey(at, at.checkpointId);
    for (let pauseMs = firstPauseMs; !stop.aborted; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
      const put = this.#underWay.get(key) ?? (await this.#nextPut(key, pauseMs, stop));
      if (put !== undefined) {
        await put.acknowledged;
        return;
      }
      if (stop.aborted || (await this.#isStored(at, outage))) return;
      if (outage.error === undefined && neverComes()) throw neverStored(at);
    }
  }

  /** The next put of a checkpoint, if it begins within so many milliseconds. */
  async #nextPut(key: string, withinMs: number, stop: AbortSignal): Promise<Put | undefined> {
    const waiting = this.#waiting.get(key) ?? new Set();
    this.#waiting.set(key, waiting);
    return await new Promise((resolve) => {
      const tell = (put?: Put): void => {
        clearTimeout(timer);
        stop.removeEventListener("abort", end);
        waiting.delete(tell);
        if (waiting.size === 0 && this.#waiting.get(key) === waiting) this.#waiting.delete(key);
        resolve(put);
      };
      const end = (): void => tell();
      const timer = setTimeout(end, withinMs);
      stop.addEventListener("abort", end);
      waiting.add(tell);
    });
  }

  /** Looks into the storage, the archive included. */
  async #isStored(at: Address, outage: { error?: unknown }): Promise<boolean> {
    try {
      for await (const _ of this.#tier.list({ ...at, recordsOnly: true, limit: 1 })) return true;
    } catch (error) {
      if (!StratigraphError.is(error) || !error.retryable) throw error;
      outage.error = error;
    }
    return false;
  }
}

function neverStored(at: Address): StratigraphError {
  const { threadId, namespace, checkpointId } = at;
  return new StratigraphError(
    "NOT_DURABLE",
    `Thread ${JSON.stringify(threadId)}, namespace ${JSON.stringify(namespace)}: checkpoint ${checkpointId} is one of a subgraph with ` +
      `checkpointer: false, which stores none. Compile the subgraph without that option.`,
    { threadId, namespace, checkpointId },
  );
}

function notDurable(at: Address, timeoutMs: number, cause: unknown): StratigraphError {
  const { threadId, namespace, checkpointId } = at;
  return new StratigraphError(
    "NOT_DURABLE",
    `Thread ${JSON.stringify(threadId)}, namespace ${JSON.stringify(namespace)}: checkpoint ${checkpointId} wasn't stored within ` +
      `${timeoutMs} ms. Under durability "exit", and in subgraphs with checkpointer: false, it never is while the run goes on: use "sync" ` +
      `or "async". If the storage is slow, allow more time.`,
    { threadId, namespace, checkpointId, timeoutMs },
    cause,
  );
}
