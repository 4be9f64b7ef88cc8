export type { RedisClient } from "./client.ts";
export type { ClusterNode, RedisOptions, RedisSaverOptions, RedisSource } from "./options.ts";
export { redis } from "./redis.ts";
export { RedisSaver } from "./redisSaver.ts";
export { RedisTier } from "./redisTier.ts";
