import type { JsonRecord } from "./records.ts";

type ErrorConstructor = new (message: string) => Error;

const ERROR_CLASSES: Readonly<Record<string, ErrorConstructor>> = {
  Error,
  TypeError,
  RangeError,
  SyntaxError,
  ReferenceError,
  EvalError,
  URIError,
};

/** Builds an Error from its message and its revived kwargs, leaving out those of the wrong type. */
export function decodeError(message: string, kwargs: JsonRecord): Error {
  const error = construct(message, kwargs);
  if (typeof kwargs.stack === "string") setHidden(error, "stack", kwargs.stack);
  if (typeof kwargs.name === "string" && kwargs.class !== "DOMException")
    setHidden(error, "name", kwargs.name);
  if (Object.hasOwn(kwargs, "cause")) setHidden(error, "cause", kwargs.cause);
  if (typeof kwargs.properties === "object" && kwargs.properties !== null) {
    for (const [key, value] of Object.entries(kwargs.properties)) {
      Object.defineProperty(error, key, { value, writable: true, enumerable: true, configurable: true });
    }
  }
  return error;
}

function construct(message: string, kwargs: JsonRecord): Error {
  if (kwargs.class === "AggregateError" && Array.isArray(kwargs.errors)) {
    return new AggregateError(kwargs.errors, message);
  }
  if (kwargs.class === "DOMException") {
    return new DOMException(message, typeof kwargs.name === "string" ? kwargs.name : "Error");
  }
  const name = String(kwargs.class);
  const errorClass = (Object.hasOwn(ERROR_CLASSES, name) ? ERROR_CLASSES[name] : undefined) ?? Error;
  return new errorClass(message);
}

/** Sets a property that is writable but not enumerable, as the properties of a new Error are. */
function setHidden(error: Error, key: string, value: unknown): void {
  Object.defineProperty(error, key, { value, writable: true, enumerable: false, configurable: true });
}
