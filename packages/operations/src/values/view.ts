import type { Typed } from "@stratigraph/core";
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

/** A value that was read, and is yet to be cut. */
export interface Shown {
  readonly type: string;
  readonly bytes: number;
  /** Absent where the value isn't JSON. */
  readonly found?: Found;
  readonly sha256?: string;
}

/**
 * What of a value is shown, without what is redacted; undefined where `path` leads nowhere.
 * @param path within the value
 */
export function shownValue(
  channel: string,
  [type, bytes]: Typed,
  redaction: Redaction,
  path: Path = [],
): Shown | undefined {
  const json = jsonOf([type, bytes]);
  if (json === undefined) {
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    return { type, bytes: bytes.length, ...(redaction.hides(channel) ? {} : { sha256 }) };
  }
  const found = resolve(redaction.apply(channel, json.value), path);
  return found === undefined ? undefined : { type, bytes: bytes.length, found };
}

/** A shown value, cut to about `maxBytes`. */
export function viewOf({ type, bytes, found, sha256 }: Shown, maxBytes: number): ValueView {
  if (found !== undefined) return { type, bytes, value: cut(found, maxBytes) };
  return { type, bytes, ...(sha256 === undefined ? {} : { sha256 }) };
}

/** The JSON that a serde wrote, parsed; undefined where it wrote something else. */
export function jsonOf([type, bytes]: Typed): { readonly value: unknown } | undefined {
  if (type !== "json") return undefined;
  return { value: JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8")) };
}
