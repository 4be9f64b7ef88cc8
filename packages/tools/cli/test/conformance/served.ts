import { createAdaptorServer } from "@hono/node-server";
import type { ServerNotifier } from "@modelcontextprotocol/server";
import { MemorySaver, type TierSaver } from "@stratigraph/core";
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { fixtures } from "./fixtures.ts";
import { createInspector, inspect } from "../../src/inspector/index.ts";
import { wired } from "../../src/mcp/wired.ts";

/** A server that listens. */
export interface Served {
  readonly url: string;
  close(): Promise<void>;
}

/** Serves the fixtures, by the wiring of ours. */
export function serveFixtures(): Promise<Served> {
  const saver = (): Promise<TierSaver> => Promise.resolve(new MemorySaver());
  let notifier: () => ServerNotifier | undefined = () => undefined;
  const make = fixtures(() => notifier()!);
  const mcp = wired({ saver }, (_scene, context, _overStdio, changed) => {
    notifier = changed;
    return make(context);
  });
  return listen((request) => mcp.fetch(request, { trusted: true }));
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
