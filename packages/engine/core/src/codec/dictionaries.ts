import { CodecError } from "./codecError.ts";
import { dictionary1 } from "./dictionary1.ts";

/** Every dictionary that was ever shipped, in base64, by the id in packed bytes. Never change or remove one. */
const shipped: ReadonlyMap<number, string> = new Map([[1, dictionary1]]);

/** The id of the dictionary that new bytes are packed with. */
export const CURRENT_DICTIONARY = 1;

const decoded = new Map<number, Uint8Array>();

/**
 * A shipped dictionary. It is the same array at every call, so that its prepared form can be kept.
 *
 * @throws CodecError `unknown-dictionary`
 */
export function shippedDictionary(id: number): Uint8Array {
  const known = decoded.get(id);
  if (known !== undefined) return known;
  const base64 = shipped.get(id);
  if (base64 === undefined) {
    const message = `The bytes need dictionary ${id}, which this version does not ship; a newer one wrote them.`;
    throw new CodecError("unknown-dictionary", message);
  }
  const bytes = Uint8Array.from(Buffer.from(base64, "base64"));
  decoded.set(id, bytes);
  return bytes;
}

/** Whether this array object came from {@link shippedDictionary}. */
export function isShippedDictionary(dictionary: Uint8Array): boolean {
  for (const known of decoded.values()) if (known === dictionary) return true;
  return false;
}
