import { Client, StreamableHTTPClientTransport, type CallToolResult } from "@modelcontextprotocol/client";
import type { FetchOptions, Mcp } from "../../../src/mcp/index.ts";

/** How a client is made. */
interface Connecting extends FetchOptions {
  readonly bearer?: string | undefined;
  /** The older protocol, of 2025. */
  readonly legacy?: boolean | undefined;
  readonly path?: string | undefined;
  /** Answers a form; undefined: the client can't ask a person. */
  readonly person?: ((params: { readonly message: string }) => object) | undefined;
}

/** A client of the SDK, over HTTP requests that take no wire. */
export async function connected(
  mcp: Mcp,
  { bearer, legacy = false, path = "/mcp", person, ...how }: Connecting = {},
) {
  const client = new Client(
    { name: "test", version: "1" },
    {
      capabilities: person === undefined ? {} : { elicitation: { form: {} } },
      versionNegotiation: { mode: legacy ? "legacy" : { pin: "2026-07-28" } },
    },
  );
  if (person !== undefined)
    client.setRequestHandler("elicitation/create", ({ params }) => person(params as never) as never);
  const options = bearer === undefined ? { trusted: true, ...how } : how;
  const headers = {
    host: "127.0.0.1",
    ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
  };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`http://127.0.0.1${path}`), {
      requestInit: { headers },
      fetch: (url, init) => mcp.fetch(new Request(url, init), options),
    }),
  );
  return client;
}

/** Calls a tool, and returns its data. */
// oxlint-disable-next-line typescript/no-explicit-any -- each test says what it reads
export async function called<T = any>(
  client: Client,
  name: string,
  args: Record<string, unknown> = {},
): Promise<T> {
  const result = (await client.callTool({ name, arguments: args })) as CallToolResult;
  if (result.isError === true) throw new Error(textOf(result));
  return result.structuredContent as T;
}

/** What a failed call says. */
export async function refusal(
  client: Client,
  name: string,
  args: Record<string, unknown> = {},
): Promise<string> {
  const result = (await client.callTool({ name, arguments: args })) as CallToolResult;
  if (result.isError !== true) throw new Error(`It didn't fail: ${textOf(result)}`);
  return textOf(result);
}

/** The data of a resource that is JSON. */
// oxlint-disable-next-line typescript/no-explicit-any -- as above
export async function readJson<T = any>(client: Client, uri: string): Promise<T> {
  const { contents } = await client.readResource({ uri });
  return JSON.parse((contents[0] as { text: string }).text) as T;
}

function textOf({ content }: CallToolResult): string {
  return content.map((each) => (each.type === "text" ? each.text : "")).join("\n");
}
