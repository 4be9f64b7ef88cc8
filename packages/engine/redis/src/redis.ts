import type { RedisSource } from "./options.ts";
import type { RedisOptions } from "./redisOptions.ts";
import { RedisTier } from "./redisTier.ts";

/**
 * Makes a Redis tier, for example for a stack.
 *
 * @example
 * new TieredSaver({ hot: redis({ client, ttl: "15m" }), warm: postgres({ pool }) });
 * @throws InvalidOptionError
 */
export function redis(options: RedisSource & RedisOptions): RedisTier {
  return new RedisTier(options);
}
