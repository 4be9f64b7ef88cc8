import { appendFileSync, existsSync, readFileSync, rmSync } from "node:fs";
import { createJournal } from "@stratigraph/journal";
import { wrapServer } from "@stratigraph/journal/mcp";
import { createCheckpointer } from "stratigraph";
import { z } from "zod";

// A bank as an MCP server over stdio, of either generation of the SDK. It is killed in the middle of a call if there is a file `die`. With
// a folder, its calls go through a journal there.
const [generation, ledger, folder] = process.argv.slice(2);
const { McpServer } = await (generation === "1"
  ? import("@modelcontextprotocol/sdk/server/mcp.js")
  : import("@modelcontextprotocol/server"));
const { StdioServerTransport } = await (generation === "1"
  ? import("@modelcontextprotocol/sdk/server/stdio.js")
  : import("@modelcontextprotocol/server/stdio"));

/** Does something that can be seen afterwards, and perhaps doesn't come to tell of it. */
function happens(what) {
  appendFileSync(ledger, `${what}\n`);
  if (existsSync(`${ledger}.die`)) {
    rmSync(`${ledger}.die`);
    process.kill(process.pid, "SIGKILL");
  }
  const times = readFileSync(ledger, "utf8").trim().split("\n").length;
  return { content: [{ type: "text", text: `${what}, entry ${times}` }] };
}

const server = new McpServer({ name: "bank", version: "1" });
const inputSchema = z.object({ amount: z.number() });
const looks = { annotations: { readOnlyHint: true } };
server.registerTool("look", looks, () => happens("looked"));
if (folder !== undefined) {
  const journal = createJournal(await createCheckpointer({ pglite: folder }));
  wrapServer(server, { journal, thread: "bank", tools: { look: "none", pay: "once" } });
}
const pays = { inputSchema, annotations: { idempotentHint: true, destructiveHint: true } };
server.registerTool("pay", pays, ({ amount }) => happens(`paid ${amount}`));
await server.connect(new StdioServerTransport());
