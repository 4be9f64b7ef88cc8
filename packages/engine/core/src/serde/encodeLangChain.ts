import type { LangChainClass } from "./langChainClasses.ts";
import { isLate, LATE_FIELDS } from "./langChainObject.ts";
import type { JsonRecord } from "./records.ts";
import type { ValueEncoder } from "./valueEncoder.ts";

/**
 * Makes the same record as LangChain's `toJSON`, key for key. Unlike that, it doesn't copy the arguments three times, nor destroy
 * some of the values in them (Map, Date, bytes …).
 */
export function encodeLangChain(
  value: object,
  known: LangChainClass,
  encoder: ValueEncoder,
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
 * Whether the content of a message that was built from content blocks equals those blocks. It doesn't if the content was replaced,
 * or if LangChain shows blocks of another kind than it was given.
 */
function isSaidByBlocks({ content, contentBlocks }: JsonRecord): boolean {
  if (!Array.isArray(content)) return false;
  try {
    return content === contentBlocks || JSON.stringify(content) === JSON.stringify(contentBlocks);
  } catch {
    return false;
  }
}

/** Adds what `toJSON` adds to the arguments. Refuses secrets: they must not be stored, and no loader has them. */
function addAttributes(
  instance: JsonRecord,
  known: LangChainClass,
  kwargs: JsonRecord,
  encoder: ValueEncoder,
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
