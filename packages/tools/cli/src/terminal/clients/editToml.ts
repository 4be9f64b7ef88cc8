import { isDeepStrictEqual } from "node:util";
import { parse, type TomlError } from "smol-toml";
import { applyEdits, isRecord, isRemote, lineEndOf, type ServerEntry } from "./edits.ts";
import { readToml, type TomlStatement } from "./tomlText.ts";

/**
 * Puts a server's entry into a TOML text, or takes it away. All else stays as it is. A text that writes the servers in another way than as
 * tables may come out wrong: whoever calls this compares the values.
 * @param entry undefined: take it away
 */
export function editToml(text: string, key: string, name: string, entry: ServerEntry | undefined): string {
  const path = [key, name];
  const existing = entryIn(tomlValue(text), path);
  if (entry === undefined) return existing === undefined ? text : without(text, path);
  if (existing === undefined) return extended(text, path, entry);
  if (!isRecord(existing) || isRemote(existing)) return extended(without(text, path), path, entry);
  let made = text;
  for (const [field, value] of Object.entries(entry))
    if (!isDeepStrictEqual(existing[field], value)) made = withField(made, [...path, field], value);
  return made;
}

/** The values of a TOML text. @throws SyntaxError */
export function tomlValue(text: string): unknown {
  try {
    return parse(text.replace(/^\ufeff/, ""), { integersAsBigInt: "asNeeded" });
  } catch (error) {
    // The parser's own message quotes lines, which may have secrets in them.
    const { line, column, message } = error as Partial<TomlError> & Error;
    const [what = ""] = message.split("\n");
    throw new SyntaxError(`line ${line}, column ${column}: ${what}`);
  }
}

/** The lines to put into a file by hand. */
export function tomlToPaste(key: string, name: string, entry: ServerEntry): string {
  return tableOf([key, name], entry).join("\n");
}

function entryIn(value: unknown, [key = "", name = ""]: readonly string[]): unknown {
  const servers = isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  return isRecord(servers) && Object.hasOwn(servers, name) ? servers[name] : undefined;
}

function tableOf(path: readonly string[], entry: ServerEntry): string[] {
  const lines = Object.entries(entry).map(([field, value]) => `${field} = ${written(value)}`);
  return [`[${path.join(".")}]`, ...lines];
}

function written(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(written).join(", ")}]`;
  return JSON.stringify(value).replaceAll("\u007f", "\\u007f");
}

/** The text with a table at its end. */
function extended(text: string, path: readonly string[], entry: ServerEntry): string {
  const lineEnd = lineEndOf(text);
  const isEmpty = /^\ufeff?$/.test(text);
  const endsLine = isEmpty || text.endsWith("\n");
  const gap = isEmpty ? "" : endsLine ? lineEnd : lineEnd + lineEnd;
  return `${text}${gap}${tableOf(path, entry).join(lineEnd)}${endsLine ? lineEnd : ""}`;
}

function withField(text: string, path: readonly string[], value: unknown): string {
  const statements = readToml(text);
  const pair = statements.find((each) => each.kind === "pair" && isDeepStrictEqual(each.path, path));
  if (pair?.value !== undefined) return applyEdits(text, [{ ...pair.value, text: written(value) }]);
  const head = statements.find(
    (each) => each.kind === "table" && isDeepStrictEqual(each.path, path.slice(0, -1)),
  );
  if (head === undefined) return text;
  const line = `${lineEndOf(text)}${path.at(-1)!} = ${written(value)}`;
  return applyEdits(text, [{ start: head.end, end: head.end, text: line }]);
}

/** The text without the tables and keys below a path. */
function without(text: string, path: readonly string[]): string {
  let made = text;
  for (;;) {
    const block = blockOf(readToml(made), path);
    if (block === undefined) return made;
    made = cut(made, block.start, block.end);
  }
}

/** The first statements below a path: a table with its keys, or a key. */
function blockOf(
  statements: readonly TomlStatement[],
  path: readonly string[],
): { readonly start: number; readonly end: number } | undefined {
  const first = statements.findIndex((each) => isDeepStrictEqual(each.path.slice(0, path.length), path));
  if (first < 0) return undefined;
  const { kind, start } = statements[first]!;
  let last = first;
  if (kind === "table") while (statements[last + 1]?.kind === "pair") last += 1;
  return { start, end: statements[last]!.end };
}

/** Cuts whole lines out, and the blank line before them that separated them. */
function cut(text: string, start: number, end: number): string {
  const [lineEnd = ""] = /^\r?\n/.exec(text.slice(end)) ?? [];
  const rest = text.slice(end + lineEnd.length);
  let before = text.slice(0, start);
  const isSeparate = rest === "" || /^[ \t]*\r?\n/.test(rest);
  if (isSeparate && /\n\r?\n$/.test(before)) before = before.replace(/\r?\n$/, "");
  if (rest === "" && lineEnd === "") before = before.replace(/\r?\n$/, "");
  return before + rest;
}
