import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./bootstrap.mjs";
import { packageFolders } from "./packageFolders.mjs";

// SQL and Lua live in files of their own, sql/*.sql and lua/*.lua of a package. This puts them into
// its src/embedded.ts, which isn't in git: no file is read at run time, and no bundler needs to know. It is done by every
// installation and by npm start and npm test. `--check` only says what is out of date. A file may hold several texts, each after a line `-- name: …`. The opening comment of a text says
// why it is there and stays out: it would be sent with every statement. Lines that start with `--!` are kept.
const KINDS = [
  { folder: "sql", name: "sql", extension: ".sql" },
  { folder: "lua", name: "lua", extension: ".lua" },
];

/** The text of a package's embedded.ts, or undefined where it has no such files. */
function embedded(folder) {
  const parts = KINDS.map(({ folder: kind, name, extension }) => {
    const from = join(folder, kind);
    const files = existsSync(from) ? readdirSync(from).filter((file) => file.endsWith(extension)) : [];
    const entries = files.toSorted().flatMap((file) => {
      const texts = textsOf(file.slice(0, -extension.length), readFileSync(join(from, file), "utf8"));
      return texts.map(([key, text]) => `  ${JSON.stringify(key)}: ${literal(body(text))},\n`);
    });
    return entries.length === 0
      ? ""
      : `\n/** By file name, or by the names inside a file. */\nexport const ${name} = {\n${entries.join("")}} as const;\n`;
  });
  if (parts.every((part) => part === "")) return undefined;
  return `// Generated from the .sql and .lua files of this package by \`pnpm prepare\`. Do not edit.\n${parts.join("")}`;
}

/** The texts of a file with their names: the file's own, where it names none. */
function textsOf(fileName, file) {
  const [whole, ...parts] = file.split(/^-- name: (\w+)$/m);
  if (parts.length === 0) return [[fileName, whole]];
  return Array.from({ length: parts.length / 2 }, (_, i) => [parts[i * 2], parts[i * 2 + 1]]);
}

function body(text) {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  const start = lines.findIndex((line) => line.trim() !== "" && !/^\s*--(?!!)/.test(line));
  return lines.slice(Math.max(start, 0)).join("\n").trim();
}

function literal(text) {
  return `\`${text.replaceAll(/[\\`]|\$(?=\{)/g, (special) => `\\${special}`)}\``;
}

const check = process.argv.includes("--check");
let stale = 0;
for (const folder of packageFolders.values()) {
  const target = join(root, folder, "src/embedded.ts");
  const text = embedded(join(root, folder));
  const now = existsSync(target) ? readFileSync(target, "utf8") : undefined;
  if (text === now || text === undefined) continue;
  stale++;
  if (!check) writeFileSync(target, text);
  console.log(`${folder}/src/embedded.ts ${check ? "is out of date: run pnpm prepare" : "written"}`);
}
process.exitCode = check && stale > 0 ? 1 : 0;
