import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CallToolResult } from "@modelcontextprotocol/server";
import { inspectBy } from "./inspector.ts";
import { serveFixtures } from "./served.ts";
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
const fixtures = await serveFixtures();
for (const revision of revisions)
  await tryOut(`suite, fixtures, ${revision}`, () => runSuite(tools, "fixtures", fixtures.url, revision));
await tryOut("Inspector, fixtures, HTTP", () =>
  inspectBy(tools, { args: [fixtures.url], era: "modern" }, [
    {
      method: "tools/call",
      args: ["--tool-name", "test_simple_text"],
      pick: ({ content }: CallToolResult) => content,
      expected: [{ type: "text", text: "This is a simple text response for testing." }],
    },
  ]),
);
await fixtures.close();
process.exitCode = failed > 0 ? 1 : 0;
