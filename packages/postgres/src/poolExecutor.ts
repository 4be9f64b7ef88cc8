import { closedError } from "@stratigraph/core";
import { NoAnswerError, timeoutMsOf, within } from "./timeouts.ts";
import type { Executor, PgPool, PgQuery, PgResult } from "./client.ts";
import {
  isHostLookupFailure,
  isLockFailure,
  isPassing,
  isReadOnly,
  isTimeout,
  sqlStateOf,
  UnknownHostError,
} from "./failure.ts";
import { Gate } from "./gate.ts";
import { retried } from "./retry.ts";
import { tracedCall } from "./tracedCall.ts";

/** How long opening a connection, or waiting for a free one, may take at most before it counts as failed, in milliseconds. */
const longestConnectMs = 10_000;
/** For how long the name of a host is looked up that never answered, in milliseconds: long enough for a name service to come up. */
const unknownHostMs = 2000;
/** How long closing a pool may take, in milliseconds. */
const closingMs = 2000;

/** Limits of a PoolExecutor. */
export interface PoolLimits {
  readonly retryForMs: number;
  readonly statementTimeoutMs: number;
  readonly maxQueue: number;
}

/** How long opening a connection, or waiting for a free one, may take, in milliseconds. */
export function connectTimeoutMsOf({ statementTimeoutMs }: Pick<PoolLimits, "statementTimeoutMs">): number {
  return Math.ceil(Math.min(longestConnectMs, statementTimeoutMs));
}

/** A pool, and what is known of its connections. */
interface Line {
  readonly pool: PgPool;
  /** Statements that it has, with or without a connection. */
  calls: number;
  /** When the server last answered on one of its connections. */
  answeredAt: number;
}

/** Pools that are listened to already: several savers may share one. */
const heard = new WeakSet<PgPool>();

/**
 * Runs statements on a pool: each on any connection, within a bound, repeated over passing failures, with a bounded queue.
 *
 * A pool that was opened here is replaced when a statement ran out of time and nothing else was answered meanwhile: all its
 * connections may be dead without having been closed, and what comes now shall not wait until each has run out of time.
 */
export class PoolExecutor implements Executor {
  readonly #open: (() => PgPool) | undefined;
  readonly #limits: PoolLimits;
  readonly #gate: Gate;
  #line: Line;
  /** A server was there once, so that its name is right. */
  #known = false;
  /** `end()` waits no longer. */
  #over = false;
  #ending: Promise<void> | undefined;

  /** @param source a pool of the caller's, or how to open one of our own */
  constructor(source: PgPool | (() => PgPool), limits: PoolLimits) {
    this.#open = typeof source === "function" ? source : undefined;
    this.#limits = limits;
    this.#gate = new Gate("postgres", limits.maxQueue);
    this.#line = lineOf(typeof source === "function" ? source() : source);
  }

  async run(query: PgQuery): Promise<PgResult> {
    return await this.#gate.run(() => this.send(query));
  }

  enter(): () => void {
    return this.#gate.enter();
  }

  send(query: PgQuery): Promise<PgResult> {
    return tracedCall("postgres", query, async () => {
      const { rows } = await retried(
        "postgres",
        (timeouts) => this.#attempt(query, timeouts),
        (error) => this.#patience(error, query),
      );
      return { rows: rows as Record<string, unknown>[] };
    });
  }

  async end(): Promise<void> {
    this.#ending ??= this.#end();
    await this.#ending;
  }

  async #end(): Promise<void> {
    await this.#gate.close(this.#limits.statementTimeoutMs);
    this.#over = true;
    if (this.#open !== undefined) await closed(this.#line.pool);
  }

  async #attempt(query: PgQuery, timeouts: number): Promise<{ rows: unknown[] }> {
    if (this.#over) throw closedError("postgres");
    const line = this.#line;
    const startedAt = performance.now();
    const timeoutMs = timeoutMsOf(query, this.#limits.statementTimeoutMs, timeouts);
    const asked = this.#asked(line, query, timeoutMs);
    try {
      const answer = await within(asked, connectTimeoutMsOf(this.#limits) + timeoutMs);
      this.#heardFrom(line);
      return answer;
    } catch (error) {
      if (error instanceof NoAnswerError) this.#gate.keep(asked);
      if (sqlStateOf(error) !== undefined) this.#heardFrom(line);
      const silent = isTimeout(error) && line.answeredAt < startedAt;
      // After a failover the name leads to another server, and old connections to the one that is a standby now.
      if (silent || isReadOnly(error)) this.#replace(line);
      throw !this.#known && isHostLookupFailure(error) ? new UnknownHostError(error) : error;
    }
  }

  async #asked(line: Line, { text, values = [] }: PgQuery, timeoutMs: number): Promise<{ rows: unknown[] }> {
    line.calls += 1;
    try {
      return await line.pool.query({ text, values: [...values], query_timeout: timeoutMs });
    } finally {
      line.calls -= 1;
      if (line.calls === 0 && line !== this.#line) void closed(line.pool);
    }
  }

  #heardFrom(line: Line): void {
    this.#known = true;
    line.answeredAt = performance.now();
  }

  /** Has what comes from now on use another pool. The old one closes when its last statement has ended: each has a bound. */
  #replace(line: Line): void {
    if (this.#open === undefined || line !== this.#line || this.#over) return;
    this.#line = lineOf(this.#open());
    if (line.calls === 0) void closed(line.pool);
  }

  /** For how long a failure is repeated, in milliseconds. */
  #patience(error: unknown, { repeated = "all" }: PgQuery): number {
    if (this.#over || repeated === "never" || !isPassing(error)) return 0;
    if (repeated === "unlessLocked" && isLockFailure(error)) return 0;
    const { retryForMs } = this.#limits;
    return error instanceof UnknownHostError ? Math.min(retryForMs, unknownHostMs) : retryForMs;
  }
}

function lineOf(pool: PgPool): Line {
  // An idle connection that breaks is replaced at its next use; unheard, its error would end the process.
  if (!heard.has(pool)) pool.on?.("error", () => undefined);
  heard.add(pool);
  return { pool, calls: 0, answeredAt: Number.NEGATIVE_INFINITY };
}

/** Closes a pool; what is still at work there ends by its own bound. */
async function closed(pool: PgPool): Promise<void> {
  const ended = Promise.resolve().then(() => pool.end?.());
  await within(ended, closingMs).catch(() => undefined);
}
