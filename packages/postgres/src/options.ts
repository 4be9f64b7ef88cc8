import {
  InvalidOptionError,
  msOf,
  saverOptionAdvice,
  saverOptionNames,
  type Duration,
  type OptionAdvice,
  type OptionNames,
  type SaverOptions,
} from "@stratigraph/core";
import type { PgPool } from "./client.ts";

/** Options that every way of opening PostgreSQL takes. */
export interface PostgresOptions {
  /** Where the tables are. Default "stratigraph". */
  readonly schema?: string | undefined;
  /** How long connection failures are retried before they are an error. Default "15s". */
  readonly retryFor?: Duration | undefined;
  /** Calls that may wait for a connection at once; one more is an error. Default 10,000. */
  readonly maxQueue?: number | undefined;
}

/** Options of a PostgresSaver. */
export interface PostgresSaverOptions extends PostgresOptions, SaverOptions {}

/** Options of an embedded database. */
export interface PgliteOptions {
  /** Where it is kept; one process per folder. Default: in memory, lost when the process ends. */
  readonly folder?: string | undefined;
  /** Where the tables are. Default "stratigraph". */
  readonly schema?: string | undefined;
}

/** Options of `PostgresSaver.setupSql`. */
export interface SetupSqlOptions {
  /** Where the tables are to be. Default "stratigraph". */
  readonly schema?: string | undefined;
  /** False: the schema exists and may not be created. Default true. */
  readonly createSchema?: boolean | undefined;
}

export const postgresNames: OptionNames<PostgresOptions> = { schema: true, retryFor: true, maxQueue: true };
export const postgresSaverNames: OptionNames<PostgresSaverOptions> = {
  ...postgresNames,
  ...saverOptionNames,
};
export const pgliteNames: OptionNames<PgliteOptions> = { folder: true, schema: true };
export const embeddedNames: OptionNames<Omit<PostgresSaverOptions, "retryFor" | "maxQueue">> = {
  schema: true,
  ...saverOptionNames,
};
export const setupSqlNames: OptionNames<SetupSqlOptions> = { schema: true, createSchema: true };

const ofPool =
  "It belongs to the pool: pass one of your own, new PostgresSaver({ pool: new pg.Pool({ … }) }).";

/** What to write instead of names that pg and other savers have. */
export const postgresAdvice: OptionAdvice = {
  ...saverOptionAdvice,
  connectionString: "Write url in postgres({ url }), or use PostgresSaver.fromConnString(url).",
  connString: "Write url in postgres({ url }), or use PostgresSaver.fromConnString(url).",
  tablePrefix: "Tables are told apart by their schema: write schema.",
  max: ofPool,
  ssl: ofPool,
  idleTimeoutMillis: ofPool,
  connectionTimeoutMillis: ofPool,
  ttl: "Nothing expires in PostgreSQL: use prune, or a stack with an archive.",
};

const noServer = "An embedded database has no server that could be away; leave it out.";

/** As {@link postgresAdvice}, for an embedded database. */
export const embeddedAdvice: OptionAdvice = {
  ...saverOptionAdvice,
  retryFor: noServer,
  maxQueue: noServer,
  path: "Write folder.",
  dataDir: "Write folder.",
};

/** Whether something is a pool, by the one method that is used. */
export function isPool(value: unknown): value is PgPool {
  return (
    typeof value === "object" && value !== null && typeof (value as Partial<PgPool>).query === "function"
  );
}

/** @throws InvalidOptionError */
export function resolvePostgresOptions(options: PostgresOptions): {
  readonly schema: string;
  readonly retryForMs: number;
  readonly maxQueue: number;
} {
  const { maxQueue = 10_000, schema = "stratigraph", retryFor = "15s" } = options;
  if (!Number.isInteger(maxQueue) || maxQueue < 1)
    throw new InvalidOptionError("maxQueue", maxQueue, "Use a whole number, 1 or more.");
  return { schema, retryForMs: msOf("retryFor", retryFor), maxQueue };
}
