import type { JsonRecord } from "./records.ts";

/** The properties that every instance of LangChain's `Serializable` has. */
interface LangChainObject {
  readonly lc_serializable: boolean;
  readonly lc_id: readonly string[];
  readonly lc_kwargs: JsonRecord;
}

/** Whether a value is one of LangChain's `Serializable` objects, whichever copy of the package made it. */
export function isLangChainObject(value: object): value is LangChainObject {
  const { lc_serializable: serializable, lc_id: id } = value as Partial<LangChainObject>;
  return typeof serializable === "boolean" && Array.isArray(id);
}

/** Fields that can be set on an instance after it was built. LangChain's own `toJSON` forgets those. */
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

/** Whether an instance has this field, and the field is not among the arguments that it was built with. */
export function isLate(instance: JsonRecord, given: object, field: string): boolean {
  return instance[field] !== undefined && !Object.hasOwn(given, field);
}
