import { StratigraphError } from "@stratigraph/core";
import type { Cluster, Redis } from "ioredis";
import type { OwnClient, RedisClient } from "./client.ts";
import type { Server } from "./options.ts";

/** What a connection is made to, where it is made here. */
type OwnServer = Exclude<Server, { client: RedisClient }>;

/** A client with the calls that are under way on it. */
export interface ClientHandle {
  /** @throws what keeps the client from being opened */
  readonly client: Promise<RedisClient>;
  /** What the client said last about its connection, where that is in trouble. */
  readonly lastError: Error | undefined;
  calls: number;
  /** Ends the client at once, where it was opened here. */
  close(): void;
}

/** A handle of a client that was passed in: it stays open, and there is no other one. */
export function handleOver(client: RedisClient): ClientHandle {
  return { client: Promise.resolve(client), lastError: undefined, calls: 0, close: () => undefined };
}

/** A handle of a client of its own. */
export class OwnHandle implements ClientHandle {
  readonly client: Promise<RedisClient>;
  calls = 0;
  #lastError: Error | undefined;
  #opened: OwnClient | undefined;
  #closed = false;

  constructor(server: OwnServer, timeoutMs: number) {
    this.client = this.#open(server, timeoutMs);
    // Whoever waits for it hears of a failure; perhaps nobody does.
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
    // Without a listener ioredis prints. What it says last explains why a command got no answer.
    client.on("error", (error: Error) => (this.#lastError = error));
    client.on("ready", () => (this.#lastError = undefined));
    // ioredis goes on with database 0 where it can't have the one that the URL names.
    if (!("nodes" in server) && server.database !== 0) await client.callBuffer("SELECT", server.database);
    return client;
  }
}

function clientOf(
  driver: { readonly Redis: typeof Redis; readonly Cluster: typeof Cluster },
  server: OwnServer,
  timeoutMs: number,
): Redis | Cluster {
  // Short pauses: a server that is back is found again well within the time that a command may take.
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

/** What the nodes of a cluster are opened with that isn't in the URLs of those that are found by asking. */
function loginOf(node: string): { username?: string; password?: string; tls?: object } {
  const { protocol, username, password } = new URL(node);
  return {
    ...(username === "" ? {} : { username: decodeURIComponent(username) }),
    ...(password === "" ? {} : { password: decodeURIComponent(password) }),
    ...(protocol === "rediss:" ? { tls: {} } : {}),
  };
}

async function importIoredis(): Promise<{ readonly Redis: typeof Redis; readonly Cluster: typeof Cluster }> {
  // In a try of the same function: bundlers then leave a package that isn't installed to run time.
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
