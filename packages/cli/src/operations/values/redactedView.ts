import type { Typed } from "@stratigraph/core/internal";
import { redactedRecord } from "./redaction.ts";
import type { ValueView } from "./view.ts";

/** What is shown of a value of which nothing may be shown. */
export function redactedView([type, bytes]: Typed): ValueView {
  return { type, bytes: bytes.length, value: redactedRecord };
}
