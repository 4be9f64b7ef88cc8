export type { RedisClient } from "./client.ts";
export type { RedisOptions, RedisSource } from "./options.ts";
export { redis } from "./redis.ts";
export { RedisSaver, type RedisSaverOptions } from "./redisSaver.ts";
export { RedisTier } from "./redisTier.ts";
