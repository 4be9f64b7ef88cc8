import { TierSaver, type SaverOptions } from "@stratigraph/core";
import type { RedisOptions, RedisSource } from "./options.ts";
import { RedisTier } from "./redisTier.ts";

/** Options of {@link RedisSaver.fromUrl}. */
export interface RedisSaverOptions extends SaverOptions, RedisOptions {}

/**
 * Keeps checkpoints in Redis, for those whose Redis is durable (appendonly, replicas). On plain commands and Lua: Redis 6.2
 * and later, Valkey, ElastiCache, Memorystore, Redis Cluster; no modules.
 *
 * @example
 * const checkpointer = await RedisSaver.fromUrl("redis://localhost:6379", { ttl: "7d" });
 * const graph = builder.compile({ checkpointer });
 */
export class RedisSaver extends TierSaver {
  declare readonly tier: RedisTier;

  /** @throws InvalidOptionError */
  constructor(options: RedisSource & RedisSaverOptions) {
    super(new RedisTier(options), options);
  }

  /**
   * Opens a client of its own, which `end()` closes. Needs the package ioredis.
   * @throws InvalidOptionError; StratigraphError "UNAVAILABLE" where the server can't be used
   */
  static async fromUrl(url: string, options: RedisSaverOptions = {}): Promise<RedisSaver> {
    const saver = new RedisSaver({ ...options, url });
    try {
      await saver.setup();
      return saver;
    } catch (error) {
      await saver.end();
      throw error;
    }
  }
}
