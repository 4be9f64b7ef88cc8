import { formatPath, type Path } from "./path.ts";
import { contentKey, isObject, type JsonObject } from "./records.ts";
import type { Found } from "./resolve.ts";

/**
 * Stands in cut JSON for what was left out. No value is mistaken for it, because the serde escapes data that looks like a record of
 * its own; and a serde that is given it refuses it.
 */
export interface CutRecord {
  readonly lc: 2;
  readonly type: "sg:cut";
  /** Where what was left out can be asked for, within the channel. */
  readonly path: string;
  /** Its size as JSON, in bytes. */
  readonly bytes: number;
  /** How many items or properties it has, where these are what was left out. */
  readonly items?: number;
  /** How a text that was cut begins. */
  readonly begins?: string;
}

/** Whether a part of JSON is a {@link CutRecord}. */
export function isCut(value: unknown): value is CutRecord {
  return isObject(value) && value["lc"] === 2 && value["type"] === "sg:cut";
}

/** Whether something was left out of JSON. */
export function hasCut(value: unknown): boolean {
  if (isCut(value)) return true;
  return typeof value === "object" && value !== null && Object.values(value).some(hasCut);
}

/** What a {@link CutRecord} takes of the budget without text and path, in bytes. */
const recordBytes = 60;

/** A list that is cut shows at least this many items if they are short enough, so that one long item doesn't hide all others. */
const fewestItems = 8;

/** A text from which on measuring it takes longer than remembering its size, in characters. */
const longText = 10_000;

/** The property that stands for those of an object that were left out. */
const others = "…";

/**
 * Cuts the serde's JSON to about `maxBytes`. What is short stays whole, and what is long is cut in equal shares. Of a list, the first
 * item and the last ones stay; of a text, the beginning. Changes nothing of what is given.
 * @param found the value, and where it was found
 */
export function cut({ value, path, from }: Found, maxBytes: number): unknown {
  return new Cutter().cut(value, maxBytes, path, from);
}

/** Shares out a budget: those who need less than an equal share get what they need, and the others share the rest equally. */
export function shares(needs: readonly number[], budget: number): number[] {
  const given: number[] = needs.map(() => 0);
  const ascending = needs.map((need, n) => ({ need, n })).sort((a, b) => a.need - b.need);
  let left = budget;
  for (const [rank, { need, n }] of ascending.entries()) {
    const share = Math.min(need, Math.max(0, Math.floor(left / (ascending.length - rank))));
    given[n] = share;
    left -= share;
  }
  return given;
}

class Cutter {
  /** Sizes of arrays, objects and long texts, each measured once. */
  readonly #sizes = new Map<object | string, number>();

  cut(value: unknown, budget: number, path: Path, from = 0): unknown {
    if (this.#size(value) <= budget) return value;
    if (typeof value === "string") return this.#text(value, budget, path, from);
    if (Array.isArray(value)) return this.#list(value, budget, path, from);
    return isObject(value) ? this.#object(value, budget, path, from) : value;
  }

  #text(text: string, budget: number, path: Path, from: number): CutRecord {
    const begins = beginning(text, budget - recordBytes);
    const rest = formatPath([...path, { from: from + begins.length }]);
    return { ...record(rest, this.#size(text)), begins };
  }

  #list(list: readonly unknown[], budget: number, path: Path, from: number): unknown {
    const room = budget - recordBytes;
    const longest = Math.max(recordBytes, Math.floor(room / fewestItems));
    const need = (item: unknown): number => Math.min(longest, this.#size(item) + 1);
    let used = need(list[0]);
    if (used > room) return this.#left(list, path, from, 0, list.length);
    let tail = list.length;
    while (tail > 1 && used + need(list[tail - 1]) <= room) {
      tail -= 1;
      used += need(list[tail]);
    }
    const places = [0, ...Array.from({ length: list.length - tail }, (_, n) => tail + n)];
    const given = shares(
      places.map((place) => this.#size(list[place]) + 1),
      room,
    );
    const shown = places.map((place, n) => this.cut(list[place], given[n]!, [...path, from + place]));
    return tail === 1 ? shown : [shown[0], this.#left(list, path, from, 1, tail), ...shown.slice(1)];
  }

  /** Stands for the items of a list from `start` up to, but without, `end`. */
  #left(list: readonly unknown[], path: Path, from: number, start: number, end: number): CutRecord {
    const bytes = list.slice(start, end).reduce<number>((sum, item) => sum + this.#size(item) + 1, 0);
    const items = end - start;
    return { ...record(formatPath([...path, { from: from + start, to: from + end }]), bytes), items };
  }

  #object(object: JsonObject, budget: number, path: Path, from: number): unknown {
    const key = contentKey(object);
    if (key !== undefined) return this.#content(object, key, budget, path);
    const entries = Object.entries(object);
    let [shown, names] = [0, 0];
    for (const [name] of entries) {
      names += this.#size(name) + 2;
      if (names + recordBytes * 2 > budget && shown < entries.length - 1) break;
      shown += 1;
    }
    const kept = entries.slice(0, shown);
    const needs = kept.map(([, value]) => this.#size(value));
    const given = shares(needs, budget - names);
    const result: JsonObject = Object.fromEntries(
      kept.map(([name, value], n) => [name, this.cut(value, given[n]!, [...path, name])]),
    );
    if (shown === entries.length) return result;
    const rest = entries.slice(shown);
    const bytes = rest.reduce((sum, [name, value]) => sum + this.#size(name) + this.#size(value) + 2, 0);
    const where = formatPath([...path, { from: from + shown, to: from + entries.length }]);
    return { ...result, [others]: { ...record(where, bytes), items: rest.length } };
  }

  /** Cuts the content of a record, and keeps what says what it is. Paths don't name the property that holds the content. */
  #content(object: JsonObject, key: string, budget: number, path: Path): JsonObject {
    const content = object[key];
    const room = budget - (this.#size(object) - this.#size(content));
    if (key !== "args") return { ...object, [key]: this.cut(content, room, path) };
    const [entries, ...more] = content as unknown[];
    return { ...object, args: [this.cut(entries, room, path), ...more] };
  }

  /** The size of a value as JSON, in bytes. */
  #size(value: unknown): number {
    if (typeof value === "string" && value.length < longText) return textBytes(value);
    if (typeof value !== "string" && (typeof value !== "object" || value === null))
      return String(value).length;
    const known = this.#sizes.get(value);
    if (known !== undefined) return known;
    if (typeof value === "string") {
      const bytes = textBytes(value);
      this.#sizes.set(value, bytes);
      return bytes;
    }
    const items: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
    // Brackets, and commas between the items.
    let bytes = 2 + Math.max(0, items.length - 1);
    for (const item of items) bytes += this.#size(item);
    if (!Array.isArray(value)) for (const key of Object.keys(value)) bytes += textBytes(key) + 1;
    this.#sizes.set(value, bytes);
    return bytes;
  }
}

function record(path: string, bytes: number): CutRecord {
  return { lc: 2, type: "sg:cut", path, bytes };
}

/** Texts that JSON writes as they are, in as many bytes as characters. Most texts are, and this is many times as fast as writing them. */
const plain = /^[ !#-[\]-~]*$/;

function textBytes(text: string): number {
  return plain.test(text) ? text.length + 2 : Buffer.byteLength(JSON.stringify(text));
}

/** The beginning of a text, of at most so many bytes as JSON. Never ends within a character. */
function beginning(text: string, bytes: number): string {
  let begins = text.slice(0, Math.max(0, bytes));
  for (let size = textBytes(begins); size > bytes && begins !== ""; size = textBytes(begins))
    begins = begins.slice(0, Math.min(begins.length - 1, Math.floor((begins.length * bytes) / size)));
  return begins.isWellFormed() || !text.isWellFormed() ? begins : begins.slice(0, -1);
}
