import { sameValue } from "@stratigraph/branch/internal";
import { StratigraphError } from "@stratigraph/core";
import type { ItemAddress, WorkspaceChange } from "@stratigraph/core/tier";
import { isMade } from "../commitQueue.ts";
import { noteIn, putUnlogged, readUnlogged, valueIn, type Parts } from "../parts.ts";
import type { Value } from "./remoteMemory.ts";

/** What a cache notes of an item, beside it: how both sides had it when they last agreed. */
export interface Base {
  /** The server's version. */
  readonly version: number;
  readonly value: Value;
  /** What the cache was just sending: whether it came there isn't known. */
  readonly pushing?: { readonly value: Value };
  /** What the server made of it while it was changed here, too. */
  readonly theirs?: {
    readonly version: number;
    readonly value: Value;
    readonly author: Readonly<Record<string, unknown>>;
    /** The server was set back, and what is here may be what it lost. */
    readonly restored: boolean;
  };
  /** The version of a value that was too long to be told. */
  readonly missing?: number;
}

/** An item of a cache. */
export interface Cached {
  readonly at: ItemAddress;
  readonly version: number;
  readonly value: Value;
  readonly reason: string | undefined;
  readonly base: Base;
  readonly baseVersion: number;
}

/** How far a cache is in step with its server. */
export interface Place {
  /** The server's changes up to there are in the cache. */
  cursor?: string | undefined;
  /** The cache's changes up to this version were sent, those of `open` aside. */
  local: number;
  /** Items that still have to be sent or decided: labels and key. */
  open: string[][];
}

const realm = ["", "sync"];
const placeAddress: ItemAddress = { namespace: realm, key: "place" };

function baseAddress({ namespace, key }: ItemAddress): ItemAddress {
  return { namespace: [...realm, "items", ...namespace], key };
}

/** The items of a cache, with what it notes of each. Each write is made only if nobody came between. */
export class CachedItems {
  readonly #parts: Parts;
  #placeVersion = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async place(): Promise<Place> {
    const found = await readUnlogged(this.#parts, placeAddress);
    this.#placeVersion = found?.version ?? 0;
    return (structuredClone(found?.value) as unknown as Place | undefined) ?? { local: 0, open: [] };
  }

  /** @throws StratigraphError "VERSION_CONFLICT" if another process synchronises this cache */
  async savePlace(place: Place): Promise<void> {
    const made = await putUnlogged(this.#parts, placeAddress, { ...place }, this.#placeVersion);
    this.#placeVersion = (await readUnlogged(this.#parts, placeAddress))?.version ?? 0;
    if (made !== undefined) return;
    throw new StratigraphError(
      "VERSION_CONFLICT",
      `Another process synchronises workspace ${JSON.stringify(this.#parts.name)}. Nothing was lost: sync again.`,
      { workspace: this.#parts.name },
    );
  }

  async read(addresses: readonly ItemAddress[]): Promise<Cached[]> {
    const { items, name } = this.#parts;
    const within = (at: ItemAddress): ItemAddress => ({ ...at, namespace: ["", name, ...at.namespace] });
    const found = await items.read(addresses.flatMap((at) => [within(at), within(baseAddress(at))]));
    return await Promise.all(
      addresses.map(async (at, nth): Promise<Cached> => {
        const [item, base] = [found[2 * nth], found[2 * nth + 1]];
        const value = item && (await valueIn(this.#parts, { ...at, value: item.value }));
        const noted = base && (await valueIn(this.#parts, { ...baseAddress(at), value: base.value }));
        return {
          at,
          version: item?.version ?? 0,
          // As the server would tell it.
          value: value === undefined ? null : (JSON.parse(JSON.stringify(value)) as Value),
          reason: item && (await noteIn(this.#parts, { ...at, note: item.note })).reason,
          base: (noted as unknown as Base | undefined) ?? { version: 0, value: null },
          baseVersion: base?.version ?? 0,
        };
      }),
    );
  }

  /**
   * Writes what is noted of an item, and the item itself if `item` is given.
   * @returns whether it did: not if somebody came between
   */
  async write(
    { at, version, baseVersion }: Cached,
    base: Base | null,
    item?: { readonly value: Value; readonly note: string },
  ): Promise<boolean> {
    const { coder, queue, ttl } = this.#parts;
    const noted = baseAddress(at);
    const checks = [
      { ...noted, version: baseVersion },
      { ...at, version },
    ];
    const changes: WorkspaceChange[] = [];
    if (base !== null) changes.push(await coder.capture(noted, { ...base })());
    else if (baseVersion > 0) changes.push(noted);
    if (item !== undefined) {
      const note = await coder.note(at, item.note);
      const value = item.value && { ...(await coder.capture(at, item.value)()), ttlMs: ttl(at.namespace) };
      changes.push({ ...(value ?? at), note });
    }
    return changes.length === 0 || isMade(await queue.commit({ checks, changes }));
  }

  /** The addresses of all items of which something is noted. */
  async *noted(): AsyncGenerator<ItemAddress> {
    const prefix = ["", this.#parts.name, ...realm, "items"];
    const seen = new Set<string>();
    for (let before: number | undefined; ;) {
      const { items, more } = await this.#parts.items.search({
        prefixes: [prefix],
        tests: [],
        before,
        limit: 500,
      });
      for (const { namespace, key, version } of items) {
        const at = { namespace: namespace.slice(prefix.length), key };
        if (!seen.has(addressText(at))) yield at;
        seen.add(addressText(at));
        before = version;
      }
      if (!more) return;
    }
  }
}

/** An address as text that no other has. */
export function addressText({ namespace, key }: ItemAddress): string {
  return JSON.stringify([...namespace, key]);
}

export function same(one: Value, other: Value): boolean {
  return sameValue(one, other);
}
