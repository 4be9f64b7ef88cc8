import { Document } from "@langchain/core/documents";
import { classOf, prototypesOf } from "./prototypesOf.ts";
import { extension, type JsonRecord, OVERWRITE } from "./records.ts";
import type { DocumentConstructor, TypeRegistry } from "./typeRegistry.ts";
import type { ValueEncoder } from "./valueEncoder.ts";

/**
 * Encodes instances of classes that are recognised by their shape, because their package may be installed twice (ESM and CommonJS)
 * or not at all. LangGraph understands the payloads even when an official saver reads them back as plain data: `node` and `args`
 * of a Send, `lg_name` of a Command, `__overwrite__` of an Overwrite.
 */
export function encodeStructural(
  value: object,
  encoder: ValueEncoder,
  depth: number,
): JsonRecord | undefined {
  const instance = value as JsonRecord;
  const { langGraph } = encoder.registry;
  switch (instance.lg_name) {
    case "Send":
      langGraph.stored("Send", value);
      return extension("Send", encodeDefined(instance, ["node", "args", "timeout"], encoder, depth));
    case "Command":
      langGraph.stored("Command", value);
      return extension("Command", {
        lg_name: "Command",
        ...encodeDefined(instance, ["graph", "update", "resume", "goto"], encoder, depth),
      });
    case "Overwrite":
      langGraph.stored("Overwrite", value);
      return extension("Overwrite", {
        [OVERWRITE]: encoder.child(instance[OVERWRITE], "value", depth),
      });
    case "DeltaSnapshot":
      return { lc: 2, type: "delta_snapshot", value: encoder.child(instance.value, "value", depth) };
    default:
      if (!isDocument(instance)) return undefined;
      storedDocument(value, encoder.registry);
      return extension(
        "Document",
        encodeDefined(instance, ["pageContent", "metadata", "id"], encoder, depth),
      );
  }
}

function storedDocument(value: object, { documents }: TypeRegistry): void {
  const prototype: object = Object.getPrototypeOf(value);
  if (prototype === Document.prototype) documents.storedOwn(value);
  else if (prototypesOf(prototype).length === 1) {
    const copy = classOf(prototype);
    if (copy !== undefined) documents.storedOther(copy as unknown as DocumentConstructor);
  }
}

function encodeDefined(
  instance: JsonRecord,
  fields: readonly string[],
  encoder: ValueEncoder,
  depth: number,
): JsonRecord {
  const payload: JsonRecord = {};
  for (const field of fields) {
    if (instance[field] !== undefined) payload[field] = encoder.child(instance[field], field, depth);
  }
  return payload;
}

/** Whether a value is a Document of LangChain, whichever copy of the package made it. */
export function isDocument(value: JsonRecord): boolean {
  return (
    value.constructor?.name === "Document" &&
    typeof value.pageContent === "string" &&
    typeof value.metadata === "object" &&
    Object.keys(value).every((key) => key === "pageContent" || key === "metadata" || key === "id")
  );
}
