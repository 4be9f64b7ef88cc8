import type { McpServer } from "@modelcontextprotocol/server";
import type { TierSaver } from "@stratigraph/core";
import type { ItemAddress } from "@stratigraph/core/tier";
import { createWorkspace } from "@stratigraph/workspace";
import { createPrompts } from "@stratigraph/workspace/prompts";
import { Redaction } from "../operations/values/redaction.ts";
import { placeOf } from "../operations/workspace/shownChange.ts";
import { audited, type ToolHost } from "./calls.ts";
import { addMemory } from "./memory.ts";
import { addPromptVersions } from "./promptVersions.ts";

/**
 * Offers a workspace: its items as a memory that agents share, its prompts as prompts.
 * @param saver of the whole storage: what a client may do with threads says nothing of workspaces
 */
export async function addWorkspace(
  server: McpServer,
  host: ToolHost,
  saver: TierSaver,
  { name, agent }: { readonly name: string; readonly agent: string },
): Promise<void> {
  auditAll(server, host, name);
  const workspace = createWorkspace(saver, name, { agent, freeze: false });
  const redaction = new Redaction(host.context.redact);
  // It changes what it is given. The workspace may be shared with others of this process.
  const hides = (at: ItemAddress, value: Record<string, unknown>): boolean => {
    if (!redaction.isActive) return false;
    const text = JSON.stringify(value);
    return JSON.stringify(redaction.apply("workspaces", JSON.parse(text), placeOf(name, at))) !== text;
  };
  addMemory(server, { workspace, agent, allow: host.client.allow, hides, onError: host.onError });
  // The texts of prompts lie in the workspace, too.
  if (redaction.shownSteps("workspaces", [name, "prompts"]) === 2)
    await addPromptVersions(server, createPrompts(workspace));
}

/** Lets every tool and prompt that is registered from now on be counted, limited and audited as those of threads are. */
function auditAll(server: McpServer, host: ToolHost, workspace: string): void {
  for (const method of ["registerTool", "registerPrompt"] as const) {
    const register = server[method].bind(server) as (...given: unknown[]) => unknown;
    const replaced = (name: string, config: object, handler: Handler): unknown =>
      register(name, config, async (input: Record<string, unknown>, ctx: Parameters<Handler>[1]) =>
        audited(
          host,
          host.client,
          `${name} of workspace ${workspace}`,
          input,
          ctx.mcpReq.signal,
          async () => {
            const result = await handler(input, ctx);
            return { result, outcome: result.isError === true ? "failed" : "ok" };
          },
        ),
      );
    Object.assign(server, { [method]: replaced });
  }
}

type Handler = (
  input: Record<string, unknown>,
  ctx: { readonly mcpReq: { readonly signal: AbortSignal } },
) => Promise<{ readonly isError?: boolean }>;
