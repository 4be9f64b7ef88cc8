import { createRequire } from "node:module";

interface Dictionary {
  close(): void;
}
interface ZstdCodecApi {
  Simple: new () => {
    compress(bytes: Uint8Array, level: number): Uint8Array | null;
    decompress(bytes: Uint8Array): Uint8Array | null;
    compressUsingDict(bytes: Uint8Array, dictionary: Dictionary): Uint8Array | null;
    decompressUsingDict(bytes: Uint8Array, dictionary: Dictionary): Uint8Array | null;
  };
  Dict: {
    Compression: new (bytes: Uint8Array, level: number) => Dictionary;
    Decompression: new (bytes: Uint8Array) => Dictionary;
  };
}

const { ZstdCodec } = createRequire(import.meta.url)("zstd-codec") as {
  ZstdCodec: { run(ready: (api: ZstdCodecApi) => void): void };
};
const api = await new Promise<ZstdCodecApi>((resolve) => ZstdCodec.run(resolve));
const simple = new api.Simple();
const LEVEL = 3;
/** zstd-codec's heap is fixed: larger inputs go into several frames (FACTS.md). */
const FRAME = 1 << 20;

function checked(bytes: Uint8Array | null): Uint8Array {
  if (bytes === null) throw new Error("zstd-codec failed");
  return bytes;
}

/** Frames of at most 1 MiB each, or none for no bytes. */
export function compress(bytes: Uint8Array, dictionary?: Uint8Array): Uint8Array[] {
  const open = dictionary?.length ? new api.Dict.Compression(dictionary, LEVEL) : undefined;
  const frames: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += FRAME) {
    const part = bytes.subarray(at, at + FRAME);
    frames.push(checked(open ? simple.compressUsingDict(part, open) : simple.compress(part, LEVEL)));
  }
  open?.close();
  return frames;
}

/** What `compress` was given; `dictionary` may be one that is open, to be shared by many calls. */
export function decompress(frames: readonly Uint8Array[], dictionary?: Dictionary): Uint8Array {
  const parts = frames.map((frame) =>
    checked(dictionary ? simple.decompressUsingDict(frame, dictionary) : simple.decompress(frame)),
  );
  return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
}

/** Compresses single frames with a dictionary prepared for a level, until it is closed. */
export function openCompression(
  dictionary: Uint8Array,
  level: number,
): { (bytes: Uint8Array): Uint8Array; close(): void } {
  const open = new api.Dict.Compression(dictionary, level);
  return Object.assign((bytes: Uint8Array) => checked(simple.compressUsingDict(bytes, open)), {
    close: () => open.close(),
  });
}

/** The caller closes it: zstd-codec aborts when about 20 are open. */
export function openDictionary(bytes: Uint8Array): Dictionary {
  return new api.Dict.Decompression(bytes);
}

/** Bytes of all frames together. */
export function sizeOf(frames: readonly Uint8Array[]): number {
  return frames.reduce((sum, frame) => sum + frame.length, 0);
}
