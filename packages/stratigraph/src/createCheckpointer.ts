import { InvalidOptionError, MemorySaver, type Tier, type TierSaver } from "@stratigraph/core";
import { PostgresSaver, postgres } from "@stratigraph/postgres";
import { RedisSaver } from "@stratigraph/redis";
import { TieredSaver } from "@stratigraph/tiered";
import { checkConfig, type CheckedConfig } from "./checkConfig.ts";
import type {
  CheckpointerConfig,
  FolderConfig,
  MemoryConfig,
  PostgresConfig,
  RedisConfig,
  StackConfig,
  TierSource,
} from "./config.ts";
import { openTier, type Role } from "./openTier.ts";

/**
 * Opens the checkpointer that a plain object describes, ready to use. `end()` closes what was opened here, and leaves alone
 * pools, clients and tiers that were passed in.
 *
 * @example
 * const checkpointer = await createCheckpointer({ postgres: "postgresql://user:password@localhost:5432/db" });
 * const graph = builder.compile({ checkpointer });
 * @throws InvalidOptionError; StratigraphError "UNAVAILABLE", "LOCKED" or "NOT_SET_UP" where the storage can't be made ready
 */
export async function createCheckpointer(config: MemoryConfig): Promise<MemorySaver>;
export async function createCheckpointer(config: FolderConfig | PostgresConfig): Promise<PostgresSaver>;
export async function createCheckpointer(config: RedisConfig): Promise<RedisSaver>;
export async function createCheckpointer(config: StackConfig): Promise<TieredSaver>;
export async function createCheckpointer(config: CheckpointerConfig): Promise<TierSaver>;
export async function createCheckpointer(config: CheckpointerConfig): Promise<TierSaver> {
  const checked = checkConfig(config);
  const saver = open(checked);
  if (checked.setup === false) return saver;
  try {
    await saver.setup();
    return saver;
  } catch (error) {
    await saver.end();
    throw error;
  }
}

function open(config: CheckedConfig): TierSaver {
  switch (config.kind) {
    case "memory":
      if (config.memory !== true) throw new InvalidOptionError("memory", config.memory, "Pass true.");
      return new MemorySaver(config);
    case "folder":
      return PostgresSaver.embedded(config.folder, config);
    case "postgres":
      return openPostgres(config);
    case "redis":
      return openRedis(config);
    case "warm":
      return openStack(config);
  }
}

function openPostgres(config: PostgresConfig): PostgresSaver {
  const { postgres: source, ...options } = config;
  if (typeof source !== "string")
    return new PostgresSaver(postgres({ ...options, pool: source }), undefined, options);
  if (!/^postgres(ql)?:\/\//.test(source)) {
    throw new InvalidOptionError(
      "postgres",
      "text that is no connection string",
      'Pass one that begins with postgresql://, or a pg.Pool. An embedded database is { folder: "…" }.',
    );
  }
  return PostgresSaver.fromConnString(source, options);
}

function openRedis(config: RedisConfig): RedisSaver {
  const { redis: source, ...options } = config;
  if (typeof source !== "string") {
    if (typeof source?.callBuffer !== "function")
      throw new InvalidOptionError("redis", typeof source, "Pass a URL, or a client of ioredis.");
    return new RedisSaver({ ...options, client: source });
  }
  if (!/^rediss?:\/\//.test(source)) {
    throw new InvalidOptionError(
      "redis",
      "text that is no Redis URL",
      "Pass one that begins with redis:// or rediss://, or a client of ioredis.",
    );
  }
  return new RedisSaver({ ...options, url: source });
}

function openStack({ hot, warm, cold, replicas, ...options }: StackConfig): TieredSaver {
  const tier = (field: string, source: TierSource, role: Role): Tier => openTier(field, source, role);
  const hots: readonly TierSource[] = hot === undefined ? [] : isList(hot) ? hot : [hot];
  return new TieredSaver({
    ...options,
    hot: hots.map((source, n) => tier(hots.length === 1 ? "hot" : `hot[${n}]`, source, "hot")),
    warm: tier("warm", warm, "warm"),
    ...(cold === undefined ? {} : { cold: tier("cold", cold, "cold") }),
    ...(replicas === undefined
      ? {}
      : { replicas: replicas.map((source, n) => tier(`replicas[${n}]`, source, "replica")) }),
  });
}

function isList(hot: TierSource | readonly TierSource[]): hot is readonly TierSource[] {
  return Array.isArray(hot);
}
