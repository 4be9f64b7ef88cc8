import { StratigraphError } from "@stratigraph/core";
import type { Typed } from "@stratigraph/core/internal";
import type { Path } from "../operations/index.ts";
import type { Redaction } from "../operations/values/redaction.ts";
import { shownValue } from "../operations/values/view.ts";

/** A value's bytes, without redacted parts; undefined if the path leads nowhere. @throws StratigraphError "ACCESS_DENIED" if all of it is redacted */
export function valueBytes(
  channel: string,
  stored: Typed,
  redaction: Redaction,
  path: Path,
): Uint8Array | undefined {
  const [type, bytes] = stored;
  const isJson = type === "json";
  // The bytes that the serde wrote. Only a part of a value, or a redacted value, is serialised anew.
  if (path.length === 0 && !redaction.isActive) return bytes;
  if (!isJson && redaction.hides(channel)) {
    const message = `The config's redact names the channel ${JSON.stringify(channel)}: it isn't shown.`;
    throw new StratigraphError("ACCESS_DENIED", message, { channel });
  }
  if (!isJson) return path.length === 0 ? bytes : undefined;
  const found = shownValue(channel, stored, redaction, path)?.found;
  return found === undefined ? undefined : Buffer.from(JSON.stringify(found.value));
}
