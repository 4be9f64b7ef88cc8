import { base64FromBytes, BYTE_CLASSES } from "./bytes.ts";
import { constructorRecord, extension, type JsonRecord } from "./records.ts";
import type { ValueEncoder } from "./valueEncoder.ts";

type EncodeInstance = (value: never, encoder: ValueEncoder, depth: number) => JsonRecord;

function encodeDate(value: Date): JsonRecord {
  const time = value.getTime();
  return extension("Date", { value: Number.isNaN(time) ? null : value.toISOString() });
}

function encodeMap(value: Map<unknown, unknown>, encoder: ValueEncoder, depth: number): JsonRecord {
  const entries: [unknown, unknown][] = [];
  for (const [key, item] of value) {
    encoder.step(entries.length, depth);
    entries.push([encoder.child(key, "key", depth + 1), encoder.child(item, "value", depth + 1)]);
  }
  return constructorRecord("Map", null, [entries]);
}

function encodeSet(value: Set<unknown>, encoder: ValueEncoder, depth: number): JsonRecord {
  const items: unknown[] = [];
  for (const item of value) items.push(encoder.child(item, items.length, depth));
  return constructorRecord("Set", null, [items]);
}

const ENCODERS: readonly (readonly [string, object, EncodeInstance])[] = [
  ["Date", Date.prototype, encodeDate],
  ["Map", Map.prototype, encodeMap],
  ["Set", Set.prototype, encodeSet],
  [
    "RegExp",
    RegExp.prototype,
    (value: RegExp) => constructorRecord("RegExp", null, [value.source, value.flags]),
  ],
  ["URL", URL.prototype, (value: URL) => extension("URL", { value: value.href })],
  ...[...BYTE_CLASSES].map(([name, prototype]): [string, object, EncodeInstance] => [
    name,
    prototype,
    (value: ArrayBufferView | ArrayBuffer) =>
      extension("bytes", { class: name, value: base64FromBytes(value) }),
  ]),
];

const BY_PROTOTYPE = new Map(ENCODERS.map(([, prototype, encode]) => [prototype, encode]));
const BY_NAME = new Map(ENCODERS.map(([name, , encode]) => [name, encode]));

/** The function that encodes instances of exactly this built-in class. */
export function builtInEncoder(prototype: object): EncodeInstance | undefined {
  return BY_PROTOTYPE.get(prototype);
}

/** As {@link builtInEncoder}, for built-in classes of another realm (`vm`, jest), which have other prototypes. */
export function foreignBuiltInEncoder(value: object, className: string): EncodeInstance | undefined {
  const tag = Object.prototype.toString.call(value).slice(8, -1);
  return tag === className ? BY_NAME.get(className) : undefined;
}
