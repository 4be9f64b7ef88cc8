import type { Duration, OptionNames } from "@stratigraph/core";

/** Options of a Redis tier, beside its client. */
export interface RedisOptions {
  /** Threads not written (nor read, see `refreshOnRead`) for this long expire as a whole. Default "never". */
  readonly ttl?: Duration | "never" | undefined;
  /** Reading a thread makes its `ttl` begin anew. Default true. */
  readonly refreshOnRead?: boolean | undefined;
  /** In front of every key. Default "stratigraph:". */
  readonly keyPrefix?: string | undefined;
  /** How long a command may take before it is an error "UNAVAILABLE"; a second more for each 8 MiB of it. Default "2s". */
  readonly commandTimeout?: Duration | undefined;
}

/** The names of {@link RedisOptions}. */
export const redisNames: OptionNames<RedisOptions> = {
  ttl: true,
  refreshOnRead: true,
  keyPrefix: true,
  commandTimeout: true,
};
