export type { RedisClient } from "./client.ts";
export type { ClusterNode, RedisSaverOptions, RedisSource } from "./options.ts";
export type { RedisOptions } from "./redisOptions.ts";
export { redis } from "./redis.ts";
export { RedisSaver } from "./redisSaver.ts";
export { RedisTier } from "./redisTier.ts";
