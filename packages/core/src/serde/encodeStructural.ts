import type { Encoder } from "./Encoder.ts";
import { extension, type JsonRecord, OVERWRITE } from "./records.ts";

/**
 * Classes known by their shape, because their package may be installed twice (ESM and CommonJS) or not at all.
 * The payloads are laid out so that LangGraph understands them even when an official saver reads them back as
 * plain data: `node` and `args` of a Send, `lg_name` of a Command, `__overwrite__` of an Overwrite.
 */
export function encodeStructural(value: object, encoder: Encoder, depth: number): JsonRecord | undefined {
  const instance = value as JsonRecord;
  switch (instance.lg_name) {
    case "Send":
      return extension("Send", encodeDefined(instance, ["node", "args", "timeout"], encoder, depth));
    case "Command":
      return extension("Command", {
        lg_name: "Command",
        ...encodeDefined(instance, ["graph", "update", "resume", "goto"], encoder, depth),
      });
    case "Overwrite":
      return extension("Overwrite", {
        [OVERWRITE]: encoder.child(instance[OVERWRITE], "value", depth),
      });
    case "DeltaSnapshot":
      return { lc: 2, type: "delta_snapshot", value: encoder.child(instance.value, "value", depth) };
    default:
      return isDocument(instance)
        ? extension("Document", encodeDefined(instance, ["pageContent", "metadata", "id"], encoder, depth))
        : undefined;
  }
}

function encodeDefined(
  instance: JsonRecord,
  fields: readonly string[],
  encoder: Encoder,
  depth: number,
): JsonRecord {
  const payload: JsonRecord = {};
  for (const field of fields) {
    if (instance[field] !== undefined) payload[field] = encoder.child(instance[field], field, depth);
  }
  return payload;
}

function isDocument(value: JsonRecord): boolean {
  return (
    value.constructor?.name === "Document" &&
    typeof value.pageContent === "string" &&
    typeof value.metadata === "object" &&
    Object.keys(value).every((key) => key === "pageContent" || key === "metadata" || key === "id")
  );
}
