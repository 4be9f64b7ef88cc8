/*
 * Stored values are LangGraph's JSON. Its own records:
 *   {"lc":1,"type":"constructor","id":[…],"kwargs":{…}}         LangChain objects; user data with an "lc" key inside
 *                                                               kwargs is {"__lc_escaped__":{…}}
 *   {"lc":2,"type":"undefined"}
 *   {"lc":2,"type":"delta_snapshot","value":…}
 *   {"lc":2,"type":"constructor","id":[name],"method":null,"args":[…],"kwargs":{}}   Map, Set, RegExp, Error;
 *     the kwargs of an Error are ours: class, name, stack, cause, errors, properties (LangGraph ignores them)
 * Ours, which official readers keep as plain data:
 *   sg:number {value: "NaN" | "Infinity" | "-Infinity" | "-0"}   sg:bigint {value}   sg:Date {value: ISO | null}
 *   sg:URL {value}   sg:bytes {class, value: base64}              sg:null-prototype {value: {…}}
 *   sg:plain {value: {…}}                                         user data that looks like a record
 *   sg:type {name, value}                                         a registered type
 *   sg:Document {pageContent, metadata, id?}                      sg:Send {node, args, timeout?}
 *   sg:Command {lg_name, graph?, update?, resume?, goto?}         sg:Overwrite {__overwrite__}
 * Never stored: sg:cut and sg:redacted, with which @stratigraph/cli/operations shows that something was left out.
 */

/** A JSON object. */
export type JsonRecord = Record<string, unknown>;

/** The beginning of the `type` of all records of ours; LangGraph's own records have no such type. */
export const EXTENSION_PREFIX = "sg:";

/** LangGraph's record for `undefined`. */
export const UNDEFINED_RECORD: Readonly<JsonRecord> = Object.freeze({ lc: 2, type: "undefined" });

/** The key under which LangChain wraps user data with an `lc` key, inside the kwargs of its own objects. */
export const LC_ESCAPED = "__lc_escaped__";

/** The property by which LangGraph knows an `Overwrite`, even one that was read back as plain data. */
export const OVERWRITE = "__overwrite__";

/** A record of ours: `{"lc":2,"type":"sg:<name>", …payload}`. Official readers keep it as plain data. */
export function extension(name: string, payload: JsonRecord): JsonRecord {
  return { lc: 2, type: EXTENSION_PREFIX + name, ...payload };
}

/** LangGraph's record for an instance of a built-in class. */
export function constructorRecord(
  name: string,
  method: string | null,
  args: readonly unknown[],
  kwargs: JsonRecord = {},
): JsonRecord {
  return { lc: 2, type: "constructor", id: [name], method, args, kwargs };
}

/** Whether a reader would take this plain object for a record, so that user data must be wrapped. */
export function looksLikeRecord(value: JsonRecord): boolean {
  const { lc, type } = value;
  if (lc === 1) return type === "constructor";
  if (lc !== 2 || typeof type !== "string") return false;
  return (
    type === "constructor" ||
    type === "undefined" ||
    type === "delta_snapshot" ||
    type.startsWith(EXTENSION_PREFIX)
  );
}

/** Whether LangChain's `load` would unwrap this object. */
export function isLcEscaped(value: JsonRecord): boolean {
  return Object.hasOwn(value, LC_ESCAPED) && Object.keys(value).length === 1;
}

/** Sets an own property, even if its name is `__proto__`. */
export function setOwn(target: JsonRecord, key: string, value: unknown): void {
  if (key === "__proto__") {
    Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
  } else {
    target[key] = value;
  }
}
