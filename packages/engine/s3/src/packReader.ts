import { LRUCache } from "lru-cache";
import { EventLoopYielder } from "./eventLoopYielder.ts";
import type { ObjectStore } from "./objectStore.ts";
import { DamagedObject, MissingObject } from "./objectErrors.ts";
import type { PackedPlace, Place } from "./entries.ts";
import { decodeCatalog, decodeSection, type Catalog, type PackRef, type Section } from "./packFile.ts";
import { originalBytes } from "./recompression.ts";

/** Packs up to this size, in bytes, are read in one request. Of larger packs only the parts needed are read. */
const wholeBytes = 8 << 20;

/** Parts of a large pack that lie closer together than this, in bytes, are read in one request. */
const gapBytes = 1 << 20;

/** About how much memory an entry of a catalog takes, in bytes. */
const entryBytes = 300;

type Cached = Uint8Array | Catalog;

function sizeOf(value: Cached): number {
  if (value instanceof Uint8Array) return value.length + 64;
  const { blobs, records, writes } = value.entries;
  return (blobs.length + records.length + writes.length) * entryBytes + 64;
}

/** Reads packs, verifies every byte, and caches what it reads, because packs never change. */
export class PackReader {
  readonly #store: ObjectStore;
  readonly #cache: LRUCache<string, Cached>;
  readonly #loading = new Map<string, Promise<Cached>>();

  /** @param cacheBytes size of the cache, in bytes */
  constructor(store: ObjectStore, cacheBytes: number) {
    this.#store = store;
    this.#cache = new LRUCache({ maxSize: Math.max(1, cacheBytes), sizeCalculation: sizeOf });
  }

  /** @throws MissingObject, DamagedObject */
  async catalog(ref: PackRef, threadId: string): Promise<Catalog> {
    return (await this.#once(`catalog ${ref.key}`, async () => {
      const bytes = await this.#range(ref, ref.catalog[0], ref.catalog[1]);
      try {
        return await decodeCatalog(ref, threadId, bytes);
      } catch (error) {
        throw new DamagedObject(ref.key, error);
      }
    })) as Catalog;
  }

  /** Caches a pack that was just written, so that it doesn't have to be read. */
  cache(ref: PackRef, catalog: Catalog, content: Uint8Array): void {
    this.#cache.set(`catalog ${ref.key}`, catalog);
    if (ref.size <= wholeBytes) this.#cache.set(`whole ${ref.key}`, content);
  }

  /**
   * Reads the bytes at places, in the same order.
   * @param packs must include all that the places name
   * @throws MissingObject, DamagedObject
   */
  async bytes(threadId: string, packs: readonly PackRef[], places: readonly Place[]): Promise<Uint8Array[]> {
    const needed = new Map<string, Set<number>>();
    for (const place of places) {
      if (place instanceof Uint8Array) continue;
      needed.set(place.pack, (needed.get(place.pack) ?? new Set()).add(place.section));
    }
    const contents = new Map<string, Uint8Array>();
    await Promise.all(
      packs.map(async (ref) => {
        const sections = needed.get(ref.key);
        if (sections === undefined) return;
        const catalog = await this.catalog(ref, threadId);
        await this.#sections(
          ref,
          catalog,
          [...sections].sort((a, b) => a - b),
          contents,
        );
      }),
    );
    const items: Uint8Array[] = [];
    const yielder = new EventLoopYielder();
    for (const place of places) {
      const isHere = place instanceof Uint8Array;
      items.push(isHere ? place : await this.#item(place, contents.get(nameOf(place))));
      if (!isHere) await yielder.yieldIfDue();
    }
    return items;
  }

  async #item(place: PackedPlace, section: Uint8Array | undefined): Promise<Uint8Array> {
    const { start, length, recompression } = place;
    try {
      if (section === undefined) throw new RangeError("its head doesn't name it");
      if (start + length > section.length) throw new RangeError("a section ends early");
      return await originalBytes({ bytes: section.slice(start, start + length), recompression });
    } catch (error) {
      throw new DamagedObject(place.pack, error);
    }
  }

  /** Puts decompressed sections of a pack into `contents`. */
  async #sections(
    ref: PackRef,
    { sections }: Catalog,
    needed: readonly number[],
    contents: Map<string, Uint8Array>,
  ): Promise<void> {
    const missing: number[] = [];
    for (const section of needed) {
      const name = nameOf({ pack: ref.key, section });
      const found = this.#cache.get(name);
      if (found === undefined) missing.push(section);
      else contents.set(name, found as Uint8Array);
    }
    await Promise.all(
      runsOf(missing, sections).map(async (run) => {
        const from = sections[run[0]!]![0];
        const bytes = await this.#range(ref, from, sections[run.at(-1)!]![1]);
        for (const position of run) {
          const section = sections[position]!;
          const name = nameOf({ pack: ref.key, section: position });
          const content = await this.#decode(
            ref,
            section,
            bytes.subarray(section[0] - from, section[1] - from),
          );
          this.#cache.set(name, content);
          contents.set(name, content);
        }
      }),
    );
  }

  async #decode(ref: PackRef, section: Section, bytes: Uint8Array): Promise<Uint8Array> {
    try {
      return await decodeSection(section, bytes);
    } catch (error) {
      throw new DamagedObject(ref.key, error);
    }
  }

  /** Reads a range of a pack. A small pack is read and cached as a whole. */
  async #range(ref: PackRef, start: number, end: number): Promise<Uint8Array> {
    if (ref.size > wholeBytes) return await this.#get(ref.key, [start, end]);
    const whole = (await this.#once(`whole ${ref.key}`, () => this.#get(ref.key))) as Uint8Array;
    return whole.subarray(start, end);
  }

  async #get(key: string, range?: readonly [number, number]): Promise<Uint8Array> {
    const found = await this.#store.get(key, { range });
    if (found === undefined || found === "unchanged") throw new MissingObject(key);
    return found.bytes;
  }

  /** Returns what is cached, or loads it once for all callers that ask at the same time. */
  async #once(name: string, load: () => Promise<Cached>): Promise<Cached> {
    const cached = this.#cache.get(name) ?? this.#loading.get(name);
    if (cached !== undefined) return await cached;
    const loading = load();
    this.#loading.set(name, loading);
    try {
      const value = await loading;
      this.#cache.set(name, value);
      return value;
    } finally {
      this.#loading.delete(name);
    }
  }
}

function nameOf({ pack, section }: { pack: string; section: number }): string {
  return `section ${section} ${pack}`;
}

/** Groups sections that are close enough to be read in one request. */
function runsOf(wanted: readonly number[], sections: readonly Section[]): number[][] {
  const runs: number[][] = [];
  for (const section of wanted) {
    const before = runs.at(-1)?.at(-1);
    if (before !== undefined && sections[section]![0] - sections[before]![1] <= gapBytes)
      runs.at(-1)!.push(section);
    else runs.push([section]);
  }
  return runs;
}
