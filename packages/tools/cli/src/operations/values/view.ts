import type { Typed } from "@stratigraph/core/internal";
import { createHash } from "node:crypto";
import { z } from "zod";
import { cut } from "./cut.ts";
import type { Path } from "./path.ts";
import type { Redaction } from "./redaction.ts";
import { resolve, type Found } from "./resolve.ts";

/** A value as operations show it. */
export const valueView = z.object({
  type: z.string().describe('The serde\'s format. Only "json" is shown; of others, size and hash.'),
  bytes: z.number().describe("Size of the whole value, serialised."),
  value: z
    .unknown()
    .optional()
    .describe(
      'JSON as the serde writes it. {"lc":2,"type":"sg:cut"} stands for what was left out: ask for its path.',
    ),
  sha256: z.string().optional().describe("Of a value that isn't JSON."),
});

/** See {@link valueView}. */
export type ValueView = z.output<typeof valueView>;

/** A value that was read, but isn't cut yet. */
export interface Shown {
  readonly type: string;
  readonly bytes: number;
  /** Absent if the value isn't JSON. */
  readonly found?: Found;
  /** Whether `found` is the whole value without redaction, so that `bytes` is its size. */
  readonly isWhole?: boolean;
  readonly sha256?: string;
}

/** A value that was read and parsed, without what is redacted. */
export interface ParsedValue {
  readonly type: string;
  /** Size of the whole value, serialised. */
  readonly bytes: number;
  /** Absent if the value isn't JSON. */
  readonly json?: { readonly value: unknown };
  /** Whether nothing of it is redacted. */
  readonly isComplete: boolean;
  readonly sha256?: string;
}

/** Parses a value, and redacts it. */
export function parsedValue(channel: string, [type, bytes]: Typed, redaction: Redaction): ParsedValue {
  const known = { type, bytes: bytes.length, isComplete: !redaction.isActive };
  const json = jsonOf([type, bytes]);
  if (json !== undefined) return { ...known, json: { value: redaction.apply(channel, json.value) } };
  if (redaction.hides(channel)) return known;
  return { ...known, sha256: createHash("sha256").update(bytes).digest("hex") };
}

/** The part of a value that is shown; undefined if `path` leads nowhere. @param path within the value */
export function partOf(parsed: ParsedValue, path: Path = []): Shown | undefined {
  const { type, bytes, json, isComplete, sha256 } = parsed;
  if (json === undefined) return { type, bytes, ...(sha256 === undefined ? {} : { sha256 }) };
  const found = resolve(json.value, path);
  return found === undefined ? undefined : { type, bytes, found, isWhole: isComplete && path.length === 0 };
}

/** The part of a value that is shown, redacted; undefined if `path` leads nowhere. @param path within the value */
export function shownValue(
  channel: string,
  typed: Typed,
  redaction: Redaction,
  path: Path = [],
): Shown | undefined {
  return partOf(parsedValue(channel, typed, redaction), path);
}

/** A shown value, cut to about `maxBytes`. */
export function viewOf({ type, bytes, found, isWhole, sha256 }: Shown, maxBytes: number): ValueView {
  if (found !== undefined)
    return { type, bytes, value: cut(found, maxBytes, isWhole === true ? bytes : undefined) };
  return { type, bytes, ...(sha256 === undefined ? {} : { sha256 }) };
}

/** The JSON that a serde wrote, parsed; undefined if it wrote something else. */
export function jsonOf([type, bytes]: Typed): { readonly value: unknown } | undefined {
  if (type !== "json") return undefined;
  return { value: JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8")) };
}
