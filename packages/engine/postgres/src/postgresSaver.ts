import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { InvalidOptionError, TierSaver, type SaverOptions, type Tier } from "@stratigraph/core";
import { checkOptions, msOf, pickOptions, saverOptionNames } from "@stratigraph/core/internal";
import pg from "pg";
import { askServer, PrimaryFinder } from "./connection/primaryFinder.ts";
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
import { poolSettingsOf } from "./connection/poolSettings.ts";
import { connectTimeoutMsOf, PoolExecutor, type PoolLimits } from "./connection/poolExecutor.ts";
import { PrimaryPool } from "./connection/primaryPool.ts";
import { serverUrlsOf } from "./connection/serverUrls.ts";
import { PostgresTier } from "./postgresTier.ts";
import { Shard, shardName } from "./shards/shard.ts";
import { ShardedTier } from "./shards/shardedTier.ts";
import { checkFlag, type SetupOptions } from "./schema/setUp.ts";
import { setupSql } from "./schema/statements.ts";

/** How many connections a pool that is opened here has at most. */
const connections = 10;
/** How many databases threads can be spread over: each process has a pool for each database. */
const mostShards = 256;
/** After how long an idle connection is probed by the operating system, in milliseconds. */
const keepAliveMs = 10_000;

/** Whether something is a tier, by its methods: the CommonJS build and the ES modules of this package each have a class of their own. */
function isTier(value: unknown): value is PostgresTier | ShardedTier {
  return typeof value === "object" && value !== null && typeof (value as Partial<Tier>).append === "function";
}

/** A tier in one database, or spread over several: exactly one of `pool`, `url` and `shards`. */
type Source =
  | { readonly pool: PgPool; readonly url?: undefined; readonly shards?: undefined }
  | { readonly url: string; readonly pool?: undefined; readonly shards?: undefined };

/**
 * Makes a tier over the caller's pool, or over a pool that it opens for a connection string. `shards` takes pools or connection strings
 * of several databases: each thread is in one of them, by a hash of its id. Don't change their number or order after they were set up.
 * @throws InvalidOptionError
 */
export function postgres(
  options: PostgresOptions & {
    readonly shards: readonly (string | PgPool)[];
    readonly url?: undefined;
    readonly pool?: undefined;
  },
): ShardedTier;
export function postgres(options: PostgresOptions & Source): PostgresTier;
export function postgres(
  options: PostgresOptions & {
    readonly shards?: readonly (string | PgPool)[] | undefined;
    readonly url?: string | undefined;
    readonly pool?: PgPool | undefined;
  },
): PostgresTier | ShardedTier {
  checkOptions(
    "postgres",
    options,
    { ...postgresNames, pool: true, url: true, shards: true },
    postgresAdvice,
  );
  if (options === undefined)
    throw new InvalidOptionError("options", "undefined", "Pass { url } or { pool }.");
  const { pool, url, shards } = options;
  if (pool !== undefined && url !== undefined)
    throw new InvalidOptionError(
      "url",
      "a pool beside it",
      "Pass the pool or the connection string, not both.",
    );
  const { schema, ...settings } = resolveDatabaseOptions(options);
  const limits = { ...settings, retryForMs: msOf("retryFor", options.retryFor ?? "15s") };
  if (shards === undefined) {
    if (pool !== undefined) return new PostgresTier(executorOf("pool", pool, limits), schema);
    return new PostgresTier(executorOf("url", url, limits), schema);
  }
  if (pool !== undefined || url !== undefined)
    throw new InvalidOptionError(
      "shards",
      `${pool === undefined ? "url" : "pool"} beside it`,
      "Pass all databases in the list, and neither url nor pool.",
    );
  if (!Array.isArray(shards) || shards.length === 0 || shards.length > mostShards)
    throw new InvalidOptionError(
      "shards",
      Array.isArray(shards) ? `${shards.length} databases` : typeof shards,
      `Pass a list of 1 to ${mostShards} connection strings or pools.`,
    );
  const places = shards.map((source: string | PgPool, number) => ({
    executor: executorOf(`shards[${number}]`, source, limits, shardName(number)),
    place: { number, shards: shards.length },
  }));
  return new ShardedTier(places.map(({ executor, place }) => new Shard(executor, schema, place)));
}

/** Makes an executor over the given pool, or over one that is opened for a connection string. @throws InvalidOptionError */
function executorOf(field: string, source: unknown, limits: PoolLimits, tier?: string): PoolExecutor {
  if (typeof source === "string" && source !== "") {
    const { server, settings } = poolSettingsOf(field, source);
    const connectTimeoutMs = settings.connectionTimeoutMillis || connectTimeoutMsOf(limits);
    const pool = { ...settings, connectionTimeoutMillis: connectTimeoutMs };
    return new PoolExecutor(opener(server, pool), { ...limits, connectTimeoutMs }, tier);
  }
  if (field !== "url" && isPool(source)) return new PoolExecutor(source, limits, tier);
  const found = source === "" ? "empty text" : typeof source;
  if (field === "pool")
    throw new InvalidOptionError(field, found, "Pass a pg.Pool, or anything with its query().");
  throw new InvalidOptionError(
    field,
    found,
    'Pass a connection string, for example "postgresql://user:password@host:5432/database".',
  );
}

/** Opens a pool for a connection string. If that names several servers, the pool connects to the one that takes writes. */
function opener(url: string, settings: pg.PoolConfig & { connectionTimeoutMillis: number }): () => PgPool {
  const open = (server: string): PgPool => openPool(server, settings);
  const urls = serverUrlsOf(url);
  if (urls.length === 1) return () => open(url);
  const finder = new PrimaryFinder(urls, (server) => askServer(server, settings.connectionTimeoutMillis));
  return () => new PrimaryPool(() => finder.find(), open);
}

function openPool(url: string, settings: pg.PoolConfig): PgPool {
  return new pg.Pool({
    max: connections,
    // With this, idle connections, too, notice that a server went away silently.
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveMs,
    ...settings,
    connectionString: url,
  });
}

/**
 * A tier in an embedded database, in a folder or in memory: for a first try, tests and small tools.
 * @throws InvalidOptionError
 */
export function pglite(options: PgliteOptions = {}): PostgresTier {
  checkOptions("pglite", options, pgliteNames, embeddedAdvice);
  const { path } = options;
  if (path !== undefined && (typeof path !== "string" || path === "")) {
    const found = path === "" ? "empty text" : typeof path;
    throw new InvalidOptionError("path", found, "Pass the path of a folder, or leave it out for memory.");
  }
  // PGlite would create folders with the password in their names.
  if (path?.includes("://") === true)
    throw new InvalidOptionError("path", "a URL", "Pass the path of a folder; of a server, write postgres.");
  const { schema, ...limits } = resolveDatabaseOptions(options);
  return new PostgresTier(new PgLiteExecutor(() => openPgLite(path), limits), schema, "pglite");
}

/**
 * Keeps checkpoints in PostgreSQL. It is constructed like LangGraph's own PostgresSaver, so changing the import is enough. It has tables
 * of its own (schema "stratigraph").
 *
 * @example
 * const checkpointer = PostgresSaver.fromConnString("postgresql://user:password@localhost:5432/db");
 * await checkpointer.setup();
 * const graph = builder.compile({ checkpointer });
 */
export class PostgresSaver extends TierSaver {
  declare readonly tier: PostgresTier | ShardedTier;

  /**
   * @param source options with the pool in them, or a tier, or (as for LangGraph's saver) the pool itself
   * @param serde a serializer; only after a pool or a tier
   * @param options only after a pool or a tier; after a tier, only the options of every saver
   * @throws InvalidOptionError
   */
  constructor(
    source: ({ pool: PgPool } & PostgresSaverOptions) | PgPool | PostgresTier | ShardedTier,
    serde?: SerializerProtocol,
    options?: PostgresSaverOptions,
  ) {
    const { tier, saverOptions } = openedFrom(source, serde, options);
    super(tier, saverOptions);
  }

  /** Opens a pool, which end() closes. @throws InvalidOptionError */
  static fromConnString(url: string, options: PostgresSaverOptions = {}): PostgresSaver {
    checkOptions("PostgresSaver.fromConnString", options, postgresSaverNames, postgresAdvice);
    const tier = postgres({ ...pickOptions<PostgresOptions>(options, postgresNames), url });
    return new PostgresSaver(tier, undefined, pickOptions<SaverOptions>(options, saverOptionNames));
  }

  /**
   * Keeps checkpoints in an embedded database: in a folder, which one process uses at a time, or in memory.
   * Needs the package @electric-sql/pglite.
   * @throws InvalidOptionError
   */
  static embedded(folder?: string, options: EmbeddedOptions = {}): PostgresSaver {
    checkOptions("PostgresSaver.embedded", options, embeddedNames, embeddedAdvice);
    const tier = pglite({ ...pickOptions<DatabaseOptions>(options, databaseNames), path: folder });
    return new PostgresSaver(tier, undefined, pickOptions<SaverOptions>(options, saverOptionNames));
  }

  /** The SQL that setup() runs, for applying migrations by other means. @throws InvalidOptionError */
  static setupSql(options: SetupSqlOptions = {}): string {
    checkOptions("PostgresSaver.setupSql", options, setupSqlNames);
    const { schema = "stratigraph", createSchema } = options;
    checkFlag("createSchema", createSchema);
    return setupSql(schema, createSchema === undefined ? {} : { createSchema });
  }

  /** Creates or updates tables and functions; see {@link PostgresTier.setup}. */
  override async setup(options: SetupOptions = {}): Promise<void> {
    await this.tier.setup(options);
    await this.checkKeys({ write: options.verifyOnly !== true });
  }
}

/** The tier and the options of the saver, from the arguments of the constructor. @throws InvalidOptionError */
function openedFrom(
  source: ({ pool: PgPool } & PostgresSaverOptions) | PgPool | PostgresTier | ShardedTier,
  serde: SerializerProtocol | undefined,
  options: PostgresSaverOptions | undefined,
): { tier: PostgresTier | ShardedTier; saverOptions: SaverOptions } {
  const saverOptions = (given: PostgresSaverOptions): SaverOptions => ({
    ...pickOptions<SaverOptions>(given, saverOptionNames),
    ...(serde === undefined ? {} : { serde: serdeIn(serde) }),
  });
  if (isTier(source)) {
    const advice = "The tier has its own: pass it to postgres() or pglite().";
    const ofTier = { schema: advice, retryFor: advice, statementTimeout: advice, maxCalls: advice };
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

/** Checks the serializer. Passing options in its place is a common mistake. @throws InvalidOptionError */
function serdeIn(serde: SerializerProtocol): SerializerProtocol {
  if (typeof serde === "object" && serde !== null && "dumpsTyped" in serde) return serde;
  throw new InvalidOptionError(
    "serde",
    serde === null ? "null" : typeof serde,
    "The second argument is a serializer, options are the third: new PostgresSaver(pool, undefined, { schema }).",
  );
}
