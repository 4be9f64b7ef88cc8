import type { LangChainClass } from "./langChainClasses.ts";
import type { JsonRecord } from "./records.ts";

/**
 * Builds a LangChain object with the same fields as the one that was stored. Constructors derive some fields from others, which is
 * right for arguments, but loses what was changed afterwards: `AIMessageChunk` computes its tool calls from their pieces, and
 * `RemoveMessage` empties its content.
 */
export function constructLangChain(known: LangChainClass, fields: JsonRecord): object {
  const before = { ...fields };
  const { content, contentBlocks } = before;
  const contentLength = Array.isArray(content) ? content.length : -1;
  const blocksLength = Array.isArray(contentBlocks) ? contentBlocks.length : -1;
  const instance = known.construct(fields) as JsonRecord;
  // `AIMessage` adds a block for every tool call that has none, to the array that it is given.
  if (contentLength >= 0) cut(content as unknown[], contentLength);
  if (blocksLength >= 0) cut(contentBlocks as unknown[], blocksLength);
  for (const key in before) {
    const value = before[key];
    // The class determines the type. Python writes other names for it.
    if (instance[key] !== value && key !== "type" && Object.hasOwn(instance, key)) instance[key] = value;
  }
  return instance;
}

function cut(list: unknown[], length: number): void {
  if (list.length > length) list.length = length;
}

/** Arguments that LangChain's own constructors may change before they pass them on. */
const DERIVED: ReadonlySet<string> = new Set([
  "content",
  "tool_calls",
  "invalid_tool_calls",
  "tool_call_chunks",
]);

/**
 * As {@link constructLangChain}, with a class of another copy of LangChain. Undefined if the class throws, or doesn't take its
 * arguments as LangChain's own classes do: then it only shares the name. Doesn't change `fields`.
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
