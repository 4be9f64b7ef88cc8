import {
  namespaceOfPath,
  namespacePath,
  type FieldTest,
  type ItemBytes,
  type ItemChange,
  type ItemNamespacesQuery,
  type ItemPage,
  type ItemRead,
  type ItemSearch,
  type Items,
  type NearestItemsQuery,
  type NearItem,
  type StoredItem,
} from "@stratigraph/core/tier";
import type { Executor, PgResult } from "../connection/client.ts";
import type { Statement } from "../schema/statements.ts";
import { BinaryArgument } from "../wire/binaryArgument.ts";
import { byteaText } from "../wire/hex.ts";
import { KeyReader, keyOf, keyText, longIdText } from "../wire/keys.ts";

type ItemStatements = Readonly<
  Record<
    | "readItems"
    | "refreshItems"
    | "changeItems"
    | "changeIndexedItems"
    | "searchItems"
    | "nearestItems"
    | "createVector"
    | "itemNamespaces"
    | "allItems"
    | "replaceItems",
    Statement
  >
>;

/** A path that comes after all others. */
const lastPath = Buffer.from([0xff]);

/** A version that comes after all others. */
export const lastVersion = "9223372036854775807";

/** How many bytes of values a page of a search has at most, unless it is one item. */
export const pageBytes = 8 * 1024 * 1024;

/** The items of a schema. */
export class PostgresItems implements Items {
  readonly #executor: Executor;
  readonly #sql: ItemStatements;
  #looked: Promise<unknown> | undefined;

  constructor(executor: Executor, sql: ItemStatements) {
    this.#executor = executor;
    this.#sql = sql;
  }

  async read(addresses: readonly ItemRead[]): Promise<(StoredItem | undefined)[]> {
    const values = [
      addresses.map(({ namespace }) => namespacePath(namespace)),
      addresses.map(({ key }) => keyOf(key)),
    ];
    const refreshMs = addresses.map((at) => at.refreshMs ?? null);
    const rows = await (refreshMs.every((ms) => ms === null)
      ? this.#run(this.#sql.readItems, values)
      : this.#run(this.#sql.refreshItems, [...values, refreshMs]));
    const items = Array.from<StoredItem | undefined>({ length: addresses.length });
    const keys = new KeyReader();
    for (const row of rows) {
      const place = Number(row["place"]) - 1;
      items[place] = itemOf(row, addresses[place]!.namespace, keys);
    }
    return items;
  }

  async change(changes: readonly ItemChange[]): Promise<void> {
    const contents = new BinaryArgument();
    const rows = changes.map(({ namespace, key, value, fields, ttlMs }, place) => ({
      place,
      path: byteaText(namespacePath(namespace)),
      key: keyText(key),
      ...(value === undefined
        ? {}
        : {
            long: longIdText(key),
            start: contents.add(value),
            length: value.length,
            fields: fields ?? true,
            ttl: ttlMs,
          }),
    }));
    const indexed = changes.flatMap(({ vectors }, n) =>
      vectors === undefined
        ? []
        : [{ path: rows[n]!.path, key: rows[n]!.key, vectors: vectors.map(vectorText) }],
    );
    const values = [JSON.stringify(rows), contents.value()];
    await (indexed.length === 0
      ? this.#run(this.#sql.changeItems, values)
      : this.#run(this.#sql.changeIndexedItems, [...values, JSON.stringify(indexed)]));
  }

  async search({ prefixes, tests, before, after, limit }: ItemSearch): Promise<ItemPage> {
    const values = [
      ...rangesOf(prefixes),
      jsonPath(tests),
      before ?? lastVersion,
      after ?? 0,
      limit,
      pageBytes,
    ];
    return pageOf(await this.#run(this.#sql.searchItems, values), limit, asFound);
  }

  async nearest({ prefixes, tests, vector, beyond, limit }: NearestItemsQuery): Promise<ItemPage<NearItem>> {
    // An embedded database is this library's own, so it may have pgvector. In others its users create it.
    if (this.#executor.pool === undefined)
      await (this.#looked ??= this.#run(this.#sql.createVector, []).catch(() => {}));
    const [from, to] = rangesOf(prefixes);
    const after = [beyond?.similarity ?? null, beyond?.version ?? null];
    const test = tests.length === 0 ? null : jsonPath(tests);
    const values = [from, to, test, vectorText(vector), ...after, limit, pageBytes];
    return pageOf(await this.#run(this.#sql.nearestItems, values), limit, (item, row) => ({
      ...item,
      similarity: Number(row["similarity"]),
    }));
  }

  async all({ before, limit }: Pick<ItemSearch, "before" | "limit">): Promise<ItemPage> {
    const values = [before ?? lastVersion, limit, pageBytes];
    return pageOf(await this.#run(this.#sql.allItems, values), limit, asFound);
  }

  async replace(replaced: readonly ItemBytes[]): Promise<number> {
    const contents = new BinaryArgument();
    const starts = replaced.map(({ value }) => contents.add(value));
    const values = [
      replaced.map(({ version }) => version),
      starts,
      replaced.map(({ value }) => value.length),
      contents.value(),
    ];
    return (await this.#run(this.#sql.replaceItems, values)).length;
  }

  async namespaces({ prefixes, after, limit }: ItemNamespacesQuery): Promise<string[][]> {
    const values = [...rangesOf(prefixes), namespacePath(after ?? []), limit];
    const rows = await this.#run(this.#sql.itemNamespaces, values);
    return rows.map(({ path }) => namespaceOfPath(path as Uint8Array));
  }

  async #run(statement: Statement, values: readonly unknown[]): Promise<PgResult["rows"]> {
    return (await this.#executor.run({ ...statement, values })).rows;
  }
}

/** The ranges of paths that begin with certain labels: where they begin and end, each and together. */
export function rangesOf(
  prefixes: readonly (readonly string[])[],
): [from: Buffer[], to: Buffer[], first: Buffer, last: Buffer] {
  const ranges = prefixes.map(rangeOf).toSorted(([a], [b]) => Buffer.compare(a, b));
  const [from, to] = [ranges.map((range) => range[0]), ranges.map((range) => range[1])];
  return [from, to, from[0]!, to.at(-1)!];
}

/** The paths that begin with certain labels: from the first to before the second. */
function rangeOf(prefix: readonly string[]): [Buffer, Buffer] {
  const from = namespacePath(prefix);
  if (from.length === 0) return [from, lastPath];
  // Its last byte is the NUL that ends a label.
  const to = Buffer.from(from);
  to[to.length - 1] = 1;
  return [from, to];
}

function asFound(item: StoredItem): StoredItem {
  return item;
}

/** A page of a search, of which the database read some values. */
export function pageOf<T extends StoredItem>(
  rows: PgResult["rows"],
  limit: number,
  found: (item: StoredItem, row: PgResult["rows"][number]) => T,
): ItemPage<T> {
  const keys = new KeyReader();
  const items = rows.map((row) => found(itemOf(row, namespaceOfPath(row["path"] as Uint8Array), keys), row));
  const fitting = Number(rows[0]?.["found"] ?? 0);
  return { items, more: fitting === limit || fitting > items.length };
}

/** A vector as the text of a real[]: nine digits tell all numbers of single precision apart. */
function vectorText(vector: Float32Array): string {
  return `{${Array.from(vector, (one) => one.toPrecision(9)).join(",")}}`;
}

/** Tests as PostgreSQL's jsonpath. Fields that aren't known are stored as true, and pass. */
function jsonPath(tests: readonly FieldTest[]): string {
  return tests.length === 0 ? "true" : `${tests.map(conditionOf).join(" && ")} || $ == true`;
}

/** In its lax mode, [] is equal to nothing and smaller or larger than nothing. */
function conditionOf(test: FieldTest): string {
  const field = `$.${JSON.stringify(test.field)}`;
  if ("in" in test)
    return test.in.length === 0
      ? "(1 == 2)"
      : `(${test.in.map((value) => `${field} == ${JSON.stringify(value)}`).join(" || ")})`;
  if (!("than" in test)) return test.is === "present" ? `exists(${field})` : `!exists(${field})`;
  return `(${field} ${test.is} ${test.than} || ${field}.type() != "number")`;
}

function itemOf(row: PgResult["rows"][number], namespace: readonly string[], keys: KeyReader): StoredItem {
  return {
    namespace,
    key: keyIn(row, keys),
    value: row["value"] as Uint8Array,
    version: Number(row["version"]),
    createdAtMs: Number(row["created_ms"]),
    updatedAtMs: Number(row["updated_ms"]),
    ...(row["note"] === null ? {} : { note: row["note"] as Uint8Array }),
  };
}

/** The key in a row with the columns key and long_key. */
export function keyIn(row: PgResult["rows"][number], keys: KeyReader): string {
  const key = row["key"] as Uint8Array;
  if (row["long_key"] !== null) keys.learn(key, row["long_key"] as Uint8Array);
  return keys.id(key);
}
