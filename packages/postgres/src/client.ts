/** A query as every driver takes it: text with $1 … $n, and values. */
export interface PgQuery {
  readonly text: string;
  readonly values?: readonly unknown[];
}

/** What is used of a driver's answer. Columns of type bytea are Uint8Array, all others as text or number. */
export interface PgResult {
  readonly rows: readonly Record<string, unknown>[];
}

/**
 * What is used of a `pg.Pool`. Structural, so that Neon's pool and other drivers with this shape fit; nothing is
 * named, held or set on a connection, so that poolers in transaction mode fit too.
 */
export interface PgPool {
  query(query: { text: string; values?: unknown[] }): Promise<{ rows: unknown[] }>;
  end?(): Promise<void>;
  on?(event: "error", listener: (error: Error) => void): unknown;
}

/** Runs one statement. What the tier needs of a database. */
export interface Executor {
  /** {@link enter}, {@link send}, and out again. */
  run(query: PgQuery): Promise<PgResult>;
  /** Counts a call among those that wait, until what is returned is called. @throws StratigraphError "OVERLOADED" */
  enter(): () => void;
  /** As {@link run}, for calls that entered already. */
  send(query: PgQuery): Promise<PgResult>;
  end(): Promise<void>;
}
