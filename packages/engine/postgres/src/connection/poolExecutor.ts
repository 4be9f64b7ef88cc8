import { closedError } from "@stratigraph/core/tier";
import { NoAnswerError, timeoutMsOf, within } from "./timeouts.ts";
import type { Executor, PgPool, PgQuery, PgResult } from "./client.ts";
import {
  isHostLookupFailure,
  isLockFailure,
  isTransient,
  isReadOnly,
  isTimeout,
  sqlStateOf,
  UnknownHostError,
} from "./failures.ts";
import { BoundedCallGate, observedCall } from "./calls.ts";
import { explainFullPool, fullPoolError } from "./fullPool.ts";
import { listen } from "./listener.ts";
import { retried } from "./retried.ts";

/** Longest time for opening a connection or waiting for a free one, in milliseconds. */
const longestConnectMs = 10_000;
/** For how long an unknown host name is looked up again, in milliseconds: a name service may be starting. */
const unknownHostMs = 2000;
/** How long closing a pool may take, in milliseconds. */
const closingMs = 2000;

/** Limits of a PoolExecutor. */
export interface PoolLimits {
  readonly retryForMs: number;
  readonly statementTimeoutMs: number;
  readonly maxCalls: number;
  /** How long opening a connection, or waiting for a free one, may take. Default: as a statement, at most 10 s. */
  readonly connectTimeoutMs?: number | undefined;
}

/** How long opening a connection, or waiting for a free one, may take, in milliseconds. */
export function connectTimeoutMsOf({
  statementTimeoutMs,
  connectTimeoutMs,
}: Pick<PoolLimits, "statementTimeoutMs" | "connectTimeoutMs">): number {
  return connectTimeoutMs ?? Math.ceil(Math.min(longestConnectMs, statementTimeoutMs));
}

/** A pool and what its statements have shown of the server. */
interface PoolState {
  readonly pool: PgPool;
  /** Statements that were handed to the pool and have not ended, with or without a connection. */
  calls: number;
  /** When the server last answered on one of the pool's connections, as `performance.now()` counts. */
  answeredAt: number;
}

/** Pools that have our error listener already: several savers may share a pool. */
const withListener = new WeakSet<PgPool>();

/**
 * Runs statements on a pool. A statement may use any connection, has a time limit, and is repeated after transient failures; the
 * number of calls that wait is limited.
 *
 * A pool that was opened here is replaced when a statement timed out and the server answered no other statement meanwhile. All
 * connections of the pool may be dead then, and later statements shouldn't have to time out on each of them.
 */
export class PoolExecutor implements Executor {
  readonly #open: (() => PgPool) | undefined;
  readonly #limits: PoolLimits;
  readonly #tier: string;
  readonly #gate: BoundedCallGate;
  #current: PoolState;
  /** A server answered once, so the host name is right. */
  #answered = false;
  /** `end()` has stopped waiting for calls: those still under way are not repeated. */
  #over = false;
  #ending: Promise<void> | undefined;

  /**
   * @param source the caller's pool, or a function that opens one of our own
   * @param tier the name in errors and traces
   */
  constructor(source: PgPool | (() => PgPool), limits: PoolLimits, tier = "postgres") {
    this.#tier = tier;
    this.#open = typeof source === "function" ? source : undefined;
    this.#limits = limits;
    this.#gate = new BoundedCallGate(tier, limits.maxCalls);
    this.#current = stateOf(typeof source === "function" ? source() : source);
  }

  get pool(): PgPool {
    return this.#current.pool;
  }

  async run(query: PgQuery): Promise<PgResult> {
    return await this.#gate.run(() => this.send(query));
  }

  enter(): () => void {
    return this.#gate.enter();
  }

  send(query: PgQuery): Promise<PgResult> {
    return observedCall(this.#tier, query, async () => {
      let attempt = query;
      const { rows } = await retried(
        this.#tier,
        (timeouts) => this.#attempt(attempt, timeouts),
        (error) => {
          if (!isLockFailure(error)) attempt = { ...query, values: query.again ?? query.values ?? [] };
          return this.#patience(error, query);
        },
      ).catch(async (error: unknown) => {
        throw await explainFullPool(this.#current.pool, error);
      });
      return { rows: rows as Record<string, unknown>[] };
    });
  }

  /** Listens where statements go now: if there are several servers, at the primary. */
  async listen(...args: Parameters<NonNullable<Executor["listen"]>>): Promise<void> {
    await listen(this.#current.pool, ...args);
  }

  async end(): Promise<void> {
    this.#ending ??= this.#end();
    await this.#ending;
  }

  async #end(): Promise<void> {
    await this.#gate.close(this.#limits.statementTimeoutMs);
    this.#over = true;
    if (this.#open !== undefined) await closed(this.#current.pool);
  }

  async #attempt(query: PgQuery, timeouts: number): Promise<{ rows: unknown[] }> {
    if (this.#over) throw closedError(this.#tier);
    const state = this.#current;
    const startedAt = performance.now();
    const timeoutMs = timeoutMsOf(query, this.#limits.statementTimeoutMs, timeouts);
    const answer = this.#query(state, query, timeoutMs);
    try {
      const result = await within(answer, connectTimeoutMsOf(this.#limits) + timeoutMs);
      this.#noteAnswer(state);
      return result;
    } catch (reason) {
      if (reason instanceof NoAnswerError) this.#gate.keep(answer);
      const error = fullPoolError(state.pool, reason) ?? reason;
      if (sqlStateOf(error) !== undefined) this.#noteAnswer(state);
      const silent = isTimeout(error) && state.answeredAt < startedAt;
      // After a failover the host name leads to the new primary, while old connections lead to the server that is a standby now.
      if (silent || isReadOnly(error)) this.#replace(state);
      throw !this.#answered && isHostLookupFailure(error) ? new UnknownHostError(error) : error;
    }
  }

  async #query(
    state: PoolState,
    { text, values = [] }: PgQuery,
    timeoutMs: number,
  ): Promise<{ rows: unknown[] }> {
    state.calls += 1;
    try {
      return await state.pool.query({ text, values: [...values], query_timeout: timeoutMs });
    } finally {
      state.calls -= 1;
      if (state.calls === 0 && state !== this.#current) void closed(state.pool);
    }
  }

  #noteAnswer(state: PoolState): void {
    this.#answered = true;
    state.answeredAt = performance.now();
  }

  /** Later statements use a new pool. The old one is closed when its last statement has ended, which its time limit ensures. */
  #replace(state: PoolState): void {
    if (this.#open === undefined || state !== this.#current || this.#over) return;
    this.#current = stateOf(this.#open());
    if (state.calls === 0) void closed(state.pool);
  }

  /** For how long a statement that failed with `error` is repeated, in milliseconds. */
  #patience(error: unknown, { repeated = "all" }: PgQuery): number {
    if (this.#over || repeated === "never" || !isTransient(error)) return 0;
    if (repeated === "unlessLocked" && isLockFailure(error)) return 0;
    const { retryForMs } = this.#limits;
    return error instanceof UnknownHostError ? Math.min(retryForMs, unknownHostMs) : retryForMs;
  }
}

function stateOf(pool: PgPool): PoolState {
  // The pool replaces an idle connection that broke. Without a listener, the error would end the process.
  if (!withListener.has(pool)) pool.on?.("error", () => undefined);
  withListener.add(pool);
  return { pool, calls: 0, answeredAt: Number.NEGATIVE_INFINITY };
}

/** Closes a pool. Statements still under way end by their own time limits. */
async function closed(pool: PgPool): Promise<void> {
  const ended = Promise.resolve().then(() => pool.end?.());
  await within(ended, closingMs).catch(() => undefined);
}
