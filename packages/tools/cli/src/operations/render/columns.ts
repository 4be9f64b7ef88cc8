import stringWidth from "fast-string-width";

/**
 * Rows in columns, two spaces apart, without borders. Cells are shown on one line, without control characters.
 * @param right indexes of columns that are aligned to the right, such as numbers
 */
export function* columns(
  rows: readonly (readonly string[])[],
  right: readonly number[] = [],
): Iterable<string> {
  const cells = rows.map((row) => row.map(shown));
  const widths: number[] = [];
  for (const row of cells)
    for (const [n, cell] of row.entries()) widths[n] = Math.max(widths[n] ?? 0, stringWidth(cell));
  for (const row of cells) {
    const padded = row.map((cell, n) => {
      const room = " ".repeat(widths[n]! - stringWidth(cell));
      return right.includes(n) ? room + cell : cell + room;
    });
    yield padded.join("  ").trimEnd();
  }
}

/**
 * As {@link columns}, with a line of headings first, and without empty columns.
 * @param headings names of the columns; those that begin with ">" are aligned to the right
 */
export function* table(headings: readonly string[], rows: readonly (readonly string[])[]): Iterable<string> {
  const used = headings.map((_, n) => n).filter((n) => rows.some((row) => row[n] !== ""));
  const names = headings.map((heading) => heading.replace(/^>/, ""));
  const picked = [names, ...rows].map((row) => used.map((n) => row[n] ?? ""));
  yield* columns(
    picked,
    used.flatMap((n, place) => (headings[n]!.startsWith(">") ? [place] : [])),
  );
}

/** Text that can't move a terminal's cursor or change its colours: control characters are written as escapes. */
export function shown(text: string): string {
  return text.replaceAll(
    // oxlint-disable-next-line no-control-regex -- these are what is looked for
    /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
