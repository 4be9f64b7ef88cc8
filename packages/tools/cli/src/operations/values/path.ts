import { InvalidOptionError } from "@stratigraph/core";

/** A part of a list, a text or an object: from one position up to, but without, another. Default: up to the end. */
export interface Slice {
  readonly from: number;
  readonly to?: number | undefined;
}

/** One step into a value: a property, an index (from the end if it is negative), or a slice. */
export type Segment = string | number | Slice;

/** Where something is in a value. A channel's name may come first. */
export type Path = readonly Segment[];

const form = 'Write it as messages[3].content, [-1] for the last one, [10:20] for a part, or ["any key"].';

const bracketed = /\[(?:(-?\d+)|(\d*):(\d*)|("(?:[^"\\]|\\.)*")|(\*))\]/y;
const named = /\.?([^.[\]"]+)/y;

/**
 * Reads a path such as `messages[3].content`.
 * @throws InvalidOptionError
 */
export function parsePath(text: string): Path {
  const path: Segment[] = [];
  for (let at = 0; at < text.length;) {
    bracketed.lastIndex = at;
    named.lastIndex = at;
    const found = bracketed.exec(text);
    const segment = found === null ? named.exec(text)?.[1] : segmentOf(found);
    if (segment === undefined) throw wrongPath(text);
    path.push(segment);
    at = found === null ? named.lastIndex : bracketed.lastIndex;
  }
  return path;
}

function segmentOf([, index, from, to, key, all]: readonly (string | undefined)[]): Segment | undefined {
  if (index !== undefined) return Number(index);
  if (all !== undefined) return all;
  if (key !== undefined) return keyOf(key);
  return { from: Number(from), ...(to === "" ? {} : { to: Number(to) }) };
}

function keyOf(quoted: string): string | undefined {
  try {
    return JSON.parse(quoted) as string;
  } catch {
    return undefined;
  }
}

/** The error for a path that can't be used. */
export function wrongPath(text: string, why = form): InvalidOptionError {
  return new InvalidOptionError("path", JSON.stringify(text), why);
}
