import type { ListNamespacesOperation, SearchOperation } from "@langchain/langgraph-checkpoint";
import { kindOf, shown } from "../contract/checkOptions.ts";
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
    throw new InvalidAddressError("namespace", "no labels", 'Name at least one: ["memories"].');
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
