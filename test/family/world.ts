import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { tool, type StructuredTool } from "@langchain/core/tools";
import type { TierSaver } from "@stratigraph/core";
import { createJournal, currentCall } from "@stratigraph/journal";
import { z } from "zod";

/** What the agents of one process do outside of their threads, and where it dies. */
export interface World {
  /** A place where the process may die: a model is asked, or a tool has acted. */
  reached(): Promise<void>;
  readonly book: Book;
}

/** What tools did, whoever ran them: in memory, or in a file that outlives a process. */
export class Book {
  readonly #path: string | undefined;
  readonly #lines: string[] = [];

  constructor(path?: string) {
    this.#path = path;
  }

  add(line: string): void {
    if (this.#path === undefined) this.#lines.push(line);
    else appendFileSync(this.#path, `${line}\n`);
  }

  get lines(): readonly string[] {
    if (this.#path === undefined) return this.#lines;
    return existsSync(this.#path) ? readFileSync(this.#path, "utf8").split("\n").slice(0, -1) : [];
  }

  /** What was done, without the keys, sorted. */
  get deeds(): string[] {
    return this.lines.map((line) => line.split(" #")[0]!).toSorted();
  }
}

/** Tools of a journal that act once, and say by the book whether they did. */
export function journalled(saver: TierSaver, { book, reached }: World) {
  const journal = createJournal(saver);
  const act = (name: string) =>
    tool(
      async ({ what }: { what: string }) => {
        book.add(`${name} ${what} #${currentCall()!.idempotencyKey}`);
        await reached();
        return `${name}: ${what}`;
      },
      { name, description: `does ${name}`, schema: z.object({ what: z.string() }) },
    );
  const reconcile = ({ idempotencyKey }: { idempotencyKey: string }) => {
    const line = book.lines.find((each) => each.endsWith(` #${idempotencyKey}`));
    if (line === undefined) return { happened: false } as const;
    const [name, what] = line.split(" ");
    return { happened: true, result: `${name}: ${what}` } as const;
  };
  const once = { effects: "once", reconcile } as const;
  const tools = (...more: StructuredTool[]): StructuredTool[] =>
    journal.tools(
      [act("pay"), act("publish"), ...more] as never,
      {
        pay: once,
        publish: once,
        ...Object.fromEntries(more.map(({ name }) => [name, "none" as const])),
      } as never,
    ) as unknown as StructuredTool[];
  return { journal, tools };
}
