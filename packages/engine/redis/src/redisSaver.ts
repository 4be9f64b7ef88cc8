import { TierSaver, type SaverOptions } from "@stratigraph/core";
import { checkOptions, pickOptions, saverOptionNames } from "@stratigraph/core/internal";
import type { RedisClient } from "./client.ts";
import {
  isClient,
  noClient,
  redisAdvice,
  redisSaverNames,
  sourceNames,
  type ClusterNode,
  type RedisSaverOptions,
  type RedisSource,
} from "./options.ts";
import { redisNames, type RedisOptions } from "./redisOptions.ts";
import { RedisTier } from "./redisTier.ts";
import { parseRedisUrl } from "./redisUrl.ts";

/**
 * Keeps checkpoints in Redis alone. They are only as durable as the server, so give it appendonly and replicas. It uses plain commands
 * and Lua scripts, and needs no modules: Redis 6.2 and later, Valkey, ElastiCache, Memorystore and Redis Cluster work.
 *
 * @example
 * const checkpointer = await RedisSaver.fromUrl("redis://localhost:6379", { ttl: "7d" });
 * const graph = builder.compile({ checkpointer });
 */
export class RedisSaver extends TierSaver {
  declare readonly tier: RedisTier;

  /**
   * @param source options that say where Redis is, or (as with LangGraph's saver) an ioredis client
   * @param options only if `source` is a client
   * @throws InvalidOptionError
   */
  constructor(source: (RedisSource & RedisSaverOptions) | RedisClient, options?: RedisSaverOptions) {
    const all = together(source, options);
    super(
      new RedisTier(pickOptions<RedisSource & RedisOptions>(all, { ...redisNames, ...sourceNames })),
      pickOptions<SaverOptions>(all, saverOptionNames),
    );
  }

  /**
   * Opens a client of its own, which `end()` closes. Needs the package ioredis.
   * @throws InvalidOptionError; StratigraphError "ACCESS_DENIED", "MISCONFIGURED", "DRIVER_MISSING"; "UNAVAILABLE", which may pass
   */
  static async fromUrl(url: string, options: RedisSaverOptions = {}): Promise<RedisSaver> {
    checkOptions("RedisSaver.fromUrl", options, redisSaverNames, redisAdvice(options));
    parseRedisUrl(url);
    return await ready(new RedisSaver({ ...options, url }));
  }

  /**
   * Opens a client of its own for a cluster; `end()` closes it. Needs the package ioredis.
   * @param rootNodes some nodes of the cluster. User, password and TLS of the first one are used for all nodes.
   * @throws InvalidOptionError; StratigraphError "ACCESS_DENIED", "MISCONFIGURED", "DRIVER_MISSING"; "UNAVAILABLE", which may pass
   */
  static async fromCluster(
    rootNodes: readonly ClusterNode[],
    options: RedisSaverOptions = {},
  ): Promise<RedisSaver> {
    checkOptions("RedisSaver.fromCluster", options, redisSaverNames, redisAdvice(options));
    return await ready(new RedisSaver({ ...options, cluster: rootNodes ?? [] }));
  }
}

async function ready(saver: RedisSaver): Promise<RedisSaver> {
  try {
    await saver.setup();
    return saver;
  } catch (error) {
    await saver.end();
    throw error;
  }
}

/** @throws InvalidOptionError */
function together(
  source: (RedisSource & RedisSaverOptions) | RedisClient,
  options: RedisSaverOptions | undefined,
): RedisSource & RedisSaverOptions {
  checkOptions("RedisSaver", options, redisSaverNames, redisAdvice(options));
  if (isClient(source)) return { ...options, client: source };
  if (typeof source !== "object" || source === null || "sendCommand" in source)
    throw noClient("client", source);
  checkOptions("RedisSaver", source, { ...redisSaverNames, ...sourceNames }, redisAdvice(source));
  return { ...options, ...source };
}
