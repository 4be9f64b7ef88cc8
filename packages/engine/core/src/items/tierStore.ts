import {
  BaseStore,
  type IndexConfig,
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
  type ItemRead,
  type ItemChange,
  type StoreItems,
  type NearItem,
  type StoredItem,
} from "../contract/items.ts";
import { itemError } from "../encode/valueErrors.ts";
import {
  checkedAddress,
  checkedList,
  checkedSearch,
  checkPutOptions,
  checkSearchOptions,
  meets,
  type CheckedList,
  type CheckedSearch,
} from "./checkedOperations.ts";
import { matches, testsOf } from "./filter.ts";
import type { ItemCoder, ItemValue } from "./itemCoder.ts";
import { checkedIndex, type ItemIndex } from "./itemIndex.ts";
import { nearestItems } from "./nearestItems.ts";
import { addressText, largestPage, newestItems } from "./newestItems.ts";
import { scoreOf, wordsOf } from "./textSearch.ts";
import type { ItemTtl, ItemTtlOption } from "./ttl.ts";

/** Options of a store. */
export interface StoreOptions {
  /**
   * How long items stay after their last change: "30d" for all, or by namespace, where the entry that names most labels counts:
   * `[{ namespace: ["cache"], ttl: "1h" }]`. Default: for ever. Expired items are never returned; maintenance removes them.
   */
  readonly ttl?: ItemTtlOption | undefined;
  /**
   * Has `search({ query })` find by meaning: values are put with vectors of their texts, from LangChain's `embeddings`, each with `dims`
   * numbers. `fields` are paths of the texts, such as `["text", "notes[*].title"]`. Default: the whole value as JSON.
   */
  readonly index?: IndexConfig | undefined;
}

export const storeOptionNames: OptionNames<StoreOptions> = { ttl: true, index: true };

/** A put of a batch: how to make its change, and the texts that are to have vectors. */
interface Put {
  readonly texts: readonly string[];
  readonly change: () => Promise<ItemChange>;
}

/** Adds what a kind of store tells of its items. */
type Dress = (item: Item, stored: StoredItem) => Item | Promise<Item>;

/** How many items a search reads at first, if it may need more than it is to find. */
const firstPage = 64;

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
  readonly #items: StoreItems;
  readonly #coder: ItemCoder;
  readonly #ttl: ItemTtl;
  readonly #refresh: ItemTtl;
  readonly #index: ItemIndex | undefined;
  readonly #dress: Dress;
  #close: () => Promise<void> = async () => {};

  /** @internal Use `createStore()` or {@link TierSaver.store}. @param dress adds to the items that are returned @param refresh what a get begins anew */
  constructor(
    items: StoreItems,
    coder: ItemCoder,
    ttl: ItemTtl,
    index: ItemIndex | undefined,
    dress: Dress = (item) => item,
    refresh: ItemTtl = () => undefined,
  ) {
    super();
    this.#items = items;
    this.#coder = coder;
    this.#ttl = ttl;
    this.#refresh = refresh;
    this.#index = index;
    this.#dress = dress;
  }

  /** As in BaseStore; options of other stores are refused. @throws as {@link batch} */
  override async search(...[prefix, options]: Parameters<BaseStore["search"]>): Promise<SearchItem[]> {
    checkSearchOptions(options, this.#index !== undefined);
    return await super.search(prefix, options);
  }

  /** As in BaseStore; options of other stores are refused. @throws as {@link batch} */
  override async put(...args: Parameters<BaseStore["put"]>): Promise<void> {
    checkPutOptions(args);
    await super.put(...args);
  }

  /**
   * Makes several operations. LangGraph's graphs call this with all operations of a moment.
   * @throws InvalidAddressError, InvalidOptionError; StratigraphError "SERIALIZATION" for a value that can't be stored: nothing was done
   */
  override async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    // Check everything and copy the values before anything is awaited.
    const gets: { readonly place: number; readonly at: ItemRead }[] = [];
    const reads: (() => Promise<void>)[] = [];
    const results = Array.from<unknown>({ length: operations.length });
    const puts = new Map<string, Put>();
    const vectorOf = this.#index?.queries();
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
        reads.push(async () => void (results[place] = await this.#search(search, vectorOf)));
      } else if ("namespace" in operation) {
        const at = checkedAddress(operation);
        if (!("value" in operation))
          gets.push({ place, at: { ...at, refreshMs: this.#refresh(at.namespace) } });
        else puts.set(addressText(at), this.#put(at, operation));
      } else {
        const list = checkedList(operation as ListNamespacesOperation);
        reads.push(async () => void (results[place] = await this.#namespaces(list)));
      }
    }
    if (gets.length > 0)
      reads.push(async () => {
        const items = await this.#items.read(gets.map(({ at }) => at));
        for (const [nth, { place }] of gets.entries())
          results[place] = items[nth] === undefined ? null : await this.#opened(items[nth]);
      });
    const [changes] = await Promise.all([
      this.#changes([...puts.values()]),
      inParallel(reads, parallelReads, (read) => read()),
    ]);
    if (changes.length > 0) await this.#items.change(changes);
    return results as OperationResults<Op>;
  }

  #put(at: ItemAddress, { value, index }: { readonly value: unknown; readonly index?: unknown }): Put {
    const fields = checkedIndex(index);
    if (value === null) return { texts: [], change: async () => at };
    if (typeof value !== "object" || Array.isArray(value))
      throw new InvalidOptionError("value", kindOf(value), "Pass an object, or null to delete the item.");
    const change = this.#coder.capture(at, value as ItemValue);
    const ttlMs = this.#ttl(at.namespace);
    return { texts: this.#textsOf(at, value, fields), change: async () => ({ ...(await change()), ttlMs }) };
  }

  #textsOf(at: ItemAddress, value: object, fields: false | readonly string[] | undefined): readonly string[] {
    try {
      return this.#index?.textsOf(value, fields) ?? [];
    } catch (cause) {
      throw itemError(at, "nothing was stored, as its texts can't be indexed", cause, "SERIALIZATION");
    }
  }

  async #changes(puts: readonly Put[]): Promise<readonly ItemChange[]> {
    const changes = await Promise.all(puts.map(({ change }) => change()));
    const vectors = await this.#index?.vectorsOf(new Set(puts.flatMap(({ texts }) => texts)));
    if (vectors === undefined) return changes;
    return changes.map((change, n) => ({
      ...change,
      vectors: puts[n]!.texts.map((text) => vectors.get(text)!),
    }));
  }

  async #opened(item: StoredItem): Promise<Item> {
    const { namespace, key, createdAtMs, updatedAtMs } = item;
    const times = { createdAt: new Date(createdAtMs), updatedAt: new Date(updatedAtMs) };
    const value = await this.#coder.decode(item);
    return await this.#dress({ value, key, namespace: [...namespace], ...times }, item);
  }

  async #search(
    { prefix, conditions, limit, offset, query }: CheckedSearch,
    vectorOf: ((query: string) => Promise<Float32Array>) | undefined,
  ): Promise<SearchItem[]> {
    if (limit === 0) return [];
    const vector = query === undefined ? undefined : await vectorOf?.(query);
    const words = query === undefined || vector !== undefined ? undefined : wordsOf(query);
    if (words?.size === 0) return [];
    const search = { prefixes: [prefix], tests: testsOf(conditions) };
    const found: SearchItem[] = [];
    const isAny = conditions.length === 0 && words === undefined;
    const first = isAny ? Math.min(offset + limit, largestPage) : firstPage;
    let passed = 0;
    const all =
      vector === undefined
        ? newestItems(this.#items, search, first)
        : nearestItems(this.#items, { ...search, vector }, first);
    for await (const stored of all) {
      if (isAny && passed < offset) {
        passed += 1;
        continue;
      }
      const item = await this.#opened(stored);
      if (!matches(item.value, conditions)) continue;
      if (words === undefined) {
        if (passed++ < offset) continue;
        found.push(withScore(item, stored));
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

/** An item that was compared has its similarity as its score. */
function withScore(item: Item, stored: StoredItem | NearItem): SearchItem {
  if (!("similarity" in stored) || stored.similarity === -Infinity) return item;
  return { ...item, score: Math.min(1, Math.max(-1, stored.similarity)) };
}

function byScore(a: SearchItem, b: SearchItem): number {
  return b.score! - a.score!;
}
