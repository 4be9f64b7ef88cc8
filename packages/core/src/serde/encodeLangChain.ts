import type { Encoder } from "./encoder.ts";
import type { LangChainClass } from "./langChainClasses.ts";
import type { JsonRecord } from "./records.ts";

/** What every instance of LangChain's `Serializable` has. */
interface LangChainObject {
  readonly lc_serializable: boolean;
  readonly lc_id: readonly string[];
  readonly lc_kwargs: JsonRecord;
}

/** Fields that can be set on an instance after it was built, which LangChain's own `toJSON` then forgets. */
export const LATE_FIELDS: readonly string[] = [
  "id",
  "name",
  "usage_metadata",
  "artifact",
  "status",
  "metadata",
  "tool_call_id",
  "role",
  "content",
];

/** Whether an instance has such a field, and not among the arguments it was built with. */
export function isLate(instance: JsonRecord, given: object, field: string): boolean {
  return instance[field] !== undefined && !Object.hasOwn(given, field);
}

/**
 * The record that LangChain's `toJSON` gives, key for key, without its three copies of the arguments.
 * What `toJSON` would destroy in them (Map, Date, bytes …) is kept.
 */
export function encodeLangChain(
  value: object,
  known: LangChainClass,
  encoder: Encoder,
  depth: number,
): JsonRecord {
  const instance = value as JsonRecord;
  const given = instance.lc_kwargs;
  if (typeof given !== "object" || given === null) {
    encoder.fail(depth, `a ${known.id.at(-1)} without lc_kwargs`, "Build it with its constructor.");
  }
  const kwargs: JsonRecord = {};
  for (const field of Object.keys(given)) {
    encoder.path[depth] = field;
    const fieldValue = field in instance ? instance[field] : (given as JsonRecord)[field];
    kwargs[known.keys.toJson(field)] =
      typeof fieldValue === "string" ? fieldValue : encoder.encode(fieldValue, depth + 1, true);
  }
  if (known.adjustsArguments) addAttributes(instance, known, kwargs, encoder, depth);
  for (const field of LATE_FIELDS) {
    if (!isLate(instance, given, field) || (field === "content" && isSaidByBlocks(instance))) continue;
    kwargs[field] = encoder.child(instance[field], field, depth, true);
  }
  return { lc: 1, type: "constructor", id: known.id, kwargs };
}

/**
 * Whether the content of a message that was built from content blocks is what reading its blocks gives: not where it was
 * replaced, nor where LangChain shows blocks of another kind than it was given.
 */
function isSaidByBlocks({ content, contentBlocks }: JsonRecord): boolean {
  if (!Array.isArray(content)) return false;
  try {
    return content === contentBlocks || JSON.stringify(content) === JSON.stringify(contentBlocks);
  } catch {
    return false;
  }
}

/** What `toJSON` adds to the arguments. Secrets are refused: they must not be stored, and no loader has them. */
function addAttributes(
  instance: JsonRecord,
  known: LangChainClass,
  kwargs: JsonRecord,
  encoder: Encoder,
  depth: number,
): void {
  for (
    let prototype: unknown = known.prototype;
    typeof prototype === "object" && prototype !== null;
    prototype = Object.getPrototypeOf(prototype)
  ) {
    const secrets: unknown = Reflect.get(prototype, "lc_secrets", instance);
    if (Object.keys(secrets ?? {}).length > 0) {
      encoder.fail(depth, `a ${known.id.at(-1)}, which holds secrets`, "Keep it outside the state.");
    }
    const attributes: unknown = Reflect.get(prototype, "lc_attributes", instance);
    for (const [field, value] of Object.entries(attributes ?? {})) {
      encoder.path[depth] = field;
      kwargs[known.keys.toJson(field)] = encoder.encode(value, depth + 1, true);
    }
  }
}

/** Whether a value is one of LangChain's `Serializable` objects, of whichever copy of the package. */
export function isLangChainObject(value: object): value is LangChainObject {
  const { lc_serializable: serializable, lc_id: id } = value as Partial<LangChainObject>;
  return typeof serializable === "boolean" && Array.isArray(id);
}
