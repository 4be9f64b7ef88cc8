import {
  ProtocolErrorCode,
  type JSONRPCMessage,
  type McpRequestContext,
  type McpServer,
} from "@modelcontextprotocol/server";
import { StratigraphError } from "@stratigraph/core";
import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import type { Readable, Writable } from "node:stream";
import { answerTo } from "../serving/errors.ts";
import type { Watcher } from "../serving/watcher.ts";
import type { Client } from "./clients.ts";
import { wantedIn, watch } from "./subscriptions.ts";

/** The largest message, in bytes: an edited state may be large. */
const mostMessageBytes = 16 * 2 ** 20;

/** How many subscriptions one connection may have. */
const mostSubscriptions = 100;

/** The streams of a connection. */
export interface StdioStreams {
  readonly stdin: Readable;
  readonly stdout: Writable;
}

/** A connection over stdio. */
export interface StdioConnection {
  /** Settles when the client has closed its end, or {@link close} was called. */
  readonly closed: Promise<void>;
  close(): Promise<void>;
}

/** Serves one client over stdio. */
export function serveClient(
  { stdin, stdout }: StdioStreams,
  client: Client,
  watcher: Watcher,
  make: (context: McpRequestContext) => Promise<McpServer>,
  onError: (error: unknown) => void,
): StdioConnection {
  let ended!: () => void;
  const closed = new Promise<void>((resolve) => {
    ended = resolve;
  });
  let server: McpServer | undefined;
  const updated = (uri: string): void => {
    server?.server.sendResourceUpdated({ uri }).catch(onError);
  };
  const subscribed = new Subscribed(client, watcher, updated);
  const transport = new WatchedTransport(
    stdin,
    stdout,
    (message) => subscribed.take(message),
    () => {
      subscribed.end();
      ended();
    },
  );
  const connection = serveStdio(
    async (context) => {
      server = await make(context);
      return server;
    },
    { transport, onerror: onError },
  );
  return { closed, close: () => connection.close() };
}

/** What one client is subscribed to, by the ids of its requests, or in the older protocol by the addresses. */
class Subscribed {
  readonly #stops = new Map<unknown, () => void>();
  readonly #client: Client;
  readonly #watcher: Watcher;
  readonly #updated: (uri: string) => void;

  constructor(client: Client, watcher: Watcher, updated: (uri: string) => void) {
    this.#client = client;
    this.#watcher = watcher;
    this.#updated = updated;
  }

  take(message: JSONRPCMessage): void {
    const { method, id, params } = message as {
      method?: string;
      id?: unknown;
      params?: { uri?: unknown; requestId?: unknown };
    };
    if (method === "notifications/cancelled") this.#stop(params?.requestId);
    if (method === "resources/unsubscribe") this.#stop(`uri ${String(params?.uri)}`);
    const wanted = wantedIn(message);
    if (wanted === undefined) return;
    const key = method === "resources/subscribe" ? `uri ${String(params?.uri)}` : id;
    this.#stop(key);
    if (this.#stops.size >= mostSubscriptions)
      throw new StratigraphError(
        "OVERLOADED",
        `${mostSubscriptions} subscriptions are open already. End one of them, or name more resources in one.`,
      );
    this.#stops.set(key, watch(this.#watcher, this.#client, wanted, this.#updated));
  }

  end(): void {
    for (const key of this.#stops.keys()) this.#stop(key);
  }

  #stop(key: unknown): void {
    this.#stops.get(key)?.();
    this.#stops.delete(key);
  }
}

/** A transport that shows the client's messages, and its end, to somebody who may refuse them. */
class WatchedTransport extends StdioServerTransport {
  readonly #seen: (message: JSONRPCMessage) => void;
  readonly #onEnd: () => void;

  constructor(stdin: Readable, stdout: Writable, seen: (message: JSONRPCMessage) => void, onEnd: () => void) {
    super(stdin, stdout, { maxBufferSize: mostMessageBytes });
    this.#seen = seen;
    this.#onEnd = onEnd;
  }

  override async start(): Promise<void> {
    const { onmessage, onclose } = this;
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a transport has no events
    this.onmessage = (message) => {
      const refused = this.#refusal(message);
      if (refused === undefined) onmessage?.(message);
      else this.send(refused).catch((error: unknown) => this.onerror?.(error as Error));
    };
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- as above
    this.onclose = () => {
      onclose?.();
      this.#onEnd();
    };
    await super.start();
  }

  /** The answer to a subscription that nobody would serve: the SDK would say yes to it. */
  #refusal(message: JSONRPCMessage): JSONRPCMessage | undefined {
    try {
      this.#seen(message);
      return undefined;
    } catch (error) {
      const { body } = answerTo(error, true);
      const { id } = message as { id?: string | number };
      if (id === undefined) return undefined;
      const told = `${body.error.code}: ${body.error.message}`;
      return { jsonrpc: "2.0", id, error: { code: ProtocolErrorCode.InvalidParams, message: told } };
    }
  }
}
