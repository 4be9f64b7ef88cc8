import {
  BaseStore,
  type Item,
  type ListNamespacesOperation,
  type Operation,
  type OperationResults,
  type SearchItem,
} from "@langchain/langgraph-checkpoint";
import { kindOf, type OptionNames } from "../contract/checkOptions.ts";
import { InvalidOptionError } from "../contract/errors.ts";
import { inParallel } from "../contract/inParallel.ts";
import {
  type ItemAddress,
  type ItemChange,
  type ItemSearch,
  type Items,
  type StoredItem,
} from "../contract/items.ts";
import {
  checkedAddress,
  checkedList,
  checkedSearch,
  type CheckedList,
  type CheckedSearch,
  type NamespaceCondition,
} from "./checkedOperations.ts";
import { matches, testsOf } from "./filter.ts";
import type { ItemCoder, ItemValue } from "./itemCoder.ts";
import { scoreOf, wordsOf } from "./textSearch.ts";
import type { ItemTtl, ItemTtlOption } from "./ttl.ts";

/** Options of a store. */
export interface StoreOptions {
  /**
   * How long items stay after their last change: "30d" for all, or by namespace, where the entry that names most labels counts:
   * `[{ namespace: ["cache"], ttl: "1h" }]`. Default: for ever. Expired items are never returned; maintenance removes them.
   */
  readonly ttl?: ItemTtlOption | undefined;
}

export const storeOptionNames: OptionNames<StoreOptions> = { ttl: true };

/** How many items or namespaces a search reads at first. Each further page is twice as large, up to the second number. */
const [firstPage, largestPage] = [64, 512];

/** How often a search looks for items that were changed while it read. */
const mostPasses = 10;

/** How many reads of one batch run at a time. */
const parallelReads = 4;

/**
 * LangGraph's store over a tier: long-term memory that all threads and agents share. `compile({ store })` takes it, and so do `createAgent`
 * and deepagents. Made by `createStore()`, or by {@link TierSaver.store} on a checkpointer's storage.
 *
 * Values come back as they were at the time of the call. Items are found newest change first. In one batch, reads see what was there before,
 * and of several puts of one item the last counts; the puts are stored all or none.
 */
export class TierStore extends BaseStore {
  readonly #items: Items;
  readonly #coder: ItemCoder;
  readonly #ttl: ItemTtl;
  #close: () => Promise<void> = async () => {};

  /** @internal Use `createStore()` or {@link TierSaver.store}. */
  constructor(items: Items, coder: ItemCoder, ttl: ItemTtl) {
    super();
    this.#items = items;
    this.#coder = coder;
    this.#ttl = ttl;
  }

  /**
   * Makes several operations. LangGraph's graphs call this with all operations of a moment.
   * @throws InvalidAddressError, InvalidOptionError; StratigraphError "SERIALIZATION" for a value that can't be stored: nothing was done
   */
  override async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    // Check everything and copy the values before anything is awaited.
    const gets: { readonly place: number; readonly at: ItemAddress }[] = [];
    const reads: (() => Promise<void>)[] = [];
    const results = Array.from<unknown>({ length: operations.length });
    const puts = new Map<string, () => Promise<ItemChange>>();
    if (!Array.isArray(operations))
      throw new InvalidOptionError("operations", kindOf(operations), "Pass a list of operations.");
    for (const [place, operation] of operations.entries()) {
      if (
        typeof operation !== "object" ||
        operation === null ||
        ("key" in operation && !("namespace" in operation))
      )
        throw new InvalidOptionError(
          `operations[${place}]`,
          kindOf(operation),
          "Pass an operation of LangGraph's BaseStore: a get, put, search or listing.",
        );
      if ("namespacePrefix" in operation) {
        const search = checkedSearch(operation);
        reads.push(async () => void (results[place] = await this.#search(search)));
      } else if ("namespace" in operation) {
        const at = checkedAddress(operation);
        if (!("value" in operation)) gets.push({ place, at });
        else puts.set(addressText(at), this.#change(at, operation.value));
      } else {
        const list = checkedList(operation as ListNamespacesOperation);
        reads.push(async () => void (results[place] = await this.#namespaces(list)));
      }
    }
    const changes = await Promise.all(Array.from(puts.values(), (change) => change()));
    if (gets.length > 0)
      reads.push(async () => {
        const items = await this.#items.read(gets.map(({ at }) => at));
        for (const [nth, { place }] of gets.entries())
          results[place] = items[nth] === undefined ? null : await this.#opened(items[nth]);
      });
    await inParallel(reads, parallelReads, (read) => read());
    if (changes.length > 0) await this.#items.change(changes);
    return results as OperationResults<Op>;
  }

  #change(at: ItemAddress, value: unknown): () => Promise<ItemChange> {
    if (value === null) return async () => at;
    if (typeof value !== "object" || Array.isArray(value))
      throw new InvalidOptionError("value", kindOf(value), "Pass an object, or null to delete the item.");
    const change = this.#coder.capture(at, value as ItemValue);
    const ttlMs = this.#ttl(at.namespace);
    return async () => ({ ...(await change()), ttlMs });
  }

  async #opened(item: StoredItem): Promise<Item> {
    const { namespace, key, createdAtMs, updatedAtMs } = item;
    return {
      value: await this.#coder.decode(item),
      key,
      namespace: [...namespace],
      createdAt: new Date(createdAtMs),
      updatedAt: new Date(updatedAtMs),
    };
  }

  async #search({ prefix, conditions, limit, offset, query }: CheckedSearch): Promise<SearchItem[]> {
    const words = query === undefined ? undefined : wordsOf(query);
    if (limit === 0 || words?.size === 0) return [];
    const tests = testsOf(conditions);
    const found: SearchItem[] = [];
    const isAny = conditions.length === 0 && words === undefined;
    const first = isAny ? Math.min(offset + limit, largestPage) : firstPage;
    let passed = 0;
    for await (const stored of this.#all({ prefixes: [prefix], tests }, first)) {
      if (isAny && passed < offset) {
        passed += 1;
        continue;
      }
      const item = await this.#opened(stored);
      if (!matches(item.value, conditions)) continue;
      if (words === undefined) {
        if (passed++ < offset) continue;
        found.push(item);
        if (found.length === limit) break;
        continue;
      }
      const score = scoreOf(item.value, words);
      if (score === 0) continue;
      found.push({ ...item, score });
      // Only the best are kept. Sorting is stable: of equal scores the newest comes first.
      if (found.length < 2 * (offset + limit)) continue;
      found.sort(byScore);
      found.length = offset + limit;
    }
    return words === undefined ? found : found.sort(byScore).slice(offset, offset + limit);
  }

  /**
   * All items of a search, newest change first. An item that is changed between two pages moves to the front, before what is still to be
   * read. So those that were changed meanwhile are read once more at the end, unless they were there already.
   */
  async *#all(search: Pick<ItemSearch, "prefixes" | "tests">, first: number): AsyncGenerator<StoredItem> {
    const given = new Set<string>();
    let after: number | undefined;
    for (let pass = 0; pass < mostPasses; pass += 1) {
      let before: number | undefined;
      let newest: number | undefined;
      for (let limit = first; ; limit = Math.min(limit * 2, largestPage)) {
        const { items, more } = await this.#items.search({ ...search, before, after, limit });
        // Nothing can have moved before the only page.
        if (!more && pass === 0 && before === undefined) return yield* items;
        newest ??= items[0]?.version;
        for (const item of items) {
          const address = addressText(item);
          if (!given.has(address)) yield item;
          given.add(address);
        }
        if (!more) break;
        before = items.at(-1)!.version;
      }
      if (newest === undefined) return;
      after = newest;
    }
  }

  async #namespaces({ conditions, maxDepth, limit, offset }: CheckedList): Promise<string[][]> {
    if (limit === 0) return [];
    // A database can look for the first labels. The rest is looked at here.
    const prefix = conditions.find(({ matchType }) => matchType === "prefix")?.path ?? [];
    const wild = prefix.indexOf("*");
    const literal = wild === -1 ? prefix : prefix.slice(0, wild);
    const found: string[][] = [];
    let [last, passed] = ["", 0];
    for await (const namespace of this.#allNamespaces(literal)) {
      if (!conditions.every((condition) => meets(namespace, condition))) continue;
      const shown = namespace.slice(0, maxDepth);
      // They come in order, so equal ones are neighbours.
      const text = JSON.stringify(shown);
      if (text === last) continue;
      last = text;
      if (passed++ >= offset && found.push(shown) === limit) break;
    }
    return found;
  }

  async *#allNamespaces(prefix: readonly string[]): AsyncGenerator<readonly string[]> {
    let after: readonly string[] | undefined;
    for (;;) {
      const page = await this.#items.namespaces({ prefixes: [prefix], after, limit: largestPage });
      yield* page;
      if (page.length < largestPage) return;
      after = page.at(-1);
    }
  }

  /** @internal Has {@link end} call a function. */
  closing(close: () => Promise<void>): this {
    this.#close = close;
    return this;
  }

  /** Ends the connections, if `createStore()` opened them for this store. A checkpointer's store leaves them to the checkpointer. */
  async end(): Promise<void> {
    await this.#close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
  }
}

function meets(namespace: readonly string[], { matchType, path }: NamespaceCondition): boolean {
  if (path.length > namespace.length) return false;
  const from = matchType === "prefix" ? 0 : namespace.length - path.length;
  return path.every((label, n) => label === "*" || label === namespace[from + n]);
}

function byScore(a: SearchItem, b: SearchItem): number {
  return b.score! - a.score!;
}

function addressText({ namespace, key }: ItemAddress): string {
  return JSON.stringify([...namespace, key]);
}
