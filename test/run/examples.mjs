import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { bootstrap, root, runTypeScript } from "./bootstrap.mjs";

// Every examples/*/main.ts asserts what it shows and exits 0. `pnpm examples crash` runs those whose name has "crash".
bootstrap();
const [wanted = ""] = process.argv.slice(2);
const folder = join(root, "examples");
const entries = existsSync(folder) ? readdirSync(folder, { withFileTypes: true }) : [];
const names = entries
  .filter((entry) => entry.isDirectory() && entry.name.includes(wanted))
  .map((entry) => entry.name);
const failed = [];
for (const name of names) {
  const main = `examples/${name}/main.ts`;
  console.log(`\n── ${name}`);
  const ok = existsSync(join(root, main)) && (await runTypeScript(main, [], { timeoutMs: 5 * 60_000 })) === 0;
  if (!ok) failed.push(name);
}
const verdict = failed.length === 0 ? "all ended well" : `failed: ${failed.join(", ")}`;
console.log(`\n${names.length} examples, ${verdict}`);
process.exitCode = failed.length > 0 || names.length === 0 ? 1 : 0;
