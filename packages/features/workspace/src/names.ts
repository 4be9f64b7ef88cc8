import { InvalidAddressError } from "@stratigraph/core";
import { validId } from "@stratigraph/core/internal";

/** Longest name, in bytes of UTF-8: it is a label beside those of a namespace, and an index has to hold them all. */
const longestName = 500;

/** Checks the name of a workspace, a topic, an agent or a subscriber. @throws InvalidAddressError */
export function checkedName(field: string, name: unknown): string {
  const valid = validId(field, name);
  if (valid.includes("\0")) throw new InvalidAddressError(field, "text with NUL", "Names have none.");
  const bytes = Buffer.byteLength(valid);
  if (bytes > longestName)
    throw new InvalidAddressError(field, `${bytes} bytes`, `Names have at most ${longestName}.`);
  return valid;
}
