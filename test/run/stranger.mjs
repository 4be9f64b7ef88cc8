import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bootstrap, fail, pnpmArgs, root, run } from "./bootstrap.mjs";

// What a stranger does, who has only the README: an empty folder, the packages as they would be published, and the README's
// first code copied as it stands. It is run twice (the thread must go on), and type-checked. The packages must be built.
bootstrap({ quiet: true });
const manifest = (name) => JSON.parse(readFileSync(join(root, "packages", name, "package.json"), "utf8"));
const folder = mkdtempSync(join(tmpdir(), "stratigraph-stranger-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));

const tarballs = await pack();
const readme = readFileSync(join(root, "README.md"), "utf8");
const code = /^```ts\n(.*?)^```/ms.exec(readme)?.[1] ?? fail("README.md has no code.");
const installed =
  /npm install (stratigraph .*)/.exec(readme)?.[1] ?? fail("README.md doesn't say what to install.");
const others = installed.split(" ").filter((name) => name !== "stratigraph");
// Not in the README: what a stranger's editor brings.
const types = ["typescript@5.9.3", "@types/node@20"];

writeFileSync(join(folder, "package.json"), '{ "private": true, "type": "module" }\n');
// Our packages find each other among the tarballs, as they would in the registry.
await step(
  "npm",
  ["install", "--no-audit", "--no-fund", "--loglevel=error", ...tarballs, ...others, ...types],
  5,
);

writeFileSync(join(folder, "main.js"), code);
const printed = [output(), output()];
if (printed.join("\n") !== "Message 1 was read.\nMessage 3 was read.")
  fail(`The README's code printed ${JSON.stringify(printed)} in two runs.`);
if (!existsSync(join(folder, ".stratigraph")))
  fail("There is no folder .stratigraph after the README's code.");

writeFileSync(join(folder, "main.ts"), code);
const tsc = [
  "tsc",
  "--noEmit",
  "--strict",
  "--module",
  "nodenext",
  "--target",
  "es2023",
  "--skipLibCheck",
  "main.ts",
];
await step("npx", tsc, 3);
console.log("the README's code, copied: installs, runs twice, and type-checks");

/** The umbrella and all of ours that it needs, packed as they would be published. */
async function pack() {
  const names = ["stratigraph"];
  for (const name of names) {
    for (const dependency of Object.keys(manifest(name).dependencies ?? {})) {
      const ours = /^@stratigraph\/(.+)$/.exec(dependency)?.[1];
      if (ours !== undefined && !names.includes(ours)) names.push(ours);
    }
  }
  for (const name of names) {
    const cwd = join(root, "packages", name);
    if (!existsSync(join(cwd, "dist/index.js"))) fail(`packages/${name} isn't built: run pnpm build first.`);
    await step("npx", pnpmArgs(["pack", "--pack-destination", folder]), 2, cwd);
  }
  return readdirSync(folder)
    .filter((file) => file.endsWith(".tgz"))
    .map((file) => `./${file}`);
}

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
  return execFileSync(process.execPath, ["main.js"], {
    cwd: folder,
    encoding: "utf8",
    timeout: 120_000,
  }).trim();
}
