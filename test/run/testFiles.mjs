import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

// Which files are tests, and what each of them imports from other files of tests. Node's own modules only: vitest's configuration
// imports this.

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Every test file, as a path from the repository's top folder. */
export function testFiles() {
  const packages = readdirSync(join(root, "packages")).map((name) => `packages/${name}/test`);
  return ["test", ...packages].flatMap((folder) =>
    existsSync(join(root, folder))
      ? readdirSync(join(root, folder), { recursive: true })
          .map((name) => `${folder}/${name.replaceAll("\\", "/")}`)
          .filter((name) => name.endsWith(".test.ts") && !name.includes("/node_modules/"))
      : [],
  );
}

/**
 * What a file of tests imports, and what that imports in turn: paths of files, and names of packages. Imports of types alone don't
 * count. It doesn't follow imports into the packages' sources.
 */
export function reachedBy(file, reached = new Set()) {
  for (const specifier of importsOf(file)) {
    const name = specifier.startsWith(".") ? join(file, "..", specifier).replaceAll("\\", "/") : specifier;
    if (reached.has(name)) continue;
    reached.add(name);
    if (name !== specifier && !name.includes("/src/")) reachedBy(name, reached);
  }
  return reached;
}

const known = new Map();

function importsOf(file) {
  const path = join(root, file);
  if (!known.has(file))
    known.set(file, /\.m?ts$/.test(file) && existsSync(path) ? importsIn(readFileSync(path, "utf8")) : []);
  return known.get(file);
}

/** The specifiers of all imports that are there when the program runs, in TypeScript as oxfmt writes it. */
export function importsIn(text) {
  const found = text.matchAll(
    /^(?:import|export)\s(?!type\b)[^;"']*?\bfrom\s*"([^"]+)"|^import\s*"([^"]+)"|\bimport\(\s*"([^"]+)"\s*\)/gm,
  );
  return [...found].map(([, from, alone, later]) => from ?? alone ?? later);
}

/**
 * Whether a test file needs no server, no process and no browser: nothing that it imports starts one. Servers, children and browsers
 * are all processes, which node:child_process starts.
 */
export function isQuick(file) {
  return !reachedBy(file).has("node:child_process");
}
