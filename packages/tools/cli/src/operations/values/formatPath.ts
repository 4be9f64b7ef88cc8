import { shown } from "../render/columns.ts";
import type { Path, Segment } from "./path.ts";

/** A property that needs no quotes in a path, and that a terminal shows as it is. */
const isPlain = (key: string): boolean => /^[^.[\]"\s]+$/.test(key) && shown(key) === key;

/** Writes a path in the form that {@link parsePath} reads. */
export function formatPath(path: Path): string {
  return path.map((segment, n) => formatSegment(segment, n === 0)).join("");
}

function formatSegment(segment: Segment, first: boolean): string {
  if (typeof segment === "number") return `[${segment}]`;
  if (typeof segment !== "string") return `[${segment.from}:${segment.to ?? ""}]`;
  if (!isPlain(segment)) return `[${JSON.stringify(segment)}]`;
  return first ? segment : `.${segment}`;
}
