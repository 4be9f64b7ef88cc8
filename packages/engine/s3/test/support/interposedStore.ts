import type {
  FoundObject,
  GetOptions,
  ListedObject,
  ObjectStore,
  PutCondition,
} from "../../src/objectStore.ts";

type Call = "get" | "put" | "list" | "delete" | "deleteIf";

interface Interposed {
  readonly call: Call;
  readonly ending: string;
  readonly when: "before" | "after";
  readonly work: () => Promise<unknown>;
}

/** A store in which a test does something right before or after a request is made. */
export class InterposedStore implements ObjectStore {
  readonly name = "interposed";
  readonly #store: ObjectStore;
  readonly #interposed: Interposed[] = [];
  /** Puts whose answers are lost: what was stored, and is told as a refusal of the request that repeated it. */
  #losesAnswerOf: string | undefined;

  constructor(store: ObjectStore) {
    this.#store = store;
  }

  /** Does `work` once, before the next such request for a key with this ending. */
  before(call: Call, ending: string, work: () => Promise<unknown>): void {
    this.#interposed.push({ call, ending, when: "before", work });
  }

  /** Does `work` once, after the next such request for a key with this ending was carried out. */
  after(call: Call, ending: string, work: () => Promise<unknown>): void {
    this.#interposed.push({ call, ending, when: "after", work });
  }

  /**
   * The next put of such a key is carried out and its answer is lost: the client makes the request again, and its condition doesn't
   * hold any more.
   */
  loseAnswer(ending: string): void {
    this.#losesAnswerOf = ending;
  }

  async get(key: string, options?: GetOptions): Promise<FoundObject | "unchanged" | undefined> {
    return await this.#around("get", key, () => this.#store.get(key, options));
  }

  async put(key: string, bytes: Uint8Array, condition?: PutCondition): Promise<string | undefined> {
    const etag = await this.#around("put", key, () => this.#store.put(key, bytes, condition));
    if (this.#losesAnswerOf === undefined || !key.endsWith(this.#losesAnswerOf)) return etag;
    this.#losesAnswerOf = undefined;
    return undefined;
  }

  async *list(prefix: string, after?: string): AsyncGenerator<ListedObject> {
    await this.#around("list", prefix, async () => undefined);
    yield* this.#store.list(prefix, after);
  }

  async delete(keys: readonly string[]): Promise<void> {
    await this.#around("delete", keys[0] ?? "", () => this.#store.delete(keys));
  }

  async deleteIf(key: string, etag: string): Promise<boolean> {
    return await this.#around("deleteIf", key, () => this.#store.deleteIf!(key, etag));
  }

  async end(): Promise<void> {
    await this.#store.end?.();
  }

  async #around<T>(call: Call, key: string, request: () => Promise<T>): Promise<T> {
    await this.#due("before", call, key);
    const answer = await request();
    await this.#due("after", call, key);
    return answer;
  }

  async #due(when: Interposed["when"], call: Call, key: string): Promise<void> {
    const at = this.#interposed.findIndex(
      (each) => each.when === when && each.call === call && key.endsWith(each.ending),
    );
    if (at >= 0) await this.#interposed.splice(at, 1)[0]!.work();
  }
}
