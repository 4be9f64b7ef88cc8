import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliDecompressSync } from "node:zlib";

interface Contents {
  /** The version of PGlite that made it. */
  readonly pglite: string;
  /** In the order in which their contents follow. A folder has -1 bytes. */
  readonly entries: readonly (readonly [path: string, bytes: number])[];
}

/**
 * Puts a new, empty database into a folder that doesn't exist yet. PGlite opens it ten times as fast as it would create one. The
 * folder is complete or absent, even if the process is killed meanwhile. False if the file with the database isn't beside the code,
 * as in some bundles.
 */
export function putNewDatabase(data: string): boolean {
  const shipped = shippedDatabase();
  if (shipped === undefined) return false;
  const { entries, content } = shipped;
  const unfinished = `${data}.new`;
  rmSync(unfinished, { recursive: true, force: true });
  try {
    mkdirSync(unfinished, { recursive: true, mode: 0o700 });
    let at = 0;
    for (const [path, bytes] of entries) {
      const target = join(unfinished, path);
      if (bytes === -1) mkdirSync(target, { mode: 0o700 });
      else writeFileSync(target, content.subarray(at, (at += bytes)), { mode: 0o600 });
    }
    renameSync(unfinished, data);
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    throw error;
  }
  return true;
}

/** Reads the file that `pnpm new-database` makes. */
export function shippedDatabase(): (Contents & { readonly content: Buffer }) | undefined {
  try {
    // Not a URL relative to import.meta.url: bundlers would copy the file.
    const file = join(dirname(fileURLToPath(import.meta.url)), "..", "newDatabase.br");
    const bytes = brotliDecompressSync(readFileSync(file));
    const end = bytes.indexOf("\n");
    const { pglite, entries } = JSON.parse(bytes.toString("utf8", 0, end)) as Contents;
    return { pglite, entries, content: bytes.subarray(end + 1) };
  } catch {
    return undefined;
  }
}
