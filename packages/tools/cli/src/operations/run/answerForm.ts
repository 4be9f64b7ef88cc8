import { isObject, type JsonObject } from "../values/records.ts";

// What people fill in instead of JSON, in the inspector, the terminal and MCP clients. It is checked again before anything runs.

/** One field of a form. */
export interface FormField {
  /** Names it among the fields, and says where its value goes: "price", "by/rail"; "" if it is the whole answer. */
  readonly name: string;
  readonly path: readonly string[];
  readonly label: string;
  readonly description?: string;
  /** json: the form has nothing better for it. list: texts, one a line. */
  readonly kind: "text" | "number" | "boolean" | "choice" | "choices" | "list" | "json";
  readonly required: boolean;
  /** Of a choice: values as JSON, and what people read. */
  readonly options: readonly { readonly value: string; readonly label: string }[];
  /** What is in it at first: the schema's default. */
  readonly initial: string;
  /** What a value has to be like, in words; "" if there is nothing to say. */
  readonly rule: string;
  /** The schema of its value. */
  readonly schema: JsonObject;
}

/** What people filled in, by the names of fields. Choices: JSON. */
export type FormTexts = Readonly<Record<string, string>>;

/** How deep objects become fields of their own, and how many fields a form has. What is beyond is JSON. */
const [deepest, mostFields] = [3, 40];

/** The form for answers that fit a schema; without a schema one field for JSON. */
export function answerForm(schema: unknown): readonly FormField[] {
  const root = isObject(schema) ? schema : {};
  const fields = fieldsOf(root, { root, path: [], required: true });
  return fields.length > mostFields ? [field("json", root, { root, path: [], required: true })] : fields;
}

/** The texts that a form begins with. */
export function firstTexts(fields: readonly FormField[]): FormTexts {
  return Object.fromEntries(fields.map(({ name, initial }) => [name, initial]));
}

/** The answer that texts make, or what is wrong with them by the names of fields. */
export function answerFrom(
  fields: readonly FormField[],
  texts: FormTexts,
): { readonly answer: unknown } | { readonly problems: Readonly<Record<string, string>> } {
  const problems: Record<string, string> = {};
  let answer: unknown = fields.some(({ path }) => path.length === 0) ? undefined : {};
  for (const each of fields) {
    const problem = fieldProblem(each, texts[each.name] ?? "");
    if (problem !== undefined) problems[each.name] = problem;
    else if (isFilled(each, texts[each.name] ?? ""))
      answer = withPart(answer, each.path, valueOf(each, texts[each.name] ?? ""));
  }
  return Object.keys(problems).length > 0 ? { problems } : { answer };
}

/** What is wrong with the text of one field; undefined if nothing is. */
export function fieldProblem(field: FormField, text: string): string | undefined {
  const { kind, required, schema } = field;
  if (!isFilled(field, text)) return required ? "An answer is needed here." : undefined;
  let value: unknown;
  try {
    value = valueOf(field, text);
  } catch {
    return 'This isn’t JSON yet. A text stands in quotes: "yes".';
  }
  const { minLength = 0, maxLength = Infinity, pattern, minItems = 0, maxItems = Infinity } = schema as Rules;
  const { minimum = -Infinity, maximum = Infinity } = schema as Rules;
  const { exclusiveMinimum = -Infinity, exclusiveMaximum = Infinity } = schema as Rules;
  const isNumber = typeof value === "number";
  const [number, length] = [Number(value), [...String(value)].length];
  const fits =
    kind === "number"
      ? isNumber &&
        Number.isFinite(value) &&
        (!isWhole(schema) || Number.isInteger(value)) &&
        number >= minimum &&
        number <= maximum &&
        number > exclusiveMinimum &&
        number < exclusiveMaximum
      : kind === "text"
        ? length >= minLength &&
          length <= maxLength &&
          (pattern === undefined || new RegExp(pattern, "u").test(String(value)))
        : Array.isArray(value) && (kind === "choices" || kind === "list")
          ? value.length >= minItems && value.length <= maxItems
          : true;
  return fits ? undefined : `Expected: ${field.rule === "" ? "another value" : field.rule}.`;
}

interface Rules {
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
}

function isFilled({ kind, required }: FormField, text: string): boolean {
  // Nothing chosen is an answer, too, where one is needed.
  if ((kind === "choices" || kind === "list") && required) return true;
  return kind === "text" ? text !== "" : text.trim() !== "";
}

/** @throws SyntaxError if it has to be JSON and isn't */
function valueOf({ kind }: FormField, text: string): unknown {
  switch (kind) {
    case "text":
      return text;
    case "number":
      return Number(text);
    case "list":
      return text.split("\n").filter((line) => line.trim() !== "");
    case "choices":
      return text.trim() === "" ? [] : (JSON.parse(text) as unknown);
    default:
      return JSON.parse(text) as unknown;
  }
}

function withPart(answer: unknown, path: readonly string[], value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  const before = isObject(answer) ? answer : {};
  // Computed keys are own properties, "__proto__" too.
  const part = Object.hasOwn(before, key) ? before[key] : undefined;
  return { ...before, [key]: withPart(part, rest, value) };
}

interface At {
  readonly root: JsonObject;
  readonly path: readonly string[];
  readonly required: boolean;
}

function fieldsOf(given: JsonObject, at: At): readonly FormField[] {
  const schema = plain(given, at.root);
  const { properties, required } = schema;
  const isGroup =
    isObject(properties) &&
    Object.keys(properties).length > 0 &&
    at.path.length < deepest &&
    // Of an optional object nobody could say whether it is left out or empty.
    (at.path.length === 0 || at.required);
  if (!isGroup) return [field(kindOf(schema, at.root), schema, at)];
  const names = Array.isArray(required) ? required : [];
  return Object.entries(properties).flatMap(([name, part]) =>
    isObject(part)
      ? fieldsOf(part, { root: at.root, path: [...at.path, name], required: names.includes(name) })
      : [field("json", {}, { root: at.root, path: [...at.path, name], required: names.includes(name) })],
  );
}

function field(kind: FormField["kind"], schema: JsonObject, { root, path, required }: At): FormField {
  const { title, description } = schema;
  // Where there is one way only, it is filled in.
  const first = schema["default"] ?? (required ? schema["const"] : undefined);
  const options = choicesOf(kind === "choices" ? plain(schema["items"] as JsonObject, root) : schema) ?? [];
  const isText = kind === "text" || (kind === "list" && Array.isArray(first));
  const initial =
    first === undefined
      ? ""
      : isText
        ? Array.isArray(first)
          ? first.join("\n")
          : String(first)
        : JSON.stringify(first);
  return {
    name: path.join("/"),
    path,
    label: typeof title === "string" ? title : path.length === 0 ? "Answer" : path.join(" › "),
    ...(typeof description === "string" ? { description } : {}),
    kind,
    required,
    options: kind === "choice" || kind === "choices" ? options : [],
    initial,
    rule: ruleOf(kind, schema),
    schema,
  };
}

function kindOf(schema: JsonObject, root: JsonObject): FormField["kind"] {
  if (choicesOf(schema) !== undefined) return "choice";
  switch (schema["type"]) {
    case "string":
      return "text";
    case "number":
    case "integer":
      return "number";
    case "boolean":
      return "boolean";
    case "array": {
      const items = isObject(schema["items"]) ? plain(schema["items"], root) : {};
      if (choicesOf(items) !== undefined) return "choices";
      return items["type"] === "string" && items["minLength"] === undefined ? "list" : "json";
    }
    default:
      return "json";
  }
}

/** What there is to choose from, if a schema says it: enum, const, or several of them with titles. */
function choicesOf(schema: JsonObject): FormField["options"] | undefined {
  const { enum: values, oneOf, anyOf } = schema;
  const ways = [oneOf, anyOf].find(
    (each): each is JsonObject[] =>
      Array.isArray(each) && each.length > 0 && each.every((way) => isObject(way) && "const" in way),
  );
  const each = Array.isArray(values)
    ? values.map((value: unknown) => ({ const: value }))
    : "const" in schema
      ? [schema]
      : ways;
  return each?.map((way) => {
    const { const: value, title } = way as JsonObject;
    const label =
      typeof title === "string" && each === ways
        ? title
        : typeof value === "string"
          ? value
          : JSON.stringify(value);
    return { value: JSON.stringify(value), label };
  });
}

/** A schema without what stands around the one that matters: a reference, "or null", a list of one. */
function plain(schema: JsonObject, root: JsonObject, level = 0): JsonObject {
  if (level > 10 || !isObject(schema)) return {};
  const { $ref, anyOf, oneOf, allOf, type, ...rest } = schema;
  if (typeof $ref === "string" && $ref.startsWith("#/"))
    return { ...plain(at(root, $ref), root, level + 1), ...rest };
  const ways = [anyOf, oneOf, allOf].find(Array.isArray) as readonly unknown[] | undefined;
  const some = ways?.filter((way) => isObject(way) && way["type"] !== "null");
  if (some?.length === 1 && isObject(some[0])) return { ...rest, ...plain(some[0], root, level + 1) };
  const kinds = Array.isArray(type) ? type.filter((each) => each !== "null") : [];
  return kinds.length === 1 ? { ...rest, type: kinds[0] as unknown } : schema;
}

function at(root: JsonObject, pointer: string): JsonObject {
  const found = pointer
    .slice(2)
    .split("/")
    .reduce<unknown>(
      (part, step) => (Object(part) as JsonObject)[step.replaceAll("~1", "/").replaceAll("~0", "~")],
      root,
    );
  return isObject(found) ? found : {};
}

function isWhole({ type }: JsonObject): boolean {
  return type === "integer";
}

function ruleOf(kind: FormField["kind"], schema: JsonObject): string {
  const say = (name: string, before: string, after = ""): readonly string[] =>
    schema[name] === undefined ? [] : [`${before}${String(schema[name])}${after}`];
  // What zod writes for every integer says nothing.
  const bound = (name: string, before: string) =>
    Math.abs(Number(schema[name])) === Number.MAX_SAFE_INTEGER ? [] : say(name, before);
  const parts: Partial<Record<FormField["kind"], readonly string[]>> = {
    number: [
      isWhole(schema) ? "a whole number" : "a number",
      ...bound("minimum", "at least "),
      ...bound("maximum", "at most "),
      ...say("exclusiveMinimum", "more than "),
      ...say("exclusiveMaximum", "less than "),
      ...say("multipleOf", "a multiple of "),
    ],
    text: [
      ...say("format", ""),
      ...say("minLength", "at least ", " characters"),
      ...say("maxLength", "at most ", " characters"),
      ...(schema["format"] === undefined ? say("pattern", "matching ") : []),
    ],
    list: ["one a line", ...say("minItems", "at least "), ...say("maxItems", "at most ")],
    choices: [...say("minItems", "at least "), ...say("maxItems", "at most ")],
    json: ["JSON", ...[schema["type"] ?? []].flat().map(String)],
  };
  return (parts[kind] ?? []).join(", ");
}
