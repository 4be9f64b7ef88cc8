import { isDeepStrictEqual } from "node:util";
import { applyEdits, indentAt, isRecord, isRemote, lineEndOf, type Edit, type ServerEntry } from "./edits.ts";
import { memberOf, readJson, valueOf, type JsonMember, type JsonObject } from "./jsonText.ts";

/** How a text is written. */
interface Layout {
  readonly lineEnd: string;
  /** One level of indentation. */
  readonly unit: string;
}

/**
 * Puts a server's entry into a JSON text, or takes it away. All else stays as it is.
 * @param entry undefined: take it away
 * @throws SyntaxError
 */
export function editJson(text: string, key: string, name: string, entry: ServerEntry | undefined): string {
  // Objects are read anew after each step, so that no place in the text is out of date.
  let made = isBlank(text) ? `${text.startsWith("\ufeff") ? "\ufeff" : ""}{}${lineEndOf(text)}` : text;
  const step = (edits: readonly Edit[]): void => {
    made = applyEdits(made, edits);
  };
  const root = (): JsonObject => objectOf(readJson(made));
  const layout = layoutOf(made, root());
  const servers = memberOf(root(), key);
  if (entry === undefined) {
    if (servers === undefined) return text;
    const parent = objectOf(servers.value);
    const member = memberOf(parent, name);
    return member === undefined ? text : applyEdits(made, removal(made, parent, member));
  }
  if (servers === undefined) {
    step(addition(made, root(), key, { [name]: entry }, layout));
    return made;
  }
  const parent = objectOf(servers.value);
  const member = memberOf(parent, name);
  if (member === undefined) {
    step(addition(made, parent, name, entry, layout));
    return made;
  }
  const before = valueOf(member.value);
  if (!isRecord(before) || isRemote(before)) {
    const { start, end } = member.value;
    step([{ start, end, text: written(entry, indentAt(made, member.start), layout) }]);
    return made;
  }
  for (const [field, value] of Object.entries(entry)) {
    const own = objectOf(memberOf(objectOf(memberOf(root(), key)!.value), name)!.value);
    const found = memberOf(own, field);
    if (found === undefined) step(addition(made, own, field, value, layout));
    else if (!isDeepStrictEqual(valueOf(found.value), value)) {
      const { start, end } = found.value;
      step([{ start, end, text: written(value, "", layout) }]);
    }
  }
  return made;
}

/** Whether there is nothing in a text. */
export function isBlank(text: string): boolean {
  return /^\ufeff?[ \t\r\n]*$/.test(text);
}

function objectOf(node: ReturnType<typeof readJson>): JsonObject {
  if (node.kind === "object") return node;
  throw new SyntaxError("it has something else where an object belongs");
}

function layoutOf(text: string, { members }: JsonObject): Layout {
  const [first] = members;
  const indent = first === undefined ? "" : indentAt(text, first.start);
  return { lineEnd: lineEndOf(text), unit: indent === "" ? "  " : indent };
}

/** The edits that put a member at the end of an object. */
function addition(text: string, object: JsonObject, key: string, value: unknown, layout: Layout): Edit[] {
  const { start, end, members, solid } = object;
  const last = members.at(-1);
  const edits: Edit[] = [];
  if (last !== undefined && last.comma === undefined)
    edits.push({ start: last.value.end, end: last.value.end, text: "," });
  // Where commas stand behind the last member, one stands behind the new one, too.
  const comma = last?.comma === undefined ? "" : ",";
  const isOnOneLine = !text.slice(start, end).includes("\n");
  const isMinified = members.length > 0 || (text.trimEnd().length > end && !text.trim().includes("\n"));
  if (isOnOneLine && isMinified) {
    const gap = /^[^"]*"(?:[^"\\]|\\.)*":\S/.test(text.slice(text.indexOf("{"))) ? "" : " ";
    const member = `${JSON.stringify(key)}:${gap}${JSON.stringify(value)}`;
    edits.push({ start: solid, end: solid, text: `${last === undefined ? "" : gap}${member}${comma}` });
    return edits;
  }
  const outer = indentAt(text, start);
  const isOwnLine = last !== undefined && text.slice(last.lead, last.start).includes("\n");
  const indent = isOwnLine ? indentAt(text, last.start) : outer + layout.unit;
  const member = `${layout.lineEnd}${indent}${JSON.stringify(key)}: ${written(value, indent, layout)}${comma}`;
  // Only a brace that stood right behind the other one goes to a line of its own.
  const tail = text.slice(solid, end - 1);
  const isBare = last === undefined && solid === start + 1 && !tail.includes("\n");
  edits.push(
    isBare
      ? { start: solid, end: end - 1, text: `${member}${layout.lineEnd}${outer}` }
      : { start: solid, end: solid, text: member },
  );
  return edits;
}

/** The edits that take a member away. Comments around it stay. */
function removal(text: string, { start, end, members, solid }: JsonObject, member: JsonMember): Edit[] {
  const place = members.indexOf(member);
  const { lead, comma, value } = member;
  const isAlone = members.length === 1 && lead === start + 1 && solid === (comma ?? value.end - 1) + 1;
  if (isAlone) return [{ start: start + 1, end: end - 1, text: "" }];
  const after = comma === undefined ? value.end : comma + 1;
  // A comment behind it on its line would otherwise end up behind what is before it.
  const hasComment = /^[ \t]*\/[/*]/.test(text.slice(after));
  const from = hasComment ? member.start : lead;
  const own: Edit[] = [{ start: from, end: value.end, text: "" }];
  if (comma !== undefined) return [...own, { start: comma, end: comma + 1, text: "" }];
  const previous = members[place - 1];
  if (previous?.comma === undefined) return own;
  return [{ start: previous.comma, end: previous.comma + 1, text: "" }, ...own];
}

/** A value as text: a line for each member of an object, one line for an array. */
function written(value: unknown, indent: string, layout: Layout): string {
  if (Array.isArray(value)) return `[${value.map((item) => JSON.stringify(item)).join(", ")}]`;
  if (!isRecord(value)) return JSON.stringify(value);
  const inner = indent + layout.unit;
  const members = Object.entries(value).map(
    ([key, each]) => `${inner}${JSON.stringify(key)}: ${written(each, inner, layout)}`,
  );
  return `{${layout.lineEnd}${members.join(`,${layout.lineEnd}`)}${layout.lineEnd}${indent}}`;
}

/** The lines to put into a file by hand. */
export function jsonToPaste(key: string, name: string, entry: ServerEntry): string {
  return written({ [key]: { [name]: entry } }, "", { lineEnd: "\n", unit: "  " });
}
