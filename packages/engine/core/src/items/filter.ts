import { isDeepStrictEqual } from "node:util";
import { shown } from "../contract/checkOptions.ts";
import { InvalidOptionError } from "../contract/errors.ts";
import type { FieldTest, ItemField } from "../contract/items.ts";
import { isPlainObject } from "../saver/arguments.ts";

const operators = ["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$exists"] as const;
type Operator = (typeof operators)[number];

/** A condition on a top-level field of an item's value. */
interface Condition {
  readonly field: string;
  readonly operator: Operator;
  readonly operand: unknown;
}

/** How many tests, and values of one test, narrow a search at most. */
const mostTested = 100;

/** The longest text of a field that a tier gets to know, in characters. */
const longestText = 200;

/**
 * The conditions of a filter: `{ kind: "fact", score: { $gte: 5 } }`. An item matches if all of them hold.
 * @throws InvalidOptionError
 */
export function conditionsOf(filter: Readonly<Record<string, unknown>>): Condition[] {
  return Object.entries(filter).flatMap(([field, wanted]): Condition[] => {
    if (field.startsWith("$"))
      throw new InvalidOptionError(
        `filter.${field}`,
        "an operator",
        "Operators follow a field: { score: { $gte: 5 } }.",
      );
    if (wanted === undefined) return [{ field, operator: "$exists", operand: false }];
    if (!isPlainObject(wanted) || !Object.keys(wanted).some((key) => key.startsWith("$")))
      return [{ field, operator: "$eq", operand: wanted }];
    return Object.entries(wanted).map(([operator, operand]) => {
      checkOperator(field, operator, operand);
      if (operand === undefined && (operator === "$eq" || operator === "$ne"))
        return { field, operator: "$exists", operand: operator === "$ne" };
      return { field, operator, operand };
    });
  });
}

function checkOperator(field: string, operator: string, operand: unknown): asserts operator is Operator {
  const name = `filter.${field}.${operator}`;
  if (!(operators as readonly string[]).includes(operator))
    throw new InvalidOptionError(name, "no operator of a filter", `Use one of ${operators.join(", ")}.`);
  if ((operator === "$in" || operator === "$nin") && !Array.isArray(operand))
    throw new InvalidOptionError(name, shown(operand), "Pass a list of values.");
  if (operator === "$exists" && typeof operand !== "boolean")
    throw new InvalidOptionError(name, shown(operand), "Pass true or false.");
}

/** Whether a value meets all conditions. */
export function matches(value: Readonly<Record<string, unknown>>, conditions: readonly Condition[]): boolean {
  return conditions.every(({ field, operator, operand }) => {
    const found = Object.hasOwn(value, field) ? value[field] : undefined;
    switch (operator) {
      case "$eq":
        return isEqual(found, operand);
      case "$ne":
        return !isEqual(found, operand);
      case "$in":
        return (operand as unknown[]).some((one) => isEqual(found, one));
      case "$nin":
        return !(operand as unknown[]).some((one) => isEqual(found, one));
      case "$exists":
        return (found !== undefined) === operand;
      default:
        return holds(operator, compared(found, operand));
    }
  });
}

/** Deep equality; 0 and -0 are equal. */
function isEqual(a: unknown, b: unknown): boolean {
  return a === b || isDeepStrictEqual(a, b);
}

function holds(operator: Operator, order: number | undefined): boolean {
  if (order === undefined) return false;
  if (operator === "$gt") return order > 0;
  if (operator === "$gte") return order >= 0;
  return operator === "$lt" ? order < 0 : order <= 0;
}

/** The order of two values: numbers, dates and numeric text by number, other text by code points. Undefined if they have none. */
function compared(a: unknown, b: unknown): number | undefined {
  const [x, y] = [numberOf(a), numberOf(b)];
  if (x !== undefined && y !== undefined) return x === y ? 0 : x < y ? -1 : 1;
  return typeof a === "string" && typeof b === "string"
    ? Buffer.compare(Buffer.from(a), Buffer.from(b))
    : undefined;
}

function numberOf(value: unknown): number | undefined {
  const isNumeric =
    typeof value === "number" ||
    typeof value === "bigint" ||
    value instanceof Date ||
    (typeof value === "string" && value.trim() !== "");
  const number = isNumeric ? Number(value) : NaN;
  return Number.isNaN(number) ? undefined : number;
}

/** What a tier may know of a value's fields, so that it can narrow a search. */
export function fieldsOf(value: Readonly<Record<string, unknown>>): Record<string, ItemField> {
  const fields = Object.entries(value).filter(([field, found]) => isShort(field) && found !== undefined);
  return Object.fromEntries(fields.map(([field, found]) => [field, isScalar(found) ? found : []]));
}

/** Tests that every item passes that meets the conditions. */
export function testsOf(conditions: readonly Condition[]): FieldTest[] {
  return conditions.slice(0, mostTested).flatMap(({ field, operator, operand }): FieldTest[] => {
    if (!isShort(field)) return [];
    switch (operator) {
      case "$eq":
        return isScalar(operand) ? [{ field, in: [operand] }] : [{ field, is: "present" }];
      case "$in":
        return isShortList(operand as unknown[]) ? [{ field, in: operand as string[] }] : [];
      case "$exists":
        return [{ field, is: operand === true ? "present" : "absent" }];
      case "$ne":
      case "$nin":
        return [];
      default:
        return [comparison(field, operator, numberOf(operand))];
    }
  });
}

function comparison(field: string, operator: Operator, than: number | undefined): FieldTest {
  if (than === undefined || !Number.isFinite(than)) return { field, is: "present" };
  const is = ({ $gt: ">", $gte: ">=", $lt: "<", $lte: "<=" } as const)[operator as "$gt"];
  return { field, is, than };
}

/** Text that a tier can hold: databases refuse NUL and lone surrogates. */
function isShort(text: string): boolean {
  return text.length <= longestText && text.isWellFormed() && !text.includes("\0");
}

function isShortList(values: readonly unknown[]): boolean {
  return values.length <= mostTested && values.every(isScalar);
}

function isScalar(value: unknown): value is string | number | boolean | null {
  if (typeof value === "string") return isShort(value);
  return value === null || typeof value === "boolean" || Number.isFinite(value);
}
