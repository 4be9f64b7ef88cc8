import { CallGate } from "./callGate.ts";
import { trace, traced } from "./trace.ts";

/** How long {@link Calls.close} waits for calls under way, in milliseconds. */
const patienceMs = 10_000;

/** The calls of a tier: each leaves a "call" event, and none begins after the end. */
export class Calls {
  readonly #tier: string;
  readonly #gate: CallGate;

  /** @param tier its name, for events and errors */
  constructor(tier: string) {
    this.#tier = tier;
    this.#gate = new CallGate(tier);
  }

  /**
   * Makes a call.
   * @param method what the event calls it: the name of the tier's method
   * @param threadId the thread that it is about, where there is exactly one
   * @throws what `work` throws; StratigraphError "CLOSED" after {@link close}
   */
  async run<T>(method: string, threadId: string | undefined, work: () => Promise<T>): Promise<T> {
    const beganMs = performance.now();
    try {
      const answer = await this.#gate.run(work);
      this.#tell(method, threadId, performance.now() - beganMs);
      return answer;
    } catch (error) {
      this.#tell(method, threadId, performance.now() - beganMs, error);
      throw error;
    }
  }

  /** As {@link run}, step by step: what the consumer does between two steps isn't part of the call. One event, at its end. */
  async *iterate<T>(
    method: string,
    threadId: string | undefined,
    items: AsyncIterable<T>,
  ): AsyncGenerator<T> {
    const steps = items[Symbol.asyncIterator]();
    let ms = 0;
    let failure: unknown;
    try {
      for (;;) {
        const beganMs = performance.now();
        const step = await this.#gate
          .run(() => steps.next())
          .finally(() => {
            ms += performance.now() - beganMs;
          });
        if (step.done === true) return;
        yield step.value;
      }
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      this.#tell(method, threadId, ms, failure);
      await steps.return?.();
    }
  }

  /** Refuses calls from now on, and waits for those under way, for ten seconds at most. May be called again. */
  async close(): Promise<void> {
    await this.#gate.close(patienceMs);
  }

  #tell(method: string, threadId: string | undefined, ms: number, error?: unknown): void {
    if (!traced()) return;
    trace({
      type: "call",
      tier: this.#tier,
      method,
      ms,
      ...(threadId === undefined ? {} : { threadId }),
      ...(error === undefined ? {} : { error }),
    });
  }
}
