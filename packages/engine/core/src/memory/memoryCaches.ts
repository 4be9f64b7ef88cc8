import type { CacheAddress, CacheLimits, CacheRead, CacheStorage, CacheWrite } from "../contract/caches.ts";

interface Entry extends CacheAddress {
  readonly value: Uint8Array;
  readonly expiresAtMs: number;
}

interface Cache {
  /** By id, least recently used first. */
  readonly entries: Map<string, Entry>;
  bytes: number;
  /** How often the cache was cleared, and each group. */
  readonly eras: Map<string, number>;
}

type Run = <T>(method: string, work: () => T) => Promise<T>;

/** Stands for all groups in {@link Cache.eras}. */
const all = "";

/** The caches of a {@link MemoryTier}. */
export class MemoryCaches implements CacheStorage {
  readonly #caches = new Map<string, Cache>();
  readonly #now: () => number;
  readonly #run: Run;

  /** @param run makes a call of the tier, or refuses it after the end */
  constructor(now: () => number, run: Run) {
    this.#now = now;
    this.#run = run;
  }

  async read(name: string, addresses: readonly CacheAddress[]): Promise<CacheRead[]> {
    return await this.#run("caches.read", () => {
      const cache = this.#cache(name);
      return addresses.map(({ group, id }): CacheRead => {
        const era = eraOf(cache, group);
        const entry = cache.entries.get(id);
        if (entry === undefined) return { era };
        remove(cache, entry);
        const leftMs = entry.expiresAtMs - this.#now();
        if (leftMs <= 0) return { era };
        add(cache, entry);
        return { value: entry.value, leftMs: leftMs === Infinity ? undefined : leftMs, era };
      });
    });
  }

  async write(name: string, { era, ...entry }: CacheWrite, limits: CacheLimits): Promise<boolean> {
    return await this.#run("caches.write", () => {
      const cache = this.#cache(name);
      const { group, id, value, ttlMs = Infinity } = entry;
      if (era !== undefined && era !== eraOf(cache, group)) return false;
      const before = cache.entries.get(id);
      if (before !== undefined) remove(cache, before);
      if (value === undefined) return true;
      if (value.length > limits.bytes) return false;
      add(cache, { group, id, value, expiresAtMs: this.#now() + ttlMs });
      for (const oldest of cache.entries.values()) {
        if (cache.entries.size <= limits.entries && cache.bytes <= limits.bytes) break;
        remove(cache, oldest);
      }
      return true;
    });
  }

  async clear(name: string, groups?: readonly string[]): Promise<void> {
    await this.#run("caches.clear", () => {
      const cache = this.#cache(name);
      for (const group of groups ?? [all]) cache.eras.set(group, (cache.eras.get(group) ?? 0) + 1);
      const gone = groups && new Set(groups);
      for (const entry of cache.entries.values())
        if (gone === undefined || gone.has(entry.group)) remove(cache, entry);
    });
  }

  /** Removes expired entries. @returns how many */
  sweep(): number {
    let swept = 0;
    for (const cache of this.#caches.values())
      for (const entry of cache.entries.values()) {
        if (entry.expiresAtMs > this.#now()) continue;
        remove(cache, entry);
        swept += 1;
      }
    return swept;
  }

  #cache(name: string): Cache {
    const cache = this.#caches.get(name) ?? { entries: new Map(), bytes: 0, eras: new Map() };
    this.#caches.set(name, cache);
    return cache;
  }
}

function eraOf({ eras }: Cache, group: string): string {
  return `${eras.get(all) ?? 0}.${eras.get(group) ?? 0}`;
}

function add(cache: Cache, entry: Entry): void {
  cache.entries.set(entry.id, entry);
  cache.bytes += entry.value.length;
}

function remove(cache: Cache, entry: Entry): void {
  cache.entries.delete(entry.id);
  cache.bytes -= entry.value.length;
}
