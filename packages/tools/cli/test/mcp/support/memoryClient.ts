import { Client, InMemoryTransport } from "@modelcontextprotocol/client";
import { McpServer } from "@modelcontextprotocol/server";
import type { Workspace } from "@stratigraph/workspace";
import { addMemory } from "../../../src/mcp/memory.ts";

/** What a tool answered, or the error that it told. */
export type Answer = Record<string, unknown> & { readonly error?: Record<string, unknown> };

/** A client of the SDK that is connected to a server of the memory. */
export async function memoryClient(workspace: Workspace, agent: string, allow = ["read", "write"]) {
  const server = new McpServer({ name: "memory", version: "1.0.0" });
  addMemory(server, { workspace, agent, allow });
  const client = new Client({ name: agent, version: "1.0.0" });
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await server.connect(theirs);
  await client.connect(ours);
  const call = async (name: string, args: object): Promise<Answer> => {
    const { isError, content, structuredContent, _meta } = await client.callTool({
      name: `memory_${name}`,
      arguments: { ...args },
    });
    const [first] = content;
    const text = first?.type === "text" ? first.text : "";
    const told = _meta?.["dev.stratigraph/error"] as Answer | undefined;
    if (isError === true) return { error: told ?? { message: text } };
    return { ...(structuredContent as object) };
  };
  return { client, call };
}
