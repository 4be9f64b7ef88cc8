import type { FoundObject, GetOptions, ListedObject, ObjectStore, PutCondition } from "./objectStore.ts";

/** A store that is opened, and its library loaded, at first use: the AWS SDK is an optional dependency. */
export class LazyStore implements ObjectStore {
  readonly name: string;
  readonly #open: () => Promise<{ store: ObjectStore; end?: () => void }>;
  #opened: Promise<{ store: ObjectStore; end?: () => void }> | undefined;

  constructor(name: string, open: () => Promise<{ store: ObjectStore; end?: () => void }>) {
    this.name = name;
    this.#open = open;
  }

  async get(key: string, options?: GetOptions): Promise<FoundObject | "unchanged" | undefined> {
    return await (await this.#store()).get(key, options);
  }

  async put(key: string, bytes: Uint8Array, condition?: PutCondition): Promise<string | undefined> {
    return await (await this.#store()).put(key, bytes, condition);
  }

  async *list(prefix: string, after?: string): AsyncGenerator<ListedObject> {
    yield* (await this.#store()).list(prefix, after);
  }

  async delete(keys: readonly string[]): Promise<void> {
    await (await this.#store()).delete(keys);
  }

  async deleteIf(key: string, etag: string): Promise<boolean> {
    return (await (await this.#store()).deleteIf?.(key, etag)) ?? false;
  }

  async setup(): Promise<void> {
    await (await this.#store()).setup?.();
  }

  /** What couldn't be opened needs no closing, and told whoever called first. */
  async end(): Promise<void> {
    const opened = await this.#opened?.catch(() => undefined);
    this.#opened = undefined;
    await opened?.store.end?.();
    opened?.end?.();
  }

  async #store(): Promise<ObjectStore> {
    this.#opened ??= this.#open().catch((error: unknown) => {
      // The next call tries again.
      this.#opened = undefined;
      throw error;
    });
    return (await this.#opened).store;
  }
}
