import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import { root } from "./bootstrap.mjs";

// `pnpm new-database`: writes packages/engine/postgres/newDatabase.br, the files of a new PGlite database, so that nobody waits for initdb. After
// an update of @electric-sql/pglite. Brotli over a line of JSON ({ pglite, entries: [[path, bytes or -1 for a folder]] }) and the files' content.
const { PGlite } = await import("@electric-sql/pglite");
const entry = createRequire(import.meta.url).resolve("@electric-sql/pglite");
const { version } = JSON.parse(readFileSync(join(entry, "../../package.json"), "utf8"));
const folder = mkdtempSync(join(tmpdir(), "stratigraph-"));
try {
  await (await PGlite.create(folder)).close();
  const paths = readdirSync(folder, { recursive: true }).map(String).toSorted();
  const sizeOf = (path) => {
    const found = statSync(join(folder, path));
    return found.isDirectory() ? -1 : found.size;
  };
  const entries = paths.map((path) => [path.replaceAll("\\", "/"), sizeOf(path)]);
  const contents = entries.flatMap(([path, size]) => (size > 0 ? [readFileSync(join(folder, path))] : []));
  const bytes = Buffer.concat([
    Buffer.from(`${JSON.stringify({ pglite: version, entries })}\n`),
    ...contents,
  ]);
  const params = { [constants.BROTLI_PARAM_LGWIN]: 24, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
  writeFileSync(join(root, "packages/engine/postgres/newDatabase.br"), brotliCompressSync(bytes, { params }));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
