import { StratigraphError } from "@stratigraph/core";
import { parseHeader, parseLine, type RecordedEntry, type TrailHeader } from "./line.ts";
import { linesOf, type TextLine, type TrailSource } from "./lines.ts";

/**
 * An exported trail, line by line, unchanged. Checks that the lines are entries in order, each after the one that it names as its previous
 * one. It can be iterated once.
 */
export class RecordedTrail {
  readonly #lines: AsyncGenerator<TextLine>;
  #header: Promise<TrailHeader> | undefined;
  #torn: number | undefined;
  #last: RecordedEntry | undefined;

  constructor(source: TrailSource) {
    this.#lines = linesOf(source);
  }

  /** As in {@link TrailFile}. */
  get torn(): number | undefined {
    return this.#torn;
  }

  /** @throws StratigraphError "JOURNAL_BROKEN" */
  async header(): Promise<TrailHeader> {
    this.#header ??= this.#readHeader();
    return await this.#header;
  }

  /** @throws StratigraphError "JOURNAL_BROKEN" */
  async *[Symbol.asyncIterator](): AsyncGenerator<RecordedEntry> {
    await this.header();
    for await (const line of this.#lines) {
      const found = this.#parsed(line, parseLine);
      if (found === undefined) return;
      this.#follow(line, found);
      this.#last = found;
      yield found;
    }
  }

  async #readHeader(): Promise<TrailHeader> {
    const first = await this.#lines.next();
    const header = first.done === true ? undefined : this.#parsed(first.value, parseHeader);
    if (header === undefined) throw lineBroken(1, 0, "the file ends before its header does");
    return header;
  }

  /** Undefined for a torn line. */
  #parsed<T>(line: TextLine, parse: (text: string) => T): T | undefined {
    try {
      if (line.text === undefined) throw new Error("it isn't UTF-8");
      return parse(line.text);
    } catch (error) {
      if (!line.ended) {
        this.#torn = line.number;
        return undefined;
      }
      throw lineBroken(line.number, this.#seqAfter, (error as Error).message);
    }
  }

  get #seqAfter(): number {
    return (this.#last?.entry.seq ?? 0) + 1;
  }

  #follow({ number }: TextLine, { entry: { seq, prev } }: RecordedEntry): void {
    if (this.#last === undefined) return;
    const expected = this.#seqAfter;
    if (seq !== expected)
      throw lineBroken(number, expected, `entry ${expected} should be here, but entry ${seq} is`);
    if (prev !== this.#last.entry.hash)
      throw lineBroken(number, seq, `entry ${seq} doesn't follow the entry before it`);
  }
}

function lineBroken(line: number, seq: number, why: string): StratigraphError {
  return trailBroken(`Line ${line}`, { line, seq }, why);
}

/** @param place which part of the trail is damaged */
export function trailBroken(
  place: string,
  data: { readonly line?: number; readonly seq: number },
  why: string,
): StratigraphError {
  return new StratigraphError(
    "JOURNAL_BROKEN",
    `${place} of the exported trail is damaged: ${why}. Export the trail again, or get an undamaged copy.`,
    { ...data, why },
  );
}
