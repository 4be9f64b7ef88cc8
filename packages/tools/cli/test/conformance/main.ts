import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundlesOf } from "../../../../../test/servers/childBundles.ts";
import { BUNDLES, childProgram } from "../../../../../test/servers/childProgram.ts";
import { openCheckpointer } from "../../../../features/stratigraph/src/internal.ts";
import { seed } from "../inspector/seeds/seed.ts";
import { calls } from "./calls.ts";
import { inspectBy } from "./inspector.ts";
import { serveFixtures, serveOwn } from "./served.ts";
import { runSuite, type Revision } from "./suite.ts";
import { Tools } from "./tools.ts";

// Run by test/run/conformance.mjs. A line for each part; what a failing one said is shown in full.
const { STRATIGRAPH_MCP_TOOLS: installation, STRATIGRAPH_NODE: node } = process.env;
if (installation === undefined || node === undefined) throw new Error("Run test/run/conformance.mjs.");
const home = mkdtempSync(join(tmpdir(), "stratigraph-conformance-"));
process.once("exit", () => rmSync(home, { recursive: true, force: true }));
const tools = new Tools(installation, node, home);

let failed = 0;
async function tryOut(name: string, what: () => Promise<string>): Promise<void> {
  const begun = performance.now();
  const seconds = (): string => `${((performance.now() - begun) / 1000).toFixed(1)} s`;
  const said = await what().catch((error: unknown) => {
    failed += 1;
    return `FAILED: ${error instanceof Error ? error.message : String(error)}`;
  });
  console.log(`${name.padEnd(32)} ${said} (${seconds()})`);
}

const revisions: readonly Revision[] = ["2026-07-28", "2025-11-25"];
const eras = ["modern", "legacy"] as const;

const fixtures = await serveFixtures();
for (const revision of revisions)
  await tryOut(`suite, fixtures, ${revision}`, () => runSuite(tools, "fixtures", fixtures.url, revision));
await fixtures.close();

const storage = `file:${join(home, "threads")}`;
const saver = openCheckpointer(storage);
await seed(saver, ["chat"]);
const token = "a-token-of-the-suite";
const { open, guarded } = await serveOwn(saver, token);
for (const revision of revisions)
  await tryOut(`suite, stratigraph, ${revision}`, () => runSuite(tools, "stratigraph", open.url, revision));
for (const era of eras)
  await tryOut(`Inspector, HTTP, ${era}`, () =>
    inspectBy(tools, { args: [guarded.url, "--header", `Authorization: Bearer ${token}`], era }, calls),
  );
await open.close();
await guarded.close();
// Only one process at a time may have the folder open.
await saver.end();

const config = join(home, "stratigraph.config.json");
writeFileSync(config, JSON.stringify({ checkpointer: storage }));
// A bundle starts sooner than tsx loads the sources, and each call of the Inspector starts the server anew.
const bundling = await bundlesOf(["packages/tools/cli/test/terminal/support/cliChild.ts"], home);
await bundling.rebuild();
await bundling.dispose();
process.env[BUNDLES] = home;
const { path, execArgv } = childProgram(join(import.meta.dirname, "../terminal/support/cliChild.ts"));
// As clients write it down.
const clientConfig = join(home, "mcp.json");
const args = [...execArgv, path, "mcp", "--config", config];
const server = { command: process.execPath, args };
writeFileSync(clientConfig, JSON.stringify({ mcpServers: { stratigraph: server } }));
for (const era of eras)
  await tryOut(`Inspector, stdio, ${era}`, () =>
    inspectBy(tools, { args: ["--config", clientConfig, "--server", "stratigraph"], era }, calls),
  );
process.exitCode = failed > 0 ? 1 : 0;
