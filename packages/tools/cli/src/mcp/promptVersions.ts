import {
  ProtocolError,
  ProtocolErrorCode,
  type GetPromptResult,
  type McpServer,
} from "@modelcontextprotocol/server";
import { StratigraphError } from "@stratigraph/core";
import type { Prompts, PromptVersion } from "@stratigraph/workspace/prompts";
import { z } from "zod";

/** Errors that the caller of a prompt can do something about. */
const caused: ReadonlySet<string> = new Set(["INVALID_OPTION", "NOT_FOUND", "ACCESS_DENIED"]);

/**
 * Registers the prompts of a workspace on an MCP server, each by its name, with the variables of its current version as arguments. Which
 * prompts there are, and with which arguments, is read once; their text when a client gets it. A prompt whose name the server has already is
 * registered as `workspace/<name>`.
 */
export async function addPromptVersions(server: McpServer, prompts: Prompts): Promise<void> {
  for (const prompt of await prompts.list()) {
    const { name, version, variables } = prompt;
    const config = {
      title: name,
      description: describe(prompt),
      argsSchema: z.object(
        Object.fromEntries(variables.map((each) => [each, z.string().describe(`Fills in {${each}}.`)])),
      ),
      _meta: { "dev.stratigraph/version": version },
    };
    const get = async (args: Record<string, string>): Promise<GetPromptResult> =>
      await got(prompts, name, args);
    try {
      server.registerPrompt(name, config, get);
    } catch {
      server.registerPrompt(`workspace/${name}`, config, get);
    }
  }
}

function describe({ version, feedback }: PromptVersion): string {
  return [`Version ${version}.`, ...(feedback.length > 0 ? ["It takes up:", ...feedback] : [])]
    .join(" ")
    .slice(0, 500);
}

/** The current version, filled in. It may have been promoted since it was registered. */
async function got(prompts: Prompts, name: string, args: Record<string, string>): Promise<GetPromptResult> {
  try {
    const prompt = await prompts.get(name);
    const rendered = prompt.render(args);
    const messages = typeof rendered === "string" ? [{ role: "user" as const, content: rendered }] : rendered;
    return {
      description: describe(prompt),
      messages: messages.map(({ role, content }) => ({
        // The protocol has no system messages.
        role: role === "system" ? "user" : role,
        content: { type: "text", text: content },
      })),
      // What a run that uses the prompt says in its metadata.
      _meta: { "dev.stratigraph/version": prompt.version, "dev.stratigraph/metadata": prompt.metadata },
    };
  } catch (error) {
    // The SDK tells the caller what an error says. The message of another error may say more of the server than callers should know.
    if (!StratigraphError.is(error))
      throw new ProtocolError(ProtocolErrorCode.InternalError, "The prompt can't be read.");
    const code = caused.has(error.code) ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError;
    throw new ProtocolError(code, error.message, { code: error.code });
  }
}
