import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bootstrap, runTypeScript } from "./bootstrap.mjs";
import { nodeBinary, NEWER_NODES } from "./nodeBinary.mjs";

// The official conformance suite of the Model Context Protocol and the command line of its official Inspector, against our MCP server.
// Both need a newer Node than our packages do, and are installed outside the repository.
const VERSIONS = { conformance: "0.2.0-alpha.12", inspector: "2.12.0" };

bootstrap({ quiet: true });
const begun = performance.now();
const node = nodeBinary(NEWER_NODES.at(-1));
const tools = node && installed();
if (tools === undefined) {
  console.log(`not run: npm installed no ${node ? "conformance suite" : "Node for linux-x64"}`);
  if (process.env.CI === "true") process.exitCode = 1;
} else {
  process.exitCode = await runTypeScript(
    "packages/tools/cli/test/conformance/main.ts",
    process.argv.slice(2),
    {
      env: { STRATIGRAPH_NODE: node, STRATIGRAPH_MCP_TOOLS: tools },
      timeoutMs: 3 * 60_000,
    },
  );
  console.log(
    `conformance ${process.exitCode === 0 ? "holds" : "FAILED"}, ${Math.round((performance.now() - begun) / 1000)} s`,
  );
}

/** The folder with both tools, undefined where they can't be had. It gets its name when all is in it. */
function installed() {
  const folder = join(tmpdir(), "stratigraph-mcp-tools", Object.values(VERSIONS).join("-"));
  if (existsSync(folder)) return folder;
  mkdirSync(join(folder, ".."), { recursive: true });
  const made = mkdtempSync(`${folder}-`);
  const packages = Object.entries(VERSIONS).map(
    ([name, version]) => `@modelcontextprotocol/${name}@${version}`,
  );
  // Without scripts: the Inspector's installs what its page needs.
  const quiet = ["--ignore-scripts", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"];
  const result = spawnSync("npm", ["install", "--prefix", made, ...quiet, ...packages], {
    cwd: made,
    encoding: "utf8",
  });
  if (result.status === 0 && !existsSync(folder)) renameSync(made, folder);
  else rmSync(made, { recursive: true, force: true });
  if (result.status !== 0) console.error(result.stderr);
  return existsSync(folder) ? folder : undefined;
}
