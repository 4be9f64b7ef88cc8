import { InvalidOptionError, type Duration, type SaverOptions } from "@stratigraph/core";
import {
  waitMsOf,
  saverOptionAdvice,
  saverOptionNames,
  type OptionAdvice,
  type OptionNames,
} from "@stratigraph/core/internal";
import type { PgPool } from "./connection/client.ts";

/** Options of every database, on a server or embedded. */
export interface DatabaseOptions {
  /** Schema of the tables. Default "stratigraph". */
  readonly schema?: string | undefined;
  /**
   * How long one statement may take before its connection counts as dead. Default "10s". A put has one second more per megabyte
   * that it sends; copying, forking, pruning and deleting threads, and setup(), have six times as long.
   */
  readonly statementTimeout?: Duration | undefined;
  /** How many calls may be under way or wait at once; further calls fail with "OVERLOADED". Default 10,000. */
  readonly maxCalls?: number | undefined;
}

/** Options of every way to open PostgreSQL. */
export interface PostgresOptions extends DatabaseOptions {
  /**
   * For how long a call is retried after connection failures before it fails. Default "15s". A call on a connection that went
   * silent ends after this and the time of one more attempt.
   */
  readonly retryFor?: Duration | undefined;
}

/** Options of a PostgresSaver. */
export interface PostgresSaverOptions extends PostgresOptions, SaverOptions {}

/** Options of an embedded database. */
export interface PgliteOptions extends DatabaseOptions {
  /** Folder of the database, used by one process at a time. Default: in memory, lost when the process ends. */
  readonly path?: string | undefined;
}

/** Options of a PostgresSaver over an embedded database. */
export interface EmbeddedOptions extends DatabaseOptions, SaverOptions {}

/** Options of `PostgresSaver.setupSql`. */
export interface SetupSqlOptions {
  /** Schema of the tables. Default "stratigraph". */
  readonly schema?: string | undefined;
  /** False: the schema exists already, and the user may not create one. Default true. */
  readonly createSchema?: boolean | undefined;
}

export const databaseNames: OptionNames<DatabaseOptions> = {
  schema: true,
  statementTimeout: true,
  maxCalls: true,
};
export const postgresNames: OptionNames<PostgresOptions> = { ...databaseNames, retryFor: true };
export const postgresSaverNames: OptionNames<PostgresSaverOptions> = {
  ...postgresNames,
  ...saverOptionNames,
};
export const pgliteNames: OptionNames<PgliteOptions> = { path: true, ...databaseNames };
export const embeddedNames: OptionNames<EmbeddedOptions> = { ...databaseNames, ...saverOptionNames };
export const setupSqlNames: OptionNames<SetupSqlOptions> = { schema: true, createSchema: true };

const ofPool =
  "It belongs to the pool: write it into the connection string (?max=2), or pass a pool of your own, new PostgresSaver({ pool: new pg.Pool({ … }) }).";

/** What to write instead of option names of pg and of other savers. */
export const postgresAdvice: OptionAdvice = {
  ...saverOptionAdvice,
  connectionString: "Write url in postgres({ url }), or use PostgresSaver.fromConnString(url).",
  connString: "Write url in postgres({ url }), or use PostgresSaver.fromConnString(url).",
  tablePrefix: "Tables are told apart by their schema: write schema.",
  max: ofPool,
  ssl: ofPool,
  query_timeout: 'Write statementTimeout with its unit: statementTimeout: "10s".',
  statement_timeout: 'Write statementTimeout with its unit: statementTimeout: "10s".',
  idleTimeoutMillis: ofPool,
  connectionTimeoutMillis: ofPool,
  ttl: "Nothing expires in PostgreSQL: use prune, or a stack with an archive.",
};

/** As {@link postgresAdvice}, for an embedded database. */
export const embeddedAdvice: OptionAdvice = {
  ...saverOptionAdvice,
  retryFor: "An embedded database has no server that could be away; leave it out.",
  folder: "Write path.",
  dataDir: "Write path.",
};

/** Whether something is a pool: it has the one method that is used. */
export function isPool(value: unknown): value is PgPool {
  return (
    typeof value === "object" && value !== null && typeof (value as Partial<PgPool>).query === "function"
  );
}

/** @throws InvalidOptionError */
export function resolveDatabaseOptions(options: DatabaseOptions): {
  readonly schema: string;
  readonly statementTimeoutMs: number;
  readonly maxCalls: number;
} {
  const { maxCalls = 10_000, schema = "stratigraph", statementTimeout = "10s" } = options;
  if (!Number.isInteger(maxCalls) || maxCalls < 1)
    throw new InvalidOptionError("maxCalls", maxCalls, "Use a whole number, 1 or more.");
  const statementTimeoutMs = waitMsOf("statementTimeout", statementTimeout);
  if (statementTimeoutMs < 1)
    throw new InvalidOptionError(
      "statementTimeout",
      statementTimeout,
      "Every call needs some time; use 1ms or more.",
    );
  return { schema, statementTimeoutMs, maxCalls };
}
