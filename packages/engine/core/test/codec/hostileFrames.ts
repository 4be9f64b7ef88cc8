const magic = [0x28, 0xb5, 0x2f, 0xfd] as const;

/** A frame header that declares `size` (up to 65,791) as single segment, then `body`. */
export function frameWith(body: Iterable<number>, size: number): Uint8Array {
  const declared = size < 256 ? [0x20, size] : [0x60, (size - 256) & 0xff, (size - 256) >> 8];
  return Uint8Array.from([...magic, ...declared, ...body]);
}

/** Header of a block. */
function block(type: 0 | 1 | 2 | 3, size: number, last: boolean): number[] {
  const value = (size << 3) | (type << 1) | (last ? 1 : 0);
  return [value & 0xff, (value >> 8) & 0xff, value >> 16];
}

const manyEmptyBlocks = new Uint8Array(24_000_000).fill(0);
manyEmptyBlocks.set([...magic, 0x20, 0x00]);
manyEmptyBlocks.set([1, 0, 0], manyEmptyBlocks.length - 3);

const raw = (length: number): number[] => Array.from({ length }, () => 65);

/** Frames that must be refused before a byte of the declared size is allocated: what they are, bytes, reason. */
export const hostileFrames: readonly (readonly [string, Uint8Array, string])[] = [
  ["nothing", new Uint8Array(0), "corrupt"],
  ["another format", Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0), "corrupt"],
  ["a skippable frame", Uint8Array.of(0x50, 0x2a, 0x4d, 0x18, 1, 0, 0, 0, 9), "corrupt"],
  ["a magic alone", Uint8Array.from(magic), "corrupt"],
  [
    "2 GB declared in 4 bytes",
    Uint8Array.from([...magic, 0xa0, 0, 0, 0, 0x80, ...block(1, 5, true), 1]),
    "too-large",
  ],
  [
    "2 GB declared, with a window",
    Uint8Array.from([...magic, 0x80, 0x50, 0, 0, 0, 0x80, ...block(1, 5, true), 1]),
    "too-large",
  ],
  [
    "2^63 bytes declared in 8 bytes",
    Uint8Array.from([...magic, 0xe0, 0, 0, 0, 0, 0, 0, 0, 0x80, ...block(1, 5, true), 1]),
    "too-large",
  ],
  ["no content size", Uint8Array.from([...magic, 0x00, 0x40, ...block(1, 5, true), 1]), "unsupported"],
  [
    "a window of 16 MiB",
    Uint8Array.from([...magic, 0x40, 0x70, 0, 0, ...block(1, 256, true), 1]),
    "unsupported",
  ],
  [
    "a window of 3.75 TiB",
    Uint8Array.from([...magic, 0x40, 0xff, 0, 0, ...block(1, 256, true), 1]),
    "unsupported",
  ],
  [
    "a trained dictionary's id",
    Uint8Array.from([...magic, 0x21, 7, 5, ...block(1, 5, true), 1]),
    "unsupported",
  ],
  ["a reserved bit", Uint8Array.from([...magic, 0x28, 5, ...block(1, 5, true), 1]), "corrupt"],
  ["a reserved block type", frameWith([...block(3, 5, true), 1, 1, 1, 1, 1], 5), "corrupt"],
  ["a block longer than the frame", frameWith([...block(0, 9, true), ...raw(9)], 5), "corrupt"],
  [
    "a block longer than 128 kB",
    frameWith([...block(1, 60_000, false), 1, ...block(1, 200_000, true), 1], 65_000),
    "corrupt",
  ],
  ["blocks that hold less than declared", frameWith([...block(0, 4, true), ...raw(4)], 5), "corrupt"],
  [
    "blocks that hold more than declared",
    frameWith([...block(0, 4, false), ...raw(4), ...block(1, 4, true), 1], 5),
    "corrupt",
  ],
  ["no last block", frameWith([...block(0, 5, false), ...raw(5)], 5), "corrupt"],
  ["a compressed block of noise", frameWith([...block(2, 5, true), 255, 254, 253, 252, 251], 5), "corrupt"],
  ["an empty compressed block", frameWith([...block(2, 0, true)], 5), "corrupt"],
  ["a wrong checksum", Uint8Array.from([...magic, 0x24, 5, ...block(1, 5, true), 65, 1, 2, 3, 4]), "corrupt"],
  ["bytes after the frame", frameWith([...block(1, 5, true), 65, 0], 5), "corrupt"],
  ["another format after the frame", frameWith([...block(1, 5, true), 65, 1, 2, 3, 4, 5, 6], 5), "corrupt"],
  ["24 MB of empty blocks", manyEmptyBlocks, "too-large"],
];
