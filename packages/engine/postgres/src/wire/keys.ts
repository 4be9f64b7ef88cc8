import { createHash } from "node:crypto";
import { byteaText, hexOf } from "./hex.ts";

/** The first byte of an id's key says what the rest is. Part of the stored format. */
const kinds = { uuid: 1, text: 2, hash: 3 } as const;

/** Longest id that is stored unchanged, in bytes of UTF-8: three of them fit into an index row of PostgreSQL (2,704 bytes). */
const longestText = 512;

const canonicalUuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/**
 * The key of an id: the 16 bytes of a canonical UUID, the UTF-8 of other text, or the SHA-256 of long text, whose original goes to
 * long_ids. The root namespace has the empty key. Keys sort as the ids do, UUIDs before other text.
 */
export function keyOf(id: string): Buffer {
  if (id === "") return Buffer.alloc(0);
  if (canonicalUuid.test(id)) return Buffer.from(`01${id.replaceAll("-", "")}`, "hex");
  const bytes = Buffer.from(id, "utf8");
  const long = bytes.length > longestText;
  return Buffer.concat([
    Uint8Array.of(long ? kinds.hash : kinds.text),
    long ? createHash("sha256").update(bytes).digest() : bytes,
  ]);
}

/** Whether a key doesn't hold the id itself: it stands for a long id, whose original must be looked up, or it is damaged. */
function isLongKey(key: Uint8Array): boolean {
  return key.length > 0 && key[0] !== kinds.uuid && key[0] !== kinds.text;
}

/** The original of a long id, which goes to long_ids beside its key; undefined for other ids. */
export function longIdOf(id: string): Buffer | undefined {
  // UTF-8 has at most three bytes for each of JavaScript's characters.
  if (id.length * 3 <= longestText) return undefined;
  const bytes = Buffer.from(id, "utf8");
  return bytes.length > longestText ? bytes : undefined;
}

/** The key of an id as the text of a bytea. */
export function keyText(id: string): string {
  return byteaText(keyOf(id));
}

/** The original of a long id as the text of a bytea; undefined for other ids. */
export function longIdText(id: string): string | undefined {
  const original = longIdOf(id);
  return original === undefined ? undefined : byteaText(original);
}

/** A key that stands for no id: it is damaged, or the original of a long id is gone. */
export class UnknownKey extends RangeError {
  constructor(key: Uint8Array) {
    super(`no id is known for key ${hexOf(key)}`);
    this.name = "UnknownKey";
  }
}

/** Turns keys back into ids. Keys of long ids must be learnt first. */
export class KeyReader {
  readonly #originals = new Map<string, string>();

  learn(key: Uint8Array, original: Uint8Array): void {
    this.#originals.set(hexOf(key), Buffer.from(original).toString("utf8"));
  }

  knows(key: Uint8Array): boolean {
    return !isLongKey(key) || this.#originals.has(hexOf(key));
  }

  /** @throws UnknownKey */
  id(key: Uint8Array): string {
    if (key.length === 0) return "";
    const rest = Buffer.from(key.buffer, key.byteOffset + 1, key.length - 1);
    if (key[0] === kinds.text) return rest.toString("utf8");
    if (key[0] === kinds.uuid) {
      const digits = rest.toString("hex");
      return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-${digits.slice(12, 16)}-${digits.slice(16, 20)}-${digits.slice(20)}`;
    }
    const original = this.#originals.get(hexOf(key));
    if (original === undefined) throw new UnknownKey(key);
    return original;
  }
}
