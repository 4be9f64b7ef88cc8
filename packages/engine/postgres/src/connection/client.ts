/** A statement as every driver takes it (text with $1 … $n, and values), and settings for time limits, retries and traces. */
export interface PgQuery {
  readonly text: string;
  readonly values?: readonly unknown[];
  /** The values once the statement may have been done, because an answer was lost. Default: `values`. */
  readonly again?: readonly unknown[] | undefined;
  /** Its name in traces: "append", "read", "setup", … */
  readonly method: string;
  /** The thread that the statement concerns, if it concerns exactly one. */
  readonly threadId?: string | undefined;
  /** How many appends share the statement. For traces. */
  readonly batch?: number | undefined;
  /** It works on a whole thread or on the schema, and may take longer than others. Default false. */
  readonly heavy?: boolean | undefined;
  /** After which transient failures it is repeated: after all, after all but lock failures, or after none. Default "all". */
  readonly repeated?: "all" | "unlessLocked" | "never" | undefined;
}

/** The used part of a driver's answer. Columns of type bytea are Uint8Array, all others text or number. */
export interface PgResult {
  readonly rows: readonly Record<string, unknown>[];
}

/**
 * The used part of a `pg.Pool`. The type is structural, so that Neon's pool and other drivers of this shape fit. No statement is
 * named and no connection is held or configured, so that poolers in transaction mode fit too. `query_timeout` (milliseconds) makes pg
 * drop a connection that doesn't answer; a driver that doesn't know it keeps that connection.
 */
export interface PgPool {
  query(query: { text: string; values?: unknown[]; query_timeout?: number }): Promise<{ rows: unknown[] }>;
  end?(): Promise<void>;
  on?(event: "error", listener: (error: Error) => void): unknown;
  /** What the pool was opened with. Read for a diagnosis, and with a `pg.Pool` for the connection that listens. */
  readonly options?: object | undefined;
  /** One connection, to be released. Used for a diagnosis only. */
  connect?(): Promise<PgPoolClient>;
}

/** The used part of a connection of a pool. */
export interface PgPoolClient {
  query(query: { text: string }): Promise<{ rows: unknown[] }>;
  release(): void;
}

/** What the tier needs of a database: it runs statements, each within a time limit. */
export interface Executor {
  /** The pool in use; absent if the database is embedded. */
  readonly pool?: PgPool | undefined;
  /** No other process uses the database. */
  readonly isAlone?: boolean | undefined;
  /**
   * Opens a connection beside the pool, and resolves once it listens. Absent: that can't be done.
   * @param statement the statement that begins it
   * @param hear is called with the payload of each notification
   * @param over is called when the connection has ended, once it listened
   * @param signal closes the connection
   */
  listen?(
    statement: string,
    hear: (payload: string) => void,
    over: () => void,
    signal: AbortSignal,
  ): Promise<void>;
  /**
   * Counts the call ({@link enter}) while it runs the statement ({@link send}).
   * @throws what both throw
   */
  run(query: PgQuery): Promise<PgResult>;
  /**
   * Counts a call as waiting until the returned function is called.
   * @throws StratigraphError "OVERLOADED" if too many wait, "CLOSED" after end()
   */
  enter(): () => void;
  /** Runs a statement for a call that is counted already. @throws StratigraphError */
  send(query: PgQuery): Promise<PgResult>;
  /** Refuses new calls, waits a limited time for those under way, and closes what was opened here. May be called again. */
  end(): Promise<void>;
}
