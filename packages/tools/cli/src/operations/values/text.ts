import { shown } from "../render/columns.ts";
import { bytesText } from "../render/units.ts";
import { isCut, type CutRecord } from "./cut.ts";
import {
  contentKey,
  contentOf,
  isCollection,
  isLangChain,
  isMessage,
  isObject,
  type JsonObject,
  type Message,
  isRedacted,
} from "./records.ts";

/** Longest line before a value is broken into several, in characters. */
const longestLine = 96;

/** The serde's JSON as lines of text for people. Messages are rendered as a conversation, and no line holds control characters. */
export function* valueLines(value: unknown): Generator<string> {
  const messages = Array.isArray(value) ? value : [value];
  if (
    messages.some(isMessage) &&
    messages.every((item) => isMessage(item) || isCut(item) || isRedacted(item))
  )
    for (const item of messages) yield* isMessage(item) ? messageLines(item) : [inlineText(item)];
  else yield* blockLines(value);
}

/** The serde's JSON on one line. Records of the serde are shown as the values that they stand for. */
export function inlineText(value: unknown): string {
  if (isCut(value)) return cutText(value);
  if (isRedacted(value)) return "(redacted)";
  if (typeof value === "string") return shown(JSON.stringify(value));
  if (Array.isArray(value)) return `[${value.map(inlineText).join(", ")}]`;
  if (!isObject(value)) return String(value);
  if (isMessage(value)) return `${speakerOf(value)} ${inlineText(value.kwargs["content"])}`;
  const name = nameOf(value);
  if (name === undefined) return `{${propertiesOf(value).join(", ")}}`;
  if (name === "undefined") return name;
  const content = contentOf(value);
  const data = content === value ? withoutType(value) : content;
  const text = isObject(data) && Object.keys(data).length === 1 ? data["value"] : data;
  return typeof text === "string" ? `${name}(${shown(text)})` : `${name} ${inlineText(data)}`;
}

/** What was left out, and how to ask for it. */
function cutText({ begins, items, bytes, path }: CutRecord): string {
  const what = items === undefined ? `${bytesText(bytes)} in all` : `${items} more, ${bytesText(bytes)}`;
  const text = begins === undefined ? "" : shown(JSON.stringify(begins)).slice(0, -1);
  return `${text}… (${what}; --path '${shown(path)}')`;
}

function propertiesOf(value: JsonObject): string[] {
  return Object.entries(value).map(([key, item]) => `${keyText(key)}: ${inlineText(item)}`);
}

function keyText(key: string): string {
  return /^[\p{L}_$…][\p{L}\p{N}_$-]*$/u.test(key) ? key : shown(JSON.stringify(key));
}

/** The name of the thing that a record of the serde stands for; undefined for plain data. */
function nameOf(value: JsonObject): string | undefined {
  if (isLangChain(value)) return shown(String(value.id.at(-1)));
  if (value["lc"] !== 2 || typeof value["type"] !== "string") return undefined;
  if (isCollection(value)) return shown(String((value["id"] as unknown[])[0]));
  const given =
    value["type"] === "sg:bytes" ? value["class"] : value["type"] === "sg:type" ? value["name"] : undefined;
  return shown(typeof given === "string" ? given : value["type"].replace(/^sg:/, ""));
}

function withoutType({ lc: _lc, type: _type, ...rest }: JsonObject): JsonObject {
  return rest;
}

function* blockLines(value: unknown, before = "", after = ""): Generator<string> {
  const line = `${before}${inlineText(value)}${after}`;
  const isLeaf = typeof value !== "object" || value === null || isCut(value) || isRedacted(value);
  const content = isLeaf ? value : contentOf(value);
  const parts = Array.isArray(content) ? content : isObject(content) ? Object.entries(content) : [];
  if (line.length <= longestLine || isLeaf || parts.length === 0 || typeof content !== "object") {
    yield line;
    return;
  }
  const name = isObject(value) && contentKey(value) !== undefined ? `${nameOf(value) ?? ""} ` : "";
  const indent = " ".repeat(before.length - before.trimStart().length + 2);
  const [opens, closes] = Array.isArray(content) ? ["[", "]"] : ["{", "}"];
  yield `${before}${name}${opens}`;
  for (const part of parts) {
    if (Array.isArray(content)) yield* blockLines(part, indent, ",");
    else
      yield* blockLines(
        (part as [string, unknown])[1],
        `${indent}${keyText((part as [string, unknown])[0])}: `,
        ",",
      );
  }
  yield `${indent.slice(2)}${closes}${after}`;
}

/** A message: its author, its content, and the tools that it calls. */
function* messageLines(message: Message): Generator<string> {
  const { content, tool_calls: calls, id } = message.kwargs;
  const [first = "", ...rest] = saidLines(content);
  yield `${speakerOf(message)}: ${first}`.trimEnd() + (typeof id === "string" ? `  #${shown(id)}` : "");
  for (const line of rest) yield `    ${line}`;
  if (!Array.isArray(calls)) return;
  for (const call of calls) {
    const { name: tool, args } = contentOf(call) as { name?: unknown; args?: unknown };
    yield `    calls ${shown(String(tool))}(${inlineText(args)})`;
  }
}

function speakerOf({ id, kwargs }: Message): string {
  const kind = shown(
    String(id.at(-1))
      .replace(/Message(Chunk)?$/, "")
      .toLowerCase(),
  );
  const { name } = kwargs;
  return typeof name === "string" ? `${kind} (${shown(name)})` : kind;
}

/** The lines of a message's content: of a text the text itself, without quotes. */
function saidLines(content: unknown): string[] {
  if (typeof content === "string") return content.split("\n").map(shown);
  if (isCut(content) && content.begins !== undefined) {
    const { begins, ...left } = content;
    return [...begins.split("\n").map(shown), cutText(left)];
  }
  if (!Array.isArray(content)) return [inlineText(content)];
  return content.flatMap((block: unknown) => {
    const text = isObject(block) ? block["text"] : undefined;
    return typeof text === "string" ? text.split("\n").map(shown) : [inlineText(block)];
  });
}

/** A text of at most `most` UTF-16 units. If something was left out, the last unit shows it. */
export function clipped(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
