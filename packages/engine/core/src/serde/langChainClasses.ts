import {
  AIMessage,
  AIMessageChunk,
  ChatMessage,
  ChatMessageChunk,
  FunctionMessage,
  FunctionMessageChunk,
  HumanMessage,
  HumanMessageChunk,
  RemoveMessage,
  SystemMessage,
  SystemMessageChunk,
  ToolMessage,
  ToolMessageChunk,
} from "@langchain/core/messages";
import { ChatPromptValue, ImagePromptValue, StringPromptValue } from "@langchain/core/prompt_values";
import { type KeyNames, keyNames } from "./keyCase.ts";

/** A LangChain class that is written as `{"lc":1,"type":"constructor",id,kwargs}` and constructed from it. */
export interface LangChainClass {
  /** The class path, such as `["langchain_core", "messages", "AIMessage"]`. */
  readonly id: readonly string[];
  readonly prototype: object;
  readonly keys: KeyNames;
  /** Whether instances add arguments of their own (`lc_attributes`) or hide some (`lc_secrets`). */
  readonly adjustsArguments: boolean;
  /** Runs the constructor, which may change `fields`. Throws what the constructor throws. */
  construct(fields: Record<string, unknown>): object;
}

/** The part of a class with `lc_serializable` that this serializer uses. */
export interface LangChainConstructor {
  readonly prototype: object;
  new (fields: never): object;
}

/** Describes a class, of any copy of its package, for reading and writing. `id` is its name in stored data. */
export function langChainClass(id: readonly string[], constructor: LangChainConstructor): LangChainClass {
  const takesText = TAKES_TEXT === id.join("/");
  return {
    id,
    prototype: constructor.prototype,
    keys: keyNames(aliasesOf(constructor)),
    adjustsArguments: adjustsArguments(constructor.prototype),
    construct: (fields) => new constructor((takesText ? String(fields.value) : fields) as never),
  };
}

/** The class whose constructor takes a text instead of an object of arguments. LangChain's own loader passes the object. */
const TAKES_TEXT = "langchain_core/prompt_values/StringPromptValue";

function adjustsArguments(prototype: object): boolean {
  try {
    return ["lc_attributes", "lc_secrets"].some((key) => Reflect.get(prototype, key) !== undefined);
  } catch {
    // A getter that throws without an instance adds something for instances.
    return true;
  }
}

/**
 * The argument names of a class and its ancestors that LangChain doesn't convert. `ToolMessageChunk` has a field `tool_call_id`,
 * but doesn't list it: LangChain's own loader looks for `toolCallId` and loses it.
 */
function aliasesOf(constructor: LangChainConstructor): Map<string, string> {
  const aliases = new Map<string, string>([["tool_call_id", "tool_call_id"]]);
  for (
    let prototype: unknown = constructor.prototype;
    prototype !== null && prototype !== Object.prototype;
    prototype = Object.getPrototypeOf(prototype)
  ) {
    const own: unknown = Reflect.get(prototype as object, "lc_aliases");
    for (const [field, json] of Object.entries(own ?? {})) aliases.set(field, String(json));
  }
  return aliases;
}

const MESSAGES = {
  AIMessage,
  AIMessageChunk,
  ChatMessage,
  ChatMessageChunk,
  FunctionMessage,
  FunctionMessageChunk,
  HumanMessage,
  HumanMessageChunk,
  RemoveMessage,
  SystemMessage,
  SystemMessageChunk,
  ToolMessage,
  ToolMessageChunk,
};

/** The names of the classes that {@link LangChainClasses} may have. */
export type LangChainName = keyof typeof MESSAGES | keyof typeof PROMPT_VALUES | "Document";

/**
 * Classes of one copy of `@langchain/core`, under their own names, as its `messages`, `prompt_values` and `documents` export them:
 * `{ ...messages, ...promptValues, ...documents }`. Other exports among them are ignored.
 */
export type LangChainClasses = { readonly [Name in LangChainName]?: LangChainConstructor | undefined };

const PROMPT_VALUES = { ChatPromptValue, ImagePromptValue, StringPromptValue };

/** Every LangChain class that stored data may name without a registration. The list is closed: nothing is looked up elsewhere. */
export const LANGCHAIN_CLASSES: readonly LangChainClass[] = [
  ...Object.entries(MESSAGES).map(([name, messageClass]) =>
    langChainClass(["langchain_core", "messages", name], messageClass),
  ),
  ...Object.entries(PROMPT_VALUES).map(([name, promptClass]) =>
    langChainClass(["langchain_core", "prompt_values", name], promptClass),
  ),
];
