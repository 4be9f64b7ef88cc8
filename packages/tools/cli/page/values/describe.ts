import { gapOfObject, isGap, itemsOf, lengthOf, others, type Gap } from "./items.ts";
import {
  className,
  contentKey,
  formatPath,
  isCollection,
  isCut,
  isLangChain,
  isObject,
  isRedacted,
  type JsonObject,
  type Step,
} from "./records.ts";

/** The kind of a value, which determines its colour. */
export type Kind =
  | "text"
  | "number"
  | "boolean"
  | "nothing"
  | "special"
  | "error"
  | "list"
  | "object"
  | "redacted";

/** A part of a value that has parts. */
export interface Part {
  readonly label: string;
  /** "note" for a label that isn't a property's name, such as the key of a Map. */
  readonly labelKind: "key" | "index" | "note";
  /** The path from the value to this part. */
  readonly steps: readonly Step[];
  readonly value: unknown;
}

/** A piece of the serde's JSON, described for people. */
export interface Described {
  readonly kind: Kind;
  /** Its class or type, if it isn't plain JSON: "HumanMessage", "Map", "Date". */
  readonly name?: string | undefined;
  /** The value on one line, if it has no parts. */
  readonly text?: string | undefined;
  /** The text itself, if the value is a text. */
  readonly string?: string | undefined;
  /** The whole text's size as JSON, if it was cut. */
  readonly cutBytes?: number | undefined;
  /** How many parts it has, including those that were left out. */
  readonly count?: number | undefined;
  readonly parts?: readonly (Part | Gap)[] | undefined;
}

export function isPartGap(part: Part | Gap): part is Gap {
  return "from" in part;
}

/** @param path of the value within its channel */
export function describe(value: unknown, path: readonly Step[] = []): Described {
  if (typeof value === "string") return { kind: "text", string: value };
  if (typeof value === "number") return { kind: "number", text: String(value) };
  if (typeof value === "boolean") return { kind: "boolean", text: String(value) };
  if (value === null || value === undefined) return { kind: "nothing", text: String(value) };
  if (Array.isArray(value)) return listOf(value, path);
  if (!isObject(value)) return { kind: "special", text: String(value) };
  if (isRedacted(value)) return { kind: "redacted", text: "redacted" };
  if (isCut(value)) {
    if (value.begins !== undefined) return { kind: "text", string: value.begins, cutBytes: value.bytes };
    return listOf(value, path);
  }
  return recordOf(value, path) ?? objectOf(value);
}

function listOf(value: unknown, path: readonly Step[], name?: string): Described {
  const found = itemsOf(value, formatPath(path));
  const parts = found.map((part): Part | Gap =>
    isGap(part)
      ? part
      : { label: String(part.index), labelKind: "index", steps: [part.index], value: part.value },
  );
  return { kind: "list", name, count: lengthOf(found), parts };
}

function objectOf(value: JsonObject, name?: string): Described {
  const gap = gapOfObject(value);
  const entries = Object.entries(value).filter(([key]) => gap === undefined || key !== others);
  const parts: (Part | Gap)[] = entries.map(([key, part]) => ({
    label: key,
    labelKind: "key",
    steps: [key],
    value: part,
  }));
  if (gap !== undefined) parts.push(gap);
  return { kind: "object", name, count: entries.length + (gap === undefined ? 0 : gap.to - gap.from), parts };
}

/** Describes the value that a record of the serde stands for; undefined for plain data. */
function recordOf(value: JsonObject, path: readonly Step[]): Described | undefined {
  if (isLangChain(value)) return named(describe(value.kwargs, path), String(value.id.at(-1)));
  const key = contentKey(value);
  // Escaped values are data, even if they look like a record.
  if (value["lc"] !== 2 || typeof value["type"] !== "string")
    return key === undefined || !isObject(value[key]) ? undefined : objectOf(value[key]);
  const type = value["type"];
  if (isCollection(value)) return collectionOf(value, path);
  const builtIn = className(value);
  if (builtIn !== undefined) return builtInOf(value, builtIn);
  switch (type) {
    case "undefined":
      return { kind: "nothing", text: "undefined" };
    case "sg:bigint":
      return { kind: "number", name: "BigInt", text: `${String(value["value"])}n` };
    case "sg:number":
      return { kind: "number", text: String(value["value"]) };
    case "sg:Date":
      return { kind: "special", name: "Date", text: String(value["value"] ?? "invalid") };
    case "sg:URL":
      return { kind: "special", name: "URL", text: String(value["value"]) };
    case "sg:bytes":
      return { kind: "special", name: String(value["class"] ?? "bytes"), text: bytesOf(value["value"]) };
    case "sg:type":
      return named(describe(value["value"], path), String(value["name"]));
    case "sg:plain":
      return isObject(value["value"]) ? objectOf(value["value"]) : undefined;
    case "sg:null-prototype":
      return named(describe(value["value"], path), "null prototype");
    case "delta_snapshot":
      return named(describe(value["value"], path), "snapshot");
    default:
      return type.startsWith("sg:") ? withoutType(value, type.slice("sg:".length)) : undefined;
  }
}

/** A record that has its properties beside its type: Document, Send, Command, … */
function withoutType(value: JsonObject, name: string): Described {
  const parts = Object.entries(value)
    .filter(([key]) => key !== "lc" && key !== "type" && key !== "lg_name")
    .map(([key, part]): Part => ({ label: key, labelKind: "key", steps: [key], value: part }));
  return { kind: "object", name, count: parts.length, parts };
}

function named(described: Described, name: string): Described {
  return { ...described, name };
}

function collectionOf(value: JsonObject, path: readonly Step[]): Described {
  const list = listOf((value["args"] as unknown[])[0], path, className(value));
  if (list.name !== "Map") return list;
  const parts = list.parts!.map((part): Part | Gap => {
    if (isPartGap(part) || !Array.isArray(part.value) || part.value.length !== 2) return part;
    const [key, item] = part.value as [unknown, unknown];
    return { label: inline(key, 60), labelKind: "note", steps: [...part.steps, 1], value: item };
  });
  return { ...list, kind: "object", parts };
}

function builtInOf(value: JsonObject, name: string): Described {
  const args = Array.isArray(value["args"]) ? (value["args"] as unknown[]) : [];
  if (name === "RegExp")
    return { kind: "special", name, text: `/${String(args[0])}/${String(args[1] ?? "")}` };
  const kwargs = isObject(value["kwargs"]) ? value["kwargs"] : {};
  if (name !== "Error") return named(objectOf({ args, kwargs }), name);
  const { class: className, name: own, ...rest } = kwargs;
  const message: Part = { label: "message", labelKind: "key", steps: ["args", 0], value: args[0] };
  const parts = Object.entries(rest).map(([key, part]): Part => ({
    label: key,
    labelKind: "key",
    steps: ["kwargs", key],
    value: part,
  }));
  const text = typeof args[0] === "string" ? args[0] : inline(args[0], 200);
  return {
    kind: "error",
    name: String(own ?? className ?? name),
    text,
    count: parts.length + 1,
    parts: [message, ...parts],
  };
}

function bytesOf(value: unknown): string {
  if (isCut(value)) return `about ${countText(Math.floor(((value.bytes - 2) * 3) / 4))} bytes`;
  if (typeof value !== "string") return "bytes";
  const padding = value.endsWith("==") ? 2 : value.endsWith("=") ? 1 : 0;
  return `${countText((value.length / 4) * 3 - padding)} bytes`;
}

/** A number with separators for thousands. */
export function countText(count: number): string {
  return count.toLocaleString("en");
}

/** A value on one line, with a limit of characters that it may exceed a little. */
export function inline(value: unknown, most: number): string {
  const { kind, name, text, string, parts, cutBytes } = describe(value);
  const before = name === undefined ? "" : `${name} `;
  if (string !== undefined) {
    const quoted = JSON.stringify(string.slice(0, most));
    return before + (string.length > most || cutBytes !== undefined ? `${quoted.slice(0, -1)}…"` : quoted);
  }
  if (parts === undefined)
    return kind === "special" && name !== undefined ? `${name}(${text})` : (text ?? "");
  if (kind === "error") return `${before.trim()}: ${text ?? ""}`;
  const [opens, closes] = kind === "list" ? ["[", "]"] : ["{", "}"];
  let line = "";
  for (const part of parts) {
    if (line.length >= most || isPartGap(part)) {
      line += line === "" ? "…" : ", …";
      break;
    }
    const item = inline(part.value, Math.min(40, most - line.length));
    line += `${line === "" ? "" : ", "}${part.labelKind === "index" ? "" : `${part.label}: `}${item}`;
  }
  return `${before}${opens}${line}${closes}`;
}
