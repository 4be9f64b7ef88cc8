import type * as PgLiteModule from "@electric-sql/pglite";
import { existsSync, rmSync } from "node:fs";
import { StratigraphError } from "@stratigraph/core";
import { closedError } from "@stratigraph/core/tier";
import { NoAnswerError, timeoutMsOf, within } from "./timeouts.ts";
import type { Executor, PgQuery, PgResult } from "./client.ts";
import { explainPostgresError } from "./explainPostgresError.ts";
import { folderError } from "./folderError.ts";
import { lockFolder, type FolderLock } from "./lockFolder.ts";
import type { OpenedPgLite, PgLite } from "./openedPgLite.ts";
import { openShared } from "./sharedFolders.ts";
import { putNewDatabase } from "../newDatabase.ts";
import { byteaText } from "../wire/hex.ts";
import { BoundedCallGate, observedCall } from "./calls.ts";

/** PostgreSQL's type OID of bytea. */
const bytea = 17;

/** How long opening a database may take, in milliseconds: creating a new one takes long on a busy machine. */
const openingMs = 120_000;
/** How long closing one may take, in milliseconds. */
const closingMs = 10_000;

type Extensions = NonNullable<PgLiteModule.PGliteOptions["extensions"]>;

// PGlite's own conversions of bytea go byte by byte; these take half the time of a put.
const options = {
  parsers: { [bytea]: (value: string) => Buffer.from(value.slice(2), "hex") },
  serializers: { [bytea]: (value: unknown) => byteaText(value as Uint8Array) },
};

/** Runs statements on a PGlite database, which does one at a time. Each has a time limit; the number of calls that wait is limited. */
export class PgLiteExecutor implements Executor {
  readonly isAlone = true;
  readonly #open: () => Promise<OpenedPgLite>;
  readonly #statementTimeoutMs: number;
  readonly #gate: BoundedCallGate;
  #opened: Promise<OpenedPgLite> | undefined;
  #answeredAt = 0;
  #over = false;
  #ending: Promise<void> | undefined;

  constructor(
    open: () => Promise<OpenedPgLite>,
    limits: { readonly statementTimeoutMs: number; readonly maxCalls: number },
  ) {
    this.#open = open;
    this.#statementTimeoutMs = limits.statementTimeoutMs;
    this.#gate = new BoundedCallGate("pglite", limits.maxCalls);
  }

  async run(query: PgQuery): Promise<PgResult> {
    return await this.#gate.run(() => this.send(query));
  }

  enter(): () => void {
    return this.#gate.enter();
  }

  async send(query: PgQuery): Promise<PgResult> {
    return await observedCall("pglite", query, async () => {
      try {
        const { database } = await within(this.#database(), openingMs);
        const timeoutMs = timeoutMsOf(query, this.#statementTimeoutMs, 0);
        return await this.#inTime(this.#query(database, query), timeoutMs);
      } catch (error) {
        throw error instanceof NoAnswerError ? stuck(error) : explainPostgresError(error, "pglite");
      }
    });
  }

  async end(): Promise<void> {
    this.#ending ??= this.#end();
    await this.#ending;
  }

  async #end(): Promise<void> {
    await this.#gate.close(this.#statementTimeoutMs);
    this.#over = true;
    const opened = await this.#opened?.catch(() => undefined);
    if (opened === undefined) return;
    try {
      await within(opened.database.close(), closingMs);
    } catch (error) {
      // The database still has the folder open. The lock stays, so that no other process opens it too.
      throw error instanceof NoAnswerError ? stuck(error) : explainPostgresError(error, "pglite");
    }
    opened.release();
  }

  #database(): Promise<OpenedPgLite> {
    if (this.#over) throw closedError("pglite");
    this.#opened ??= this.#open().catch((error: unknown) => {
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  }

  /**
   * Statements run one after another and block timers while they do: the time of a statement counts from the last answer.
   */
  async #inTime(answer: Promise<PgResult>, timeoutMs: number): Promise<PgResult> {
    try {
      return await within(answer, timeoutMs, () => this.#answeredAt);
    } catch (error) {
      if (error instanceof NoAnswerError) this.#gate.keep(answer);
      throw error;
    }
  }

  async #query(database: PgLite, { text, values }: PgQuery): Promise<PgResult> {
    try {
      if (values === undefined && text.startsWith("do ")) {
        await database.exec(text);
        return { rows: [] };
      }
      const { rows } = await database.query(text, [...(values ?? [])], options);
      return { rows: rows as Record<string, unknown>[] };
    } finally {
      this.#answeredAt = performance.now();
    }
  }
}

/** The error of a call that the embedded database doesn't get to. */
function stuck(cause: NoAnswerError): StratigraphError {
  return new StratigraphError(
    "UNAVAILABLE",
    `The embedded database gave ${cause.message}: a statement or a transaction before this call doesn't end. The call may be repeated. If it fails again, restart the process.`,
    { tier: "pglite" },
    cause,
  );
}

/**
 * Opens PGlite on a folder of its own (locked), or in memory. pgvector is loaded if its package is installed.
 * @param putNew see {@link putNewDatabase}
 * @throws StratigraphError
 */
export async function openPgLite(
  folder: string | undefined,
  putNew: (data: string) => boolean = putNewDatabase,
  extensions: () => Promise<Extensions> = importPgVector,
): Promise<OpenedPgLite> {
  const { PGlite } = await importPgLite();
  const more = { extensions: await extensions() };
  if (folder === undefined) return { database: await PGlite.create(more), release: () => undefined };
  return await openShared(folder, () => openFolder(PGlite, folder, more, putNew));
}

async function openFolder(
  PGlite: (typeof PgLiteModule)["PGlite"],
  folder: string,
  more: { readonly extensions: Extensions },
  putNew: (data: string) => boolean,
): Promise<OpenedPgLite> {
  const lock = locked(folder);
  const data = `${folder}/data`;
  try {
    const isNew = !existsSync(data) && putNew(data);
    const database = await PGlite.create(data, more).catch(async (error: unknown) => {
      if (!isNew) throw error;
      // Another version of PGlite may refuse the shipped database. Let it create one.
      rmSync(data, { recursive: true, force: true });
      return await PGlite.create(data, more);
    });
    return { database: behind(lock, database), release: () => lock.release() };
  } catch (error) {
    lock.release();
    throw folderError(folder, error);
  }
}

/** The database of a folder that may be taken over by another process while this one is stopped. It is used no more then. */
function behind(lock: FolderLock, database: PgLite): PgLite {
  const held = async <T>(work: () => Promise<T>): Promise<T> => {
    lock.check();
    const answer = await work();
    // It may have been stopped meanwhile: what it wrote isn't acknowledged then.
    lock.check();
    return answer;
  };
  return {
    query: (text, values, how) => held(() => database.query(text, values, how)),
    exec: (text) => held(() => database.exec(text)),
    async close() {
      // What it still has to write would go into the folder of the next holder.
      lock.check();
      await database.close();
    },
  };
}

function locked(folder: string): FolderLock {
  try {
    return lockFolder(folder);
  } catch (error) {
    throw folderError(folder, error);
  }
}

async function importPgVector(): Promise<Extensions> {
  try {
    return { vector: (await import("@electric-sql/pglite-pgvector")).vector };
  } catch {
    return {};
  }
}

async function importPgLite(): Promise<typeof PgLiteModule> {
  // If import() stands in a try of the same function, bundlers accept that the package isn't installed.
  try {
    return await import("@electric-sql/pglite");
  } catch (cause) {
    throw new StratigraphError(
      "DRIVER_MISSING",
      "The embedded database needs the package @electric-sql/pglite. Install it: npm install @electric-sql/pglite",
      { tier: "pglite", package: "@electric-sql/pglite" },
      cause,
    );
  }
}
