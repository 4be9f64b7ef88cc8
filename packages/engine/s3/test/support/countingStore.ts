import type {
  FoundObject,
  GetOptions,
  ListedObject,
  ObjectStore,
  PutCondition,
} from "../../src/objectStore.ts";

/** What a store was asked, request by request. */
export class CountingStore implements ObjectStore {
  readonly name: string;
  readonly requests: string[] = [];
  readonly #store: ObjectStore;

  constructor(store: ObjectStore) {
    this.name = store.name;
    this.#store = store;
  }

  /** The requests since the last call. */
  take(): string[] {
    return this.requests.splice(0);
  }

  async get(key: string, options?: GetOptions): Promise<FoundObject | "unchanged" | undefined> {
    this.requests.push(
      `get ${key
        .split("/")
        .at(-1)!
        .replace(/.*\.pack$/, "pack")}`,
    );
    return await this.#store.get(key, options);
  }

  async put(key: string, bytes: Uint8Array, condition?: PutCondition): Promise<string | undefined> {
    this.requests.push(
      `put ${key
        .split("/")
        .at(-1)!
        .replace(/.*\.pack$/, "pack")}`,
    );
    return await this.#store.put(key, bytes, condition);
  }

  list(prefix: string, after?: string): AsyncIterable<ListedObject> {
    this.requests.push("list");
    return this.#store.list(prefix, after);
  }

  async delete(keys: readonly string[]): Promise<void> {
    for (const _key of keys) this.requests.push("delete");
    await this.#store.delete(keys);
  }
}
