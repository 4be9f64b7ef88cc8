/** The used part of an ioredis client that subscribes. */
interface Subscriber {
  on(event: "message", listener: (channel: string, text: string) => void): unknown;
  on(event: "error" | "end", listener: () => void): unknown;
  subscribe(channel: string): Promise<unknown>;
  disconnect(): void;
}

/** What ioredis's clients have, so that others like them can be opened. */
interface Duplicable {
  duplicate?(options: object): Subscriber;
  /** Of a cluster. */
  nodes?(): readonly Duplicable[];
}

/**
 * Subscribes on a connection of its own, opened as the given client's: one that subscribes takes no other commands. All nodes of a cluster
 * tell of what one of them is told.
 * @param over is called when the connection has ended
 * @param signal closes the connection
 * @throws if the client can't be duplicated; what subscribing throws
 */
export async function subscribe(
  client: object,
  channel: string,
  connectTimeout: number,
  hear: (text: string) => void,
  over: () => void,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  const nodes = (client as Duplicable).nodes?.();
  const one = nodes === undefined ? (client as Duplicable) : nodes[Math.floor(Math.random() * nodes.length)];
  if (one?.duplicate === undefined) throw new Error("This client can't be duplicated.");
  // A connection that is lost isn't opened again here: whoever waits has to know.
  const once = { retryStrategy: () => null, autoResubscribe: false, maxRetriesPerRequest: 0 };
  const subscriber = one.duplicate({
    ...once,
    ...{ lazyConnect: true, enableReadyCheck: false, enableOfflineQueue: true, connectTimeout },
  });
  // Without a listener, ioredis prints errors to the console.
  subscriber.on("error", () => undefined);
  subscriber.on("end", over);
  subscriber.on("message", (_, text) => hear(text));
  signal.addEventListener("abort", () => subscriber.disconnect(), { once: true });
  await subscriber.subscribe(channel);
}
