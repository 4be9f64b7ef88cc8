import { connect, createServer, type Socket } from "node:net";

/** A wire to a server, which can be cut without a word. */
export interface SilentProxy {
  readonly port: number;
  /** Connections made until {@link speak}, and those that are there, pass nothing on from now on, for ever; none is closed. */
  silence(): void;
  /** Connections made from now on pass everything on. */
  speak(): void;
  close(): Promise<void>;
}

/** Puts a wire in front of a server on 127.0.0.1: what a firewall that forgets its connections does to them. */
export async function silentProxy(target: number): Promise<SilentProxy> {
  let silent = false;
  const sockets = new Set<Socket>();
  const proxy = createServer((client) => {
    const server = connect(target, "127.0.0.1");
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(from);
      from.on("error", () => undefined);
      from.on("close", () => sockets.delete(from));
      if (!silent) {
        from.pipe(to);
        from.on("close", () => to.destroy());
      }
    }
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const address = proxy.address();
  if (address === null || typeof address === "string") throw new Error("the proxy has no port");
  return {
    port: address.port,
    silence() {
      silent = true;
      for (const socket of sockets) {
        socket.unpipe();
        socket.removeAllListeners("close");
        socket.on("close", () => sockets.delete(socket));
        socket.pause();
      }
    },
    speak() {
      silent = false;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => proxy.close(() => resolve()));
    },
  };
}
