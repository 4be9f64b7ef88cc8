/** An object of the serde's JSON. */
export type JsonObject = Record<string, unknown>;

/** Whether a part of the serde's JSON is an object, including records of the serde. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The record of a LangChain object, such as a message. */
export type LangChainRecord = JsonObject & { readonly id: readonly unknown[]; readonly kwargs: JsonObject };

/** Whether a part of the serde's JSON is the record of a LangChain object. */
export function isLangChain(value: unknown): value is LangChainRecord {
  return (
    isObject(value) &&
    value["lc"] === 1 &&
    value["type"] === "constructor" &&
    Array.isArray(value["id"]) &&
    isObject(value["kwargs"])
  );
}

/** Records whose content is in the property `value`. */
const wrappers: ReadonlySet<unknown> = new Set([
  "delta_snapshot",
  "sg:bytes",
  "sg:null-prototype",
  "sg:plain",
  "sg:type",
]);

/**
 * The name of the property that holds the content of a serde's record. Paths leave it out: `messages[3].content` is the content of a
 * message, although its JSON has it under `kwargs`. Undefined if the value isn't such a record.
 */
export function contentKey(value: unknown): string | undefined {
  if (isLangChain(value)) return "kwargs";
  if (!isObject(value)) return undefined;
  if (value["lc"] === 2) {
    if (wrappers.has(value["type"])) return "value";
    return isCollection(value) ? "args" : undefined;
  }
  const [key, ...others] = Object.keys(value);
  return key === "__lc_escaped__" && others.length === 0 ? key : undefined;
}

/** Whether a record stands for a Map or a Set. Its arguments are a list that holds the list of its entries. */
export function isCollection(value: JsonObject): boolean {
  const [name] = Array.isArray(value["id"]) ? (value["id"] as unknown[]) : [];
  return (
    value["type"] === "constructor" && (name === "Map" || name === "Set") && Array.isArray(value["args"])
  );
}

/** The content of a value, without the records around it: an array, a plain object, a text, … */
export function contentOf(value: unknown): unknown {
  let at = value;
  for (let key = contentKey(at); key !== undefined; key = contentKey(at)) {
    const record = at as JsonObject;
    at = key === "args" ? (record["args"] as unknown[])[0] : record[key];
  }
  return at;
}

/** The text id of an item, such as a message. */
export function idOf(value: unknown): string | undefined {
  const content = contentOf(value);
  const id = isObject(content) ? content["id"] : undefined;
  return typeof id === "string" ? id : undefined;
}

/** The record of a message of LangChain. */
export type Message = LangChainRecord;

/** Whether a part of the serde's JSON is the record of a message. */
export function isMessage(value: unknown): value is Message {
  return isLangChain(value) && /Message(Chunk)?$/.test(String(value.id.at(-1)));
}

/** Stands for a value that isn't shown, because the config's `redact` names it. A serde that is given it refuses it. */
export const redactedRecord = Object.freeze({ lc: 2, type: "sg:redacted" } as const);

/** Whether a part of JSON is a {@link redactedRecord}. */
export function isRedacted(value: unknown): boolean {
  return isObject(value) && value["lc"] === 2 && value["type"] === redactedRecord.type;
}
