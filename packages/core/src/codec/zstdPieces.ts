import { CodecError } from "./codecError.ts";
import { MAX_FRAME_CONTENT } from "./zstd.ts";
import { readZstdFrames } from "./zstdFrames.ts";

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
