import { StratigraphError, type Tier } from "@stratigraph/core";
import { trace } from "@stratigraph/core/internal";
import type {
  Address,
  ListedCheckpoint,
  ListQuery,
  MaybeAddress,
  Peek,
  Reading,
} from "@stratigraph/core/tier";
import { archivedMark } from "./archivedMark.ts";
import { Breaker, type BreakerSettings, type BreakerState } from "./breaker.ts";
import { isOutage, reasonOf } from "./outage.ts";

/** A replica with its breaker. */
interface Replica {
  readonly tier: Tier;
  readonly breaker: Breaker;
}

/**
 * The warm tier with its read replicas. Whatever can change is read from the primary. Immutable data may come from a replica; if the
 * replica lags, the data is missing there, but never wrong. While the primary is down, history can still be read from a replica, and a
 * "behind" event says so. Reading the head is an error then.
 */
export class WarmTier {
  readonly primary: Tier;
  readonly #replicas: readonly Replica[];
  /** While the primary is down, reads of history don't wait for its retries. Reads of the head always ask the primary. */
  readonly #down: Breaker;
  #turn = 0;

  constructor(primary: Tier, replicas: readonly Tier[], breaker: BreakerSettings, now: () => number) {
    this.primary = primary;
    this.#replicas = replicas.map((tier) => ({ tier, breaker: new Breaker(tier.name, breaker, now) }));
    const patient = { ...breaker, timeoutMs: 2 ** 31 - 1, maxOpenForMs: breaker.openForMs };
    this.#down = new Breaker(primary.name, patient, now);
  }

  get replicas(): readonly { readonly tier: Tier; readonly breaker: BreakerState }[] {
    return this.#replicas.map(({ tier, breaker }) => ({ tier, breaker: breaker.state }));
  }

  get hasReplicas(): boolean {
    return this.#replicas.length > 0;
  }

  /** While the primary is down, a replica tells whether a thread is archived: a list of history ends with that question. @throws what the primary throws */
  async peek(at: MaybeAddress): Promise<Peek> {
    const isMark = at.namespace === archivedMark;
    try {
      return await this.#ask(at.checkpointId !== undefined || isMark, () => this.primary.peek(at));
    } catch (error) {
      const behind = isMark && isOutage(error) ? await this.#onReplica((tier) => tier.peek(at)) : undefined;
      if (behind === undefined) throw error;
      trace({ type: "behind", tier: this.primary.name, method: "read", error });
      return behind;
    }
  }

  /** @throws what the primary throws */
  async read(at: MaybeAddress): Promise<Reading> {
    return await this.#ask(at.checkpointId !== undefined, () => this.primary.read(at));
  }

  /** Reads a checkpoint's immutable parts from a replica. Undefined if no replica has them (yet). */
  async findOnReplica(at: Address): Promise<Reading | undefined> {
    return await this.#onReplica(async (tier) => {
      const reading = await tier.read(at);
      return reading.checkpoint === undefined ? undefined : reading;
    });
  }

  /** The first answer that one of the replicas has. Undefined if none has one. */
  async #onReplica<T>(ask: (tier: Tier) => Promise<T | undefined>): Promise<T | undefined> {
    for (const { tier, breaker } of this.#inTurn()) {
      try {
        const answer = await breaker.run(() => ask(tier));
        if (answer !== undefined) return answer;
      } catch {
        // Try the next replica.
      }
    }
    return undefined;
  }

  /** Reads a checkpoint from a replica because the primary failed with `error`. @throws `error` if no replica has it */
  async readBehind(at: MaybeAddress, error: unknown): Promise<Reading> {
    if (!this.hasReplicas || !isOutage(error)) throw error;
    if (at.checkpointId === undefined) throw this.#headUnknown(at, error);
    const reading = await this.findOnReplica({ ...at, checkpointId: at.checkpointId });
    if (reading === undefined) throw error;
    trace({ type: "behind", tier: this.primary.name, method: "read", error });
    return reading;
  }

  /** Lists from the primary, or from a replica if the primary fails before its first item. */
  async *list(query: ListQuery): AsyncGenerator<ListedCheckpoint> {
    if (!this.hasReplicas) {
      yield* this.primary.list(query);
      return;
    }
    const pages = this.primary.list(query)[Symbol.asyncIterator]();
    let next: IteratorResult<ListedCheckpoint>;
    try {
      next = await this.#ask(true, () => pages.next());
    } catch (error) {
      if (!isOutage(error)) throw error;
      yield* this.#listBehind(query, error);
      return;
    }
    try {
      while (next.done !== true) {
        yield next.value;
        next = await pages.next();
      }
    } finally {
      await pages.return?.();
    }
  }

  async *#listBehind(query: ListQuery, error: unknown): AsyncGenerator<ListedCheckpoint> {
    for (const { tier, breaker } of this.#inTurn()) {
      const pages = tier.list(query)[Symbol.asyncIterator]();
      let next: IteratorResult<ListedCheckpoint>;
      try {
        next = await breaker.run(() => pages.next());
      } catch {
        continue;
      }
      trace({ type: "behind", tier: this.primary.name, method: "list", error });
      try {
        while (next.done !== true) {
          yield next.value;
          next = await pages.next();
        }
      } finally {
        await pages.return?.();
      }
      return;
    }
    throw error;
  }

  async #ask<T>(isHistory: boolean, call: () => Promise<T>): Promise<T> {
    return isHistory && this.hasReplicas ? await this.#down.run(call) : await call();
  }

  /** The replicas in turn: each call begins with another one. */
  #inTurn(): Replica[] {
    const from = this.#turn++ % Math.max(1, this.#replicas.length);
    return [...this.#replicas.slice(from), ...this.#replicas.slice(0, from)];
  }

  #headUnknown(at: MaybeAddress, error: unknown): StratigraphError {
    const { threadId, namespace } = at;
    return new StratigraphError(
      "UNAVAILABLE",
      `Thread ${JSON.stringify(threadId)}: tier ${this.primary.name}, which owns its newest checkpoint, can't be reached: ${reasonOf(error)} ` +
        `A replica may be behind, so it isn't asked for the newest. History (list, and reading by checkpoint_id) can be read; repeat the call later.`,
      { tier: this.primary.name, threadId, namespace },
      error,
    );
  }
}
