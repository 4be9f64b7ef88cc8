// `pnpm bench`: works in a fresh checkout that has only Node and npm, like `npm test`.
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
if (!existsSync(`${root}node_modules/tsx`)) {
  const { packageManager } = JSON.parse(readFileSync(`${root}package.json`, "utf8"));
  await run("npx", ["--yes", packageManager, "install", "--frozen-lockfile"]);
}
const flags = ["--import", "tsx", "--conditions=@stratigraph/source"];
await run(process.execPath, [...flags, "test/bench/main.ts", ...process.argv.slice(2)]);

/** Ends this process where the command fails; a signal that ends this process ends the command too. */
function run(command, args) {
  const child = spawn(command, args, { cwd: root, stdio: "inherit" });
  const forward = (signal) => child.kill(signal);
  process.on("SIGINT", forward).on("SIGTERM", forward);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => {
      process.off("SIGINT", forward).off("SIGTERM", forward);
      if (code === 0) resolve();
      else process.exit(code ?? 1);
    });
  });
}
