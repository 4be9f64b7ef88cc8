import { ByteReader } from "../encode/bytes.ts";
import { INSERT, MAX_PATCH_LENGTH, type Patch } from "./patch.ts";
import { PatchError } from "./patchError.ts";

/**
 * Reads what `encodePatch` wrote, and trusts nothing: a patch that it returns applies to every base of `baseLength` bytes and
 * yields exactly `length` bytes. It allocates no more than 8 times the size of `ops`.
 *
 * @param ops the encoded operations
 * @param literals the literals; kept, not copied
 * @param maxLength longest base and longest result accepted, in bytes
 * @throws PatchError if anything is malformed, out of range or does not add up
 */
export function decodePatch(
  ops: Uint8Array,
  literals: Uint8Array,
  maxLength: number = MAX_PATCH_LENGTH,
): Patch {
  const limit = Math.min(maxLength, MAX_PATCH_LENGTH);
  const reader = new ByteReader(ops);
  const baseLength = boundedLength(reader, "base length", limit);
  const length = boundedLength(reader, "result length", limit);
  const count = readNumber(reader, "number of operations");
  // An operation takes at least one byte, so a false count can't make the array large.
  if (count > reader.left)
    throw new PatchError(`patch names ${count} operations but has ${reader.left} bytes for them`);

  const pairs = new Int32Array(count * 2);
  let produced = 0;
  let inserted = 0;
  let expected = 0;
  for (let i = 0; i < pairs.length; i += 2) {
    const tag = readNumber(reader, "operation");
    const opLength = Math.floor(tag / 2);
    if (opLength === 0) throw new PatchError("patch has an operation of length 0");
    produced += opLength;
    if (produced > length) throw new PatchError(`patch yields more than the ${length} bytes it declares`);
    pairs[i + 1] = opLength;
    if (tag % 2 === 0) {
      pairs[i] = INSERT;
      inserted += opLength;
      continue;
    }
    const coded = readNumber(reader, "copy offset");
    const source = expected + (coded % 2 === 0 ? coded / 2 : -(coded + 1) / 2);
    expected = source + opLength;
    if (source < 0 || expected > baseLength) {
      throw new PatchError(`patch copies bytes ${source} to ${expected} of a base of ${baseLength}`);
    }
    pairs[i] = source;
  }
  if (reader.left > 0) throw new PatchError(`patch has ${reader.left} bytes after its last operation`);
  if (produced !== length) throw new PatchError(`patch yields ${produced} bytes but declares ${length}`);
  if (inserted !== literals.length) {
    throw new PatchError(`patch inserts ${inserted} bytes but has ${literals.length} literal bytes`);
  }
  return { baseLength, length, ops: pairs, literals };
}

function boundedLength(reader: ByteReader, what: string, limit: number): number {
  const value = readNumber(reader, what);
  if (value > limit)
    throw new PatchError(`patch has a ${what} of ${value} bytes; at most ${limit} are accepted`);
  return value;
}

/** @throws PatchError that names the number */
function readNumber(reader: ByteReader, what: string): number {
  try {
    return reader.varint();
  } catch (cause) {
    throw new PatchError(`patch has no readable ${what}: ${(cause as RangeError).message}`, { cause });
  }
}
