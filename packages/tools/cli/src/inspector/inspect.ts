import { createAdaptorServer } from "@hono/node-server";
import { InvalidOptionError, StratigraphError } from "@stratigraph/core";
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { createInspector } from "./createInspector.ts";
import { isLoopback } from "../serving/guards/hosts.ts";
import { checkToken } from "../serving/options.ts";
import type { InspectorOptions } from "./options.ts";

/** Where an inspector listens. */
export interface InspectOptions extends InspectorOptions {
  /** Default: a free port. */
  readonly port?: number | undefined;
  /** Default 127.0.0.1. Any address except loopback needs a token in the variable STRATIGRAPH_INSPECTOR_TOKEN. */
  readonly host?: string | undefined;
}

/** An inspector that listens. */
export interface RunningInspector {
  /** The page's address, with the token. */
  readonly url: string;
  /** Aborts what is under way, and stops listening, within some seconds. May be called again. */
  close(): Promise<void>;
}

/** How long requests that are under way may take to end, in milliseconds. */
const graceMs = 2000;

/** How often to look for connections that have become idle meanwhile, in milliseconds. */
const pollMs = 20;

/**
 * Serves the inspector of a storage.
 * @throws InvalidOptionError; StratigraphError "MISCONFIGURED" if it can't listen
 */
export async function inspect(options: InspectOptions): Promise<RunningInspector> {
  const { port = 0, host = "127.0.0.1", ...others } = options;
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new InvalidOptionError("port", port, "Pass a whole number from 0 (a free one) to 65535.");
  const given = tokenOf(host, options.token);
  const isAnywhere = host === "0.0.0.0" || host === "::";
  const hosts = [...(options.hosts ?? []), isAnywhere ? "*" : host.replace(/^\[|\]$/g, "")];
  const inspector = createInspector({ ...others, token: given, hosts });
  const server = createAdaptorServer({ fetch: inspector.fetch }) as Server;
  await listen(server, port, host);
  let closing: Promise<void> | undefined;
  const address = server.address() as AddressInfo;
  return {
    url: `http://${shownHost(address, isAnywhere)}:${address.port}/#token=${inspector.token}`,
    close: () => {
      inspector.end();
      return (closing ??= close(server));
    },
  };
}

/** The token that the user chose, if any. A host that other machines can reach must have one. @throws InvalidOptionError */
function tokenOf(host: string, given: string | undefined): string | undefined {
  const variable = "STRATIGRAPH_INSPECTOR_TOKEN";
  const token = given ?? process.env[variable];
  if (token !== undefined) checkToken(given === undefined ? variable : "token", token);
  if (token !== undefined || isLoopback(host)) return token;
  throw new InvalidOptionError(
    "host",
    host,
    `Other machines reach it: set ${variable} to at least 16 characters that nobody can guess. Without it only 127.0.0.1 is served.`,
  );
}

async function listen(server: Server, port: number, host: string): Promise<void> {
  server.listen(port, host.replace(/^\[|\]$/g, ""));
  try {
    await once(server, "listening");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why =
      code === "EADDRINUSE"
        ? `Port ${port} of ${host} is in use. Choose another one, or none for a free one.`
        : `It can't listen on port ${port} of ${host} (${code}). Choose another host or port.`;
    throw new StratigraphError("MISCONFIGURED", why, { port, host }, error);
  }
}

async function close(server: Server): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, "close").then(() => true);
  server.close();
  const end = performance.now() + graceMs;
  // Connections on which a request was under way become idle one by one.
  for (let isClosed = false; !isClosed && performance.now() < end;) {
    server.closeIdleConnections();
    isClosed = await Promise.race([closed, wait(pollMs, false)]);
  }
  server.closeAllConnections();
  await closed;
}

function shownHost({ address, family }: AddressInfo, isAnywhere: boolean): string {
  if (isAnywhere) return "localhost";
  return family === "IPv6" ? `[${address}]` : address;
}
