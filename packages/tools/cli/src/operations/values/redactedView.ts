import { redactedRecord } from "./records.ts";
import type { Typed } from "@stratigraph/core/internal";
import type { ValueView } from "./view.ts";

/** The view of a value that is hidden as a whole. */
export function redactedView([type, bytes]: Typed): ValueView {
  return { type, bytes: bytes.length, value: redactedRecord };
}
