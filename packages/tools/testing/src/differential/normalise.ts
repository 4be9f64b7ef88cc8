import { BaseMessage } from "@langchain/core/messages";

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const interruptId = /^[0-9a-f]{32}$/;
const timestamp = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$/;

/** The keys of `configurable` that address a checkpoint. The other keys are functions and signals of the run. */
const addressKeys = ["thread_id", "checkpoint_ns", "checkpoint_id", "checkpoint_map"];

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;

/** A value as plain data: messages, errors and other objects as their content, configs as the address in them. */
export const plain = (value: unknown): unknown => {
  if (!isRecord(value)) return typeof value === "function" ? "a function" : value;
  if (Array.isArray(value)) return value.map(plain);
  if (BaseMessage.isInstance(value)) return plain(value.toDict());
  // The official serializer also stores what toJSON returns.
  if (typeof value["toJSON"] === "function") return plain(value["toJSON"]());
  if (value instanceof Error) return { error: value.name, message: value.message };
  const { configurable } = value;
  if (isRecord(configurable)) {
    const address = addressKeys.filter((key) => configurable[key] !== undefined);
    return { configurable: Object.fromEntries(address.map((key) => [key, plain(configurable[key])])) };
  }
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, part]) => part !== undefined)
      .map(([key, part]) => [key, plain(part)]),
  );
};

/** Replaces, in all notes of a run, ids by numbers in order of appearance, and times by a word. */
export class Normaliser {
  readonly #names = new Map<string, string>();
  readonly #ordered: boolean;

  /** @param ordered whether the order of lists is compared */
  constructor(ordered: boolean) {
    this.#ordered = ordered;
  }

  /** The same data with ids and times replaced. Keys are visited in an order that doesn't depend on the saver. */
  normalise(value: unknown): unknown {
    if (typeof value === "string") return this.#text(value);
    if (!isRecord(value)) return value;
    if (Array.isArray(value)) {
      const parts = this.#ordered ? value : value.toSorted((a, b) => compare(withoutIds(a), withoutIds(b)));
      return parts.map((part: unknown) => this.normalise(part));
    }
    const entries = Object.entries(value).toSorted(([a], [b]) => compare(withoutIds(a), withoutIds(b)));
    return Object.fromEntries(entries.map(([key, part]) => [this.#text(key), this.normalise(part)]));
  }

  #text(text: string): string {
    if (timestamp.test(text)) return "a time";
    if (interruptId.test(text)) return this.#name("interrupt", text);
    return text.replaceAll(uuid, (id) => this.#name("id", id));
  }

  #name(kind: string, id: string): string {
    const known = this.#names.get(id);
    if (known !== undefined) return known;
    const name = `${kind} ${this.#names.size + 1}`;
    this.#names.set(id, name);
    return name;
  }
}

/** A value as text, without its ids, and with its keys and lists sorted. */
export const withoutIds = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(withoutIds).toSorted().join()}]`;
  if (isRecord(value)) {
    const entries = Object.entries(value).map(([key, part]) => `${withoutIds(key)}:${withoutIds(part)}`);
    return `{${entries.toSorted().join()}}`;
  }
  const text = String(value);
  return timestamp.test(text) || interruptId.test(text) ? "" : text.replaceAll(uuid, "");
};

/** Compares texts by UTF-16 code units, so that the result doesn't depend on the locale. */
export const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
