import { describe, isPartGap, type Part } from "./describe.ts";
import { formatPath, isRedacted, type Step } from "./records.ts";
import type { Root, Row } from "./rows.ts";

/**
 * Ids of the rows from a root down to a value, as far as these are loaded.
 * @param path as {@link formatPath} writes it
 */
export function idsTo(root: Root, path: string): string[] {
  const ids = [root.id];
  let [value, at]: [unknown, readonly Step[]] = [root.value, root.path];
  for (;;) {
    const next = describe(value, at).parts?.find((part): part is Part => {
      if (isPartGap(part)) return false;
      const here = formatPath([...at, ...part.steps]);
      return path === here || (path.startsWith(here) && /^[.[]/.test(path.slice(here.length)));
    });
    if (next === undefined) return ids;
    [value, at] = [next.value, [...at, ...next.steps]];
    ids.push(`${root.id}/${formatPath(at)}`);
  }
}

/** The indexes of the rows whose label or text contains a word. */
export function matches(rows: readonly Row[], word: string): number[] {
  const wanted = word.toLowerCase();
  if (wanted === "") return [];
  return rows.flatMap((row, n) => {
    return searched(row).toLowerCase().includes(wanted) ? [n] : [];
  });
}

/** The text of a row that is searched. An open row's own text is skipped, because the rows beneath contain it. */
function searched(row: Row): string {
  if (row.row === "line") return row.text;
  return row.row === "value" ? `${row.label} ${row.name ?? ""} ${row.expanded ? "" : row.text}` : "";
}

/** Ids of the rows that must be open to show every loaded value that contains a word. */
export function openFor(roots: readonly Root[], word: string, most = 200): Set<string> {
  const wanted = word.toLowerCase();
  const found = new Set<string>();
  if (wanted === "") return found;
  let left = most;
  const visit = (
    value: unknown,
    path: readonly Step[],
    id: string,
    root: string,
    above: readonly string[],
  ): void => {
    if (left === 0 || isRedacted(value)) return;
    const { string, parts, text } = describe(value, path);
    const hit = (string ?? text ?? "").toLowerCase().indexOf(wanted);
    if (hit !== -1) {
      for (const each of above) found.add(each);
      // The hit is too far back to be seen on the row itself, so the text must be open, too.
      if (string !== undefined && hit > 100) found.add(id);
      left -= 1;
    }
    for (const part of parts ?? []) {
      if (isPartGap(part)) continue;
      const at = [...path, ...part.steps];
      if (part.labelKind !== "index" && part.label.toLowerCase().includes(wanted) && left > 0) {
        for (const each of [...above, id]) found.add(each);
        left -= 1;
      }
      visit(part.value, at, `${root}/${formatPath(at)}`, root, [...above, id]);
    }
  };
  for (const { id, value, path } of roots) visit(value, path, id, id, []);
  return found;
}
