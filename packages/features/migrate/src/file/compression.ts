import { Transform, type TransformCallback } from "node:stream";
import zlib from "node:zlib";
import { InvalidOptionError } from "@stratigraph/core";
import { loadZstd } from "@stratigraph/core/internal";

/** How a file is compressed, by the end of its name. */
export type Compression = "none" | "gzip" | "zstd";

/** @throws InvalidOptionError */
export function compressionOf(path: string): Compression {
  if (typeof path !== "string") throw new InvalidOptionError("path", path, 'Pass { path: "threads.jsonl" }.');
  if (path.endsWith(".jsonl")) return "none";
  if (path.endsWith(".jsonl.gz")) return "gzip";
  if (path.endsWith(".jsonl.zst")) return "zstd";
  throw new InvalidOptionError(
    "file",
    path,
    "Name it *.jsonl, *.jsonl.gz or *.jsonl.zst: the end says how it is compressed.",
  );
}

/** A stream that compresses. */
export function compressing(compression: Exclude<Compression, "none">): Transform {
  return compression === "gzip" ? zlib.createGzip() : new ZstdWriter();
}

/** A stream that decompresses. With zstd it reads what {@link compressing} wrote and, in Node 22.15 or newer, any other file. */
export function decompressing(compression: Exclude<Compression, "none">): Transform {
  return compression === "gzip" ? zlib.createGunzip() : new ZstdReader();
}

/** How many bytes a zstd frame holds. Each frame is compressed on its own, so that none has to stay in memory. */
const frameBytes = 1 << 20;

/** zstd's mark of a frame that decoders skip. As pzstd does, we write one before each compressed frame; it holds that frame's length. */
const skippable = 0x184d2a50;
const prefixBytes = 12;

/** Writes zstd as a sequence of frames of a bounded size. Every zstd decoder reads them as one file. */
class ZstdWriter extends Transform {
  #waiting: Uint8Array[] = [];
  #bytes = 0;

  override _transform(chunk: Uint8Array, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#waiting.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes < frameBytes) done();
    else void settle(this.#write(), done);
  }

  override _flush(done: TransformCallback): void {
    void settle(this.#write(), done);
  }

  async #write(): Promise<void> {
    const content = Buffer.concat(this.#waiting);
    [this.#waiting, this.#bytes] = [[], 0];
    const zstd = await loadZstd();
    for (let from = 0; from < content.length; from += frameBytes) {
      const frame = zstd.compress(content.subarray(from, from + frameBytes), 3);
      const prefix = Buffer.alloc(prefixBytes);
      prefix.writeUInt32LE(skippable, 0);
      prefix.writeUInt32LE(4, 4);
      prefix.writeUInt32LE(frame.length, 8);
      this.push(Buffer.concat([prefix, frame]));
    }
  }
}

/** Reads what {@link ZstdWriter} wrote. Files of other programs are left to node:zlib, if that supports zstd. */
class ZstdReader extends Transform {
  #waiting = Buffer.alloc(0);
  #foreign: Transform | undefined;

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    if (this.#foreign !== undefined) {
      this.#foreign.write(chunk, () => done());
      return;
    }
    this.#waiting = Buffer.concat([this.#waiting, chunk]);
    if (this.#waiting.length >= 4 && this.#waiting.readUInt32LE(0) !== skippable) {
      const foreign = this.#startForeign();
      if (foreign === undefined) done(notOurs());
      else foreign.write(this.#waiting, () => done());
      return;
    }
    void settle(this.#read(), done);
  }

  override _flush(done: TransformCallback): void {
    if (this.#foreign !== undefined) {
      this.#foreign.once("end", () => done());
      this.#foreign.end();
    } else if (this.#waiting.length > 0) done(new RangeError("it ends in the middle of a frame"));
    else done();
  }

  async #read(): Promise<void> {
    const zstd = await loadZstd();
    while (this.#waiting.length >= prefixBytes) {
      const end = prefixBytes + this.#waiting.readUInt32LE(8);
      if (this.#waiting.length < end) return;
      const frame = this.#waiting.subarray(prefixBytes, end);
      this.push(zstd.decompress(frame, { maxSize: frameBytes }));
      this.#waiting = this.#waiting.subarray(end);
    }
  }

  #startForeign(): Transform | undefined {
    const { createZstdDecompress } = zlib as { createZstdDecompress?: () => Transform };
    this.#foreign = createZstdDecompress?.();
    this.#foreign?.on("data", (chunk: Buffer) => this.push(chunk));
    this.#foreign?.on("error", (error) => this.destroy(error));
    return this.#foreign;
  }
}

/** Calls `done` when the work has ended, with its error if it failed. */
async function settle(work: Promise<void>, done: TransformCallback): Promise<void> {
  try {
    await work;
  } catch (error) {
    done(error as Error);
    return;
  }
  done();
}

function notOurs(): Error {
  return new Error(
    "another program compressed it, and reading that needs Node 22.15 or newer: decompress it first (zstd -d)",
  );
}
