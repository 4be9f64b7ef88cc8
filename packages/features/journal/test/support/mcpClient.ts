import { Client, StreamableHTTPClientTransport, type ClientOptions } from "@modelcontextprotocol/client";
import { createMcpHandler, InMemoryTransport, type McpServer } from "@modelcontextprotocol/server";

export interface Called {
  readonly isError?: boolean | undefined;
  readonly text: string;
  readonly [field: string]: unknown;
}

/** A client of an MCP server, in this process. */
export interface Connected {
  readonly client: Client;
  /** @param name of the call, as the client gives it in `_meta` */
  call(tool: string, args?: object, name?: unknown, signal?: AbortSignal): Promise<Called>;
}

export type Connect = (factory: () => McpServer, options?: ClientOptions) => Promise<Connected>;

function connected(client: Client): Connected {
  return {
    client,
    async call(name, args = {}, id = undefined, signal = undefined) {
      const _meta = id === undefined ? {} : { _meta: { "dev.stratigraph/call": id } };
      const result = await client.callTool(
        { name, arguments: { ...args }, ..._meta },
        signal === undefined ? {} : { signal },
      );
      const [first] = result.content as { text?: string }[];
      return { ...result, text: first?.text ?? "" };
    },
  };
}

/** Both generations of the protocol: one server for a connection; and a server for each request, over HTTP without sockets. */
export const eras: readonly [name: string, connect: Connect][] = [
  [
    "2025, one server for the connection",
    async (factory, options = {}) => {
      const client = new Client({ name: "test", version: "1" }, options);
      const [ours, theirs] = InMemoryTransport.createLinkedPair();
      await Promise.all([factory().connect(theirs), client.connect(ours)]);
      return connected(client);
    },
  ],
  [
    "2026, a server for each request",
    async (factory, options = {}) => {
      const versionNegotiation = { mode: { pin: "2026-07-28" } };
      const client = new Client({ name: "test", version: "1" }, { ...options, versionNegotiation });
      const handler = createMcpHandler(factory);
      const fetch = async (url: string | URL, init?: RequestInit) =>
        await handler.fetch(new Request(url, init));
      await client.connect(
        new StreamableHTTPClientTransport(new URL("http://localhost/mcp"), { fetch: fetch as never }),
      );
      return connected(client);
    },
  ],
];
