import { CodecError } from "./codecError.ts";
import { MAX_FRAME_CONTENT, MAX_FRAME_ENCODED, MAX_WINDOW } from "./zstd.ts";

/** The place of one frame, and how many content bytes it declares. */
export interface ZstdFrame {
  readonly start: number;
  readonly end: number;
  readonly contentSize: number;
}

interface FrameHeader {
  readonly end: number;
  readonly contentSize: number;
  readonly windowSize: number;
  readonly hasChecksum: boolean;
}

const MAGIC = 0xfd2fb528;
const MAX_BLOCK = 128 * 1024;

/**
 * Reads the structure of one or more Zstandard frames without decoding them (RFC 8878, section 3.1.1), so that a decoder only gets
 * whole frames whose size has been checked.
 *
 * @param maxSize the most content bytes that all frames may have together
 * @throws CodecError `corrupt`, `unsupported` or `too-large`
 */
export function readZstdFrames(bytes: Uint8Array, maxSize: number): readonly ZstdFrame[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const frames: ZstdFrame[] = [];
  let start = 0;
  let total = 0;
  do {
    const header = readHeader(view, start);
    total += header.contentSize;
    if (!(total <= maxSize)) {
      throw new CodecError(
        "too-large",
        `The frames declare ${total} bytes or more; at most ${maxSize} are allowed.`,
      );
    }
    const end = readBlocks(view, header);
    if (end - start > MAX_FRAME_ENCODED) {
      throw new CodecError(
        "too-large",
        `A frame has ${end - start} bytes; at most ${MAX_FRAME_ENCODED} are allowed.`,
      );
    }
    frames.push({ start, end, contentSize: header.contentSize });
    start = end;
  } while (start < bytes.length);
  return frames;
}

function readHeader(view: DataView, start: number): FrameHeader {
  need(view, start, 5);
  const magic = view.getUint32(start, true);
  if (magic !== MAGIC)
    throw new CodecError("corrupt", `Not a Zstandard frame: magic 0x${magic.toString(16)}.`);
  const descriptor = view.getUint8(start + 4);
  const singleSegment = (descriptor & 0x20) !== 0;
  const sizeFlag = descriptor >> 6;
  if ((descriptor & 0x08) !== 0)
    throw new CodecError("corrupt", "A reserved bit of the frame header is set.");
  if ((descriptor & 0x03) !== 0) {
    throw new CodecError("unsupported", "The frame names a trained dictionary; only raw ones are used here.");
  }
  if (sizeFlag === 0 && !singleSegment) {
    throw new CodecError("unsupported", "The frame does not declare its content size.");
  }
  let at = start + 5;
  let windowSize = 0;
  if (!singleSegment) {
    need(view, at, 1);
    const window = view.getUint8(at++);
    const base = 2 ** (10 + (window >> 3));
    windowSize = base + (base / 8) * (window & 7);
  }
  const contentSize = readContentSize(view, at, sizeFlag);
  if (contentSize > MAX_FRAME_CONTENT) {
    throw new CodecError(
      "too-large",
      `A frame declares ${contentSize} bytes; at most ${MAX_FRAME_CONTENT} are allowed.`,
    );
  }
  if (singleSegment) windowSize = contentSize;
  if (windowSize > MAX_WINDOW) {
    throw new CodecError(
      "unsupported",
      `The frame needs a window of ${windowSize} bytes; at most ${MAX_WINDOW} are allowed.`,
    );
  }
  return { end: at + (1 << sizeFlag), contentSize, windowSize, hasChecksum: (descriptor & 0x04) !== 0 };
}

function readContentSize(view: DataView, at: number, sizeFlag: number): number {
  need(view, at, 1 << sizeFlag);
  if (sizeFlag === 0) return view.getUint8(at);
  if (sizeFlag === 1) return view.getUint16(at, true) + 256;
  if (sizeFlag === 2) return view.getUint32(at, true);
  return view.getUint32(at, true) + view.getUint32(at + 4, true) * 2 ** 32;
}

/** Walks the blocks, checks that they can yield the declared size, and returns the end of the frame. */
function readBlocks(view: DataView, header: FrameHeader): number {
  const largest = Math.min(MAX_BLOCK, Math.max(header.windowSize, 1));
  let at = header.end;
  let least = 0;
  let most = 0;
  let last = false;
  while (!last) {
    need(view, at, 3);
    const block = view.getUint16(at, true) | (view.getUint8(at + 2) << 16);
    at += 3;
    last = (block & 1) === 1;
    const type = (block >> 1) & 3;
    const size = block >> 3;
    if (type === 3 || size > largest) throw new CodecError("corrupt", "A block of the frame is not valid.");
    const encoded = type === 1 ? 1 : size;
    need(view, at, encoded);
    at += encoded;
    most += type === 2 ? largest : size;
    least += type === 2 ? 0 : size;
  }
  if (least > header.contentSize || most < header.contentSize) {
    throw new CodecError(
      "corrupt",
      `The blocks of the frame cannot hold the ${header.contentSize} bytes it declares.`,
    );
  }
  if (header.hasChecksum) need(view, at, 4);
  return at + (header.hasChecksum ? 4 : 0);
}

function need(view: DataView, at: number, count: number): void {
  if (at + count > view.byteLength) throw new CodecError("corrupt", "The frame ends before it is complete.");
}

/** A complete frame without content: single segment, size 0, one empty last block. */
const EMPTY_FRAME = [0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x00, 0x01, 0x00, 0x00] as const;

/** Compresses 1 to MAX_FRAME_CONTENT bytes into one frame. */
type CompressFrame = (content: Uint8Array) => Uint8Array;
/** Decodes one frame whose structure was checked. Its caller checks the size of the result. */
type DecompressFrame = (frame: Uint8Array, contentSize: number) => Uint8Array;

/** Splits the content into pieces of at most MAX_FRAME_CONTENT bytes and concatenates their frames. */
export function compressPieces(content: Uint8Array, compressFrame: CompressFrame): Uint8Array {
  if (content.length === 0) return Uint8Array.from(EMPTY_FRAME);
  if (content.length <= MAX_FRAME_CONTENT) return compressFrame(content);
  const frames: Uint8Array[] = [];
  for (let at = 0; at < content.length; at += MAX_FRAME_CONTENT) {
    frames.push(compressFrame(content.subarray(at, at + MAX_FRAME_CONTENT)));
  }
  const joined = new Uint8Array(frames.reduce((sum, frame) => sum + frame.length, 0));
  let at = 0;
  for (const frame of frames) {
    joined.set(frame, at);
    at += frame.length;
  }
  return joined;
}

/** Checks the structure and size of every frame, then decodes them one by one. */
export function decompressPieces(
  bytes: Uint8Array,
  maxSize: number,
  decompressFrame: DecompressFrame,
): Uint8Array {
  const frames = readZstdFrames(bytes, maxSize);
  const decode = (start: number, end: number, contentSize: number): Uint8Array => {
    if (contentSize === 0) return new Uint8Array(0);
    const content = decompressFrame(bytes.subarray(start, end), contentSize);
    if (content.length === contentSize) return content;
    throw new CodecError("corrupt", `A frame declares ${contentSize} bytes and holds ${content.length}.`);
  };
  const [first] = frames;
  if (frames.length === 1 && first !== undefined) return decode(first.start, first.end, first.contentSize);
  const content = new Uint8Array(frames.reduce((sum, frame) => sum + frame.contentSize, 0));
  let at = 0;
  for (const frame of frames) {
    content.set(decode(frame.start, frame.end, frame.contentSize), at);
    at += frame.contentSize;
  }
  return content;
}
