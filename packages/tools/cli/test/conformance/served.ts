import { createAdaptorServer } from "@hono/node-server";
import { createMcpHandler, type McpHttpHandler } from "@modelcontextprotocol/server";
import type { TierSaver } from "@stratigraph/core";
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { fixtures } from "./fixtures.ts";
import { createInspector, inspect } from "../../src/inspector/index.ts";
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

/** Serves ours as the inspector does. The suite can send no token: at `open` each request gets it on the way. */
export async function serveOwn(saver: TierSaver, token: string): Promise<Record<"guarded" | "open", Served>> {
  const inspector = await inspect({ saver, token });
  const behind = createInspector({ saver, token });
  const open = await listen((request) => {
    const headers = new Headers(request.headers);
    headers.set("authorization", `Bearer ${token}`);
    return behind.fetch(new Request(request, { headers }));
  });
  return {
    guarded: { url: new URL("/mcp", inspector.url).href, close: () => inspector.close() },
    open: {
      url: open.url,
      close: async () => {
        behind.end();
        await open.close();
      },
    },
  };
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
