import { Document } from "@langchain/core/documents";
import { bytesFromBase64 } from "./bytes.ts";
import { messageOf } from "./messageOf.ts";
import { EXTENSION_PREFIX, type JsonRecord, OVERWRITE } from "./records.ts";
import type { DocumentConstructor } from "./typeRegistry.ts";
import type { ValueDecoder } from "./valueDecoder.ts";

type Decode = (record: JsonRecord, decoder: ValueDecoder, depth: number) => unknown;

const OwnDocument = Document as DocumentConstructor;

/** The result for a payload that this serializer never writes. */
const DAMAGED = Symbol("damaged");

const NUMBERS: ReadonlyMap<unknown, number> = new Map([
  ["NaN", Number.NaN],
  ["Infinity", Number.POSITIVE_INFINITY],
  ["-Infinity", Number.NEGATIVE_INFINITY],
  ["-0", -0],
]);

const DECODERS: ReadonlyMap<string, Decode> = new Map<string, Decode>([
  ["number", (record) => NUMBERS.get(record.value) ?? DAMAGED],
  ["bigint", decodeBigInt],
  ["Date", decodeDate],
  [
    "URL",
    (record) =>
      typeof record.value === "string" && URL.canParse(record.value) ? new URL(record.value) : DAMAGED,
  ],
  ["bytes", (record) => bytesFromBase64(String(record.class), record.value) ?? DAMAGED],
  [
    "plain",
    (record, decoder, depth) =>
      isPlain(record.value) ? decoder.fields(record.value, depth, false) : DAMAGED,
  ],
  ["null-prototype", decodeNullPrototype],
  ["type", decodeType],
  ["Document", decodeDocument],
  ["Send", decodeSend],
  ["Command", decodeCommand],
  ["Overwrite", decodeOverwrite],
]);

/** Revives one of our own records. Throws a SerializationError if it is damaged or unknown. */
export function decodeExtension(
  name: string,
  record: JsonRecord,
  decoder: ValueDecoder,
  depth: number,
): unknown {
  const decode = DECODERS.get(name);
  if (decode === undefined) {
    if (decoder.unknownTypes === "inert") return decoder.fields(record, depth, false);
    const shown = EXTENSION_PREFIX + name.slice(0, 100);
    return decoder.fail(
      depth,
      `a record of type ${shown}`,
      "A newer version of Stratigraph wrote it: upgrade this process.",
      { reason: "newer-format" },
    );
  }
  const value = decode(record, decoder, depth);
  return value === DAMAGED
    ? decoder.fail(depth, `a damaged ${name} record`, "The stored bytes are damaged.")
    : value;
}

function decodeBigInt({ value }: JsonRecord): unknown {
  return typeof value === "string" && /^-?\d+$/.test(value) ? BigInt(value) : DAMAGED;
}

function decodeDate({ value }: JsonRecord): unknown {
  if (value === null) return new Date(Number.NaN);
  const date = typeof value === "string" ? new Date(value) : undefined;
  return date === undefined || Number.isNaN(date.getTime()) ? DAMAGED : date;
}

function decodeNullPrototype({ value }: JsonRecord, decoder: ValueDecoder, depth: number): unknown {
  return isPlain(value) ? Object.setPrototypeOf(decoder.fields(value, depth, false), null) : DAMAGED;
}

function decodeType(record: JsonRecord, decoder: ValueDecoder, depth: number): unknown {
  if (typeof record.name !== "string" || !Object.hasOwn(record, "value")) return DAMAGED;
  const type = decoder.registry.typeNamed(record.name);
  const data = decoder.child(record.value, "data", depth);
  if (type === undefined) {
    if (decoder.unknownTypes === "inert") return { ...record, value: data };
    const shown = JSON.stringify(record.name.slice(0, 100));
    const hint = "Register that class under this name, with serde.register() or the option types.";
    return decoder.fail(depth, `a value of the type ${shown}`, hint, {
      reason: "unregistered-type",
      type: record.name,
    });
  }
  try {
    return type.fromData(data);
  } catch (cause) {
    return decoder.fail(
      depth,
      `data that the type ${JSON.stringify(type.name)} refuses`,
      `It says: ${messageOf(cause)}`,
      { cause },
    );
  }
}

function decodeDocument(record: JsonRecord, decoder: ValueDecoder, depth: number): unknown {
  const { pageContent } = record;
  const metadata = decoder.child(record.metadata ?? {}, "metadata", depth);
  if (typeof pageContent !== "string" || typeof metadata !== "object" || metadata === null) return DAMAGED;
  // An id is a string, but an application may have set something else.
  const id = Object.hasOwn(record, "id") ? decoder.child(record.id, "id", depth) : undefined;
  const fields = id === undefined ? { pageContent, metadata } : { pageContent, metadata, id };
  const { documents } = decoder.registry;
  if (documents.used !== OwnDocument) {
    const document = documentCopy(documents.used, fields);
    if (document !== undefined) return document;
    documents.giveUp();
  }
  const document = new OwnDocument(fields);
  documents.madeOwn(document);
  return document;
}

/** Undefined if the class only shares the name of LangChain's Document. */
function documentCopy(
  DocumentCopy: DocumentConstructor,
  fields: { pageContent: string; metadata: object; id?: unknown },
): object | undefined {
  try {
    const document = new DocumentCopy({ ...fields }) as Partial<typeof fields>;
    const { pageContent, metadata, id } = document;
    const same = pageContent === fields.pageContent && metadata === fields.metadata && id === fields.id;
    return same ? document : undefined;
  } catch {
    return undefined;
  }
}

function decodeSend(record: JsonRecord, decoder: ValueDecoder, depth: number): unknown {
  const { node } = record;
  if (typeof node !== "string") return DAMAGED;
  const args = decoder.child(record.args, "args", depth);
  const timeout = decoder.child(record.timeout, "timeout", depth);
  const rest = timeout === undefined ? { args } : { args, timeout };
  const send = decoder.langGraph("Send", { node, ...rest }, (Send) =>
    // Assigned afterwards: the constructor would copy args and reinterpret parts of them.
    Object.assign(new Send(node, undefined), rest),
  );
  return send ?? { node, ...rest };
}

function decodeCommand(record: JsonRecord, decoder: ValueDecoder, depth: number): unknown {
  const fields: JsonRecord = {};
  for (const key of ["graph", "update", "resume", "goto"]) {
    if (Object.hasOwn(record, key)) fields[key] = decoder.child(record[key], key, depth);
  }
  if (Array.isArray(fields.goto) && fields.goto.length === 0) delete fields.goto;
  const { goto: _, ...parts } = fields;
  const command = decoder.langGraph("Command", parts, (Command) => new Command(fields));
  return command ?? { lg_name: "Command", ...fields };
}

function decodeOverwrite(record: JsonRecord, decoder: ValueDecoder, depth: number): unknown {
  if (!Object.hasOwn(record, OVERWRITE)) return DAMAGED;
  const value = decoder.child(record[OVERWRITE], "value", depth);
  const parts = { [OVERWRITE]: value };
  return decoder.langGraph("Overwrite", parts, (Overwrite) => new Overwrite(value)) ?? parts;
}

function isPlain(value: unknown): value is JsonRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
