import { createHash } from "node:crypto";
import type { FoundObject, GetOptions, ListedObject, ObjectStore, PutCondition } from "@stratigraph/s3";

/** One object. */
interface Stored {
  readonly bytes: Uint8Array;
  readonly etag: string;
  readonly modifiedMs: number;
}

/** A bucket in memory, which can be set back. */
export class Objects implements ObjectStore {
  readonly name = "pack";
  /** Thrown by every request, while the server is away. */
  away: Error | undefined;
  #objects = new Map<string, Stored>();
  readonly #marks: ReadonlyMap<string, Stored>[] = [];

  mark(): number {
    return this.#marks.push(new Map(this.#objects)) - 1;
  }

  async setBack(mark: unknown): Promise<void> {
    this.#objects = new Map(this.#marks[mark as number]);
  }

  lose(): void {
    this.#objects = new Map();
  }

  async get(key: string, { range, unless }: GetOptions = {}): Promise<FoundObject | "unchanged" | undefined> {
    const found = this.#open().get(key);
    if (found === undefined) return undefined;
    if (unless === found.etag) return "unchanged";
    const bytes = range === undefined ? found.bytes : found.bytes.subarray(range[0], range[1]);
    return { bytes: Uint8Array.from(bytes), etag: found.etag };
  }

  async put(key: string, bytes: Uint8Array, condition?: PutCondition): Promise<string | undefined> {
    const found = this.#open().get(key);
    if (condition !== undefined && "ifNoneMatch" in condition && found !== undefined) return undefined;
    if (condition !== undefined && "ifMatch" in condition && found?.etag !== condition.ifMatch)
      return undefined;
    const etag = createHash("sha256").update(bytes).digest("hex");
    this.#objects.set(key, { bytes: Uint8Array.from(bytes), etag, modifiedMs: Date.now() });
    return etag;
  }

  async *list(prefix: string, after = ""): AsyncGenerator<ListedObject> {
    const keys = [...this.#open().keys()].filter((key) => key.startsWith(prefix) && key > after);
    for (const key of keys.sort()) {
      const found = this.#objects.get(key);
      if (found === undefined) continue;
      const { bytes, modifiedMs, etag } = found;
      yield { key, size: bytes.length, modifiedMs, version: etag };
    }
  }

  async delete(keys: readonly string[]): Promise<void> {
    for (const key of keys) this.#open().delete(key);
  }

  async deleteIf(key: string, etag: string): Promise<boolean> {
    return this.#open().get(key)?.etag === etag && this.#objects.delete(key);
  }

  #open(): Map<string, Stored> {
    if (this.away !== undefined) throw this.away;
    return this.#objects;
  }
}
