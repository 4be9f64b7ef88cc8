import { copyBytes } from "./copyBytes.ts";
import { OpIndex } from "./opIndex.ts";
import { OpList } from "./opList.ts";
import { INSERT, type Patch } from "./patch.ts";
import { PatchError } from "./patchError.ts";

/**
 * One patch that does what `older` and then `newer` do, without their base. Its literals are a copy of those that
 * are still needed.
 *
 * @throws PatchError if `newer` is not for a base as long as what `older` yields
 */
export function compose(older: Patch, newer: Patch): Patch {
  if (newer.baseLength !== older.length) {
    throw new PatchError(
      `patch is for a base of ${newer.baseLength} bytes; the one before it yields ${older.length}`,
    );
  }
  const index = new OpIndex(older);
  const ops = new OpList();
  /** Where the inserted bytes are: 1 = in older.literals, 0 = in newer.literals; offset; length. */
  const inserted: number[] = [];
  let total = 0;
  let literal = 0;
  for (let i = 0; i < newer.ops.length; i += 2) {
    const source = newer.ops[i]!;
    const length = newer.ops[i + 1]!;
    if (source === INSERT) {
      ops.insert(length);
      inserted.push(0, literal, length);
      literal += length;
      total += length;
      continue;
    }
    const end = source + length;
    for (let at = source; at < end;) {
      const op = index.find(at);
      const skipped = at - index.starts[op]!;
      const part = Math.min(index.starts[op + 1]!, end) - at;
      const olderSource = older.ops[2 * op]!;
      if (olderSource === INSERT) {
        ops.insert(part);
        inserted.push(1, index.literalAt[op]! + skipped, part);
        total += part;
      } else {
        ops.copy(olderSource + skipped, part);
      }
      at += part;
    }
  }

  const literals = new Uint8Array(total);
  let filled = 0;
  for (let i = 0; i < inserted.length; i += 3) {
    const length = inserted[i + 2]!;
    copyBytes(
      inserted[i] === 1 ? older.literals : newer.literals,
      inserted[i + 1]!,
      literals,
      filled,
      length,
    );
    filled += length;
  }
  return { baseLength: older.baseLength, length: newer.length, ops: ops.finish(), literals };
}
