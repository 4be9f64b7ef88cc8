import type { Tier } from "./tier.ts";

/** Where an entry of a cache is: hashes of its namespace and of its whole address, each of 32 hexadecimal digits. */
export interface CacheAddress {
  readonly group: string;
  readonly id: string;
}

/** What a cache has at an address. */
export interface CacheRead {
  readonly value?: Uint8Array | undefined;
  /** How much longer the entry stays, in milliseconds. Absent: until it has to make room. */
  readonly leftMs?: number | undefined;
  /** Becomes another whenever the group, or the cache, is cleared. */
  readonly era: string;
}

/** An entry to store. */
export interface CacheWrite extends CacheAddress {
  /** Absent: removes the entry. */
  readonly value?: Uint8Array | undefined;
  /** How long it stays, in milliseconds. Absent: until it has to make room. */
  readonly ttlMs?: number | undefined;
  /** If this is another era by now, nothing is stored: what was computed before a clearing doesn't come back after it. */
  readonly era?: string | undefined;
}

/** How much a cache holds. */
export interface CacheLimits {
  readonly entries: number;
  /** Of the stored values. */
  readonly bytes: number;
}

/**
 * Caches of values that can be computed again, each under 32 hexadecimal digits. An entry may be lost at any time. Its use is noted, to the
 * minute or better: where there is no room, the entries that weren't used for longest go. Each method is one round trip.
 */
export interface CacheStorage {
  /** The entries at these addresses, in the same order. What has expired isn't there. */
  read(cache: string, addresses: readonly CacheAddress[]): Promise<readonly CacheRead[]>;
  /** Stores an entry, and removes others if there are too many. False, and nothing is stored: it is too large, or of another era. */
  write(cache: string, entry: CacheWrite, limits: CacheLimits): Promise<boolean>;
  /** Removes the entries of these groups; absent: of all. */
  clear(cache: string, groups?: readonly string[]): Promise<void>;
}

/** A tier that keeps caches. */
export interface CacheKeeper {
  readonly caches: CacheStorage;
}

/** Whether a tier is a {@link CacheKeeper}. */
export function keepsCaches(tier: Tier): tier is Tier & CacheKeeper {
  return (tier as Partial<CacheKeeper>).caches !== undefined;
}
