import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bootstrap, fail, root, run } from "./bootstrap.mjs";
import { pack } from "./pack.mjs";

// What a stranger does, who has only the README: the commands of its first shell block in an empty folder, with the packages as
// they would be published and whatever LangGraph is the newest, and its first code saved under the name that the block runs. It
// is run twice (the thread must go on), and type-checked. The packages must be built.
bootstrap({ quiet: true });
const folder = mkdtempSync(join(tmpdir(), "stratigraph-stranger-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));

const readme = readFileSync(join(root, "README.md"), "utf8");
const code = /^```ts\n(.*?)^```/ms.exec(readme)?.[1] ?? fail("README.md has no code.");
const commands = (/^```sh\n(.*?)^```/ms.exec(readme)?.[1] ?? fail("README.md has no commands."))
  .trim()
  .split("\n");
const [init, install, start] = commands;
const main = /^node (\S+)/.exec(start ?? "")?.[1];
if (init !== "npm init -y" || !install?.startsWith("npm install stratigraph ") || main === undefined)
  fail(`The README's first commands are others than are followed here:\n${commands.join("\n")}`);
if (!readme.includes(`\`${main}\``)) fail(`The README doesn't say to save its code as ${main}.`);

const tarballs = await pack(folder, ["stratigraph"]);
await step("npm", ["init", "-y"], 1);
// Our packages find each other among the tarballs, as they would in the registry.
const others = install.split(" ").filter((word) => !["npm", "install", "stratigraph"].includes(word));
const quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
await step("npm", ["install", ...quiet, ...tarballs, ...others], 5);
const { version } = JSON.parse(
  readFileSync(join(folder, "node_modules/@langchain/langgraph/package.json"), "utf8"),
);

writeFileSync(join(folder, main), code);
const printed = [output(), output()];
if (printed.join("\n") !== "Message 1 was read.\nMessage 3 was read.")
  fail(`The README's code printed ${JSON.stringify(printed)} in two runs.`);
if (!existsSync(join(folder, ".stratigraph")))
  fail("There is no folder .stratigraph after the README's code.");

// Not in the README: what a stranger's editor brings.
await step("npm", ["install", ...quiet, "typescript@5.9.3", "@types/node@20"], 5);
writeFileSync(join(folder, "main.mts"), code);
const tsc = ["tsc", "--noEmit", "--strict", "--module", "nodenext", "--target", "es2023", "main.mts"];
await step("npx", tsc, 3);
console.log(`the README's commands and code, copied: run twice and type-check, with LangGraph ${version}`);

/** Runs a program in the stranger's folder; shows what it said only if it fails. */
async function step(command, args, minutes, cwd = folder) {
  const code = await run(command, args, {
    cwd,
    timeoutMs: minutes * 60_000,
    stdio: ["ignore", "ignore", "inherit"],
  });
  if (code !== 0) fail(`${command} ${args.slice(0, 4).join(" ")} … ended with ${code}.`);
}

/** What the README's program prints. */
function output() {
  return execFileSync(process.execPath, [main], {
    cwd: folder,
    encoding: "utf8",
    timeout: 120_000,
  }).trim();
}
