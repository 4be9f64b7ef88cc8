import { CallGate } from "./callGate.ts";
import { Observation, type CallObservation } from "./observation.ts";

/** How long {@link Calls.close} waits for calls under way, in milliseconds. */
const patienceMs = 10_000;

/** The calls of a tier: each leaves a "call" event, and none begins after the end. */
export class Calls {
  readonly #tier: string;
  readonly #gate: CallGate;
  readonly #explained: (threadId: string | undefined, error: unknown) => unknown;

  /**
   * @param tier its name, for events and errors
   * @param explained what to throw instead of the error of a call about one thread, such as one that names the thread
   */
  constructor(
    tier: string,
    explained: (threadId: string | undefined, error: unknown) => unknown = (_, error) => error,
  ) {
    this.#explained = explained;
    this.#tier = tier;
    this.#gate = new CallGate(tier);
  }

  /**
   * Makes a call.
   * @param method what the event calls it: the name of the tier's method
   * @param threadId the thread that it is about, if there is exactly one
   * @param bytes returns how many bytes were sent, and received with an answer
   * @throws what `work` throws; StratigraphError "CLOSED" after {@link close}
   */
  async run<T>(
    method: string,
    threadId: string | undefined,
    work: () => Promise<T>,
    bytes?: (answer: T) => Traffic,
  ): Promise<T> {
    const observation = this.#observe(method, threadId);
    try {
      if (observation === undefined) return await this.#gate.run(work);
      return await observation.run(
        () => this.#gate.run(work),
        (end) => ("answer" in end ? (bytes?.(end.answer) ?? {}) : end),
      );
    } catch (error) {
      throw this.#explained(threadId, error);
    }
  }

  /** As {@link run}, step by step: what the consumer does between two steps isn't part of the call. One event, at its end. */
  async *iterate<T>(
    method: string,
    threadId: string | undefined,
    items: AsyncIterable<T>,
    bytes?: (item: T) => number,
  ): AsyncGenerator<T> {
    const observation = this.#observe(method, threadId);
    const steps = items[Symbol.asyncIterator]();
    let received = 0;
    const guarded: AsyncIterator<T> = {
      next: async () => {
        const step = await this.#gate.run(() => steps.next());
        if (observation !== undefined && step.done !== true && bytes !== undefined)
          received += bytes(step.value);
        return step;
      },
      return: async () => (await steps.return?.()) ?? { done: true, value: undefined },
    };
    try {
      if (observation === undefined) yield* { [Symbol.asyncIterator]: () => guarded };
      else
        yield* observation.iterate(guarded, ({ error }) => ({
          received: received === 0 ? undefined : received,
          error,
        }));
    } catch (error) {
      throw this.#explained(threadId, error);
    }
  }

  /** Refuses calls from now on, and waits for those under way, for ten seconds at most. May be called again. */
  async close(): Promise<void> {
    await this.#gate.close(patienceMs);
  }

  #observe(method: string, threadId: string | undefined): CallObservation | undefined {
    const about = { type: "call-start", tier: this.#tier, method } as const;
    return Observation.of(threadId === undefined ? about : { ...about, threadId });
  }
}

/** What a call sent and received, in bytes. */
export interface Traffic {
  readonly sent?: number | undefined;
  readonly received?: number | undefined;
}
