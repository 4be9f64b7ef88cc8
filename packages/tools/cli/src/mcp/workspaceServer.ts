import type { CallToolResult, McpServer } from "@modelcontextprotocol/server";
import { createWorkspace } from "@stratigraph/workspace";
import { createPrompts } from "@stratigraph/workspace/prompts";
import { audited, type ToolHost } from "./calls.ts";
import { refuseForeignWorkspace } from "./clients.ts";
import { addMemory } from "./memory.ts";
import { addPromptVersions } from "./promptVersions.ts";

/**
 * Offers a workspace: its items as a memory that agents share, its prompts as prompts.
 * @param agent the author of changes
 * @throws StratigraphError "ACCESS_DENIED"
 */
export async function addWorkspace(
  server: McpServer,
  host: ToolHost,
  name: string,
  agent: string,
): Promise<void> {
  refuseForeignWorkspace(host.client, name);
  auditTools(server, host, name);
  const workspace = createWorkspace(await host.client.saver(), name, { agent, freeze: false });
  addMemory(server, { workspace, agent, allow: host.client.allow });
  await addPromptVersions(server, createPrompts(workspace));
}

/** Lets every tool that is registered from now on be counted, limited and audited as those of threads are. */
function auditTools(server: McpServer, host: ToolHost, workspace: string): void {
  const register = server.registerTool.bind(server) as (
    ...given: unknown[]
  ) => ReturnType<McpServer["registerTool"]>;
  const replaced = (name: string, config: object, handler: Handler): ReturnType<McpServer["registerTool"]> =>
    register(name, config, async (input: unknown, ctx: Parameters<Handler>[1]) =>
      audited(host, host.client, `${name} of workspace ${workspace}`, {}, ctx.mcpReq.signal, async () => {
        const result = await handler(input, ctx);
        return { result, outcome: result.isError === true ? "failed" : "ok" };
      }),
    );
  server.registerTool = replaced as unknown as McpServer["registerTool"];
}

type Handler = (
  input: unknown,
  ctx: { readonly mcpReq: { readonly signal: AbortSignal } },
) => Promise<CallToolResult>;
