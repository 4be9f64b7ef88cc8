import type { ListNamespacesOperation, SearchOperation } from "@langchain/langgraph-checkpoint";
import { checkOptions, kindOf, shown, type OptionNames } from "../contract/checkOptions.ts";
import { InvalidAddressError, InvalidOptionError } from "../contract/errors.ts";
import { maxNamespaceBytes, namespacePath, type ItemAddress } from "../contract/items.ts";
import { validId } from "../saver/address.ts";
import { isPlainObject } from "../saver/arguments.ts";
import { conditionsOf } from "./filter.ts";

/** A search of a batch, checked. */
export interface CheckedSearch {
  readonly prefix: readonly string[];
  readonly conditions: ReturnType<typeof conditionsOf>;
  readonly limit: number;
  readonly offset: number;
  readonly query: string | undefined;
}

/** A listing of a batch, checked. */
export interface CheckedList {
  readonly conditions: readonly NamespaceCondition[];
  readonly maxDepth: number;
  readonly limit: number;
  readonly offset: number;
}

/** What the labels of a namespace have to be. */
export interface NamespaceCondition {
  readonly matchType: "prefix" | "suffix";
  readonly path: readonly string[];
}

type SearchOptions = Partial<Omit<SearchOperation, "namespacePrefix">>;
const searchNames: OptionNames<SearchOptions> = { filter: true, limit: true, offset: true, query: true };

/** Options that PostgresStore and RedisStore have. */
const searchAdvice = {
  distanceMetric: "Scores are always cosine similarities.",
  refreshTtl: "Write refreshOnRead in the store's ttl.",
  similarityThreshold: "Compare the scores of what is found.",
  vectorWeight: "A search is by words or by meaning.",
};

/**
 * Refuses options of a search that BaseStore would ignore.
 * @throws InvalidOptionError
 */
export function checkSearchOptions(options: SearchOptions | undefined, hasIndex: boolean): void {
  // PostgresStore's: what is done anyway may be asked for.
  const { mode, ...rest } = Object(options) as SearchOptions & { readonly mode?: unknown };
  checkOptions("A search", Object(options) === options ? rest : options, searchNames, searchAdvice);
  if (mode === undefined || mode === "auto" || mode === (hasIndex ? "vector" : "text")) return;
  throw new InvalidOptionError(
    "mode",
    shown(mode),
    `Leave it out: the store searches by ${hasIndex ? "meaning, as it has an index" : "words, as it has no index"}.`,
  );
}

/**
 * Refuses the options that PostgresStore and RedisStore take after the `index` of a put: BaseStore would ignore them, and the item would
 * stay for ever.
 * @throws InvalidOptionError
 */
export function checkPutOptions([, , , , options]: readonly unknown[]): void {
  if (options !== undefined)
    throw new InvalidOptionError(
      "options",
      kindOf(options),
      'A put takes none. How long items stay is an option of the store: { ttl: [{ namespace: ["cache"], ttl: "5m" }] }.',
    );
}

/** null is as if left out: JSON has no undefined. @throws InvalidAddressError, InvalidOptionError */
export function checkedSearch({
  namespacePrefix,
  filter,
  limit,
  offset,
  query,
}: SearchOperation): CheckedSearch {
  if (query !== undefined && query !== null && typeof query !== "string")
    throw new InvalidOptionError("query", kindOf(query), "Pass text to search for.");
  if (filter !== undefined && filter !== null && !isPlainObject(filter))
    throw new InvalidOptionError("filter", kindOf(filter), 'Pass an object: { kind: "fact" }.');
  return {
    prefix: checkedLabels("namespacePrefix", namespacePrefix),
    conditions: conditionsOf(filter ?? {}),
    limit: checkedCount("limit", limit ?? undefined, 10),
    offset: checkedCount("offset", offset ?? undefined, 0),
    query: query === "" ? undefined : (query ?? undefined),
  };
}

/** As {@link checkedSearch}. @throws InvalidAddressError, InvalidOptionError */
export function checkedList({
  matchConditions,
  maxDepth,
  limit,
  offset,
}: ListNamespacesOperation): CheckedList {
  const conditions = (matchConditions ?? []).map((condition, place): NamespaceCondition => {
    const { matchType, path } = Object(condition) as typeof condition;
    if (matchType !== "prefix" && matchType !== "suffix")
      throw new InvalidOptionError(
        `matchConditions[${place}].matchType`,
        shown(matchType),
        'Use "prefix" or "suffix".',
      );
    return { matchType, path: checkedLabels(`matchConditions[${place}].path`, path) };
  });
  return {
    conditions,
    maxDepth: checkedCount("maxDepth", maxDepth ?? undefined, Infinity),
    limit: checkedCount("limit", limit ?? undefined, Infinity),
    offset: checkedCount("offset", offset ?? undefined, 0),
  };
}

/** @throws InvalidAddressError, InvalidOptionError */
export function checkedAddress({ namespace, key }: ItemAddress): ItemAddress {
  const labels = checkedLabels("namespace", namespace);
  if (labels.length === 0)
    throw new InvalidAddressError(
      "namespace",
      "no labels",
      'Namespace cannot be empty: name a label, ["memories"].',
    );
  return { namespace: labels, key: validId("key", key) };
}

/** @throws InvalidAddressError */
export function checkedLabels(field: string, labels: unknown): string[] {
  if (!Array.isArray(labels))
    throw new InvalidAddressError(field, kindOf(labels), 'Pass a list of labels: ["users", "anna"].');
  for (const label of labels as unknown[])
    if (validId(field, label).includes("\0"))
      throw new InvalidAddressError(field, "text with NUL", "Labels have none.");
  const bytes = namespacePath(labels as string[]).length;
  if (bytes > maxNamespaceBytes)
    throw new InvalidAddressError(
      field,
      `${bytes} bytes`,
      `All labels together have at most ${maxNamespaceBytes}.`,
    );
  return [...(labels as string[])];
}

/** @throws InvalidOptionError */
export function checkedCount(field: string, value: unknown, otherwise: number): number {
  if (value === undefined) return otherwise;
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw new InvalidOptionError(field, shown(value), "Pass a whole number, 0 or more.");
}

/** Whether the labels of a namespace are what a condition says. */
export function meets(namespace: readonly string[], { matchType, path }: NamespaceCondition): boolean {
  if (path.length > namespace.length) return false;
  const from = matchType === "prefix" ? 0 : namespace.length - path.length;
  return path.every((label, n) => label === "*" || label === namespace[from + n]);
}
