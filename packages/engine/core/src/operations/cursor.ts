import { shown } from "../contract/checkOptions.ts";
import { InvalidOptionError } from "../contract/errors.ts";

/** Encodes a place in a list as text that callers hand back. */
export function encodeCursor(place: unknown): string {
  return Buffer.from(JSON.stringify(place)).toString("base64url");
}

/**
 * Decodes a cursor that {@link encodeCursor} made.
 * @param isOurs whether something is a place in the list in question
 * @param advice what to pass instead
 * @throws InvalidOptionError
 */
export function decodeCursor<T>(cursor: string, isOurs: (place: unknown) => place is T, advice: string): T {
  try {
    const place: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
    if (isOurs(place)) return place;
  } catch {
    // Fall through: it isn't ours.
  }
  throw new InvalidOptionError("cursor", shown(cursor), advice);
}
