import { StratigraphError } from "@stratigraph/core";
import type { FoundObject, ObjectStore } from "./objectStore.ts";

/** The key of the object that holds the check values. No key of a thread begins with a dot. */
const key = ".keys/checks";

/** How many times storing a value is tried, if others write the object meanwhile. */
const attempts = 16;

/** Check values of encryption keys in object storage: one object for all, replaced by compare-and-set. */
export class KeyChecks {
  readonly #store: ObjectStore;

  constructor(store: ObjectStore) {
    this.#store = store;
  }

  /** As `KeyCheckKeeper.keyChecks`. */
  async read(names: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const { values } = await this.#find();
    return new Map(names.flatMap((name) => (values.has(name) ? [[name, values.get(name)!] as const] : [])));
  }

  /** As `KeyCheckKeeper.claimKeyCheck`. @throws StratigraphError "OVERLOADED" */
  async claim(name: string, value: string): Promise<string> {
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const { values, found } = await this.#find();
      const stored = values.get(name);
      if (stored !== undefined) return stored;
      const bytes = Buffer.from(JSON.stringify(Object.fromEntries([...values, [name, value]])));
      const condition = found === undefined ? ({ ifNoneMatch: "*" } as const) : { ifMatch: found.etag };
      // If a put was stored but its answer was lost, the next attempt finds the value.
      if ((await this.#store.put(key, bytes, condition)) !== undefined) return value;
    }
    const message = `The object ${key} was replaced ${attempts} times while a check value was stored. Try again.`;
    throw new StratigraphError("OVERLOADED", message, { key });
  }

  async #find(): Promise<{ values: ReadonlyMap<string, string>; found: FoundObject | undefined }> {
    const found = await this.#store.get(key);
    if (found === undefined || found === "unchanged") return { values: new Map(), found: undefined };
    return { values: valuesOf(found), found };
  }
}

/** The values in the object; none if it is damaged. A damaged object binds nobody, and is replaced. */
function valuesOf({ bytes }: FoundObject): ReadonlyMap<string, string> {
  try {
    const entries = Object.entries(JSON.parse(Buffer.from(bytes).toString()) as Record<string, unknown>);
    return new Map(entries.filter((entry): entry is [string, string] => typeof entry[1] === "string"));
  } catch {
    return new Map();
  }
}
