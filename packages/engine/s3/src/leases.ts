import { createHash } from "node:crypto";
import type { FoundObject, ListedObject, ObjectStore } from "./objectStore.ts";

/** The prefix of the keys of leases. No key of a thread begins with a dot. */
export const leasePrefix = ".leases/";

/** How many times a lease is asked for, if others write its object meanwhile, or the answer to a write is lost. */
const attempts = 4;

/** What an object of a lease holds. */
interface StoredLease {
  /** For people. */
  readonly name: string;
  readonly holder: string;
  /** Until when it holds, by its holder's clock. Milliseconds since 1970. */
  readonly untilMs: number;
}

/**
 * Leases in object storage: one object each, replaced by compare-and-set. Storage has no clock that could be asked, so the clock of the
 * asking process decides whether a lease has expired. If clocks differ by a second, a lease ends a second early or late.
 */
export class Leases {
  readonly #store: ObjectStore;

  constructor(store: ObjectStore) {
    this.#store = store;
  }

  /** As `LeaseKeeper.lease`. */
  async lease(name: string, holder: string, forMs: number): Promise<boolean> {
    const key = keyOf(name);
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const found = await this.#get(key);
      const held = found === undefined ? undefined : leaseOf(found);
      if (held !== undefined && held.holder !== holder && held.untilMs > Date.now()) return false;
      if (forMs <= 0 && held?.holder !== holder) return true;
      if (await this.#write(key, { name, holder, untilMs: Date.now() + forMs }, found)) return true;
    }
    return false;
  }

  /**
   * Deletes leases that expired before `beforeMs`, if the storage supports conditional deletes. Prolonging a lease writes it, so leases
   * that were written later aren't looked at.
   * @returns how many were deleted
   */
  async sweep(objects: readonly ListedObject[], beforeMs: number): Promise<number> {
    let swept = 0;
    for (const { key } of objects.filter(({ modifiedMs }) => modifiedMs < beforeMs)) {
      const found = await this.#get(key);
      if (found === undefined || (leaseOf(found)?.untilMs ?? 0) >= beforeMs) continue;
      if ((await this.#store.deleteIf?.(key, found.etag)) === true) swept += 1;
    }
    return swept;
  }

  async #get(key: string): Promise<FoundObject | undefined> {
    const found = await this.#store.get(key);
    return found === "unchanged" ? undefined : found;
  }

  /** Replaces the object that was found. Deletes it instead if the lease is to end and the storage supports conditional deletes. */
  async #write(key: string, lease: StoredLease, found: FoundObject | undefined): Promise<boolean> {
    const isOver = lease.untilMs <= Date.now();
    if (isOver && found !== undefined && (await this.#store.deleteIf?.(key, found.etag)) === true)
      return true;
    const bytes = Buffer.from(JSON.stringify(lease));
    const condition = found === undefined ? ({ ifNoneMatch: "*" } as const) : { ifMatch: found.etag };
    return (await this.#store.put(key, bytes, condition)) !== undefined;
  }
}

function keyOf(name: string): string {
  return `${leasePrefix}${createHash("sha256").update(JSON.stringify(name)).digest("hex")}`;
}

/** The lease in an object. Undefined if the object is damaged: it binds nobody. */
function leaseOf({ bytes }: FoundObject): StoredLease | undefined {
  try {
    const { name, holder, untilMs } = JSON.parse(Buffer.from(bytes).toString()) as Partial<StoredLease>;
    if (typeof holder !== "string" || typeof untilMs !== "number") return undefined;
    return { name: String(name), holder, untilMs };
  } catch {
    return undefined;
  }
}
