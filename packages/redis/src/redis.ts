import type { RedisSource } from "./options.ts";
import type { RedisOptions } from "./redisOptions.ts";
import { RedisTier } from "./redisTier.ts";

/**
 * A Redis tier, for stacks.
 *
 * @example
 * new TieredSaver({ hot: redis({ client, ttl: "15m" }), warm: postgres({ pool }) });
 * @throws InvalidOptionError
 */
export function redis(options: RedisSource & RedisOptions): RedisTier {
  return new RedisTier(options);
}
