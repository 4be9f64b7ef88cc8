import { InvalidOptionError } from "@stratigraph/core";

/** The key in a request's `_meta` by which a client names its call: text of at most 500 characters, the same when it repeats the call. */
const callKey = "dev.stratigraph/call";

/** Longest name of a call that a client gives, in UTF-16 units. */
const longestName = 500;

/** What is needed of an `McpServer` of the MCP SDK, generation 2 (`@modelcontextprotocol/server`) or 1 (`@modelcontextprotocol/sdk`). */
export interface McpServerLike {
  registerTool(name: string, config: never, callback: never): unknown;
}

/** What is needed of the context of a request, which the SDK passes to a tool. */
export interface McpContext {
  readonly sessionId?: string | undefined;
  /** In generation 1 of the SDK these fields are in the context itself. */
  readonly mcpReq?: McpRequest | undefined;
  /** Of requests over HTTP, in generation 2. */
  readonly http?: { readonly authInfo?: { readonly clientId: string } | undefined } | undefined;
}

interface McpRequest {
  readonly _meta?: object | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly envelope?: object | undefined;
  readonly inputResponses?: Readonly<Record<string, unknown>> | undefined;
}

/** The request that a tool is called for. */
export function requestIn(context: McpContext): McpRequest {
  return context.mcpReq ?? (context as McpRequest);
}

/** The name that a client gave to its call; undefined if it gave none. @throws InvalidOptionError */
export function nameIn(context: McpContext): string | undefined {
  const name = (Object(requestIn(context)._meta) as Record<string, unknown>)[callKey];
  if (name === undefined) return undefined;
  if (typeof name !== "string" || name === "" || name.length > longestName || !name.isWellFormed())
    throw new InvalidOptionError(
      `_meta["${callKey}"]`,
      typeof name === "string" ? `${name.length} characters` : name,
      `Name the call by text of 1 to ${longestName} characters without lone surrogates, or leave it out.`,
    );
  return name;
}

/** A callback of a tool: it gets the arguments, if the tool has a schema of them, and the context. */
export type Callback = (...given: readonly unknown[]) => unknown;

/** A registered tool, as both generations of the SDK return it. */
export interface RegisteredTool {
  readonly handler: Callback;
  readonly annotations?: unknown;
  update(updates: { callback?: Callback }): void;
}

/** The tools that were registered so far. The SDK has no public list of them; it has the same private one in both generations. */
export function registeredTools(server: object): Readonly<Record<string, RegisteredTool>> {
  const { _registeredTools: tools } = server as {
    _registeredTools?: Readonly<Record<string, RegisteredTool>>;
  };
  const isKnown = typeof tools === "object" && Object.values(tools).every(isTool);
  if (isKnown) return tools;
  throw new InvalidOptionError(
    "server",
    server,
    "Pass an McpServer of @modelcontextprotocol/server 2 or @modelcontextprotocol/sdk 1, whose tools are functions.",
  );
}

function isTool({ handler, update }: RegisteredTool): boolean {
  return typeof handler === "function" && typeof update === "function";
}

/** A tool's result, as far as it matters here. */
export interface ToolResult {
  readonly content?: unknown;
  readonly isError?: boolean | undefined;
  readonly resultType?: unknown;
}

/** Makes a tool's result of what somebody recorded as the result of a call that happened. */
export function asResult(value: unknown): unknown {
  const { content, structuredContent } = Object(value) as { content?: unknown; structuredContent?: unknown };
  if (Array.isArray(content) || structuredContent !== undefined) return value;
  if (value === undefined || value === null) return textResult("It happened. Its result isn't known.");
  const text = textResult(typeof value === "string" ? value : JSON.stringify(value));
  return typeof value === "object" ? { ...text, structuredContent: value } : text;
}

export function textResult(text: string): { content: readonly { type: "text"; text: string }[] } {
  return { content: [{ type: "text", text }] };
}
