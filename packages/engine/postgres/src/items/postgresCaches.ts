import type { CacheAddress, CacheLimits, CacheRead, CacheStorage, CacheWrite } from "@stratigraph/core/tier";
import type { Executor } from "../connection/client.ts";
import type { Statement } from "../schema/statements.ts";

/** How many neighbours share their limits, roughly, and how many bytes these have at least, unless the cache has fewer. */
const [neighbours, neighbourBytes] = [64, 16 * 1024 * 1024];

/** How many places there are. */
const places = 65_536;

/** The caches of a schema. */
export class PostgresCaches implements CacheStorage {
  readonly #executor: Executor;
  readonly #sql: Readonly<Record<"readCache" | "writeCache" | "clearCache", Statement>>;

  constructor(
    executor: Executor,
    sql: Readonly<Record<"readCache" | "writeCache" | "clearCache", Statement>>,
  ) {
    this.#executor = executor;
    this.#sql = sql;
  }

  async read(cache: string, addresses: readonly CacheAddress[]): Promise<CacheRead[]> {
    const values = [cache, addresses.map(({ group }) => group), addresses.map(({ id }) => id)];
    const { rows } = await this.#run(this.#sql.readCache, values);
    const reads = Array.from<CacheRead>({ length: addresses.length });
    for (const row of rows) {
      const left = row["left_ms"] as number | string | null;
      reads[Number(row["place"]) - 1] = {
        era: String(row["era"]),
        value: (row["value"] as Uint8Array | null) ?? undefined,
        leftMs: left === null ? undefined : Number(left),
      };
    }
    return reads;
  }

  async write(cache: string, entry: CacheWrite, limits: CacheLimits): Promise<boolean> {
    const { group, id, era, value, ttlMs } = entry;
    const parts = partsOf(limits);
    const width = places / parts;
    const from = Math.floor(Number.parseInt(id.slice(0, 4), 16) / width) * width;
    const { rows } = await this.#run(this.#sql.writeCache, [
      ...[cache, group, id, era ?? null, value ?? null, ttlMs ?? null],
      ...[from, from + width - 1, Math.floor(limits.entries / parts), Math.floor(limits.bytes / parts)],
    ]);
    return rows[0]!["done"] === true;
  }

  async clear(cache: string, groups?: readonly string[]): Promise<void> {
    await this.#run(this.#sql.clearCache, [cache, groups ?? null]);
  }

  async #run(statement: Statement, values: readonly unknown[]): ReturnType<Executor["run"]> {
    return await this.#executor.run({ ...statement, values });
  }
}

/** Into how many parts a cache is divided, each with its share of the limits: a power of two. */
function partsOf({ entries, bytes }: CacheLimits): number {
  const most = Math.min(entries / neighbours, bytes / neighbourBytes, places);
  return most < 2 ? 1 : 2 ** Math.floor(Math.log2(most));
}
