import { describe, isPartGap, type Part } from "./describe.ts";
import { formatPath, isRedacted, type Step } from "./records.ts";
import type { Root, Row } from "./rows.ts";

/**
 * Ids of the rows from a root down to a value, as far as it is loaded.
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

/** The rows in whose label or text a word occurs, as their places in the list. */
export function matches(rows: readonly Row[], word: string): number[] {
  const wanted = word.toLowerCase();
  if (wanted === "") return [];
  return rows.flatMap((row, n) => {
    return searched(row).toLowerCase().includes(wanted) ? [n] : [];
  });
}

/** What of a row is looked through. The preview of one that is open stands in the rows beneath. */
function searched(row: Row): string {
  if (row.row === "line") return row.text;
  return row.row === "value" ? `${row.label} ${row.name ?? ""} ${row.expanded ? "" : row.text}` : "";
}

/** Ids of rows that have to be open so that everything in which a word occurs can be seen, as far as it is loaded. */
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
      // A hit that isn't on the row itself.
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
