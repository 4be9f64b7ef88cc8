import type * as PgLiteModule from "@electric-sql/pglite";
import { StratigraphError } from "@stratigraph/core";
import type { Executor, PgQuery, PgResult } from "./client.ts";
import { explained } from "./explained.ts";
import { lockFolder } from "./folderLock.ts";

/** PostgreSQL's type number of bytea. */
const bytea = 17;

/** What is used of a PGlite database. */
export interface PgLite {
  query(
    text: string,
    values: unknown[],
    options: {
      parsers: Record<number, (value: string) => unknown>;
      serializers: Record<number, (value: unknown) => string>;
    },
  ): Promise<{ rows: unknown[] }>;
  exec(text: string): Promise<unknown>;
  close(): Promise<void>;
}

// PGlite's own conversions of bytea go byte by byte; these are twice as fast for a put.
const options = {
  parsers: { [bytea]: (value: string) => Buffer.from(value.slice(2), "hex") },
  serializers: { [bytea]: (value: unknown) => `\\x${hexOf(value as Uint8Array)}` },
};

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("hex");
}

/** Runs statements on a PGlite database: one connection, calls one after another. */
export class PgLiteExecutor implements Executor {
  readonly #open: () => Promise<{ database: PgLite; release: () => void }>;
  #opened: Promise<{ database: PgLite; release: () => void }> | undefined;

  constructor(open: () => Promise<{ database: PgLite; release: () => void }>) {
    this.#open = open;
  }

  async run(query: PgQuery): Promise<PgResult> {
    return await this.send(query);
  }

  enter(): () => void {
    return () => undefined;
  }

  async send({ text, values }: PgQuery): Promise<PgResult> {
    this.#opened ??= this.#open().catch((error: unknown) => {
      this.#opened = undefined;
      throw error;
    });
    const { database } = await this.#opened;
    try {
      if (values === undefined && text.startsWith("do ")) {
        await database.exec(text);
        return { rows: [] };
      }
      const { rows } = await database.query(text, [...(values ?? [])], options);
      return { rows: rows as Record<string, unknown>[] };
    } catch (error) {
      throw explained(error);
    }
  }

  async end(): Promise<void> {
    const opened = await this.#opened;
    this.#opened = undefined;
    if (opened === undefined) return;
    try {
      await opened.database.close();
    } finally {
      opened.release();
    }
  }
}

/** Opens PGlite on a folder of its own (locked), or in memory. */
export async function openPgLite(
  folder: string | undefined,
): Promise<{ database: PgLite; release: () => void }> {
  const { PGlite } = await importPgLite();
  const release = folder === undefined ? () => undefined : lockFolder(folder);
  try {
    const database = folder === undefined ? await PGlite.create() : await PGlite.create(`${folder}/data`);
    return { database, release };
  } catch (error) {
    release();
    throw error;
  }
}

async function importPgLite(): Promise<typeof PgLiteModule> {
  // In a try of the same function: bundlers then leave a package that isn't installed to run time.
  try {
    return await import("@electric-sql/pglite");
  } catch (cause) {
    throw new StratigraphError(
      "UNAVAILABLE",
      "The embedded database needs the package @electric-sql/pglite. Install it: npm install @electric-sql/pglite",
      {},
      cause,
    );
  }
}
