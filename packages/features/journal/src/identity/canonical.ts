import { StratigraphError } from "@stratigraph/core";

/** How deep arguments may be nested. */
const deepest = 1000;

/**
 * The canonical JSON of a value (RFC 8785): equal values give equal text, whatever the order of their keys. JavaScript's own
 * `JSON.stringify` writes numbers and strings as the RFC asks, so only the keys have to be sorted by UTF-16 code units. Properties that are
 * undefined are left out, as in JSON.
 * @throws StratigraphError "SERIALIZATION" with the path of what isn't JSON: NaN, BigInt, lone surrogates, functions, cycles, dates
 */
export function canonical(value: unknown): string {
  return new Writer(false).write(value);
}

/**
 * As {@link canonical}, for values that are only compared and never stored: values that aren't JSON are described by their kind and text,
 * so that any value has a text.
 */
export function describing(value: unknown): string {
  return new Writer(true).write(value);
}

class Writer {
  /** Whether values that aren't JSON are described. */
  readonly #describes: boolean;
  /** The arrays and objects that contain the value being written, outermost first. */
  readonly #around: unknown[] = [];
  /** The path to the value being written, `[3]` and `.name`. It is only put together for an error. */
  readonly #steps: (string | number)[] = [];

  constructor(describes: boolean) {
    this.#describes = describes;
  }

  write(value: unknown): string {
    if (value === null || typeof value === "boolean") return String(value);
    if (typeof value === "string")
      return value.isWellFormed() ? JSON.stringify(value) : this.#other(value, "a lone surrogate");
    if (typeof value === "number")
      return Number.isFinite(value) ? JSON.stringify(value) : this.#other(value, String(value));
    if (value === undefined) return this.#other(value, "undefined");
    if (typeof value !== "object") return this.#other(value, `a ${typeof value}`);
    if (this.#around.includes(value)) return this.#other("cycle", "a cycle");
    if (this.#around.length >= deepest) return this.#other("deep", `more than ${deepest} levels`);
    if (Array.isArray(value)) return this.#list(value);
    const prototype: unknown = Object.getPrototypeOf(value);
    // A plain object may come from another realm with its own Object, as in Jest.
    if (prototype !== null && Object.getPrototypeOf(prototype) !== null)
      return this.#other(value, `an object of class ${String(value.constructor?.name)}`);
    return this.#object(value as Record<string, unknown>);
  }

  // Loops instead of callbacks: for a deeply nested value, callbacks would overflow the stack.
  #list(list: readonly unknown[]): string {
    const parts: string[] = [];
    this.#around.push(list);
    for (let n = 0; n < list.length; n += 1) {
      this.#steps.push(n);
      parts.push(this.write(list[n] ?? null));
      this.#steps.pop();
    }
    this.#around.pop();
    return `[${parts.join(",")}]`;
  }

  #object(object: Record<string, unknown>): string {
    const parts: string[] = [];
    this.#around.push(object);
    // Without a comparer, sort() orders by UTF-16 code units, as the RFC asks.
    for (const name of Object.keys(object).sort()) {
      const field = object[name];
      if (field === undefined) continue;
      this.#steps.push(name);
      if (name.isWellFormed()) parts.push(`${JSON.stringify(name)}:${this.write(field)}`);
      else parts.push(this.#other(name, "a lone surrogate in a name"));
      this.#steps.pop();
    }
    this.#around.pop();
    return `{${parts.join(",")}}`;
  }

  /** Describes or refuses a value that isn't JSON. */
  #other(value: unknown, found: string): string {
    if (this.#describes) return this.#description(value);
    const path = `$${this.#steps.map((step) => (typeof step === "number" ? `[${step}]` : `.${step}`)).join("")}`;
    throw new StratigraphError(
      "SERIALIZATION",
      `A call is identified by its arguments, which must be JSON: found ${found} at ${path}. Pass a string or a number in its place.`,
      { path, found },
    );
  }

  #description(value: unknown): string {
    if (typeof value !== "object" || value === null)
      return JSON.stringify([typeof value, String(value)]).toWellFormed();
    const of = (...parts: unknown[]): string => {
      this.#around.push(value);
      const text = this.write(parts);
      this.#around.pop();
      return text;
    };
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
    // URL, RegExp and others have no visible fields; their JSON or text shows what they are.
    const { toJSON } = value as { toJSON?: unknown };
    return of(name, typeof toJSON === "function" ? (toJSON.call(value) as unknown) : String(value));
  }
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

/** The content of a message. Ids and usage differ each time that a model is asked, and aren't part of it. */
function messageParts(message: MessageLike): unknown[] {
  const calls = message.tool_calls?.map(({ name, args }) => ({ name, args }));
  return [message.getType(), message.content, message.name ?? null, calls ?? []];
}
