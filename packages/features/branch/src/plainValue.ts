import { isDeepStrictEqual } from "node:util";

/** The parts of a LangChain message that comparing needs. */
interface MessageLike {
  readonly id?: string | undefined;
  toDict(): { type: string; data: Record<string, unknown> };
}

/** Whether a value is a LangChain message, even if another copy of the package made it. */
export function isMessage(value: unknown): value is MessageLike {
  return (
    typeof value === "object" &&
    value !== null &&
    typeof (value as Partial<MessageLike>).toDict === "function" &&
    "lc_serializable" in value
  );
}

/** Replaces LangChain messages by plain data and leaves out undefined properties, so that equal values compare equal. */
export function plainValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plainValue);
  if (typeof value !== "object" || value === null) return value;
  if (isMessage(value)) {
    const { type, data } = value.toDict();
    return { type, data: plainValue(data) };
  }
  if (value instanceof Map) return new Map([...value].map(([key, item]) => [key, plainValue(item)]));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(entries.map(([key, item]) => [key, plainValue(item)]));
}

/** Whether two channel values are equal. Converting messages to plain data takes the most time, so it is done last. */
export function sameValue(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return Object.is(a, b);
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, index) => sameValue(item, b[index]));
  if (isMessage(a) && isMessage(b) && a.id !== b.id) return false;
  return isDeepStrictEqual(plainValue(a), plainValue(b));
}

/** A value as plain JSON, for plans and diffs that leave the process. Bytes become base64, BigInts text. */
export function jsonValue(value: unknown): unknown {
  const plain = plainValue(value);
  if (plain instanceof Set) return [...plain].map(jsonValue);
  if (plain instanceof Map) return [...plain].map(([key, item]) => [jsonValue(key), jsonValue(item)]);
  if (plain instanceof Uint8Array) return Buffer.from(plain).toString("base64");
  if (typeof plain === "bigint") return String(plain);
  if (Array.isArray(plain)) return plain.map(jsonValue);
  if (typeof plain !== "object" || plain === null) return plain;
  if (typeof (plain as { toJSON?: unknown }).toJSON === "function")
    return JSON.parse(JSON.stringify(plain)) as unknown;
  return Object.fromEntries(Object.entries(plain).map(([key, item]) => [key, jsonValue(item)]));
}
