import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { join } from "node:path";
import { promisify } from "node:util";
import ts from "typescript";
import { beforeAll, expect, test } from "vitest";
import { inRounds } from "./rounds.ts";
import { packageFolders } from "./run/packageFolders.mjs";

// What users can import from the packages is a promise: it equals test/exports.snapshot.json, which
// `UPDATE=1 npm test -- test/exports` rewrites. With few rounds the sources are checked, with all rounds the built packages.

const execute = promisify(execFile);
const root = join(import.meta.dirname, "..");
const snapshotFile = join(import.meta.dirname, "exports.snapshot.json");

/** Node built-ins that core may use: it also has to run in other runtimes that know these. */
const CORE_BUILTINS = [
  "node:async_hooks",
  "node:buffer",
  "node:crypto",
  "node:diagnostics_channel",
  "node:util",
  "node:zlib",
];

interface Exports {
  values: string[];
  types: string[];
}

const packages = [...packageFolders.keys()].toSorted();
const folderOf = (name: string) => join(root, packageFolders.get(name)!);

/** What users import from: each package, and its further entries, but for those of its siblings, such as "core/tier". */
const doors = packages.flatMap((name) => {
  const { exports } = JSON.parse(readFileSync(join(folderOf(name), "package.json"), "utf8")) as {
    exports: Record<string, unknown>;
  };
  return Object.keys(exports)
    .filter((entry) => entry !== "./internal" && entry !== "./package.json")
    .map((entry) => join(name, entry));
});

/** The package of a door, the name of its built file, and its source. */
function fileOf(door: string): [name: string, file: string, source: string] {
  const [name, file = "index"] = door.split("/");
  const alone = join(folderOf(name!), `src/${file}.ts`);
  return [name!, file, existsSync(alone) ? alone : alone.replace(/\.ts$/, "/index.ts")];
}

/** The command line and what it serves are programs, and one of their libraries has no CommonJS build. */
const ESM_ONLY = ["cli", "cli/inspector", "cli/mcp"];

const builds = inRounds({ few: false, all: true });

const exported = builds ? exportsOf : exportsInSource;

if (builds)
  beforeAll(async () => {
    const stale = packages.filter(isStale);
    // Two at a time: more would only wait for each other's compilers.
    const builder = async () => {
      for (let name = stale.shift(); name !== undefined; name = stale.shift()) await build(name);
    };
    await Promise.all([builder(), builder()]);
  }, 600_000);

test("every package exports what the committed list says", async () => {
  const now: Record<string, Exports> = {};
  for (const door of doors) now[door] = await exported(door);
  if (process.env["UPDATE"] === "1") writeFileSync(snapshotFile, `${JSON.stringify(now, null, 2)}\n`);
  expect(now).toEqual(JSON.parse(readFileSync(snapshotFile, "utf8")));
});

test("what users can import is little enough to be learnt", async () => {
  const listed = JSON.parse(readFileSync(snapshotFile, "utf8")) as Record<string, Exports>;
  const values = Object.values(listed).flatMap((door) => door.values);
  expect(listed["core"]!.values.length).toBeLessThanOrEqual(45);
  expect(values.length).toBeLessThanOrEqual(180);
});

test("a public name means one thing: no two packages have one of their own by it, nor by its plural", () => {
  const { stratigraph, ...listed } = JSON.parse(readFileSync(snapshotFile, "utf8")) as Record<
    string,
    Exports
  >;
  const named = Object.entries(listed).flatMap(([door, { values, types }]) =>
    [...values, ...types].map((name) => ({ name, home: door.split("/")[0] })),
  );
  const names = named.map(({ name }) => name);
  expect(names.filter((name, place) => names.indexOf(name) !== place)).toEqual([]);
  // What stratigraph hands on is another package's; the rest is its own.
  for (const name of [...stratigraph!.values, ...stratigraph!.types])
    if (!names.includes(name)) named.push({ name, home: "stratigraph" });
  const plurals = named.filter(({ name, home }) =>
    named.some((other) => other.name === `${name}s` && other.home !== home),
  );
  expect(plurals).toEqual([]);
});

test("core imports only the Node built-ins on the list", () => {
  const used = coreFiles()
    .flatMap((file) => ts.preProcessFile(readFileSync(file, "utf8")).importedFiles)
    .map(({ fileName }) => fileName)
    .filter((name) => name.startsWith("node:") || builtinModules.includes(name));
  expect(used.length).toBeGreaterThan(0);
  expect([...new Set(used)].filter((name) => !CORE_BUILTINS.includes(name))).toEqual([]);
});

/** Core's files, as they are published where they were built, otherwise its sources. */
function coreFiles(): string[] {
  const [folder, ending] = builds ? ["dist", ".js"] : ["src", ".ts"];
  const path = join(root, "packages/engine/core", folder);
  return readdirSync(path, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(ending))
    .map((file) => join(path, file));
}

if (builds) {
  test("the CommonJS builds export the same as the ES modules", async () => {
    const { testing: _, ...listed } = JSON.parse(readFileSync(snapshotFile, "utf8")) as Record<
      string,
      Exports
    >;
    for (const [door, { values }] of Object.entries(listed)) {
      const [name, file] = fileOf(door);
      if (ESM_ONLY.includes(door)) continue;
      const built = join(folderOf(name), `dist/${file}.cjs`);
      expect([door, (await keysOf(`require(${JSON.stringify(built)})`, "commonjs")).toSorted()]).toEqual([
        door,
        values,
      ]);
    }
  });
}

async function exportsOf(door: string): Promise<Exports> {
  const [name, file] = fileOf(door);
  const dist = join(folderOf(name), "dist");
  const declared = declaredNames(readFileSync(join(dist, `${file}.d.ts`), "utf8"));
  // @stratigraph/testing registers suites: it can only be loaded inside vitest, so its declarations must do.
  const values =
    name === "testing"
      ? declared.filter(({ type }) => !type).map((it) => it.name)
      : await keysOf(`await import(${JSON.stringify(join(dist, `${file}.js`))})`, "module");
  const types = declared.map((it) => it.name).filter((it) => !values.includes(it));
  return { values: values.toSorted(), types: types.toSorted() };
}

async function exportsInSource(door: string): Promise<Exports> {
  const source = readFileSync(fileOf(door)[2], "utf8");
  const names = (types: boolean) =>
    declaredNames(source)
      .filter(({ type }) => type === types)
      .map((it) => it.name)
      .toSorted();
  return { values: names(false), types: names(true) };
}

/** The keys of an expression's value in a user's plain Node, without the source condition that our test processes have. */
async function keysOf(expression: string, kind: "module" | "commonjs"): Promise<string[]> {
  const script = `console.log(JSON.stringify(Object.keys(${expression})))`;
  const plain = { ...process.env, NODE_OPTIONS: "" };
  const arguments_ = [`--input-type=${kind}`, "-e", script];
  const { stdout } = await execute(process.execPath, arguments_, { cwd: root, env: plain });
  return JSON.parse(stdout) as string[];
}

/** What a declaration file, or the file of a door, exports: by `export { a, type B }`, or where it is declared. */
function declaredNames(text: string): { name: string; type: boolean }[] {
  return ts
    .createSourceFile("index.d.ts", text, ts.ScriptTarget.ESNext, true)
    .statements.flatMap((statement) => {
      if (ts.isExportDeclaration(statement)) {
        const { exportClause: clause, isTypeOnly } = statement;
        if (clause === undefined || !ts.isNamedExports(clause)) return [];
        return clause.elements.map(({ name, isTypeOnly: type }) => ({
          name: name.text,
          type: isTypeOnly || type,
        }));
      }
      const type = ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement);
      if (!type && !ts.isFunctionDeclaration(statement) && !ts.isClassDeclaration(statement)) return [];
      const isExported =
        statement.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true;
      return isExported && statement.name !== undefined ? [{ name: statement.name.text, type }] : [];
    });
}

function isStale(name: string): boolean {
  const folder = folderOf(name);
  const built = join(folder, "dist/index.js");
  const kinds = ESM_ONLY.includes(name) ? ["js", "d.ts"] : ["js", "d.ts", "cjs", "d.cts"];
  if (kinds.some((kind) => !existsSync(join(folder, "dist", `index.${kind}`)))) return true;
  const inputs = [
    ...readdirSync(join(folder, "src"), { recursive: true, encoding: "utf8" }).map((file) =>
      join(folder, "src", file),
    ),
    join(folder, "package.json"),
    ...readdirSync(folder)
      .filter((file) => /^tsdown\.config\.ts$|\.build\.ts$/.test(file))
      .map((file) => join(folder, file)),
    join(root, "tsdown.base.ts"),
  ];
  const since = statSync(built).mtimeMs;
  return inputs.some((input) => statSync(input).mtimeMs > since);
}

/** tsdown itself, not turbo: each package's types resolve to the others' sources, so the order does not matter. */
async function build(name: string): Promise<void> {
  const tsdown = join(root, "node_modules/tsdown/dist/run.mjs");
  await execute(process.execPath, [tsdown], {
    cwd: folderOf(name),
    env: { ...process.env, NODE_OPTIONS: "" },
  });
}
