import { describe, inline, isPartGap } from "../../values/describe.ts";
import { contentOf, isObject } from "../../values/records.ts";

/** The known parts of an error. */
export interface ToldError {
  readonly name: string | undefined;
  readonly message: string;
  readonly stack: string | undefined;
}

/** Reads an error as LangGraph stores it: the serde's record of an error, or an object with its name and message. */
export function errorOf(value: unknown): ToldError {
  const { kind, name, text, parts } = describe(value);
  if (kind === "error") {
    const stack = parts?.find((part) => !isPartGap(part) && part.label === "stack");
    const found = stack === undefined || isPartGap(stack) ? undefined : stack.value;
    return { name, message: text ?? "", stack: typeof found === "string" ? found : undefined };
  }
  const content = contentOf(value);
  if (typeof content === "string") return { name: undefined, message: content, stack: undefined };
  if (!isObject(content)) return { name: undefined, message: inline(value, 500), stack: undefined };
  const { name: own, message, stack } = content;
  return {
    name: typeof own === "string" ? own : undefined,
    message: typeof message === "string" ? message : inline(value, 500),
    stack: typeof stack === "string" ? stack : undefined,
  };
}
