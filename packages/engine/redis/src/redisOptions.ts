import type { Duration } from "@stratigraph/core";
import type { OptionNames } from "@stratigraph/core/internal";

/** Options of a Redis tier, besides where Redis is. */
export interface RedisOptions {
  /** A thread expires as a whole when it wasn't written (or read, see `refreshOnRead`) for this long. Default "never". */
  readonly ttl?: Duration | "never" | undefined;
  /** Whether reading a thread restarts its `ttl`. Default true. */
  readonly refreshOnRead?: boolean | undefined;
  /** The prefix of every key. Default "stratigraph:". */
  readonly prefix?: string | undefined;
  /** How long a command may take before it fails with "UNAVAILABLE"; every 8 MiB that it transfers adds a second. Default "2s". */
  readonly commandTimeout?: Duration | undefined;
}

/** The names of {@link RedisOptions}. */
export const redisNames: OptionNames<RedisOptions> = {
  ttl: true,
  refreshOnRead: true,
  prefix: true,
  commandTimeout: true,
};
