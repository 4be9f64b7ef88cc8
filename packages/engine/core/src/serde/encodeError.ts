import { constructorRecord, type JsonRecord, setOwn } from "./records.ts";
import type { ValueEncoder } from "./valueEncoder.ts";

/** The names of built-in error classes by prototype. An error of another class is stored as the nearest of these. */
const ERROR_CLASSES: ReadonlyMap<object, string> = new Map(
  Object.entries({
    Error,
    TypeError,
    RangeError,
    SyntaxError,
    ReferenceError,
    EvalError,
    URIError,
    AggregateError,
    DOMException,
  }).map(([name, errorClass]) => [errorClass.prototype, name]),
);

/** Properties with a place of their own in the record. Other own properties go into `properties`, if they are primitive. */
const NAMED = new Set(["name", "message", "stack", "cause", "errors"]);

/**
 * LangGraph's record of an Error, which has only the message. The rest is in `kwargs`, which LangGraph ignores. Own properties are
 * kept only if they are primitive (`code`, `status`), so that an error with a socket as a property doesn't prevent a run from being
 * stored.
 */
export function encodeError(error: Error, encoder: ValueEncoder, depth: number): JsonRecord {
  const className = classOf(error);
  const kwargs: JsonRecord = { class: className };
  if (error.name !== className) kwargs.name = String(error.name);
  if (typeof error.stack === "string") kwargs.stack = error.stack;
  if (Object.hasOwn(error, "cause")) kwargs.cause = encoder.child(error.cause, "cause", depth);
  if (className === "AggregateError") {
    kwargs.errors = encoder.child((error as AggregateError).errors, "errors", depth);
  }
  const properties: JsonRecord = {};
  for (const [key, value] of Object.entries(error)) {
    if (NAMED.has(key) || value === undefined || typeof value === "function" || typeof value === "symbol")
      continue;
    if (typeof value === "object" && value !== null) continue;
    setOwn(properties, key, encoder.child(value, key, depth));
  }
  if (Object.keys(properties).length > 0) kwargs.properties = properties;
  return constructorRecord("Error", null, [String(error.message)], kwargs);
}

function classOf(error: Error): string {
  for (
    let prototype: unknown = Object.getPrototypeOf(error);
    typeof prototype === "object" && prototype !== null;
    prototype = Object.getPrototypeOf(prototype)
  ) {
    const name = ERROR_CLASSES.get(prototype);
    if (name !== undefined) return name;
  }
  return "Error";
}
