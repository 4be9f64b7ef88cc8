import {
  ProtocolErrorCode,
  SUBSCRIPTION_ID_META_KEY,
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
import { checkWatched, wantedIn, watch } from "./subscriptions.ts";

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
  const transport = new WatchedTransport(stdin, stdout, subscribed, () => {
    subscribed.end();
    ended();
  });
  const connection = serveStdio(
    async (context) => {
      server = await make(context);
      return server;
    },
    { transport, onerror: onError },
  );
  return { closed, close: () => connection.close() };
}

/** A subscription. It is watched from the moment at which the client was told that it has it: what came before, the client reads. */
interface Subscription {
  readonly request: unknown;
  readonly wanted: readonly string[];
  stop?: () => void;
}

/** What one client is subscribed to, by the ids of its requests, or in the older protocol by the addresses. */
class Subscribed {
  readonly #open = new Map<unknown, Subscription>();
  readonly #client: Client;
  readonly #watcher: Watcher;
  readonly #updated: (uri: string) => void;

  constructor(client: Client, watcher: Watcher, updated: (uri: string) => void) {
    this.#client = client;
    this.#watcher = watcher;
    this.#updated = updated;
  }

  /** @throws InvalidOptionError, StratigraphError "OVERLOADED" for a subscription that nobody would serve */
  received(message: JSONRPCMessage): void {
    const { method, id, params } = message as {
      method?: string;
      id?: unknown;
      params?: { uri?: unknown; requestId?: unknown };
    };
    if (method === "notifications/cancelled") this.#close(params?.requestId);
    if (method === "resources/unsubscribe") this.#close(`uri ${String(params?.uri)}`);
    const wanted = wantedIn(message);
    if (wanted === undefined) return;
    checkWatched(wanted);
    const key = method === "resources/subscribe" ? `uri ${String(params?.uri)}` : id;
    this.#close(key);
    if (this.#open.size >= mostSubscriptions)
      throw new StratigraphError(
        "OVERLOADED",
        `${mostSubscriptions} subscriptions are open already. End one of them, or name more resources in one.`,
      );
    this.#open.set(key, { request: id, wanted });
  }

  sent(message: JSONRPCMessage): void {
    const { id, error, params } = message as {
      id?: unknown;
      error?: unknown;
      params?: { _meta?: Readonly<Record<string, unknown>> };
    };
    const request = id ?? params?._meta?.[SUBSCRIPTION_ID_META_KEY];
    if (request === undefined) return;
    for (const [key, each] of this.#open) {
      if (each.request !== request || each.stop !== undefined) continue;
      if (error === undefined) each.stop = watch(this.#watcher, this.#client, each.wanted, this.#updated);
      else this.#close(key);
    }
  }

  end(): void {
    for (const key of this.#open.keys()) this.#close(key);
  }

  #close(key: unknown): void {
    this.#open.get(key)?.stop?.();
    this.#open.delete(key);
  }
}

/** A transport that shows what it receives and sends, and its end. What is received may be refused. */
class WatchedTransport extends StdioServerTransport {
  readonly #subscribed: Subscribed;
  readonly #onEnd: () => void;

  constructor(stdin: Readable, stdout: Writable, subscribed: Subscribed, onEnd: () => void) {
    super(stdin, stdout, { maxBufferSize: mostMessageBytes });
    this.#subscribed = subscribed;
    this.#onEnd = onEnd;
  }

  override async send(message: JSONRPCMessage): Promise<void> {
    await super.send(message);
    this.#subscribed.sent(message);
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
      this.#subscribed.received(message);
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
