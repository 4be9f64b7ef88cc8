import type { JsonRecord } from "./records.ts";

/** What every instance of LangChain's `Serializable` has. */
interface LangChainObject {
  readonly lc_serializable: boolean;
  readonly lc_id: readonly string[];
  readonly lc_kwargs: JsonRecord;
}

/** Whether a value is one of LangChain's `Serializable` objects, of whichever copy of the package. */
export function isLangChainObject(value: object): value is LangChainObject {
  const { lc_serializable: serializable, lc_id: id } = value as Partial<LangChainObject>;
  return typeof serializable === "boolean" && Array.isArray(id);
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
