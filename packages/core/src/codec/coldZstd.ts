// long file: the writer and the reader of a frame share its tables
/**
 * The part of Zstandard (RFC 8878) that a process uses until the WASM runs: a frame of one block with uncompressed literals, the
 * predefined tables and no repeated offsets. Any decoder reads its frames. It reads frames of this kind only.
 *
 * Beside the WASM's, its frames are longer by a tenth for 300 bytes of JSON, and by a third for 8 kB. A first call takes 3 ms of CPU, later ones
 * less than one. To start the WASM takes 20, and as much again for garbage collection and its first calls.
 */

/** Longest content of a frame, in bytes. */
export const maxColdContent = 8 * 1024;

/** Shortest match that saves something, in bytes. */
const shortestMatch = 5;
/** How many earlier places are compared with the current one. */
const attempts = 16;
const hashBits = 12;

const magic = [0x28, 0xb5, 0x2f, 0xfd] as const;
/** Frame header descriptors: one segment, whose size takes one byte, or two. */
const [sizeInOne, sizeInTwo] = [0x20, 0x60];
const mostInOne = 255;
/** What the two bytes of a size don't count. */
const twoFrom = 256;

/** A table of finite state entropy coding; see section 4.1 of the RFC. */
interface Table {
  readonly log: number;
  /** Of each state: its code, how many bits lead to the next state, and what these are added to. */
  readonly code: Uint8Array;
  readonly bits: Uint8Array;
  readonly next: Uint8Array;
  /** The states of each code. */
  readonly states: readonly (readonly number[])[];
}

/** A kind of number in a sequence: `base` of its code, and further bits. */
interface Field {
  readonly base: readonly number[];
  readonly bits: readonly number[];
}

function fieldOf(first: number, bits: readonly number[]): Field {
  const base: number[] = [];
  let at = first;
  for (const count of bits) {
    base.push(at);
    at += 2 ** count;
  }
  return { base, bits };
}

const zeros = (count: number): number[] => Array.from({ length: count }, () => 0);
const ones = (count: number): number[] => Array.from({ length: count }, () => 1);
const rare = (count: number): number[] => Array.from({ length: count }, () => -1);
const upTo16 = (from: number): number[] => Array.from({ length: 17 - from }, (_, index) => from + index);

const literalLengths = fieldOf(0, [...zeros(16), 1, 1, 1, 1, 2, 2, 3, 3, 4, ...upTo16(6)]);
const matchLengths = fieldOf(3, [...zeros(32), 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, ...upTo16(7)]);
/** Code n of an offset stands for 2^n and n further bits; the first three numbers mean repeated offsets. */
const repeats = 3;

interface Tables {
  readonly literals: Table;
  readonly matches: Table;
  readonly offsets: Table;
}

let tables: Tables | undefined;

/** The predefined tables, section 3.1.1.3.2.2. */
function predefined(): Tables {
  return (tables ??= {
    literals: tableOf(6, [
      ...[4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1],
      ...rare(4),
    ]),
    matches: tableOf(6, [1, 4, 3, 2, 2, 2, 2, 2, 2, ...ones(37), ...rare(7)]),
    offsets: tableOf(5, [...ones(6), 2, 2, 2, ...ones(15), ...rare(5)]),
  });
}

/** The table of a distribution, where -1 stands for less than one. */
function tableOf(log: number, counts: readonly number[]): Table {
  const size = 1 << log;
  const code = new Uint8Array(size);
  let high = size - 1;
  counts.forEach((count, symbol) => {
    if (count === -1) code[high--] = symbol;
  });
  const step = (size >> 1) + (size >> 3) + 3;
  let at = 0;
  counts.forEach((count, symbol) => {
    for (let n = 0; n < count; n++) {
      code[at] = symbol;
      do at = (at + step) & (size - 1);
      while (at > high);
    }
  });
  const seen = counts.map((count) => Math.abs(count));
  const states: number[][] = counts.map(() => []);
  const bits = new Uint8Array(size);
  const next = new Uint8Array(size);
  code.forEach((symbol, state) => {
    const place = seen[symbol] ?? 0;
    seen[symbol] = place + 1;
    const count = log - (31 - Math.clz32(place));
    bits[state] = count;
    next[state] = (place << count) - size;
    states[symbol]?.push(state);
  });
  return { log, code, bits, next, states };
}

/** Bits that are read in the opposite order: the last one first. */
class BitWriter {
  readonly bytes: number[] = [];
  #pending = 0;
  #count = 0;

  /** @param count at most 16 */
  put(value: number, count: number): void {
    this.#pending |= value << this.#count;
    this.#count += count;
    while (this.#count >= 8) {
      this.bytes.push(this.#pending & 0xff);
      this.#pending >>>= 8;
      this.#count -= 8;
    }
  }

  /** The state from which a decoder comes to `state` over `code`; writes the bits that lead it there. */
  lead(table: Table, code: number, state: number): number {
    for (const from of table.states[code] ?? []) {
      const rest = state - (table.next[from] ?? 0);
      const count = table.bits[from] ?? 0;
      if (rest < 0 || rest >= 1 << count) continue;
      this.put(rest, count);
      return from;
    }
    throw new RangeError(`code ${code} can't be followed by state ${state}`);
  }

  end(): void {
    this.put(1, 1);
    if (this.#count > 0) this.put(0, 8 - this.#count);
  }
}

/** Reads what a {@link BitWriter} wrote. */
class BitReader {
  readonly #bytes: Uint8Array;
  /** How many bits are left. Below 0: more were read than there are. */
  left: number;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    const last = bytes.at(-1) ?? 0;
    this.left = last === 0 ? -1 : bytes.length * 8 - 8 + (31 - Math.clz32(last));
  }

  /** @param count at most 16 */
  take(count: number): number {
    this.left -= count;
    if (this.left < 0) return 0;
    const at = this.left >> 3;
    const bytes = this.#bytes;
    const three = (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16);
    return (three >> (this.left & 7)) & ((1 << count) - 1);
  }
}

/** `literals` bytes of the literals, then `match` bytes from `offset` bytes before. */
interface Sequence {
  readonly literals: number;
  readonly match: number;
  readonly offset: number;
}

/** A frame of 1 to {@link maxColdContent} bytes; undefined where it would not be shorter. */
export function coldCompress(content: Uint8Array, dictionary: Uint8Array): Uint8Array | undefined {
  const { sequences, literals } = matched(content, dictionary);
  if (sequences.length === 0) return undefined;
  const section = sequencesSection(sequences);
  const { length } = literals;
  const header =
    length < 32 ? [length << 3] : length < 4096 ? [4 | ((length & 15) << 4), length >> 4] : undefined;
  const literalsHeader = header ?? [12 | ((length & 15) << 4), (length >> 4) & 0xff, length >> 12];
  const size = literalsHeader.length + length + section.length;
  if (size >= content.length) return undefined;
  const descriptor =
    content.length <= mostInOne
      ? [sizeInOne, content.length]
      : [sizeInTwo, (content.length - twoFrom) & 0xff, (content.length - twoFrom) >> 8];
  // The only block, compressed.
  const block = (size << 3) | (2 << 1) | 1;
  const head = [...magic, ...descriptor, block & 0xff, (block >> 8) & 0xff, block >> 16, ...literalsHeader];
  const frame = new Uint8Array(head.length + length + section.length);
  frame.set(head);
  frame.set(literals, head.length);
  frame.set(section, head.length + length);
  return frame;
}

/** Memory that every call uses anew, with what was found in the dictionary. Places count from 1, so that 0 stands for none. */
interface Space {
  readonly dictionary: Uint8Array;
  /** The dictionary, then the content. */
  readonly bytes: Uint8Array;
  /** The place before a place that begins alike. */
  readonly before: Uint16Array;
  /** The newest place of each hash, in the dictionary alone and with the content. */
  readonly newestOfDictionary: Uint16Array;
  readonly newest: Uint16Array;
}

let space: Space | undefined;

function spaceFor(dictionary: Uint8Array): Space {
  if (space?.dictionary === dictionary) return space;
  const bytes = new Uint8Array(dictionary.length + maxColdContent);
  bytes.set(dictionary);
  const before = new Uint16Array(bytes.length);
  const newest = new Uint16Array(1 << hashBits);
  let four = fourAt(bytes, 0);
  const end = dictionary.length - 4;
  for (let at = 0; at <= end; at++) {
    const hash = hashOf(four);
    before[at] = newest[hash]!;
    newest[hash] = at + 1;
    four = (four >>> 8) | (bytes[at + 4]! << 24);
  }
  return (space = { dictionary, bytes, before, newestOfDictionary: newest, newest: newest.slice() });
}

function fourAt(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
}

function hashOf(four: number): number {
  return Math.imul(four, 0x9e3779b1) >>> (32 - hashBits);
}

function matched(
  content: Uint8Array,
  dictionary: Uint8Array,
): { readonly sequences: Sequence[]; readonly literals: Uint8Array } {
  const { bytes, before, newest, newestOfDictionary } = spaceFor(dictionary);
  newest.set(newestOfDictionary);
  const first = dictionary.length;
  const end = first + content.length;
  bytes.set(content, first);
  const sequences: Sequence[] = [];
  const literals = new Uint8Array(content.length);
  let literalCount = 0;
  let from = first;
  let at = first;
  while (at + shortestMatch <= end) {
    let longest = 0;
    let place = 0;
    let candidate = newest[hashOf(fourAt(bytes, at))]!;
    for (let tries = attempts; candidate > 0 && tries > 0; tries--) {
      let length = 0;
      while (at + length < end && bytes[candidate - 1 + length] === bytes[at + length]) length++;
      if (length > longest) {
        longest = length;
        place = candidate - 1;
      }
      candidate = before[candidate - 1]!;
    }
    const next = longest < shortestMatch ? at + 1 : at + longest;
    if (longest >= shortestMatch) {
      literals.set(bytes.subarray(from, at), literalCount);
      literalCount += at - from;
      sequences.push({ literals: at - from, match: longest, offset: at - place });
      from = next;
    }
    for (; at < next; at++) {
      if (at + 4 > end) continue;
      const hash = hashOf(fourAt(bytes, at));
      before[at] = newest[hash]!;
      newest[hash] = at + 1;
    }
  }
  literals.set(bytes.subarray(from, end), literalCount);
  literalCount += end - from;
  return { sequences, literals: literals.subarray(0, literalCount) };
}

function codeIn({ base }: Field, value: number): number {
  let code = base.length - 1;
  while ((base[code] ?? 0) > value) code--;
  return code;
}

function sequencesSection(sequences: readonly Sequence[]): number[] {
  const count = sequences.length;
  const { literals, matches, offsets } = predefined();
  const out = new BitWriter();
  let [ofLiterals, ofMatch, ofOffset] = [-1, -1, -1];
  for (const sequence of sequences.toReversed()) {
    const offset = sequence.offset + repeats;
    const offsetCode = 31 - Math.clz32(offset);
    const matchCode = codeIn(matchLengths, sequence.match);
    const literalsCode = codeIn(literalLengths, sequence.literals);
    if (ofOffset === -1) {
      // Nothing follows the last sequence, so any state of its codes will do.
      ofMatch = matches.states[matchCode]?.[0] ?? 0;
      ofOffset = offsets.states[offsetCode]?.[0] ?? 0;
      ofLiterals = literals.states[literalsCode]?.[0] ?? 0;
    } else {
      ofOffset = out.lead(offsets, offsetCode, ofOffset);
      ofMatch = out.lead(matches, matchCode, ofMatch);
      ofLiterals = out.lead(literals, literalsCode, ofLiterals);
    }
    out.put(
      sequence.literals - (literalLengths.base[literalsCode] ?? 0),
      literalLengths.bits[literalsCode] ?? 0,
    );
    out.put(sequence.match - (matchLengths.base[matchCode] ?? 0), matchLengths.bits[matchCode] ?? 0);
    out.put(offset - (1 << offsetCode), offsetCode);
  }
  out.put(ofMatch, matches.log);
  out.put(ofOffset, offsets.log);
  out.put(ofLiterals, literals.log);
  out.end();
  // The zero: all tables are predefined ones.
  return [...(count < 128 ? [count] : [(count >> 8) + 128, count & 0xff]), 0, ...out.bytes];
}

/** The content of a frame as {@link coldCompress} makes them; undefined for any other, damaged ones among them. */
export function coldDecompress(
  frame: Uint8Array,
  dictionary: Uint8Array,
  maxSize: number,
): Uint8Array | undefined {
  let at = 0;
  const byte = (): number => frame[at++] ?? 0;
  if (magic.some((expected) => byte() !== expected)) return undefined;
  const descriptor = byte();
  if (descriptor !== sizeInOne && descriptor !== sizeInTwo) return undefined;
  const size = descriptor === sizeInOne ? byte() : byte() + byte() * 256 + twoFrom;
  if (size > maxSize || size > maxColdContent) return undefined;
  const block = byte() | (byte() << 8) | (byte() << 16);
  // One compressed block, up to the end.
  if ((block & 7) !== 5 || at + (block >> 3) !== frame.length) return undefined;
  const head = byte();
  if ((head & 3) !== 0) return undefined;
  const literalCount =
    (head & 4) === 0
      ? head >> 3
      : (head & 8) === 0
        ? (head >> 4) | (byte() << 4)
        : (head >> 4) | (byte() << 4) | (byte() << 12);
  let literalsAt = at;
  at += literalCount;
  const literalsEnd = at;
  const short = byte();
  const count = short < 128 ? short : ((short - 128) << 8) | byte();
  // 255 begins a count of three bytes; then all tables have to be predefined ones.
  if (count === 0 || short === 255 || byte() !== 0 || at >= frame.length) return undefined;
  const bits = new BitReader(frame.subarray(at));
  const { literals, matches, offsets } = predefined();
  let ofLiterals = bits.take(literals.log);
  let ofOffset = bits.take(offsets.log);
  let ofMatch = bits.take(matches.log);
  const first = dictionary.length;
  const content = new Uint8Array(first + size);
  content.set(dictionary);
  let end = first;
  for (let n = 0; n < count; n++) {
    const offsetCode = offsets.code[ofOffset] ?? 0;
    const matchCode = matches.code[ofMatch] ?? 0;
    const literalsCode = literals.code[ofLiterals] ?? 0;
    if (offsetCode > 16) return undefined;
    const offset = (1 << offsetCode) + bits.take(offsetCode) - repeats;
    const match = (matchLengths.base[matchCode] ?? 0) + bits.take(matchLengths.bits[matchCode] ?? 0);
    const length =
      (literalLengths.base[literalsCode] ?? 0) + bits.take(literalLengths.bits[literalsCode] ?? 0);
    if (n < count - 1) {
      ofLiterals = (literals.next[ofLiterals] ?? 0) + bits.take(literals.bits[ofLiterals] ?? 0);
      ofMatch = (matches.next[ofMatch] ?? 0) + bits.take(matches.bits[ofMatch] ?? 0);
      ofOffset = (offsets.next[ofOffset] ?? 0) + bits.take(offsets.bits[ofOffset] ?? 0);
    }
    if (bits.left < 0 || literalsAt + length > literalsEnd || end + length + match > content.length)
      return undefined;
    content.set(frame.subarray(literalsAt, literalsAt + length), end);
    literalsAt += length;
    end += length;
    if (offset < 1 || offset > end) return undefined;
    for (let copied = 0; copied < match; copied++, end++) content[end] = content[end - offset] ?? 0;
  }
  const rest = literalsEnd - literalsAt;
  if (bits.left !== 0 || end + rest !== content.length) return undefined;
  content.set(frame.subarray(literalsAt, literalsEnd), end);
  return content.subarray(first);
}
