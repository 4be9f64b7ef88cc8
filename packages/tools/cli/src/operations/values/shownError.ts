import { ERROR } from "@langchain/langgraph-checkpoint";
import type { Typed } from "@stratigraph/core/internal";
import { contentOf, isObject } from "./records.ts";
import { redactedText, type Redaction } from "./redaction.ts";
import { jsonOf, shownValue, type Shown } from "./view.ts";

/** The view of an error that a task threw. If anything is redacted, its text isn't shown, because it may repeat redacted values. */
export function shownError(typed: Typed, redaction: Redaction): Shown {
  if (!redaction.isActive) return shownValue(ERROR, typed, redaction)!;
  const content = contentOf(jsonOf(typed)?.value);
  const name = isObject(content) && typeof content["name"] === "string" ? { name: content["name"] } : {};
  const value = { ...name, message: redactedText };
  const [type, bytes] = typed;
  return { type, bytes: bytes.length, found: { value, path: [], from: 0 } };
}
