/** The source of an operation that takes its bytes from the literals. */
export const INSERT = -1;

/** Largest length, in bytes, of a value that patches can describe: offsets are kept as 32-bit integers. */
export const MAX_PATCH_LENGTH = 0x7fff_ffff;

/**
 * How to make one byte string out of another, its base.
 *
 * The operations yield the result one after another. They are pairs `source, length` (length ≥ 1, in bytes). A `source` ≥ 0 copies
 * from that offset of the base; {@link INSERT} takes the next bytes of `literals`.
 */
export interface Patch {
  /** Length of the base, in bytes. */
  readonly baseLength: number;
  /** Length of the result, in bytes. */
  readonly length: number;
  /** Pairs of source and length. */
  readonly ops: Int32Array;
  /** The bytes that the inserts insert, in their order. */
  readonly literals: Uint8Array;
}
