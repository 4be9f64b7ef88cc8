import { StratigraphError } from "@stratigraph/core";
import type { Cluster, Redis } from "ioredis";
import type { OwnClient, RedisClient } from "./client.ts";
import type { Server } from "./options.ts";

/** The servers for which this package opens a client itself. */
type OwnServer = Exclude<Server, { client: RedisClient }>;

/** A client, with the number of calls in progress on it. */
export interface ClientHandle {
  /** Rejects with the reason if the client can't be opened. */
  readonly client: Promise<RedisClient>;
  /** The last connection error that the client reported; undefined while the connection is fine. */
  readonly lastError: Error | undefined;
  calls: number;
  /** Closes the client at once if this package opened it. */
  close(): void;
}

/** A handle for a client that the caller passed in. It is never closed or replaced. */
export function handleOver(client: RedisClient): ClientHandle {
  return { client: Promise.resolve(client), lastError: undefined, calls: 0, close: () => undefined };
}

/** A handle that opens a client of its own. */
export class OwnHandle implements ClientHandle {
  readonly client: Promise<RedisClient>;
  calls = 0;
  #lastError: Error | undefined;
  #opened: OwnClient | undefined;
  #closed = false;

  constructor(server: OwnServer, timeoutMs: number) {
    this.client = this.#open(server, timeoutMs);
    // Callers that await the client see a failure. Without this handler it would be unhandled if nobody awaits it.
    this.client.catch(() => undefined);
  }

  get lastError(): Error | undefined {
    return this.#lastError;
  }

  close(): void {
    this.#closed = true;
    this.#opened?.disconnect();
  }

  async #open(server: OwnServer, timeoutMs: number): Promise<RedisClient> {
    const client = clientOf(await importIoredis(), server, timeoutMs);
    this.#opened = client;
    if (this.#closed) client.disconnect();
    // Without a listener, ioredis prints errors to the console. The last one explains why a command got no answer.
    client.on("error", (error: Error) => (this.#lastError = error));
    client.on("ready", () => (this.#lastError = undefined));
    // If ioredis can't select the database that the URL names, it silently uses database 0. This SELECT fails instead.
    if (!("nodes" in server) && server.database !== 0) await client.callBuffer("SELECT", server.database);
    return client;
  }
}

function clientOf(
  driver: { readonly Redis: typeof Redis; readonly Cluster: typeof Cluster },
  server: OwnServer,
  timeoutMs: number,
): Redis | Cluster {
  // The pauses are short, so that a server that is back is found well within a command's time limit.
  const pauseOf = (times: number): number => Math.min(times * 50, Math.max(50, timeoutMs / 4));
  if (!("nodes" in server)) {
    const settings = { maxRetriesPerRequest: 3, connectTimeout: timeoutMs, retryStrategy: pauseOf };
    return new driver.Redis(server.url, settings);
  }
  return new driver.Cluster([...server.nodes], {
    clusterRetryStrategy: pauseOf,
    redisOptions: { ...loginOf(server.nodes[0]!), connectTimeout: timeoutMs },
  });
}

/** Login and TLS for all nodes of a cluster: nodes that ioredis discovers come without them. */
function loginOf(node: string): { username?: string; password?: string; tls?: object } {
  const { protocol, username, password } = new URL(node);
  return {
    ...(username === "" ? {} : { username: decodeURIComponent(username) }),
    ...(password === "" ? {} : { password: decodeURIComponent(password) }),
    ...(protocol === "rediss:" ? { tls: {} } : {}),
  };
}

async function importIoredis(): Promise<{ readonly Redis: typeof Redis; readonly Cluster: typeof Cluster }> {
  // If import() stands in a try of the same function, bundlers accept that the package isn't installed.
  try {
    return await import("ioredis");
  } catch (cause) {
    throw new StratigraphError(
      "DRIVER_MISSING",
      "To open a Redis URL the package ioredis is needed: install it (npm install ioredis), or pass a client.",
      { tier: "redis", package: "ioredis" },
      cause,
    );
  }
}
