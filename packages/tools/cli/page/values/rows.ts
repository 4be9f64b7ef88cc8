import { countText, describe, inline, isPartGap, type Described, type Kind, type Part } from "./describe.ts";
import { bytesText } from "../design/units.ts";
import type { Gap } from "./items.ts";
import { formatPath, type Step } from "./records.ts";
import { visible, wrapped } from "./text.ts";

/** A tree's root: a channel, or a part of one. */
export interface Root {
  /** Unique in its tree. */
  readonly id: string;
  readonly label: string;
  readonly value: unknown;
  /** Where in the channel the value is. */
  readonly path: readonly Step[];
  /** The text after the label, such as "rebuilt". */
  readonly note?: string | undefined;
}

interface Place {
  /** Unique in its tree. */
  readonly id: string;
  /** The root it belongs to. */
  readonly root: string;
  readonly depth: number;
}

/** A line of the tree with a value. */
export interface ValueRow extends Place {
  readonly row: "value";
  readonly label: string;
  readonly labelKind: Part["labelKind"];
  readonly path: readonly Step[];
  readonly value: unknown;
  readonly kind: Kind;
  readonly name: string | undefined;
  readonly text: string;
  /** The note of a root; undefined for other rows. */
  readonly note: string | undefined;
  /** "12 items", "1.2 MB", … */
  readonly size: string;
  readonly expandable: boolean;
  readonly expanded: boolean;
  readonly position: number;
  readonly siblings: number;
}

/** A line of a text that is shown in full. */
export interface LineRow extends Place {
  readonly row: "line";
  readonly text: string;
}

/** The end of a text that was cut. */
export interface MoreRow extends Place {
  readonly row: "more";
  readonly path: readonly Step[];
  /** How many characters are shown. */
  readonly shown: number;
  /** Size of the whole text as JSON. */
  readonly bytes: number;
}

/** An item that is loaded when it comes into sight. */
export interface PendingRow extends Place {
  readonly row: "pending";
  readonly label: string;
  /** The list or object that it belongs to. */
  readonly path: readonly Step[];
  readonly gap: Gap;
  /** The item's position. */
  readonly index: number;
}

export type Row = ValueRow | LineRow | MoreRow | PendingRow;

interface Options {
  /** Ids of rows that are open. */
  readonly open: ReadonlySet<string>;
  /** The width of a line of text, in columns. */
  readonly columns: number;
}

/** All rows of a tree that aren't inside a closed row. */
export function rowsOf(roots: readonly Root[], options: Options): Row[] {
  const rows: Row[] = [];
  for (const [n, root] of roots.entries())
    addValue(
      rows,
      {
        id: root.id,
        root: root.id,
        depth: 0,
        label: root.label,
        labelKind: "key",
        path: root.path,
        value: root.value,
        note: root.note,
        position: n + 1,
        siblings: roots.length,
      },
      options,
    );
  return rows;
}

type Given = Pick<
  ValueRow,
  "id" | "root" | "depth" | "label" | "labelKind" | "path" | "value" | "note" | "position" | "siblings"
>;

function addValue(rows: Row[], given: Given, options: Options): void {
  const described = describe(given.value, given.path);
  const expandable = isExpandable(described);
  const expanded = expandable && options.open.has(given.id);
  const { kind, name } = described;
  rows.push({
    row: "value",
    ...given,
    kind,
    name,
    text: textOf(described, given.value),
    size: sizeOf(described),
    expandable,
    expanded,
  });
  if (!expanded) return;
  if (described.string !== undefined) addText(rows, given, described, options.columns);
  else addParts(rows, given, described, options);
}

/** A text up to this length is shown whole on its row, in characters. */
const longestText = 80;

function isExpandable({ parts, string, cutBytes }: Described): boolean {
  if (parts !== undefined) return parts.length > 0;
  return (
    string !== undefined && (string.length > longestText || string.includes("\n") || cutBytes !== undefined)
  );
}

function textOf({ kind, text, string, parts, name }: Described, value: unknown): string {
  if (string !== undefined) {
    const begins = string.slice(0, 400);
    return (
      visible(JSON.stringify(begins).slice(0, string.length > 400 ? -1 : undefined)) +
      (string.length > 400 ? "…" : "")
    );
  }
  if (parts === undefined || kind === "error") return visible(text ?? "");
  const line = visible(inline(value, 160));
  return name === undefined ? line : line.slice(name.length).trimStart();
}

function sizeOf({ kind, count, string, cutBytes, parts }: Described): string {
  if (cutBytes !== undefined) return bytesText(cutBytes);
  if (string !== undefined)
    return string.length > longestText ? `${countText(string.length)} characters` : "";
  if (parts === undefined || kind === "error") return "";
  const unit = kind === "list" ? "item" : "key";
  return `${countText(count!)} ${unit}${count === 1 ? "" : "s"}`;
}

function addText(
  rows: Row[],
  { id, root, depth, path }: Given,
  { string, cutBytes }: Described,
  columns: number,
): void {
  const lines = wrapped(string!, Math.max(20, columns - depth * 2 - 4));
  for (const [n, text] of lines.entries())
    rows.push({ row: "line", id: `${id}:${n}`, root, depth: depth + 1, text });
  if (cutBytes !== undefined)
    rows.push({
      row: "more",
      id: `${id}:more`,
      root,
      depth: depth + 1,
      path,
      shown: string!.length,
      bytes: cutBytes,
    });
}

function addParts(rows: Row[], given: Given, { parts, count, kind }: Described, options: Options): void {
  const { id, root, depth, path } = given;
  const siblings = count ?? parts!.length;
  let position = 0;
  for (const part of parts!) {
    if (isPartGap(part)) {
      for (let index = part.from; index < part.to; index += 1) {
        const label = kind === "list" ? String(index) : "…";
        rows.push({
          row: "pending",
          id: `${id}:${index}?`,
          root,
          depth: depth + 1,
          label,
          path,
          gap: part,
          index,
        });
      }
      position = part.to;
      continue;
    }
    position += 1;
    const { label, labelKind, steps, value } = part;
    const at = [...path, ...steps];
    addValue(
      rows,
      {
        id: `${root}/${formatPath(at)}`,
        root,
        depth: depth + 1,
        label,
        labelKind,
        path: at,
        value,
        note: undefined,
        position,
        siblings,
      },
      options,
    );
  }
}

/** How many items are requested at once. */
const pageItems = 100;

/** The slice to load for an item of a gap: the item and its neighbours. */
export function pageAround({ from, to }: Gap, index: number): { from: number; to: number } {
  const start = Math.max(from, index - (index % pageItems));
  return { from: start, to: Math.min(to, start + pageItems) };
}
