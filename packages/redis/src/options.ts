import { InvalidOptionError, msOf, type Duration } from "@stratigraph/core";
import type { RedisClient } from "./client.ts";
import { Keys } from "./keys.ts";

/** Options of a Redis tier, beside its client. */
export interface RedisOptions {
  /** Threads not written (nor read, see `refreshOnRead`) for this long expire as a whole. Default: never. */
  readonly ttl?: Duration | undefined;
  /** Reading a thread makes its `ttl` begin anew. Default true. */
  readonly refreshOnRead?: boolean | undefined;
  /** In front of every key. Default "stratigraph:". */
  readonly keyPrefix?: string | undefined;
  /** How long a command may take before it is an error "UNAVAILABLE". Default "2s". */
  readonly commandTimeout?: Duration | undefined;
}

/** A client that the caller opened and closes, or the URL of a server: then the tier opens a client and `end()` closes it. */
export type RedisSource =
  | { readonly client: RedisClient; readonly url?: undefined }
  | { readonly url: string; readonly client?: undefined };

/** Options with every default filled in. */
export interface ResolvedRedisOptions {
  /** 0: never. */
  readonly ttlMs: number;
  readonly refreshMs: number;
  readonly keys: Keys;
  readonly commandTimeoutMs: number;
}

/** @throws InvalidOptionError */
export function resolveRedisOptions(options: RedisSource & RedisOptions): ResolvedRedisOptions {
  if (options.url === undefined && typeof options.client?.callBuffer !== "function") {
    throw new InvalidOptionError("client", typeof options.client, "Pass an ioredis client, or a url.");
  }
  const { ttl, refreshOnRead = true, keyPrefix = "stratigraph:", commandTimeout = "2s" } = options;
  const ttlMs = ttl === undefined ? 0 : positive("ttl", ttl);
  return {
    ttlMs,
    refreshMs: refreshOnRead ? ttlMs : 0,
    keys: new Keys(keyPrefix),
    commandTimeoutMs: positive("commandTimeout", commandTimeout),
  };
}

function positive(field: string, value: Duration): number {
  const ms = Math.round(msOf(field, value));
  if (ms < 1) throw new InvalidOptionError(field, value, "Use a duration of at least 1ms, or leave it out.");
  return ms;
}
