import type { VNode } from "preact";
import { JsonText } from "../../values/JsonText.tsx";
import { MessageText } from "../../values/MessageText.tsx";
import { isCut } from "../../values/records.ts";

/** A value of a diff: a text as text, anything else as JSON. */
export function Value({ value }: { readonly value: unknown }): VNode {
  if (typeof value === "string" && (value.length > 80 || value.includes("\n")))
    return <MessageText text={value} code />;
  if (isCut(value) && value.begins !== undefined)
    return <MessageText text={value.begins} cutBytes={value.bytes} code />;
  return <JsonText value={value} />;
}
