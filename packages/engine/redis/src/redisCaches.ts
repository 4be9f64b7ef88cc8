import type { Calls } from "@stratigraph/core/internal";
import type { CacheAddress, CacheLimits, CacheRead, CacheStorage, CacheWrite } from "@stratigraph/core/tier";
import type { Connection } from "./connection.ts";
import { asBuffer } from "./fieldValues.ts";
import type { KeyNames } from "./keyNames.ts";

/** The caches of a {@link RedisTier}; lua/cache.lua says how they are stored. */
export class RedisCaches implements CacheStorage {
  readonly #connection: Connection;
  readonly #keys: KeyNames;
  readonly #calls: Calls;

  constructor(connection: Connection, keys: KeyNames, calls: Calls) {
    this.#connection = connection;
    this.#keys = keys;
    this.#calls = calls;
  }

  async read(cache: string, addresses: readonly CacheAddress[]): Promise<CacheRead[]> {
    return await this.#calls.run("caches.read", undefined, async () => {
      const args = addresses.flatMap(({ group, id }) => [group, id]);
      const reply = (await this.#connection.run(
        "cacheRead",
        this.#keys.cache(cache),
        args,
      )) as (Buffer | null)[];
      return addresses.map((_, n) => {
        const [era, value, left] = reply.slice(3 * n, 3 * n + 3) as [Buffer, Buffer | null, Buffer];
        if (value === null) return { era: era.toString() };
        return {
          era: era.toString(),
          value,
          leftMs: left.length === 0 ? undefined : Number(left.toString()),
        };
      });
    });
  }

  async write(
    cache: string,
    { group, id, era = "", value, ttlMs }: CacheWrite,
    { entries, bytes }: CacheLimits,
  ): Promise<boolean> {
    return await this.#calls.run("caches.write", undefined, async () => {
      const stored = value === undefined ? [0, ""] : [1, asBuffer(value)];
      const args = [group, id, era, ...stored, ttlMs ?? "", entries, bytes];
      return (await this.#connection.run("cacheWrite", this.#keys.cache(cache), args)) === 1;
    });
  }

  async clear(cache: string, groups?: readonly string[]): Promise<void> {
    await this.#calls.run("caches.clear", undefined, async () => {
      const clear = async (args: readonly string[]): Promise<unknown> =>
        await this.#connection.run("cacheClear", this.#keys.cache(cache), args);
      if (groups === undefined) await clear([]);
      for (const group of groups ?? []) while ((await clear([group])) === 1);
    });
  }
}
