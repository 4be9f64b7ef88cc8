import { createAdaptorServer } from "@hono/node-server";
import { createMcpHandler, type McpHttpHandler } from "@modelcontextprotocol/server";
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { fixtures } from "./fixtures.ts";
import { refuseForeign } from "../../src/serving/guards/guard.ts";

/** A server that listens. */
export interface Served {
  readonly url: string;
  close(): Promise<void>;
}

/** Serves the fixtures. */
export function serveFixtures(): Promise<Served> {
  const handler: McpHttpHandler = createMcpHandler(fixtures(() => handler.notify));
  return listen(async (request) => {
    try {
      refuseForeign(request, []);
    } catch {
      return new Response(null, { status: 403 });
    }
    return handler.fetch(request);
  });
}

async function listen(answer: (request: Request) => Promise<Response>): Promise<Served> {
  const server = createAdaptorServer({ fetch: answer }) as Server;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    close: async () => {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
