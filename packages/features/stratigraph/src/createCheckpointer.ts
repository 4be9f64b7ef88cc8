import {
  InvalidOptionError,
  MemorySaver,
  type SaverOptions,
  type Tier,
  type TierSaver,
} from "@stratigraph/core";
import { kindOf, pickOptions, saverOptionNames } from "@stratigraph/core/internal";
import { openSource, readThrough } from "@stratigraph/migrate";
import { PostgresSaver } from "@stratigraph/postgres";
import { RedisSaver } from "@stratigraph/redis";
import { TieredSaver } from "@stratigraph/tiered";
import { checkConfig, type CheckedConfig } from "./checkConfig.ts";
import type {
  CheckpointerConfig,
  CommonConfig,
  PgliteConfig,
  MemoryConfig,
  Only,
  PostgresConfig,
  RedisConfig,
  StackConfig,
  TierSource,
} from "./config.ts";
import { openShards } from "./openShards.ts";
import { openTier, type Role, openUrl } from "./openTier.ts";
import { loadConfig } from "./settings/loadConfig.ts";
import { postgresUrl } from "./urls.ts";

/**
 * Opens the checkpointer that a plain object or a URL describes, ready to use. Without either, the one that `stratigraph.config.ts`
 * describes, or the URL in `STRATIGRAPH_URL`, or an embedded database in the folder `.stratigraph`; see {@link loadConfig}. Its `end()` closes what was opened here and the tiers of a
 * stack, but not pools and clients that were passed in.
 *
 * @example
 * const checkpointer = await createCheckpointer({ postgres: "postgresql://user:password@localhost:5432/db" });
 * const graph = builder.compile({ checkpointer });
 * @throws InvalidOptionError; StratigraphError if the storage can't be made ready: "UNAVAILABLE", "NOT_SET_UP", "ACCESS_DENIED",
 * "MISCONFIGURED", "DRIVER_MISSING", "STORAGE_FULL" or "LOCKED"
 * In a stack, it is no error if a hot tier, the cold tier or a replica can't be reached: the trace channel reports it as
 * "unreachable".
 */
export async function createCheckpointer(config: Only<MemoryConfig>): Promise<MemorySaver>;
export async function createCheckpointer(
  config: Only<PgliteConfig> | Only<PostgresConfig>,
): Promise<PostgresSaver>;
export async function createCheckpointer(config: Only<RedisConfig>): Promise<RedisSaver>;
export async function createCheckpointer(config: Only<StackConfig>): Promise<TieredSaver>;
export async function createCheckpointer(config: CheckpointerConfig | string): Promise<TierSaver>;
export async function createCheckpointer(): Promise<TierSaver>;
export async function createCheckpointer(
  ...given: readonly [] | readonly [CheckpointerConfig | string]
): Promise<TierSaver> {
  // An undefined argument is not a missing one: it is probably a variable that isn't set, and must not open some other storage.
  const config = given.length === 0 ? (await loadConfig()).checkpointer : given[0];
  // Ignored, it would leave values unencrypted, or state of older versions as it is.
  const more = (given as readonly unknown[])[1];
  if (more !== undefined)
    throw new InvalidOptionError(
      "options",
      kindOf(more),
      'createCheckpointer takes one argument. Write the options beside the URL: { postgres: "postgresql://…", encryption }.',
    );
  const saver = openCheckpointer(config);
  const common: CommonConfig = typeof config === "string" ? {} : config;
  try {
    await openReadThrough(saver, common);
    if (common.setup !== false) await saver.setup();
    return saver;
  } catch (error) {
    // Closing may fail as well. The first error says why.
    await saver.end().catch(() => undefined);
    throw error;
  }
}

/**
 * As {@link createCheckpointer}, but creates nothing in the storage, doesn't wait for it, and brings no threads over (`readThrough`). Calls
 * fail with "NOT_SET_UP" if `setup()` of the saver was never called.
 * @throws InvalidOptionError
 */
export function openCheckpointer(config: CheckpointerConfig | string): TierSaver {
  return typeof config === "string" ? openUrl("config", config) : open(checkConfig(config));
}

function open({ kind, config }: CheckedConfig): TierSaver {
  switch (kind) {
    case "memory":
      if (config.memory !== true) throw new InvalidOptionError("memory", typeof config.memory, "Pass true.");
      return new MemorySaver(saverOptionsOf(config));
    case "pglite":
      return openPglite(config);
    case "postgres":
      return openPostgres(config);
    case "redis":
      return openRedis(config);
    case "warm":
      return openStack(config);
  }
}

async function openReadThrough(saver: TierSaver, { readThrough: from }: CommonConfig): Promise<void> {
  if (from === undefined) return;
  if (typeof from === "string")
    readThrough(saver, await openSource(from, { serde: saver.serde }), { close: true });
  else if (typeof from?.threads === "function") readThrough(saver, from);
  else
    throw new InvalidOptionError(
      "readThrough",
      typeof from,
      "Pass a URL such as official+postgresql://…, or a source.",
    );
}

function saverOptionsOf(config: SaverOptions): SaverOptions {
  return pickOptions<SaverOptions>(config, saverOptionNames);
}

function openPglite({
  pglite: folder,
  setup: _setup,
  readThrough: _readThrough,
  ...options
}: PgliteConfig): PostgresSaver {
  if (typeof folder !== "string" || folder === "" || folder.includes("://"))
    throw new InvalidOptionError(
      "pglite",
      foundIn(folder, "a URL"),
      "Pass the path of a folder; of a server, write postgres.",
    );
  return PostgresSaver.embedded(folder, options);
}

function openPostgres({
  postgres: source,
  setup: _setup,
  readThrough: _readThrough,
  ...options
}: PostgresConfig): PostgresSaver {
  if (typeof source === "string" && /^postgres(ql)?:\/\//.test(source)) {
    const { server, options: inUrl } = postgresUrl("postgres", source);
    return PostgresSaver.fromConnString(server, { ...inUrl, ...options });
  }
  if (isList(source)) {
    const { schema, retryFor, statementTimeout, maxCalls, ...saverOptions } = options;
    const tier = openShards("postgres", source, { schema, retryFor, statementTimeout, maxCalls });
    return new PostgresSaver(tier, undefined, saverOptions);
  }
  if (typeof source === "object" && typeof source?.query === "function")
    return new PostgresSaver({ ...options, pool: source });
  throw new InvalidOptionError(
    "postgres",
    foundIn(source, "text that is no connection string"),
    'Pass a connection string that begins with postgresql://, a pg.Pool, or a list of them. An embedded database is { pglite: "…" }.',
  );
}

function openRedis({
  redis: source,
  setup: _setup,
  readThrough: _readThrough,
  ...options
}: RedisConfig): RedisSaver {
  if (typeof source === "string" && /^rediss?:\/\//.test(source))
    return new RedisSaver({ ...options, url: source });
  if (typeof source === "object" && typeof source?.callBuffer === "function")
    return new RedisSaver({ ...options, client: source });
  throw new InvalidOptionError(
    "redis",
    foundIn(source, "text that is no Redis URL"),
    "Pass a URL that begins with redis:// or rediss://, or a client of ioredis.",
  );
}

/** Describes the value that was found, without showing text, which may contain a password. */
function foundIn(source: unknown, text: string): string {
  if (typeof source === "string") return source === "" ? "empty text" : text;
  return source === null ? "null" : typeof source;
}

function openStack(config: StackConfig): TieredSaver {
  const { hot, warm, cold, replicas, setup: _setup, readThrough: _readThrough, ...options } = config;
  const tier = (field: string, source: TierSource, role: Role): Tier => openTier(field, source, role);
  const hots: readonly TierSource[] = hot === undefined ? [] : isList(hot) ? hot : [hot];
  if (replicas !== undefined && !Array.isArray(replicas))
    throw new InvalidOptionError("replicas", typeof replicas, "Pass a list of tiers or URLs, also of one.");
  return new TieredSaver({
    ...options,
    hot: hots.map((source, n) => tier(hots.length === 1 ? "hot" : `hot[${n}]`, source, "hot")),
    warm: isList(warm) ? openShards("warm", warm) : tier("warm", warm, "warm"),
    // Pass on a cold tier that is given as undefined: the TieredSaver reports it where it is needed.
    ...("cold" in config ? { cold: cold === undefined ? undefined : tier("cold", cold, "cold") } : {}),
    ...(replicas === undefined
      ? {}
      : { replicas: replicas.map((source, n) => tier(`replicas[${n}]`, source, "replica")) }),
  });
}

function isList<T>(source: T | readonly T[]): source is readonly T[] {
  return Array.isArray(source);
}
