import { createHash, randomBytes, timingSafeEqual } from "node:crypto";

/** The header in which the page sends the token. */
export const tokenHeader = "x-stratigraph-token";

/** A token of 192 random bits. */
export function randomToken(): string {
  return randomBytes(24).toString("base64url");
}

/** The bearer token of a request; null if it has none. */
export function bearerOf(headers: Headers): string | null {
  return /^bearer +(\S+) *$/i.exec(headers.get("authorization") ?? "")?.[1] ?? null;
}

/** Whether a token is the right one. The time that this takes doesn't depend on how much of it is right. */
export function isToken(given: string | null, token: string): boolean {
  return given !== null && timingSafeEqual(digest(given), digest(token));
}

/** The hash of a text. All hashes have the same length, which the comparison needs. */
function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
