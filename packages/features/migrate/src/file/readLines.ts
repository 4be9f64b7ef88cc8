import { createHash, type Hash } from "node:crypto";
import { createReadStream } from "node:fs";
import { pipeline, type Readable } from "node:stream";
import { InvalidOptionError, StratigraphError } from "@stratigraph/core";
import { messageOf } from "@stratigraph/core/internal";
import { compressionOf, decompressing } from "./compression.ts";
import { fileError } from "./fileError.ts";
import { damagedFile, format, formatVersion, type Line } from "./lines.ts";

/** The longest line that is read, in bytes. A small file may unpack to a line of many gigabytes. */
const longestLine = 256 << 20;

/**
 * Yields the lines of a file one at a time, parsed, and verifies the checksums.
 * @throws StratigraphError "CORRUPT", "NEWER_FORMAT"; InvalidOptionError if the file isn't an export
 */
export async function* readLines(path: string): AsyncGenerator<Line> {
  const [whole, thread] = [new Checksum(), new Checksum()];
  let n = 0;
  let ended = false;
  try {
    for await (const bytes of split(contentOf(path))) {
      n += 1;
      const line = parsed(path, n, bytes);
      if (n === 1) checkFirst(path, line);
      if (ended) throw damagedFile(path, `line ${n} comes after its end`);
      if ("end" in line) {
        ended = true;
        if (whole.sum() !== line.sha256) throw damagedFile(path, "its checksum is another");
      }
      if ("thread" in line) thread.restart();
      if ("threadEnd" in line && thread.sum() !== line.sha256)
        throw damagedFile(path, `the checksum of thread ${JSON.stringify(line.threadEnd)} is wrong`);
      whole.add(bytes);
      thread.add(bytes);
      yield line;
    }
  } catch (error) {
    if (StratigraphError.is(error)) throw error;
    throw fileError(path, error) ?? damagedFile(path, messageOf(error), error);
  }
  if (!ended) throw damagedFile(path, "it ends too early");
}

/** A checksum of lines. */
export class Checksum {
  #hash: Hash = createHash("sha256");

  restart(): void {
    this.#hash = createHash("sha256");
  }

  /** @param line without its line break */
  add(line: Uint8Array): void {
    this.#hash.update(line).update("\n");
  }

  /** The checksum so far; more may be added. */
  sum(): string {
    return this.#hash.copy().digest("hex");
  }
}

function contentOf(path: string): Readable {
  const compression = compressionOf(path);
  const file = createReadStream(path);
  if (compression === "none") return file;
  // Errors reach the reader of the last stream.
  return pipeline(file, decompressing(compression), () => undefined);
}

/** Splits only at line feeds: JSON may contain the other characters that end lines elsewhere. */
async function* split(content: Readable): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  let waiting = 0;
  for await (const chunk of content as AsyncIterable<Buffer>) {
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      parts.push(chunk.subarray(from, end));
      yield parts.length === 1 ? parts[0]! : Buffer.concat(parts);
      [parts, waiting] = [[], 0];
      from = end + 1;
    }
    if (from < chunk.length) parts.push(chunk.subarray(from));
    waiting += chunk.length - from;
    if (waiting > longestLine) throw new RangeError(`it has a line of more than ${longestLine >> 20} MB`);
  }
  if (parts.length > 0) throw new RangeError("its last line has no end");
}

function parsed(path: string, n: number, bytes: Buffer): Line {
  try {
    return JSON.parse(bytes.toString("utf8")) as Line;
  } catch (cause) {
    throw damagedFile(path, `line ${n} is no JSON`, cause);
  }
}

function checkFirst(path: string, line: Line): void {
  if (!("format" in line) || line.format !== format)
    throw new InvalidOptionError(
      "file",
      path,
      "It holds no threads: its first line isn't that of an export.",
    );
  if (line.version > formatVersion)
    throw new StratigraphError(
      "NEWER_FORMAT",
      `The file ${JSON.stringify(path)} has version ${line.version} of the format; this version reads up to ${formatVersion}. Update @stratigraph/migrate.`,
      { path, version: line.version },
    );
}
