// `pnpm bench`: works in a fresh checkout that has only Node and npm, like `npm test`.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
if (!existsSync(`${root}node_modules/tsx`)) {
  const { packageManager } = JSON.parse(readFileSync(`${root}package.json`, "utf8"));
  run("npx", ["--yes", packageManager, "install", "--frozen-lockfile"]);
}
const flags = ["--import", "tsx", "--conditions=@stratigraph/source"];
run(process.execPath, [...flags, "test/bench/main.ts", ...process.argv.slice(2)]);

function run(command, args) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: "inherit" });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}
