import { isDocument } from "./encodeStructural.ts";
import { LATE_FIELDS } from "./encodeLangChain.ts";
import type { JsonRecord } from "./records.ts";
import type { TypeRegistry } from "./TypeRegistry.ts";

/** What a value was: a primitive itself, or the parts of an object. Shares no object with the value, only strings. */
export type Snapshot = Primitive | Parts;

type Primitive = string | number | boolean | null | undefined | bigint;

interface Parts {
  readonly kind: "list" | "fields" | "langchain";
  readonly prototype: object;
  /** Names of `values`, in order; of a list, none. */
  readonly keys: readonly string[];
  readonly values: readonly Snapshot[];
  /** Of a LangChain object: names of fields that aren't among its arguments, and what it has of them. */
  readonly lateKeys: readonly string[];
  readonly late: readonly Snapshot[];
}

const none: readonly never[] = [];

/** Objects of a kind that {@link snapshotOf} doesn't know. */
export const UNKNOWN = Symbol("unknown");

/**
 * All that the serializer looks at in a value made of primitives, arrays, plain objects, Documents and LangChain objects, of
 * whichever copy of their package; UNKNOWN where there is anything else in it. Not for cyclic values: serialise first.
 */
export function snapshotOf(value: unknown, registry: TypeRegistry): Snapshot | typeof UNKNOWN {
  if (typeof value === "function" || typeof value === "symbol") return UNKNOWN;
  if (typeof value !== "object" || value === null) return value as Primitive;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Array.prototype) {
    const values = partsOf(value as unknown[], registry);
    return values === undefined
      ? UNKNOWN
      : { kind: "list", prototype: Array.prototype, keys: none, values, lateKeys: none, late: none };
  }
  if (prototype === Object.prototype) return fieldsSnapshot(value as JsonRecord, prototype, registry);
  if (prototype === null) return UNKNOWN;
  const snapshot = langChainSnapshot(value as JsonRecord, prototype as object, registry);
  if (snapshot !== UNKNOWN || registry.typeOf(prototype as object) !== undefined) return snapshot;
  // Of a Document nothing else than its own fields is looked at.
  return !("lg_name" in value) && isDocument(value as JsonRecord)
    ? fieldsSnapshot(value as JsonRecord, prototype as object, registry)
    : UNKNOWN;
}

function fieldsSnapshot(
  value: JsonRecord,
  prototype: object,
  registry: TypeRegistry,
): Snapshot | typeof UNKNOWN {
  const keys = Object.keys(value);
  const values = partsOf(
    keys.map((key) => value[key]),
    registry,
  );
  return values === undefined
    ? UNKNOWN
    : { kind: "fields", prototype, keys, values, lateKeys: none, late: none };
}

function langChainSnapshot(
  value: JsonRecord,
  prototype: object,
  registry: TypeRegistry,
): Snapshot | typeof UNKNOWN {
  const known = registry.langChainOf(prototype) ?? registry.langChainCopyOf(value, prototype)?.copy;
  const given = value.lc_kwargs as JsonRecord;
  // A class with attributes or secrets of its own is asked for them every time.
  if (known === undefined || known.adjustsArguments) return UNKNOWN;
  if (Object.getPrototypeOf(given) !== Object.prototype) return UNKNOWN;
  const keys = Object.keys(given);
  const values = partsOf(
    keys.map((key) => (key in value ? value[key] : given[key])),
    registry,
  );
  const lateKeys = LATE_FIELDS.filter((field) => !Object.hasOwn(given, field));
  const late = partsOf(
    lateKeys.map((field) => value[field]),
    registry,
  );
  return values === undefined || late === undefined
    ? UNKNOWN
    : { kind: "langchain", prototype, keys, values, lateKeys, late };
}

function partsOf(values: readonly unknown[], registry: TypeRegistry): Snapshot[] | undefined {
  const parts: Snapshot[] = [];
  for (const value of values) {
    const part = snapshotOf(value, registry);
    if (part === UNKNOWN) return undefined;
    parts.push(part);
  }
  return parts;
}

/** Whether a value is still, or again, what the snapshot was taken of: whether it would be serialised to the same bytes. */
export function isSame(snapshot: Snapshot, value: unknown): boolean {
  if (typeof snapshot !== "object" || snapshot === null) return Object.is(snapshot, value);
  if (typeof value !== "object" || value === null) return false;
  if (Object.getPrototypeOf(value) !== snapshot.prototype) return false;
  if (snapshot.kind === "list") return isSameList(snapshot.values, value as unknown[]);
  if (snapshot.kind === "fields") return isSameFields(snapshot, value as JsonRecord);
  return isSameLangChain(snapshot, value as JsonRecord);
}

function isSameList(snapshots: readonly Snapshot[], values: readonly unknown[]): boolean {
  if (values.length !== snapshots.length) return false;
  for (let index = 0; index < snapshots.length; index += 1)
    if (!isSame(snapshots[index] as Snapshot, values[index])) return false;
  return true;
}

function isSameFields({ keys, values }: Parts, value: JsonRecord): boolean {
  let index = 0;
  // for…in allocates nothing. It shows inherited keys too, so a polluted Object.prototype makes nothing the same.
  for (const key in value) {
    if (key !== keys[index] || !isSame(values[index] as Snapshot, value[key])) return false;
    index += 1;
  }
  return index === keys.length;
}

function isSameLangChain({ keys, values, lateKeys, late }: Parts, value: JsonRecord): boolean {
  const given = value.lc_kwargs as JsonRecord | null | undefined;
  if (typeof given !== "object" || given === null) return false;
  if (Object.getPrototypeOf(given) !== Object.prototype) return false;
  let index = 0;
  for (const key in given) {
    if (key !== keys[index]) return false;
    const own = value[key];
    if (!isSame(values[index] as Snapshot, own !== undefined || key in value ? own : given[key]))
      return false;
    index += 1;
  }
  if (index !== keys.length) return false;
  // Which fields aren't among the arguments is the same, as the arguments' names are.
  for (let field = 0; field < lateKeys.length; field += 1)
    if (!isSame(late[field] as Snapshot, value[lateKeys[field] as string])) return false;
  return true;
}
