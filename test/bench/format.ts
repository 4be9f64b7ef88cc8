import type { Table } from "./types.ts";

/** Markdown that is also readable in a terminal: cells are padded to the width of their column. */
export function formatTable(table: Table): string {
  const lines = [table.columns, ...table.rows];
  const widths = table.columns.map((_, column) =>
    Math.max(3, ...lines.map((line) => [...(line[column] ?? "")].length)),
  );
  const row = (cells: string[]): string =>
    `| ${cells
      .map((cell, column) => {
        const gap = " ".repeat((widths[column] ?? 0) - [...cell].length);
        return column === 0 ? cell + gap : gap + cell;
      })
      .join(" | ")} |`;
  const rule = widths.map((width, column) =>
    column === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`,
  );
  const parts = [`## ${table.title}`, "", row(table.columns), row(rule), ...table.rows.map(row)];
  if (table.notes.length > 0) parts.push("", ...table.notes.map((note) => `- ${note}`));
  return parts.join("\n");
}

/** A duration, three significant digits. */
export function ms(value: number | undefined): string {
  if (value === undefined || Number.isNaN(value)) return "–";
  if (value >= 1000) return `${significant(value / 1000)} s`;
  return `${significant(value)} ms`;
}

/** A size in decimal units, three significant digits. */
export function bytes(value: number | undefined): string {
  if (value === undefined || Number.isNaN(value)) return "–";
  if (Math.abs(value) >= 1e6) return `${significant(value / 1e6)} MB`;
  if (Math.abs(value) >= 1e4) return `${significant(value / 1e3)} kB`;
  return `${Math.round(value)} B`;
}

/** A plain count. */
export function count(value: number | undefined): string {
  return value === undefined || Number.isNaN(value) ? "–" : String(Math.round(value * 10) / 10);
}

/** `ours` against `theirs`, as "1/4.2" where ours is smaller and "1.3 ×" where it is larger. */
export function ratio(ours: number | undefined, theirs: number | undefined): string {
  if (ours === undefined || theirs === undefined || !(theirs > 0) || !(ours > 0)) return "–";
  return ours <= theirs ? `1/${significant(theirs / ours)}` : `${significant(ours / theirs)} ×`;
}

/** `ours` of `theirs`, of rates and other figures of which more is better. */
export function times(ours: number | undefined, theirs: number | undefined): string {
  if (ours === undefined || theirs === undefined || !(theirs > 0)) return "–";
  return `${(ours / theirs).toFixed(2)} ×`;
}

/** A rate. */
export function perSecond(value: number | undefined): string {
  return value === undefined || Number.isNaN(value) ? "–" : `${significant(value)}/s`;
}

function significant(value: number): string {
  if (value === 0) return "0";
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return value.toFixed(Math.min(digits, 3));
}
