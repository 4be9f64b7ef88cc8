import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openPgLite } from "../src/connection/pgliteExecutor.ts";
import { putNewDatabase, shippedDatabase } from "../src/newDatabase.ts";

let folder: string;
/** Of the shipped database. An embedded database takes seconds to open, so that one test tells the next one. */
let shipped: string | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "stratigraph-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const none = { parsers: {}, serializers: {} };

/** Each run of initdb makes an identifier of its own. */
async function identifierIn(place: string, putNew = putNewDatabase): Promise<string> {
  const { database, release } = await openPgLite(place, putNew);
  try {
    const { rows } = await database.query(
      "select system_identifier::text as id from pg_control_system()",
      [],
      none,
    );
    return (rows[0] as { id: string }).id;
  } finally {
    await database.close();
    release();
  }
}

test("new folders begin with the shipped database, also after a process was killed while it put one there", async () => {
  const place = join(folder, "a");
  mkdirSync(join(place, "data.new", "base"), { recursive: true });
  writeFileSync(join(place, "data.new", "PG_VERSION"), "half");
  shipped = await identifierIn(place);
  expect(await identifierIn(join(folder, "b"))).toBe(shipped);
  expect(existsSync(join(place, "data.new"))).toBe(false);
});

test("PGlite makes its own where it doesn't take the shipped one; a database that is there is left as it is", async () => {
  const own = await identifierIn(folder, (data) => {
    putNewDatabase(data);
    writeFileSync(join(data, "global/pg_control"), new Uint8Array(8192));
    return true;
  });
  expect(own).toMatch(/^\d+$/);
  shipped ??= await identifierIn(join(folder, "other"));
  expect(own).not.toBe(shipped);
  expect(await identifierIn(folder)).toBe(own);
}, 240_000);

test("what can't be written leaves nothing behind", () => {
  writeFileSync(join(folder, "file"), "");
  expect(() => putNewDatabase(join(folder, "file", "data"))).toThrow("ENOTDIR");
  mkdirSync(join(folder, "data"));
  writeFileSync(join(folder, "data", "of somebody"), "");
  expect(() => putNewDatabase(join(folder, "data"))).toThrow("ENOTEMPTY");
  expect(existsSync(join(folder, "data.new"))).toBe(false);
});

test("the shipped database is of the PGlite in use: after an update, run pnpm new-database", () => {
  const entry = createRequire(import.meta.url).resolve("@electric-sql/pglite");
  const installed = JSON.parse(readFileSync(join(entry, "../../package.json"), "utf8")) as {
    version: string;
  };
  expect(shippedDatabase()?.pglite).toBe(installed.version);
});
