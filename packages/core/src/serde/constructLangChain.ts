import type { LangChainClass } from "./langchainClasses.ts";
import type { JsonRecord } from "./records.ts";

/**
 * Builds a LangChain object from the fields that were stored of another one, so that it has the same ones. Constructors derive
 * some fields from others, which is right for arguments, but forgets what was changed afterwards: `AIMessageChunk` computes its
 * tool calls from their pieces, `RemoveMessage` empties its content.
 */
export function constructLangChain(known: LangChainClass, fields: JsonRecord): object {
  const keys = Object.keys(fields);
  const values = keys.map((key) => fields[key]);
  const { content, contentBlocks } = fields;
  const lengths = [lengthOf(content), lengthOf(contentBlocks)];
  const instance = known.construct(fields) as JsonRecord;
  // `AIMessage` adds a block for every tool call that has none, to the array that it is given.
  cut(content, lengths[0]);
  cut(contentBlocks, lengths[1]);
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index] as string;
    const value = values[index];
    if (instance[key] !== value && Object.hasOwn(instance, key)) instance[key] = value;
  }
  return instance;
}

function lengthOf(value: unknown): number | undefined {
  return Array.isArray(value) ? value.length : undefined;
}

function cut(value: unknown, length: number | undefined): void {
  if (length !== undefined && (value as unknown[]).length > length) (value as unknown[]).length = length;
}

/** Arguments that LangChain's own constructors may pass on as something else than what they are given. */
const DERIVED: ReadonlySet<string> = new Set([
  "content",
  "tool_calls",
  "invalid_tool_calls",
  "tool_call_chunks",
]);

/**
 * The same with a class of another copy of LangChain. Undefined where it throws, or where it doesn't take its arguments as
 * LangChain's own classes do: then it is somebody's class that only has the name of one. `fields` stays as it is.
 */
export function constructCopy(copy: LangChainClass, fields: JsonRecord): object | undefined {
  const given = { ...fields };
  try {
    const instance = constructLangChain(copy, given) as JsonRecord;
    if (Object.getPrototypeOf(instance) !== copy.prototype) return undefined;
    const kwargs = instance.lc_kwargs as JsonRecord;
    const taken =
      kwargs === given ||
      Object.keys(given).every((key) => !given[key] || DERIVED.has(key) || kwargs[key] === given[key]);
    return taken ? instance : undefined;
  } catch {
    return undefined;
  }
}
