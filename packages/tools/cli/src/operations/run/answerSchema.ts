import { Validator, type Schema, type SchemaDraft } from "@cfworker/json-schema";
import { isObject, type JsonObject } from "../values/records.ts";

/** What an answer has where a question's schema wants something else. */
export interface AnswerProblem {
  /** Where in the answer: "price", "items/0"; "" for the answer itself. */
  readonly path: string;
  /** What is expected there. Never says what was found: a model may read it, and answers are for the thread alone. */
  readonly expected: string;
}

/** How many are told of one answer. */
const mostProblems = 20;

const types: ReadonlySet<unknown> = new Set([
  "string",
  "number",
  "integer",
  "boolean",
  "object",
  "array",
  "null",
]);

/** Keywords whose value is a schema, a list of them, or schemas by name. */
const inside: ReadonlyMap<string, "one" | "list" | "map"> = new Map([
  ...["additionalProperties", "propertyNames", "not", "contains", "if", "then", "else", "items"].map(
    (name) => [name, "one"] as const,
  ),
  ...["unevaluatedProperties", "unevaluatedItems", "additionalItems"].map((name) => [name, "one"] as const),
  ...["prefixItems", "allOf", "anyOf", "oneOf"].map((name) => [name, "list"] as const),
  ...["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"].map(
    (name) => [name, "map"] as const,
  ),
]);

/** Keywords that have to be something of their own kind; what an ill-formed one means nobody can say. */
const kinds: Readonly<Record<string, readonly [what: string, test: (value: unknown) => boolean]>> = {
  type: [
    "one of JSON's types",
    (value) =>
      [value].flat().every((each) => types.has(each)) && value !== undefined && [value].flat().length > 0,
  ],
  enum: ["a list that isn't empty", (value) => Array.isArray(value) && value.length > 0],
  required: [
    "a list of names",
    (value) => Array.isArray(value) && value.every((each) => typeof each === "string"),
  ],
  pattern: ["a regular expression", isPattern],
  ...Object.fromEntries(
    ["maximum", "multipleOf", "minimum"].map((name) => [name, ["a number", Number.isFinite]]),
  ),
  ...Object.fromEntries(
    ["Length", "Items", "Properties"].flatMap((of) =>
      ["min", "max"].map((name) => [`${name}${of}`, ["a whole number", Number.isInteger]]),
    ),
  ),
};

/**
 * What is wrong with a schema, so that no answer can be checked against it; undefined if nothing is. A schema that can't be used must not
 * keep a person from answering.
 */
export function schemaFault(schema: unknown): string | undefined {
  try {
    const fault = faultIn(schema, { root: schema, path: "", level: 0 });
    if (fault !== undefined) return fault;
    // A reference that leads nowhere, or in circles, is found only on the way.
    for (const sample of [null, true, 0, "", [], {}]) validator(schema as Schema).validate(sample);
    return undefined;
  } catch (error) {
    return (error as Error).message.split("\n", 1)[0];
  }
}

/** What in an answer doesn't fit a schema; nothing if it fits. @param schema one without {@link schemaFault} @param answer JSON */
export function answerProblems(schema: unknown, answer: unknown): readonly AnswerProblem[] {
  const { valid, errors: all } = validator(schema as Schema).validate(answer);
  if (valid) return [];
  const errors = all.filter(({ keyword, keywordLocation, error }) => {
    // zod says of a field with a default that it is required, and fills it in itself.
    const [, name = ""] = keyword === "required" ? (/"(.*)"/.exec(error) ?? []) : [];
    const { properties } = Object(valueAt(schema, keywordLocation.replace(/\/required$/, ""))) as JsonObject;
    const { default: first } = Object((Object(properties) as JsonObject)[name]) as JsonObject;
    return first === undefined;
  });
  const choices = errors.filter(({ keyword }) => keyword === "anyOf" || keyword === "oneOf");
  const found = errors.filter(
    ({ keyword, keywordLocation }) =>
      !around.has(keyword) && !choices.some((each) => keywordLocation.startsWith(`${each.keywordLocation}/`)),
  );
  // Where only defaults were missing, what is left says that something further in is wrong.
  const told = (found.length === 0 && errors.length === all.length ? errors : found).map(
    ({ keyword, keywordLocation, instanceLocation, error }) => ({
      path: instanceLocation.replace(/^#\/?/, ""),
      expected: expectedBy(keyword, valueAt(schema, keywordLocation), error),
    }),
  );
  const unlike = told.filter(
    (one, n) => told.findIndex(({ path, expected }) => path === one.path && expected === one.expected) === n,
  );
  return unlike.slice(0, mostProblems);
}

/** Keywords whose errors only say that there is one further in. */
const around: ReadonlySet<string> = new Set([
  ...["$ref", "$recursiveRef", "allOf", "if", "then", "else", "dependentSchemas"],
  ...["properties", "patternProperties", "additionalProperties", "items", "prefixItems"],
]);

function expectedBy(keyword: string, wanted: unknown, error: string): string {
  if (wanted === undefined && keyword !== "false") return `what the schema's ${keyword} says`;
  const text = JSON.stringify(wanted);
  switch (keyword) {
    case "type":
      return [wanted].flat().join(" or ");
    case "required":
      return `${/"(.*)"/.exec(error)?.[0] ?? "another field"} beside it`;
    case "enum":
      return `one of ${text?.slice(1, -1)}`;
    case "const":
      return String(text);
    case "minimum":
      return `at least ${text}`;
    case "maximum":
      return `at most ${text}`;
    case "exclusiveMinimum":
      return `more than ${text}`;
    case "exclusiveMaximum":
      return `less than ${text}`;
    case "multipleOf":
      return `a multiple of ${text}`;
    case "minLength":
      return `at least ${text} characters`;
    case "maxLength":
      return `at most ${text} characters`;
    case "minItems":
      return `at least ${text} entries`;
    case "maxItems":
      return `at most ${text} entries`;
    case "uniqueItems":
      return "each entry once";
    case "pattern":
      return `text that matches ${String(wanted)}`;
    case "format":
      return `text of the format ${String(wanted)}`;
    case "unevaluatedProperties":
    case "false":
      return "nothing: there is no such field";
    case "anyOf":
    case "oneOf":
      return "one of several forms";
    default:
      return `what the schema's ${keyword} says`;
  }
}

/** What a schema says at a place that the validator named; undefined if nothing is there. */
function valueAt(schema: unknown, location: string): unknown {
  return location
    .split("/")
    .slice(1)
    .reduce<unknown>((at, step) => {
      const part = (Object(at) as Record<string, unknown>)[unescaped(step)];
      return step === "$ref" && typeof part === "string" ? valueAt(schema, part) : part;
    }, schema);
}

function unescaped(step: string): string {
  return decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
}

function validator(schema: Schema): Validator {
  return new Validator(schema, draftOf(schema), false);
}

/** LangGraph writes the newest draft, or with zod 3 draft 7. */
function draftOf({ $schema }: Schema): SchemaDraft {
  const named = /draft-0?(4|7)\b|2019-09/.exec(String($schema));
  return ((named?.[1] ?? named?.[0]) as SchemaDraft | undefined) ?? "2020-12";
}

/** How deep a schema is looked into. */
const mostLevels = 100;

interface Place {
  readonly root: unknown;
  readonly path: string;
  readonly level: number;
}

function faultIn(schema: unknown, { root, path, level }: Place): string | undefined {
  if (typeof schema === "boolean" && level > 0) return undefined;
  if (!isObject(schema)) return `${path === "" ? "it" : path} isn't an object`;
  if (level > mostLevels) return `${path} is nested too deep`;
  for (const [name, [what, fits]] of Object.entries(kinds))
    if (schema[name] !== undefined && !fits(schema[name])) return `${path}/${name} isn't ${what}`;
  const { $ref } = schema;
  if ($ref !== undefined && !(String($ref).startsWith("#") && valueAt(root, String($ref)) !== undefined))
    return `${path}/$ref leads nowhere in it`;
  for (const [name, how] of inside) {
    const value = schema[name];
    if (value === undefined) continue;
    // Before the draft of 2020, a list of schemas was called items.
    const isList = how === "list" || (name === "items" && Array.isArray(value));
    if (isList && !Array.isArray(value)) return `${path}/${name} isn't a list`;
    if (how === "map" && !isObject(value)) return `${path}/${name} isn't an object`;
    const parts = isList || how === "map" ? Object.entries(value as object) : [["", value] as const];
    for (const [key, part] of parts) {
      const at = `${path}/${name}${key === "" ? "" : `/${key}`}`;
      const fault = faultIn(part, { root, path: at, level: level + 1 });
      if (fault !== undefined) return fault;
    }
  }
  return undefined;
}

function isPattern(value: unknown): boolean {
  try {
    return typeof value === "string" && new RegExp(value, "u") instanceof RegExp;
  } catch {
    return false;
  }
}
