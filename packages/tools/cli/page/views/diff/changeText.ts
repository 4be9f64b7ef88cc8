import type { DifferingText } from "../../../src/operations/index.ts";
import { isCut, isRedacted, type JsonObject } from "../../values/records.ts";
import { messageFields, messageOf } from "../../values/messages.ts";
import { jsonLines } from "../../values/jsonTokens.ts";

/** One side of a change: a text, which is compared by words, or data, which is compared by lines. */
export interface SideText {
  readonly kind: "text" | "data";
  readonly text: string;
  /** Whether its end was cut. */
  readonly cut: boolean;
  /** How many characters at the beginning were left out because both sides have them. */
  readonly skips: number;
}

/** A value of a diff, as text that can be compared. */
export function sideText(value: unknown): SideText {
  if (typeof value === "string") return { kind: "text", text: value, cut: false, skips: 0 };
  if (isCut(value) && value.begins !== undefined) {
    const { begins: text, skips } = value as Partial<DifferingText>;
    return { kind: "text", text: text!, cut: true, skips: skips ?? 0 };
  }
  return { kind: "data", text: isRedacted(value) ? "(redacted)" : jsonLines(value), cut: false, skips: 0 };
}

/** A message of a diff, split into its content and its other fields. */
export interface MessageSide {
  readonly speaker: string;
  readonly name: string | undefined;
  readonly content: SideText;
  readonly rest: JsonObject;
}

/** Fields that are left out if they are empty. */
const quiet = new Set([
  "content",
  "name",
  "id",
  "tool_calls",
  "invalid_tool_calls",
  "additional_kwargs",
  "response_metadata",
]);

export function messageSide(value: unknown): MessageSide | undefined {
  const found = messageFields(value);
  if (found === undefined) return undefined;
  const { speaker, fields } = found;
  const { name } = fields;
  const rest = Object.fromEntries(
    Object.entries(fields).filter(
      ([key, part]) =>
        key !== "content" &&
        key !== "name" &&
        key !== "id" &&
        !(quiet.has(key) && isEmpty(part)) &&
        part !== null,
    ),
  );
  return { speaker, name: typeof name === "string" ? name : undefined, content: contentText(value), rest };
}

/** The content of a message. Images and the like are described. */
function contentText(message: unknown): SideText {
  const content = messageFields(message)?.fields["content"];
  if (isCut(content)) return sideText(content);
  const blocks = messageOf(message, 0, [])?.blocks ?? [];
  const texts = blocks.map((block) => {
    if (block.kind === "redacted") return "(redacted)";
    if (block.kind === "media") return `[${block.name} ${block.about}]`;
    return block.kind === "data" ? jsonLines(block.value) : block.text;
  });
  const cut = blocks.some((block) => "cutBytes" in block && block.cutBytes !== undefined);
  return { kind: "text", text: texts.join("\n"), cut, skips: 0 };
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}

/** A piece of a text that was compared. */
export interface Piece {
  readonly kind: "same" | "added" | "removed";
  readonly text: string;
}

/** What the library returns for a piece. */
interface Told {
  readonly added?: boolean | undefined;
  readonly removed?: boolean | undefined;
  readonly value: string;
}

/** The functions of the library `diff`, which is loaded when there is something to compare. */
export interface Differ {
  diffWordsWithSpace(before: string, after: string, options: { timeout: number }): Told[] | undefined;
  diffLines(before: string, after: string, options: { timeout: number }): Told[] | undefined;
}

/** Longer texts are compared by lines, in characters. */
const longestByWords = 20_000;

/** How long a comparison may take, in milliseconds. */
const mostMs = 400;

/** Compares two texts, by words or by lines. If that takes too long, only a common beginning and end count as the same. */
export function pieces(differ: Differ, before: SideText, after: SideText): Piece[] {
  const by =
    before.kind === "text" &&
    after.kind === "text" &&
    before.text.length + after.text.length <= longestByWords
      ? "diffWordsWithSpace"
      : "diffLines";
  const told = differ[by](before.text, after.text, { timeout: mostMs });
  if (told === undefined) return ends(before.text, after.text);
  return told.map(({ added, removed, value }) => ({
    kind: added === true ? "added" : removed === true ? "removed" : "same",
    text: value,
  }));
}

/** The common beginning and end of two texts, and between them the rest of the one and of the other. */
export function ends(before: string, after: string): Piece[] {
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < most - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const all: Piece[] = [
    { kind: "same", text: before.slice(0, start) },
    { kind: "removed", text: before.slice(start, before.length - end) },
    { kind: "added", text: after.slice(start, after.length - end) },
    { kind: "same", text: end === 0 ? "" : before.slice(-end) },
  ];
  return all.filter(({ text }) => text !== "");
}

/** A piece, or the folded middle of a long piece that is the same on both sides. */
export type Folded = Piece | { readonly kind: "fold"; readonly lines: number; readonly text: string };

/** How many lines around a difference stay visible. */
const around = 3;

/** Folds the middle of long pieces that are the same. */
export function folded(all: readonly Piece[]): Folded[] {
  return all
    .flatMap((piece, n): Folded[] => {
      if (piece.kind !== "same") return [piece];
      const lines = piece.text.split("\n");
      const [isFirst, isLast] = [n === 0, n === all.length - 1];
      const [head, tail] = [isFirst ? 0 : around, isLast ? 0 : around + 1];
      if (lines.length <= head + tail + 2) return [piece];
      const middle = lines.slice(head, lines.length - tail);
      return [
        { kind: "same", text: head === 0 ? "" : `${lines.slice(0, head).join("\n")}\n` },
        { kind: "fold", lines: middle.length, text: `${middle.join("\n")}${tail === 0 ? "" : "\n"}` },
        { kind: "same", text: tail === 0 ? "" : lines.slice(-tail).join("\n") },
      ];
    })
    .filter((piece) => piece.kind === "fold" || piece.text !== "");
}

/** The text in front of a change: its path in the channel. */
export function pathText(path: string): string {
  return path
    .split("/")
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .filter((part, n) => n > 0 || part !== "")
    .join(" › ");
}
