import { MAX_VARINT_BYTES, writeVarint } from "../encode/bytes.ts";
import { INSERT, type Patch } from "./patch.ts";

/** A patch as two byte strings. `literals` are worth compressing, `ops` seldom are. */
export interface EncodedPatch {
  readonly ops: Uint8Array;
  readonly literals: Uint8Array;
}

/**
 * Writes a patch as bytes. `ops` holds unsigned varints (LEB128): base length, result length, number of operations,
 * then for each operation `length * 2 + kind` (kind 0 = insert, 1 = copy). For a copy, the distance of its source from
 * the end of the previous copy's (0 at first) follows, zigzag-coded: d ≥ 0 as 2d, d < 0 as -2d - 1.
 */
export function encodePatch(patch: Patch): EncodedPatch {
  const { ops } = patch;
  const bytes = new Uint8Array((3 + ops.length) * MAX_VARINT_BYTES);
  let at = writeVarint(bytes, 0, patch.baseLength);
  at = writeVarint(bytes, at, patch.length);
  at = writeVarint(bytes, at, ops.length / 2);
  let expected = 0;
  for (let i = 0; i < ops.length; i += 2) {
    const source = ops[i]!;
    const length = ops[i + 1]!;
    if (source === INSERT) {
      at = writeVarint(bytes, at, length * 2);
      continue;
    }
    at = writeVarint(bytes, at, length * 2 + 1);
    const distance = source - expected;
    at = writeVarint(bytes, at, distance < 0 ? -2 * distance - 1 : 2 * distance);
    expected = source + length;
  }
  return { ops: bytes.slice(0, at), literals: patch.literals };
}
