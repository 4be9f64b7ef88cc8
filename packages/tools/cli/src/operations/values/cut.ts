import { formatPath } from "./formatPath.ts";
import type { Path } from "./path.ts";
import { contentKey, isObject, type JsonObject } from "./records.ts";
import type { Found } from "./resolve.ts";

/**
 * Replaces a part that was left out of JSON. No value is mistaken for it, because the serde escapes data that looks like one of its
 * records. A serde that is given this record refuses it.
 */
export interface CutRecord {
  readonly lc: 2;
  readonly type: "sg:cut";
  /** The path, within the channel, of what was left out. */
  readonly path: string;
  /** Its size as JSON, in bytes. */
  readonly bytes: number;
  /** The number of items or properties that were left out; absent for a text. */
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

/** Size of a {@link CutRecord} without text and path, in bytes. */
const recordBytes = 60;

/** A list that is cut shows at least this many items if they are short enough, so that one long item doesn't hide all others. */
const fewestItems = 8;

/** From this size on, in bytes, measuring a value again takes longer than looking up its remembered size. */
const worthRemembering = 10_000;

/** Size of an empty array or object as JSON, in bytes. */
const brackets = 2;

/** The property that stands for the properties of an object that were left out. */
const others = "…";

/**
 * Cuts the serde's JSON to about `maxBytes`. What is short stays whole, and what is long is cut in equal shares. Of a list, the first
 * item and the last ones stay; of a text, the beginning. Changes nothing of what is given.
 * @param found the value, and where it was found
 * @param bytes its size as JSON, if it is known: a long value needn't be measured then, only what is shown of it
 */
export function cut({ value, path, from }: Found, maxBytes: number, bytes?: number): unknown {
  return new Cutter().cut(value, maxBytes, path, { from, bytes });
}

/** What each of so many values gets of a budget, before their needs are known. */
export function equalShare(budget: number, count: number, least: number): number {
  return Math.max(least, Math.floor(budget / Math.max(1, count)));
}

/** Shares out a budget: needs below an equal share are met, and the others share the rest equally. */
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

/** What is known of a value that is cut. */
interface Known {
  /** The position of its first item or character if it is a slice. Default 0. */
  readonly from?: number;
  /** Its size as JSON, in bytes. */
  readonly bytes?: number | undefined;
}

class Cutter {
  /** Sizes of long values, each measured once. */
  readonly #sizes = new Map<unknown, number>();

  cut(value: unknown, budget: number, path: Path, known: Known = {}): unknown {
    if (this.#sizeUpTo(budget, value) <= budget) return value;
    if (typeof value === "string") return this.#text(value, budget, path, known);
    if (Array.isArray(value)) return this.#list(value, budget, path, known);
    return isObject(value) ? this.#object(value, budget, path, known) : value;
  }

  #text(text: string, budget: number, path: Path, { from = 0, bytes }: Known): CutRecord {
    const begins = beginning(text, budget - recordBytes);
    const rest = formatPath([...path, { from: from + begins.length }]);
    return { ...record(rest, bytes ?? this.#size(text)), begins };
  }

  #list(list: readonly unknown[], budget: number, path: Path, { from = 0, bytes }: Known): unknown {
    const room = budget - recordBytes;
    const longest = Math.max(recordBytes, Math.floor(room / fewestItems));
    const need = (item: unknown): number => Math.min(longest, this.#sizeUpTo(longest, item) + 1);
    const left = (start: number, end: number): CutRecord => ({
      ...record(
        formatPath([...path, { from: from + start, to: from + end }]),
        this.#leftOf(list, start, end, bytes),
      ),
      items: end - start,
    });
    let used = need(list[0]);
    if (used > room) return left(0, list.length);
    let tail = list.length;
    while (tail > 1 && used + need(list[tail - 1]) <= room) {
      tail -= 1;
      used += need(list[tail]);
    }
    const places = [0, ...Array.from({ length: list.length - tail }, (_, n) => tail + n)];
    const given = shares(
      places.map((place) => this.#sizeUpTo(room, list[place]) + 1),
      room,
    );
    const shown = places.map((place, n) => this.cut(list[place], given[n]!, [...path, from + place]));
    return tail === 1 ? shown : [shown[0], left(1, tail), ...shown.slice(1)];
  }

  /**
   * The size of the items of a list from `start` up to, but without, `end`, each with a comma.
   * @param bytes the size of the whole list, if it is known: the few items that are shown are measured then, and not the many others
   */
  #leftOf(list: readonly unknown[], start: number, end: number, bytes: number | undefined): number {
    const sum = (items: readonly unknown[]): number =>
      items.reduce<number>((total, item) => total + this.#size(item) + 1, 0);
    if (bytes === undefined) return sum(list.slice(start, end));
    const whole = bytes - brackets + 1;
    return whole - sum(list.slice(0, start)) - sum(list.slice(end));
  }

  #object(object: JsonObject, budget: number, path: Path, { from = 0, bytes }: Known): unknown {
    const key = contentKey(object);
    if (key !== undefined) return this.#content(object, key, budget, path, bytes);
    const entries = Object.entries(object);
    let [shown, names] = [0, 0];
    for (const [name] of entries) {
      names += this.#size(name) + 2;
      if (names + recordBytes * 2 > budget && shown < entries.length - 1) break;
      shown += 1;
    }
    const kept = entries.slice(0, shown);
    const room = budget - names;
    const needs = kept.map(([, value]) => this.#sizeUpTo(room, value));
    const given = shares(needs, room);
    const result: JsonObject = Object.fromEntries(
      kept.map(([name, value], n) => {
        // If only one value is long, its size is that of the object minus the rest.
        const isKnown = bytes !== undefined && shown === entries.length && needs[n]! > room;
        const known = isKnown && needs.every((need, other) => other === n || need <= room);
        const own = known ? bytes - this.#around(object, name) : undefined;
        return [name, this.cut(value, given[n]!, [...path, name], { bytes: own })];
      }),
    );
    if (shown === entries.length) return result;
    const rest = entries.slice(shown);
    const size = rest.reduce((sum, [name, value]) => sum + this.#size(name) + this.#size(value) + 2, 0);
    const where = formatPath([...path, { from: from + shown, to: from + entries.length }]);
    return { ...result, [others]: { ...record(where, size), items: rest.length } };
  }

  /** Cuts the content of a record, and keeps its other properties. Paths don't name the property that holds the content. */
  #content(
    object: JsonObject,
    key: string,
    budget: number,
    path: Path,
    bytes: number | undefined,
  ): JsonObject {
    const around = this.#around(object, key);
    const room = budget - around;
    const own = bytes === undefined ? undefined : bytes - around;
    if (key !== "args") return { ...object, [key]: this.cut(object[key], room, path, { bytes: own }) };
    const [entries, ...more] = object[key] as unknown[];
    const alone = own === undefined || more.length > 0 ? undefined : own - brackets;
    return { ...object, args: [this.cut(entries, room, path, { bytes: alone }), ...more] };
  }

  /** The size of an object without the value of one of its properties, as JSON, in bytes. */
  #around(object: JsonObject, name: string): number {
    return this.#size({ ...object, [name]: 0 }) - 1;
  }

  /** The size of a value as JSON, in bytes. */
  #size(value: unknown): number {
    return this.#sizeUpTo(Infinity, value);
  }

  /** The size of a value as JSON, in bytes. What is longer than `most` isn't measured further: any number above `most` stands for it. */
  #sizeUpTo(most: number, value: unknown): number {
    if (typeof value !== "string" && (typeof value !== "object" || value === null))
      return String(value).length;
    const known = this.#sizes.get(value);
    if (known !== undefined) return known;
    const bytes = typeof value === "string" ? textBytesUpTo(most, value) : this.#sumUpTo(most, value);
    if (bytes >= worthRemembering && bytes <= most) this.#sizes.set(value, bytes);
    return bytes;
  }

  /** As {@link #sizeUpTo}, of an array or an object. */
  #sumUpTo(most: number, value: object): number {
    const names = Array.isArray(value) ? undefined : Object.keys(value);
    const items: readonly unknown[] = names === undefined ? (value as unknown[]) : Object.values(value);
    let bytes = brackets + Math.max(0, items.length - 1);
    for (let n = 0; n < items.length && bytes <= most; n += 1) {
      if (names !== undefined) bytes += textBytes(names[n]!) + 1;
      bytes += this.#sizeUpTo(most - bytes, items[n]);
    }
    return bytes;
  }
}

function record(path: string, bytes: number): CutRecord {
  return { lc: 2, type: "sg:cut", path, bytes };
}

/**
 * Matches texts that JSON writes unchanged, one byte for each character. Most texts are, and this test is many times as fast as
 * writing them.
 */
const plain = /^[ !#-[\]-~]*$/;

/** As {@link textBytes}. What is longer than `most` isn't looked at: any number above `most` stands for it. */
function textBytesUpTo(most: number, text: string): number {
  return text.length + 2 > most ? text.length + 2 : textBytes(text);
}

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
