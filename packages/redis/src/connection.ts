import { createHash } from "node:crypto";
import { StratigraphError } from "@stratigraph/core";
import type { Cluster, Redis } from "ioredis";
import type { OwnClient, RedisClient } from "./client.ts";
import { lua } from "./embedded.ts";
import type { Bytes } from "./ids.ts";
import type { Server } from "./options.ts";
import { noAnswer, unavailable } from "./unavailable.ts";

interface Script {
  readonly text: string;
  readonly sha: string;
}

function script(...parts: readonly string[]): Script {
  const text = parts.join("\n");
  return { text, sha: createHash("sha1").update(text).digest("hex") };
}

const scripts = {
  read: script(lua.common, lua.read),
  append: script(lua.common, lua.changes, lua.append),
  appendWrites: script(lua.common, lua.changes, lua.appendWrites),
  list: script(lua.common, lua.list),
  ancestry: script(lua.common, lua.ancestry),
  blobs: script(lua.common, lua.blobs),
  remove: script(lua.common, lua.remove),
  evict: script(lua.common, lua.evict),
  deleteThread: script(lua.common, lua.deleteThread),
  dump: script(lua.common, lua.dump),
  paste: script(lua.common, lua.changes, lua.paste),
  pin: script(lua.common, lua.pin),
  adopt: script(lua.common, lua.changes, lua.adopt),
  invalidate: script(lua.common, lua.invalidate),
  tagThread: script(lua.common, lua.tagThread),
  untagThread: script(lua.common, lua.untagThread),
  lease: script(lua.lease),
  threadPage: script(lua.threadPage),
  unindex: script(lua.unindex),
} as const;

/** Sends commands and scripts, each for a bounded time, and turns their failures into errors that say what to do. */
export class Connection {
  readonly #timeoutMs: number;
  readonly #server: Server;
  #client: RedisClient | undefined;
  #opening: Promise<OwnClient> | undefined;
  #lastError: Error | undefined;

  constructor(server: Server, timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
    this.#server = server;
    if ("client" in server) this.#client = server.client;
  }

  /** @throws StratigraphError "UNAVAILABLE" */
  async run(
    name: keyof typeof scripts,
    keys: readonly string[],
    args: readonly (Bytes | number)[],
  ): Promise<unknown> {
    const { sha, text } = scripts[name];
    return await this.#bounded(async (client) => {
      try {
        return await client.callBuffer("EVALSHA", [sha, keys.length, ...keys, ...args]);
      } catch (error) {
        // A server that was restarted, or a node that took over, doesn't know the script yet. EVAL teaches it.
        if (!(error instanceof Error) || !error.message.startsWith("NOSCRIPT")) throw error;
        return await client.callBuffer("EVAL", [text, keys.length, ...keys, ...args]);
      }
    });
  }

  /** @throws StratigraphError "UNAVAILABLE" */
  async command(name: string, ...args: readonly (Bytes | number)[]): Promise<unknown> {
    return await this.#bounded(async (client) => await client.callBuffer(name, [...args]));
  }

  /** Closes the client if it was opened here. */
  async end(): Promise<void> {
    const opening = this.#opening;
    this.#opening = undefined;
    if (opening === undefined) return;
    this.#client = undefined;
    const client = await opening.catch(() => undefined);
    client?.disconnect();
  }

  async #bounded<T>(work: (client: RedisClient) => Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(noAnswer(this.#timeoutMs, this.#lastError)), this.#timeoutMs);
    });
    try {
      return await Promise.race([work(this.#client ?? (await this.#open())), late]);
    } catch (error) {
      throw unavailable(retriesEnded(error) ? (this.#lastError ?? error) : error);
    } finally {
      clearTimeout(timer);
    }
  }

  async #open(): Promise<RedisClient> {
    const opening = (this.#opening ??= this.#connect());
    try {
      this.#client = await opening;
      return this.#client;
    } catch (error) {
      // The next call tries again.
      if (this.#opening === opening) this.#opening = undefined;
      throw error;
    }
  }

  async #connect(): Promise<OwnClient> {
    const { Cluster, Redis } = await importIoredis();
    const server = this.#server as Exclude<Server, { client: RedisClient }>;
    const client =
      "nodes" in server
        ? new Cluster([...server.nodes], {
            redisOptions: { ...loginOf(server.nodes[0]!), connectTimeout: this.#timeoutMs },
          })
        : new Redis(server.url, { maxRetriesPerRequest: 3, connectTimeout: this.#timeoutMs });
    // Without a listener ioredis prints. What it says last explains why a command got no answer.
    client.on("error", (error: Error) => (this.#lastError = error));
    client.on("ready", () => (this.#lastError = undefined));
    if (!("nodes" in server) && server.database !== 0) {
      try {
        // ioredis goes on with database 0 where it can't have the one that the URL names.
        await client.callBuffer("SELECT", server.database);
      } catch (error) {
        client.disconnect();
        throw error;
      }
    }
    return client;
  }
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

/** ioredis says of a command only that it gave up; the reason came as an event. */
function retriesEnded(error: unknown): boolean {
  return (
    error instanceof Error &&
    /MaxRetriesPerRequest|Connection is closed/.test(`${error.name} ${error.message}`)
  );
}

async function importIoredis(): Promise<{ readonly Redis: typeof Redis; readonly Cluster: typeof Cluster }> {
  // In a try of the same function: bundlers then leave a package that isn't installed to run time.
  try {
    return await import("ioredis");
  } catch (cause) {
    throw new StratigraphError(
      "UNAVAILABLE",
      "To open a Redis URL the package ioredis is needed: install it (npm install ioredis), or pass a client.",
      { tier: "redis" },
      cause,
    );
  }
}
