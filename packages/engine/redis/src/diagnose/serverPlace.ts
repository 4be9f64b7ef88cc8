import type { Server } from "../options.ts";

/** Where a server is, without user and password. */
export interface ServerPlace {
  /** For people: "Redis at host:6379". */
  readonly text: string;
  /** A command that tests from a shell whether it can be reached. */
  readonly test: string;
  /** The beginning of a redis-cli command on it. */
  readonly cli: string;
}

const standardPort = "6379";

/** Where a server is, from what the tier or its client was opened with. */
export function placeOf(server: Server): ServerPlace {
  if ("nodes" in server) {
    const hosts = server.nodes.map((node) => hostOf(new URL(node)));
    return placed("Redis Cluster", hosts[0]!, isTls(server.nodes[0]!), hosts.slice(1));
  }
  if ("url" in server) {
    if (server.url.startsWith("/")) return socket(server.url);
    return placed("Redis", hostOf(new URL(server.url)), isTls(server.url));
  }
  const { host, port, path } = Object(server.client.options) as Readonly<Record<string, unknown>>;
  if (typeof path === "string") return socket(path);
  if (typeof host === "string")
    return placed("Redis", { host, port: String(port ?? standardPort) }, isTls(server.client.options));
  return { text: "Redis", test: "redis-cli ping, with the settings of the client", cli: "redis-cli" };
}

interface Host {
  readonly host: string;
  readonly port: string;
}

function hostOf({ hostname, port }: URL): Host {
  return { host: hostname, port: port === "" ? standardPort : port };
}

/** Whether a URL, or the options of a client, ask for TLS. */
function isTls(given: string | object | undefined): boolean {
  if (typeof given === "string") return given.startsWith("rediss:");
  return (Object(given) as { readonly tls?: unknown }).tls !== undefined;
}

function placed(what: string, { host, port }: Host, tls: boolean, others: readonly Host[] = []): ServerPlace {
  const cli = `redis-cli -h ${host} -p ${port}${tls ? " --tls" : ""}`;
  const all = [{ host, port }, ...others].map((each) => `${each.host}:${each.port}`);
  return { text: `${what} at ${all.join(", ")}`, test: `${cli} --user USER --askpass ping`, cli };
}

function socket(path: string): ServerPlace {
  const cli = `redis-cli -s '${path}'`;
  return { text: `Redis at ${path}`, test: `${cli} ping`, cli };
}
