import { deflateRawSync, inflateRawSync, type Inflate } from "node:zlib";
import { CodecError } from "./codecError.ts";

// Raw deflate (RFC 1951) by node:zlib, which is available at once, while the WASM takes 30 ms to start. With a dictionary, short content
// takes as many bytes as with Zstandard; longer content takes more time.

/** Longest content, in bytes: what claims to be longer is refused. */
export const maxDeflated = 32 * 1024;

export function deflate(content: Uint8Array, dictionary: Uint8Array): Uint8Array {
  return deflateRawSync(content, { dictionary });
}

/** @throws CodecError `corrupt`, `too-large` */
export function inflate(bytes: Uint8Array, dictionary: Uint8Array, maxSize: number): Uint8Array {
  const most = Math.max(1, Math.min(maxSize, maxDeflated));
  const options = { dictionary, maxOutputLength: most, info: true };
  let inflated: { readonly buffer: Buffer; readonly engine: Inflate };
  try {
    // With `info` it returns both, although its types don't say so.
    inflated = inflateRawSync(bytes, options) as unknown as typeof inflated;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE")
      throw new CodecError("too-large", `The content has more than ${most} bytes.`, { cause });
    throw new CodecError("corrupt", "The deflated bytes are damaged.", { cause });
  }
  const { buffer, engine } = inflated;
  if (engine.bytesWritten !== bytes.length)
    throw new CodecError("corrupt", "More bytes follow the deflated content.");
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.length);
}
