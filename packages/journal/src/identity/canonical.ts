import { StratigraphError } from "@stratigraph/core";

/** How deep arguments may be nested. */
const deepest = 1000;

/**
 * The canonical JSON of a value (RFC 8785): equal values give equal text, whatever the order of their keys. JavaScript's own
 * `JSON.stringify` writes numbers and strings as the RFC asks, so that sorting keys by UTF-16 code units is all that is left. Properties
 * that are undefined are left out, as JSON does.
 * @throws StratigraphError "SERIALIZATION" with the path of what isn't JSON: NaN, BigInt, lone surrogates, functions, cycles, dates
 */
export function canonical(value: unknown): string {
  return write(value, "$", [], undefined);
}

/**
 * As {@link canonical}, for values that are only compared and never stored: what isn't JSON is described by its kind and its text, so that
 * any value has a text.
 */
export function describing(value: unknown): string {
  return write(value, "$", [], describe);
}

type Fallback = (value: unknown, path: string, around: unknown[]) => string;

function write(value: unknown, path: string, around: unknown[], fallback: Fallback | undefined): string {
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "string") {
    if (!value.isWellFormed()) return refused(value, path, around, fallback, "a lone surrogate");
    return JSON.stringify(value);
  }
  if (typeof value === "number") {
    if (!Number.isFinite(value)) return refused(value, path, around, fallback, String(value));
    return JSON.stringify(value);
  }
  if (value === undefined) return refused(value, path, around, fallback, "undefined");
  if (typeof value !== "object") return refused(value, path, around, fallback, `a ${typeof value}`);
  if (around.includes(value)) return refused("cycle", path, around, fallback, "a cycle");
  if (around.length >= deepest) return refused("deep", path, around, fallback, `more than ${deepest} levels`);
  const inside = [...around, value];
  if (Array.isArray(value))
    // map() would pass over the holes of a sparse array.
    return `[${Array.from(value, (item, n) => write(item ?? null, `${path}[${n}]`, inside, fallback)).join(",")}]`;
  const prototype: unknown = Object.getPrototypeOf(value);
  // Plain objects may be of another realm, as in Jest, where Object is another one.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null)
    return refused(value, path, around, fallback, `an object of class ${String(value.constructor?.name)}`);
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  // Without a comparer, sort() orders by UTF-16 code units, as the RFC asks.
  const sorted = fields.map(([name]) => name).sort();
  const lines = sorted.map((name) => {
    const at = `${path}.${name}`;
    if (!name.isWellFormed()) return refused(name, at, around, fallback, "a lone surrogate in a name");
    return `${JSON.stringify(name)}:${write((value as Record<string, unknown>)[name], at, inside, fallback)}`;
  });
  return `{${lines.join(",")}}`;
}

function refused(
  value: unknown,
  path: string,
  around: unknown[],
  fallback: Fallback | undefined,
  found: string,
): string {
  if (fallback !== undefined) return fallback(value, path, around);
  throw new StratigraphError(
    "SERIALIZATION",
    `A call is identified by its arguments, which must be JSON: found ${found} at ${path}. Pass a string or a number in its place.`,
    { path, found },
  );
}

/** Describes what isn't JSON. */
function describe(value: unknown, path: string, around: unknown[]): string {
  if (typeof value !== "object" || value === null)
    return JSON.stringify([typeof value, String(value)]).toWellFormed();
  const inside = [...around, value];
  const of = (...parts: unknown[]): string => write(parts, path, inside, describe);
  if (isMessage(value)) return of("message", ...messageParts(value));
  if (value instanceof Date) return of("date", Number(value));
  if (value instanceof Map) return of("map", [...value]);
  if (value instanceof Set) return of("set", [...value]);
  if (value instanceof Error) return of("error", value.name, value.message);
  if (ArrayBuffer.isView(value)) {
    const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    return of("bytes", bytes.toString("base64"));
  }
  if (value instanceof ArrayBuffer) return of("bytes", Buffer.from(value).toString("base64"));
  const name = value.constructor?.name ?? "object";
  const fields = { ...value };
  if (Object.keys(fields).length > 0) return of(name, fields);
  // URL, RegExp and others have no fields that can be seen, and tell what they are as JSON or text.
  const { toJSON } = value as { toJSON?: unknown };
  return of(name, typeof toJSON === "function" ? (toJSON.call(value) as unknown) : String(value));
}

interface MessageLike {
  getType(): string;
  readonly content: unknown;
  readonly name?: unknown;
  readonly tool_calls?: readonly { name: string; args: unknown }[] | undefined;
}

function isMessage(value: object): value is MessageLike {
  return typeof (value as Partial<MessageLike>).getType === "function" && "content" in value;
}

/** What a message says. Ids and usage differ each time that a model is asked, and aren't part of it. */
function messageParts(message: MessageLike): unknown[] {
  const calls = message.tool_calls?.map(({ name, args }) => ({ name, args }));
  return [message.getType(), message.content, message.name ?? null, calls ?? []];
}
