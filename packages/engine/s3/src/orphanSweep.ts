import { trace } from "@stratigraph/core/internal";
import { tombstoneMs } from "@stratigraph/core/tier";
import { leasePrefix, type Leases } from "./leases.ts";
import type { FoundObject, ListedObject, ObjectStore } from "./objectStore.ts";
import { decodeHead, type Head } from "./head.ts";
import type { Entries } from "./entries.ts";

/** How many objects one call looks at, at least. It ends with the last object of a thread. */
const sweptObjects = 1000;

/** Deletes orphans: packs that dead writers left, old tombstones, expired leases, and old pending writes whose checkpoint never came. */
export class OrphanSweep {
  readonly #store: ObjectStore;
  readonly #leases: Leases;
  /** The last key that was looked at. Undefined if the next call starts with the first key. */
  #sweptTo: string | undefined;

  constructor(store: ObjectStore, leases: Leases) {
    this.#store = store;
    this.#leases = leases;
  }

  /**
   * Sweeps the next part of the listing.
   * @param beforeMs delete only objects older than this instant; milliseconds since 1970, by the storage's clock
   * @returns how many objects were deleted
   */
  async run(beforeMs: number): Promise<number> {
    let [swept, looked] = [0, 0];
    for await (const objects of this.#threadObjects(this.#sweptTo)) {
      swept += objects[0]!.key.startsWith(leasePrefix)
        ? await this.#leases.sweep(objects, beforeMs)
        : await this.#sweepThread(objects, beforeMs);
      looked += objects.length;
      this.#sweptTo = objects.at(-1)!.key;
      if (looked >= sweptObjects) return swept;
    }
    this.#sweptTo = undefined;
    return swept;
  }

  /** Yields the objects of each thread together, and all leases together. In a listing they are adjacent. */
  async *#threadObjects(after: string | undefined): AsyncGenerator<ListedObject[]> {
    let objects: ListedObject[] = [];
    for await (const object of this.#store.list("", after)) {
      const [last] = objects;
      if (last !== undefined && prefixOf(last.key) !== prefixOf(object.key)) {
        yield objects;
        objects = [];
      }
      objects.push(object);
    }
    if (objects.length > 0) yield objects;
  }

  async #sweepThread(objects: readonly ListedObject[], beforeMs: number): Promise<number> {
    const old = objects.filter(({ modifiedMs }) => modifiedMs < beforeMs);
    const packs = old.filter(({ key }) => key.endsWith(".pack"));
    const listed = old.find(({ key }) => key.endsWith("/head"));
    if (packs.length === 0 && listed === undefined) return 0;
    const key = `${prefixOf(objects[0]!.key)}/head`;
    const found = await this.#store.get(key);
    // Keep packs without a head: they are all that is left of a thread whose head was lost.
    if (found === undefined || found === "unchanged") return 0;
    const read = await decodeHead(found.bytes).catch((error: unknown) => {
      trace({
        type: "maintenance",
        what: "sweep passed over a damaged head",
        data: { tier: this.#store.name, key, error },
      });
    });
    if (read === undefined) return 0;
    const named = new Set(read.head.packs.map((pack) => pack.key));
    const garbage = packs.flatMap((pack) => (named.has(pack.key) ? [] : [pack.key]));
    await this.#store.delete(garbage);
    // Keep the head as long as a pack is too young to be deleted. Without a head the pack would never be deleted.
    const isBare = objects.filter((object) => object.key.endsWith(".pack")).length === garbage.length;
    const isSpent = listed !== undefined && isBare && isSpentHead(read, listed.modifiedMs);
    return garbage.length + (isSpent && (await this.#deleteHead(listed, found)) ? 1 : 0);
  }

  /** Deletes a head that was read. False if it isn't the object that was listed, or if it is replaced meanwhile. */
  async #deleteHead(listed: ListedObject, { etag }: FoundObject): Promise<boolean> {
    if (this.#store.deleteIf === undefined) return false;
    // The object may have been replaced between the listing and the read.
    for await (const { key, version } of this.#store.list(listed.key))
      if (key === listed.key && version === listed.version) return await this.#store.deleteIf(key, etag);
    return false;
  }
}

function prefixOf(key: string): string {
  return key.slice(0, key.lastIndexOf("/"));
}

/** Whether a head isn't needed any more: its thread was deleted long ago, or holds only pending writes whose checkpoint never came. */
function isSpentHead({ head, tail }: { head: Head; tail: Entries }, modifiedMs: number): boolean {
  if (head.heads.size + head.packs.length + tail.records.length > 0) return false;
  const remembers = head.deletedAt > 0 || head.removedAt > 0;
  return !remembers || modifiedMs < Date.now() - tombstoneMs;
}
