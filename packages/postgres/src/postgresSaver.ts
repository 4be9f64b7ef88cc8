import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import {
  InvalidOptionError,
  msOf,
  TierSaver,
  type Duration,
  type SaverOptions,
  type Tier,
} from "@stratigraph/core";
import pg from "pg";
import type { PgPool } from "./client.ts";
import { openPgLite, PgLiteExecutor } from "./pgliteExecutor.ts";
import { PoolExecutor } from "./poolExecutor.ts";
import { PostgresTier } from "./postgresTier.ts";
import type { SetupOptions } from "./setUp.ts";
import { setupSql } from "./statements.ts";

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

/** Most connections of a pool that fromConnString opens. */
const connections = 10;
/** How long opening a connection may take before it counts as failed, in milliseconds. */
const connectTimeoutMs = 10_000;

function isPool(value: unknown): value is PgPool {
  return (
    typeof value === "object" && value !== null && typeof (value as Partial<PgPool>).query === "function"
  );
}

/** By what it can do: a process may hold this package's CommonJS build beside its ES modules, each with a class of its own. */
function isTier(value: unknown): value is PostgresTier {
  return typeof value === "object" && value !== null && typeof (value as Partial<Tier>).append === "function";
}

/** A tier over a pool, or over one that it opens for a connection string. @throws InvalidOptionError */
export function postgres(
  options: PostgresOptions & ({ pool: PgPool; url?: undefined } | { url: string; pool?: undefined }),
): PostgresTier {
  const { maxQueue = 10_000, schema = "stratigraph", retryFor = "15s" } = options;
  if (!Number.isInteger(maxQueue) || maxQueue < 1)
    throw new InvalidOptionError("maxQueue", maxQueue, "Use a whole number, 1 or more.");
  const settings = { retryForMs: msOf("retryFor", retryFor), maxQueue, owned: options.pool === undefined };
  if (options.pool !== undefined) {
    if (!isPool(options.pool))
      throw new InvalidOptionError(
        "pool",
        typeof options.pool,
        "Pass a pg.Pool, or anything with its query().",
      );
    return new PostgresTier(new PoolExecutor(options.pool, settings), schema);
  }
  if (typeof options.url !== "string" || options.url === "") {
    throw new InvalidOptionError(
      "url",
      options.url,
      'Pass a connection string, for example "postgresql://user:password@host:5432/database".',
    );
  }
  const pool = new pg.Pool({
    connectionString: options.url,
    max: connections,
    connectionTimeoutMillis: connectTimeoutMs,
  });
  return new PostgresTier(new PoolExecutor(pool, settings), schema);
}

/** A tier in an embedded database: in a folder, or in memory. For a first minute, tests and small tools. */
export function pglite(
  options: { folder?: string | undefined; schema?: string | undefined } = {},
): PostgresTier {
  const { folder, schema = "stratigraph" } = options;
  if (folder !== undefined && (typeof folder !== "string" || folder === "")) {
    throw new InvalidOptionError("folder", folder, "Pass the path of a folder, or leave it out for memory.");
  }
  return new PostgresTier(new PgLiteExecutor(() => openPgLite(folder)), schema, "pglite");
}

/**
 * Keeps checkpoints in PostgreSQL. Made as LangGraph's own PostgresSaver is, so that changing the import is the switch;
 * its tables are its own (schema "stratigraph").
 *
 * @example
 * const checkpointer = PostgresSaver.fromConnString("postgresql://user:password@localhost:5432/db");
 * await checkpointer.setup();
 * const graph = builder.compile({ checkpointer });
 */
export class PostgresSaver extends TierSaver {
  declare readonly tier: PostgresTier;

  /**
   * @param source options with the pool, a tier, or (as LangGraph's saver has it) the pool itself
   * @throws InvalidOptionError
   */
  constructor(
    source: ({ pool: PgPool } & PostgresSaverOptions) | PgPool | PostgresTier,
    serde?: SerializerProtocol,
    options: PostgresSaverOptions = {},
  ) {
    if (isTier(source)) {
      super(source, { ...options, ...(serde === undefined ? {} : { serde }) });
    } else if (isPool(source)) {
      super(postgres({ ...options, pool: source }), {
        ...options,
        ...(serde === undefined ? {} : { serde }),
      });
    } else {
      if (typeof source !== "object" || source === null || !("pool" in source)) {
        throw new InvalidOptionError(
          "pool",
          typeof source,
          "Pass { pool }, or use PostgresSaver.fromConnString(url).",
        );
      }
      super(postgres(source), source);
    }
  }

  /** Opens a pool of its own; end() closes it. @throws InvalidOptionError */
  static fromConnString(url: string, options: PostgresSaverOptions = {}): PostgresSaver {
    return new PostgresSaver(postgres({ ...options, url }), undefined, options);
  }

  /**
   * PostgreSQL inside this process (PGlite), in a folder or, without one, in memory. One process per folder.
   * Needs the package @electric-sql/pglite.
   */
  static embedded(
    folder?: string,
    options: Omit<PostgresSaverOptions, "retryFor" | "maxQueue"> = {},
  ): PostgresSaver {
    return new PostgresSaver(pglite({ folder, schema: options.schema }), undefined, options);
  }

  /** The SQL that setup() runs, for those who apply migrations themselves. */
  static setupSql(options: { schema?: string; createSchema?: boolean } = {}): string {
    const { schema = "stratigraph", ...rest } = options;
    return setupSql(schema, rest);
  }

  /** Creates or updates tables and functions; see {@link PostgresTier.setup}. */
  override async setup(options: SetupOptions = {}): Promise<void> {
    await this.tier.setup(options);
  }
}
