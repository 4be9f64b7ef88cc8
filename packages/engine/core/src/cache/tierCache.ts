import { BaseCache, type CacheFullKey, type CacheNamespace } from "@langchain/langgraph-checkpoint";
import { kindOf } from "../contract/checkOptions.ts";
import { keepsCaches, type CacheKeeper, type CacheWrite } from "../contract/caches.ts";
import { InvalidOptionError } from "../contract/errors.ts";
import type { ItemAddress } from "../contract/items.ts";
import type { Tier } from "../contract/tier.ts";
import { isStacked } from "../contract/tierExtensions.ts";
import { trace } from "../contract/trace.ts";
import type { ItemCoder } from "../items/itemCoder.ts";
import { askedAt, askedFor, hashOf, labelsOf, listOf, type Asked } from "./asked.ts";
import { CacheLayer } from "./cacheLayer.ts";
import type { ResolvedCacheOptions } from "./cacheOptions.ts";
import { SingleFlight, type Asker, type Sight } from "./singleFlight.ts";

/** A time to live that is longer than a hundred years is taken as none: storages can't count as far as numbers do. */
const longestSeconds = 100 * 365 * 24 * 3600;

/** A value that was found, and as what it is stored. */
interface Found {
  readonly value: unknown;
  readonly sight: Sight;
}

type Pair = Parameters<BaseCache["set"]>[0][number];

/** The parts of a tier that keep caches, nearest first. */
export function cachesOf(tier: Tier): readonly (Tier & CacheKeeper)[] {
  if (isStacked(tier))
    return tier.layers.flatMap(({ role, tier: part }) => (role === "cold" ? [] : cachesOf(part)));
  return keepsCaches(tier) ? [tier] : [];
}

/**
 * LangGraph's cache of what nodes and tasks returned, over a tier: `compile({ cache })` takes it, for nodes and tasks that have a
 * `cachePolicy`. Made by `createCache()`, or by {@link TierSaver.cache} on a checkpointer's storage.
 *
 * Of many that ask for a missing value at once, one computes it, and the others wait for a bounded time. A storage that fails, and a value
 * that can't be stored or read, never end a run: the value counts as missing, and an event of type "cache" says why.
 */
export class TierCache extends BaseCache {
  /** Nearest first. */
  readonly #layers: readonly CacheLayer[];
  readonly #coder: ItemCoder;
  readonly #options: ResolvedCacheOptions;
  readonly #flights: SingleFlight | undefined;
  /** What a task was told: values of an earlier era aren't stored. */
  readonly #eras = new WeakMap<Asker, Map<string, Asked["eras"]>>();
  readonly #copies = new Set<Promise<unknown>>();
  #close: () => Promise<void> = async () => {};

  /** @internal Use `createCache()` or {@link TierSaver.cache}. */
  constructor(tiers: readonly (Tier & CacheKeeper)[], coder: ItemCoder, options: ResolvedCacheOptions) {
    super();
    this.#coder = coder;
    this.#options = options;
    const { limits, timeoutMs, waitMs } = options;
    const cache = hashOf([options.name]);
    this.#layers = tiers.map((tier) => new CacheLayer(tier, cache, limits, timeoutMs));
    const last = this.#layers.findLast(({ leases }) => leases);
    if (last !== undefined && waitMs > 0) this.#flights = new SingleFlight(last, waitMs);
  }

  /**
   * The values at these keys that are stored and have not expired. A value that is missing is the caller's to compute: others wait for it.
   * @throws InvalidOptionError for what is no key
   */
  override async get(keys: CacheFullKey[]): Promise<{ key: CacheFullKey; value: unknown }[]> {
    const asked = askedAt(this.#options.name, keys);
    const found = new Map<string, Found>();
    const flights = this.#flights;
    const isComputing = [...asked].some(
      ([id, { askers }]) => flights !== undefined && askers.some((asker) => flights.isComputing(id, asker)),
    );
    // What is computed here already is waited for: nobody looks for it before.
    const unknown = [...asked.values()].filter(
      ({ address }) => isComputing || flights?.isTaken(address.id) !== true,
    );
    await this.#look(unknown, found);
    const hits = found.size;
    const isMissing = ({ address }: Asked): boolean => !found.has(address.id);
    let missing = [...asked.values()].filter(isMissing);
    if (flights !== undefined && missing.length > 0) {
      await flights.claim({
        askers: new Map(missing.map(({ address, askers }) => [address.id, askers])),
        isComputing,
        hasLooked: unknown.length === asked.size,
        look: async (ids) => {
          await this.#look(
            ids.map((id) => asked.get(id)!),
            found,
          );
          return new Map(ids.flatMap((id) => (found.has(id) ? [[id, found.get(id)!.sight]] : [])));
        },
        take: async (id, sight) => {
          const decoded = await this.#decoded(sight.layer, asked.get(id)!.at, sight.value);
          if (decoded !== undefined) found.set(id, { value: decoded.value, sight });
        },
      });
      missing = missing.filter(isMissing);
    }
    for (const { address, askers, eras } of missing)
      for (const asker of askers) this.#erasOf(asker).set(address.id, eras);
    this.#trace("hit", hits);
    this.#trace("waited", found.size - hits);
    this.#trace("miss", missing.length);
    return this.#answers(keys, found);
  }

  /**
   * Stores values, which others wait for. `ttl` is in seconds, as LangGraph has it; a value with a ttl of 0 or less isn't stored. A value
   * that can't be stored is traced: LangGraph doesn't wait for this call, so an error would end the process.
   * @throws InvalidOptionError for what is no key
   */
  override async set(pairs: Pair[]): Promise<void> {
    // Serialise before anything is awaited: what happens to a value afterwards is no longer seen.
    const entries = listOf("pairs", pairs).map((pair, place) => {
      const asked = askedFor(this.#options.name, pair.key, `pairs[${place}].key`);
      return { asked, asker: pair.key[0], ttl: pair.ttl, encode: this.#encoded(asked.at, pair.value) };
    });
    for (const { asked, asker, ttl, encode } of entries) {
      const { group, id } = asked.address;
      const value = await encode();
      // Who computed for longer than its lease lasts leaves what another stored meanwhile.
      const isLate = this.#flights?.isLate(id, asker) === true;
      if (value !== undefined && !(isLate && (await this.#look([asked], new Map())).length === 0)) {
        const ttlMs = this.#ttlMs(ttl);
        const entry = { group, id, ...(ttlMs !== undefined && ttlMs <= 0 ? {} : { value, ttlMs }) };
        const eras = this.#eras.get(asker)?.get(id) ?? [];
        await Promise.all(this.#layers.map((layer, n) => this.#write(layer, { ...entry, era: eras[n] })));
      }
      this.#eras.get(asker)?.delete(id);
      await this.#flights?.settled(id, asker);
    }
  }

  /**
   * Removes what is stored in these namespaces, exactly these; of none: everything. What is being computed meanwhile isn't stored either.
   * @throws InvalidOptionError; StratigraphError if a storage can't be cleared: then old values may still be there
   */
  override async clear(namespaces: CacheNamespace[]): Promise<void> {
    const groups = listOf("namespaces", namespaces).map((namespace, place) =>
      hashOf(labelsOf(namespace, `namespaces[${place}]`)),
    );
    // The farthest first: what is copied to a nearer one meanwhile is removed there afterwards.
    for (const layer of this.#layers.toReversed())
      await layer.clear(groups.length === 0 ? undefined : groups);
  }

  /** @internal Has {@link end} call a function. */
  closing(close: () => Promise<void>): this {
    this.#close = close;
    return this;
  }

  /** Ends the connections, if `createCache()` opened them for this cache. A checkpointer's cache leaves them to the checkpointer. */
  async end(): Promise<void> {
    await Promise.all(this.#copies);
    await this.#close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
  }

  /** Puts those that are stored into `found`, and returns the others. */
  async #look(asked: readonly Asked[], found: Map<string, Found>): Promise<readonly Asked[]> {
    let open = asked;
    for (const [n, layer] of this.#layers.entries()) {
      if (open.length === 0) break;
      const reads = await layer.read(open.map(({ address }) => address));
      if (reads === undefined) continue;
      const missing: Asked[] = [];
      for (const [place, one] of open.entries()) {
        const { value, leftMs, era } = reads[place]!;
        one.eras[n] = era;
        const decoded = value && (await this.#decoded(layer, one.at, value));
        if (decoded === undefined) missing.push(one);
        else {
          found.set(one.address.id, { value: decoded.value, sight: { layer, value: value! } });
          for (const [nearer, to] of this.#layers.slice(0, n).entries())
            if (one.eras[nearer] !== undefined)
              this.#copy(to, { ...one.address, value: value!, ttlMs: leftMs, era: one.eras[nearer] });
        }
      }
      open = missing;
    }
    return open;
  }

  /** Nobody waits for a copy to a nearer layer, apart from {@link end}. */
  #copy(to: CacheLayer, entry: CacheWrite): void {
    const copy = to.write(entry).finally(() => this.#copies.delete(copy));
    this.#copies.add(copy);
  }

  async #write(layer: CacheLayer, entry: CacheWrite): Promise<void> {
    if ((await layer.write(entry)) === false) this.#trace("unstored", 1, layer);
  }

  /**
   * A value that several tasks of a step ask for is answered once: LangGraph would give all answers to the last of them, and apply what was
   * written twice.
   */
  #answers(
    keys: readonly CacheFullKey[],
    found: ReadonlyMap<string, Found>,
  ): { key: CacheFullKey; value: unknown }[] {
    const answered = new Map<string, Asker>();
    return keys.flatMap((key) => {
      const [namespace, name] = key;
      const id = hashOf([...namespace, name]);
      const before = answered.get(id) ?? namespace;
      if (!found.has(id) || before !== namespace) return [];
      answered.set(id, namespace);
      return [{ key, value: found.get(id)!.value }];
    });
  }

  #encoded(at: ItemAddress, value: unknown): () => Promise<Uint8Array | undefined> {
    const refuse = (error: unknown): undefined => this.#trace("unstored", 1, undefined, error);
    try {
      const capture = this.#coder.capture(at, { value });
      return async () => await capture().then((change) => change.value, refuse);
    } catch (error) {
      return async () => refuse(error);
    }
  }

  /** Undefined: it can't be, as it is damaged, or was stored by a newer version, or under another key. */
  async #decoded(
    layer: CacheLayer,
    at: ItemAddress,
    value: Uint8Array,
  ): Promise<{ readonly value?: unknown } | undefined> {
    try {
      return await this.#coder.decode({ ...at, value });
    } catch (error) {
      return this.#trace("unreadable", 1, layer, error);
    }
  }

  #ttlMs(seconds: number | undefined): number | undefined {
    if (seconds === undefined || seconds === null) return this.#options.ttlMs;
    if (seconds > longestSeconds) return undefined;
    if (typeof seconds === "number" && !Number.isNaN(seconds)) return seconds * 1000;
    const error = new InvalidOptionError("ttl", kindOf(seconds), "Pass a number of seconds.");
    this.#trace("unstored", 1, undefined, error);
    return 0;
  }

  #erasOf(asker: Asker): Map<string, Asked["eras"]> {
    const eras = this.#eras.get(asker) ?? new Map<string, Asked["eras"]>();
    this.#eras.set(asker, eras);
    return eras;
  }

  #trace(
    result: "hit" | "miss" | "waited" | "unreadable" | "unstored",
    count: number,
    layer = this.#layers.at(-1)!,
    error?: unknown,
  ): undefined {
    if (count > 0)
      trace({ type: "cache", tier: layer.tier.name, result, count, ...(error !== undefined && { error }) });
    return undefined;
  }
}
