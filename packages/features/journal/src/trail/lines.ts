import { createReadStream } from "node:fs";
import { InvalidOptionError } from "@stratigraph/core";

/** Where a trail is read from: a stream or any other source of chunks of UTF-8, or the path of a file. */
export type TrailSource = AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string> | string | URL;

/** A line of a file. */
export interface TextLine {
  /** 1 for the first one. */
  readonly number: number;
  /** Undefined if it isn't UTF-8. */
  readonly text: string | undefined;
  /** False for a last line without a line break. */
  readonly ended: boolean;
}

const lineBreak = 0x0a;

/** The lines of a file, one after another. */
export async function* linesOf(source: TrailSource): AsyncGenerator<TextLine> {
  const chunks = typeof source === "string" || source instanceof URL ? createReadStream(source) : source;
  checkChunks(chunks);
  let number = 0;
  let begun: Uint8Array[] = [];
  const line = (ended: boolean): TextLine => {
    number += 1;
    const text = decoded(begun);
    begun = [];
    return { number, text, ended };
  };
  for await (const chunk of chunks) {
    const bytes = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
    let from = 0;
    for (let at = bytes.indexOf(lineBreak); at >= 0; at = bytes.indexOf(lineBreak, from)) {
      begun.push(bytes.subarray(from, at));
      from = at + 1;
      yield line(true);
    }
    // A copy, as streams may reuse the memory of a chunk.
    if (from < bytes.length) begun.push(bytes.slice(from));
  }
  if (begun.length > 0) yield line(false);
}

function decoded(parts: readonly Uint8Array[]): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.concat(parts));
  } catch {
    return undefined;
  }
}

/** @throws InvalidOptionError */
function checkChunks(chunks: unknown): void {
  const { [Symbol.asyncIterator]: async, [Symbol.iterator]: sync } = Object(chunks) as Partial<
    AsyncIterable<unknown> & Iterable<unknown>
  >;
  // A plain byte array would be iterated number by number.
  if ((async ?? sync) === undefined || chunks instanceof Uint8Array)
    throw new InvalidOptionError(
      "source",
      typeof chunks,
      "Pass a path, a stream or a list of chunks: [bytes] for bytes that are in memory.",
    );
}
