import { kindOf, shown, type OptionNames } from "../contract/checkOptions.ts";
import type { CacheLimits } from "../contract/caches.ts";
import { InvalidOptionError } from "../contract/errors.ts";
import { bytesOf, msOf, waitMsOf, type Duration, type Size } from "../contract/units.ts";

/** Options of a cache. */
export interface CacheOptions {
  /**
   * Separates caches in one storage. A cached value counts until it expires, also for the next version of the application: name the version
   * here if what nodes compute has changed. Default: "".
   */
  readonly name?: string | undefined;
  /** How long entries stay whose `cachePolicy` has no ttl. Default: until they have to make room. */
  readonly ttl?: Duration | undefined;
  /** How many entries there are at most. Those that weren't used for longest go. Default: 10,000. */
  readonly maxEntries?: number | undefined;
  /** How many bytes the stored values have at most. A value that doesn't fit isn't stored. Default: "256mb". */
  readonly maxBytes?: Size | undefined;
  /**
   * How long one computation keeps others waiting that ask for the same value, in this process and others; then the next computes. Nobody
   * waits for more than two of these times. "0s": nobody waits. Default: "10s".
   */
  readonly wait?: Duration | undefined;
  /** How long a storage may take to answer. Then it counts as one that has nothing. Default: "2s". */
  readonly timeout?: Duration | undefined;
}

export const cacheOptionNames: OptionNames<CacheOptions> = {
  ...{ name: true, ttl: true, maxEntries: true, maxBytes: true, wait: true, timeout: true },
};

/** Options of a cache, checked. Times are in milliseconds. */
export interface ResolvedCacheOptions {
  readonly name: string;
  readonly ttlMs: number | undefined;
  readonly limits: CacheLimits;
  readonly waitMs: number;
  readonly timeoutMs: number;
}

/** @throws InvalidOptionError */
export function resolveCacheOptions(options: CacheOptions): ResolvedCacheOptions {
  const { name = "", ttl, maxEntries = 10_000, maxBytes = "256mb", wait = "10s", timeout = "2s" } = options;
  if (typeof name !== "string") throw new InvalidOptionError("name", kindOf(name), 'Pass text: "agent-v2".');
  if (!Number.isSafeInteger(maxEntries) || maxEntries < 1)
    throw new InvalidOptionError("maxEntries", shown(maxEntries), "Pass a whole number above 0.");
  const bytes = bytesOf("maxBytes", maxBytes);
  if (bytes < 1) throw new InvalidOptionError("maxBytes", shown(maxBytes), 'Pass a size above 0: "256mb".');
  const timeoutMs = waitMsOf("timeout", timeout);
  if (timeoutMs <= 0) throw new InvalidOptionError("timeout", timeout, 'Pass a duration above 0: "2s".');
  const ttlMs = ttl === undefined ? undefined : msOf("ttl", ttl);
  if (ttlMs === 0) throw new InvalidOptionError("ttl", shown(ttl), 'Pass a duration above 0: "1h".');
  return { name, ttlMs, limits: { entries: maxEntries, bytes }, waitMs: waitMsOf("wait", wait), timeoutMs };
}
