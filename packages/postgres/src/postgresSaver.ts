import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import {
  checkOptions,
  InvalidOptionError,
  msOf,
  pickOptions,
  saverOptionNames,
  TierSaver,
  type SaverOptions,
  type Tier,
} from "@stratigraph/core";
import pg from "pg";
import type { PgPool } from "./connection/client.ts";
import {
  databaseNames,
  embeddedAdvice,
  embeddedNames,
  isPool,
  pgliteNames,
  postgresAdvice,
  postgresNames,
  postgresSaverNames,
  resolveDatabaseOptions,
  setupSqlNames,
  type DatabaseOptions,
  type EmbeddedOptions,
  type PostgresOptions,
  type PgliteOptions,
  type PostgresSaverOptions,
  type SetupSqlOptions,
} from "./options.ts";
import { openPgLite, PgLiteExecutor } from "./connection/pgliteExecutor.ts";
import { connectTimeoutMsOf, PoolExecutor } from "./connection/poolExecutor.ts";
import { PostgresTier } from "./postgresTier.ts";
import { checkFlag, type SetupOptions } from "./schema/setUp.ts";
import { setupSql } from "./schema/statements.ts";

/** Most connections of a pool that fromConnString opens. */
const connections = 10;
/** How long a connection idles before the system asks whether the server is still there, in milliseconds. */
const keepAliveMs = 10_000;

/** By what it can do: a process may hold this package's CommonJS build beside its ES modules, each with a class of its own. */
function isTier(value: unknown): value is PostgresTier {
  return typeof value === "object" && value !== null && typeof (value as Partial<Tier>).append === "function";
}

/** A tier over a pool, or over one that it opens for a connection string. @throws InvalidOptionError */
export function postgres(
  options: PostgresOptions & ({ pool: PgPool; url?: undefined } | { url: string; pool?: undefined }),
): PostgresTier {
  checkOptions("postgres", options, { ...postgresNames, pool: true, url: true }, postgresAdvice);
  if (options === undefined)
    throw new InvalidOptionError("options", "undefined", "Pass { url } or { pool }.");
  if (options.pool !== undefined && options.url !== undefined)
    throw new InvalidOptionError(
      "url",
      "a pool beside it",
      "Pass the pool or the connection string, not both.",
    );
  const { schema, ...settings } = resolveDatabaseOptions(options);
  const limits = { ...settings, retryForMs: msOf("retryFor", options.retryFor ?? "15s") };
  if (options.pool !== undefined) {
    if (!isPool(options.pool))
      throw new InvalidOptionError(
        "pool",
        typeof options.pool,
        "Pass a pg.Pool, or anything with its query().",
      );
    return new PostgresTier(new PoolExecutor(options.pool, limits), schema);
  }
  if (typeof options.url !== "string" || options.url === "") {
    throw new InvalidOptionError(
      "url",
      options.url === "" ? "empty text" : typeof options.url,
      'Pass a connection string, for example "postgresql://user:password@host:5432/database".',
    );
  }
  const { url } = options;
  return new PostgresTier(new PoolExecutor(() => openPool(url, connectTimeoutMsOf(limits)), limits), schema);
}

function openPool(url: string, connectionTimeoutMillis: number): PgPool {
  return new pg.Pool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis,
    // A server that is gone without a word is noticed on idle connections too.
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveMs,
  });
}

/**
 * A tier in an embedded database: in a folder, or in memory. For a first minute, tests and small tools.
 * @throws InvalidOptionError
 */
export function pglite(options: PgliteOptions = {}): PostgresTier {
  checkOptions("pglite", options, pgliteNames, embeddedAdvice);
  const { folder } = options;
  if (folder !== undefined && (typeof folder !== "string" || folder === "")) {
    const found = folder === "" ? "empty text" : typeof folder;
    throw new InvalidOptionError("folder", found, "Pass the path of a folder, or leave it out for memory.");
  }
  // It would become folders, with the password in their names.
  if (folder?.includes("://") === true)
    throw new InvalidOptionError(
      "folder",
      "a URL",
      "Pass the path of a folder; of a server, write postgres.",
    );
  const { schema, ...limits } = resolveDatabaseOptions(options);
  return new PostgresTier(new PgLiteExecutor(() => openPgLite(folder), limits), schema, "pglite");
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
   * @param serde only after a pool or a tier: a serializer
   * @param options only after a pool or a tier; after a tier, those of every saver
   * @throws InvalidOptionError
   */
  constructor(
    source: ({ pool: PgPool } & PostgresSaverOptions) | PgPool | PostgresTier,
    serde?: SerializerProtocol,
    options?: PostgresSaverOptions,
  ) {
    const { tier, saverOptions } = openedFrom(source, serde, options);
    super(tier, saverOptions);
  }

  /** Opens a pool of its own; end() closes it. @throws InvalidOptionError */
  static fromConnString(url: string, options: PostgresSaverOptions = {}): PostgresSaver {
    checkOptions("PostgresSaver.fromConnString", options, postgresSaverNames, postgresAdvice);
    const tier = postgres({ ...pickOptions<PostgresOptions>(options, postgresNames), url });
    return new PostgresSaver(tier, undefined, pickOptions<SaverOptions>(options, saverOptionNames));
  }

  /**
   * Keeps checkpoints in an embedded database in a folder, or in memory without one. One process per folder.
   * Needs the package @electric-sql/pglite.
   * @throws InvalidOptionError
   */
  static embedded(folder?: string, options: EmbeddedOptions = {}): PostgresSaver {
    checkOptions("PostgresSaver.embedded", options, embeddedNames, embeddedAdvice);
    const tier = pglite({ ...pickOptions<DatabaseOptions>(options, databaseNames), folder });
    return new PostgresSaver(tier, undefined, pickOptions<SaverOptions>(options, saverOptionNames));
  }

  /** The SQL that setup() runs, for those who apply migrations themselves. @throws InvalidOptionError */
  static setupSql(options: SetupSqlOptions = {}): string {
    checkOptions("PostgresSaver.setupSql", options, setupSqlNames);
    const { schema = "stratigraph", createSchema } = options;
    checkFlag("createSchema", createSchema);
    return setupSql(schema, createSchema === undefined ? {} : { createSchema });
  }

  /** Creates or updates tables and functions; see {@link PostgresTier.setup}. */
  override async setup(options: SetupOptions = {}): Promise<void> {
    await this.tier.setup(options);
  }
}

/** The tier and the saver's own options out of what a PostgresSaver is made of. @throws InvalidOptionError */
function openedFrom(
  source: ({ pool: PgPool } & PostgresSaverOptions) | PgPool | PostgresTier,
  serde: SerializerProtocol | undefined,
  options: PostgresSaverOptions | undefined,
): { tier: PostgresTier; saverOptions: SaverOptions } {
  const saverOptions = (given: PostgresSaverOptions): SaverOptions => ({
    ...pickOptions<SaverOptions>(given, saverOptionNames),
    ...(serde === undefined ? {} : { serde: serdeIn(serde) }),
  });
  if (isTier(source)) {
    const advice = "The tier has its own: pass it to postgres() or pglite().";
    const ofTier = { schema: advice, retryFor: advice, statementTimeout: advice, maxQueue: advice };
    checkOptions<SaverOptions>("PostgresSaver over a tier", options, saverOptionNames, ofTier);
    return { tier: source, saverOptions: saverOptions(options ?? {}) };
  }
  if (isPool(source)) {
    checkOptions("PostgresSaver", options, postgresSaverNames, postgresAdvice);
    const given = options ?? {};
    const tier = postgres({ ...pickOptions<PostgresOptions>(given, postgresNames), pool: source });
    return { tier, saverOptions: saverOptions(given) };
  }
  if (typeof source !== "object" || source === null || !("pool" in source)) {
    throw new InvalidOptionError(
      "pool",
      source === null ? "null" : typeof source,
      "Pass { pool }, or use PostgresSaver.fromConnString(url).",
    );
  }
  if (serde !== undefined || options !== undefined) {
    throw new InvalidOptionError(
      serde === undefined ? "options" : "serde",
      "an argument after { pool }",
      "Put it beside the pool: new PostgresSaver({ pool, serde, schema }).",
    );
  }
  checkOptions("PostgresSaver", source, { ...postgresSaverNames, pool: true }, postgresAdvice);
  const tier = postgres({ ...pickOptions<PostgresOptions>(source, postgresNames), pool: source.pool });
  return { tier, saverOptions: saverOptions(source) };
}

/** A serializer where LangGraph's constructor has it. Options in its place are a common slip. @throws InvalidOptionError */
function serdeIn(serde: SerializerProtocol): SerializerProtocol {
  if (typeof serde === "object" && serde !== null && "dumpsTyped" in serde) return serde;
  throw new InvalidOptionError(
    "serde",
    serde === null ? "null" : typeof serde,
    "The second argument is a serializer, options are the third: new PostgresSaver(pool, undefined, { schema }).",
  );
}
