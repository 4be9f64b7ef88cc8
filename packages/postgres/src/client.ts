/** A query as every driver takes it: text with $1 … $n, and values; and what bounds and traces need to know of it. */
export interface PgQuery {
  readonly text: string;
  readonly values?: readonly unknown[];
  /** Its name in traces: "append", "read", "setup", … */
  readonly method: string;
  /** The thread it is about, where that is exactly one. */
  readonly threadId?: string | undefined;
  /** Takes long by its nature: it works on a whole thread, or on the schema. Default false. */
  readonly heavy?: boolean | undefined;
  /** After which passing failures it is repeated: all; all but lost locks; none. Default "all". */
  readonly repeated?: "all" | "unlessLocked" | "never" | undefined;
}

/** What is used of a driver's answer. Columns of type bytea are Uint8Array, all others as text or number. */
export interface PgResult {
  readonly rows: readonly Record<string, unknown>[];
}

/**
 * What is used of a `pg.Pool`. Structural, so that Neon's pool and other drivers with this shape fit; nothing is
 * named, held or set on a connection, so that poolers in transaction mode fit too. `query_timeout` (milliseconds) has pg give
 * up a connection that doesn't answer; drivers that don't know it leave that connection to themselves.
 */
export interface PgPool {
  query(query: { text: string; values?: unknown[]; query_timeout?: number }): Promise<{ rows: unknown[] }>;
  end?(): Promise<void>;
  on?(event: "error", listener: (error: Error) => void): unknown;
}

/** Runs statements. What the tier needs of a database. Every call ends within a bound. */
export interface Executor {
  /**
   * {@link enter}, {@link send}, and out again.
   * @throws what both throw
   */
  run(query: PgQuery): Promise<PgResult>;
  /** Counts a call among those that wait, until what is returned is called. @throws StratigraphError "OVERLOADED", "CLOSED" */
  enter(): () => void;
  /** As {@link run}, for calls that entered already. @throws StratigraphError */
  send(query: PgQuery): Promise<PgResult>;
  /** Refuses new calls, waits for those under way for a bounded time, and closes what was opened here. May be called again. */
  end(): Promise<void>;
}
