import { connect, createServer, type Socket } from "node:net";

/** A proxy in front of a server, which can cut the connections silently. */
export interface SilentProxy {
  readonly port: number;
  /** From now on, open connections, and those made until {@link speak}, pass nothing on for ever. None is closed. */
  silence(): void;
  /** Like {@link silence}, but only once the server has sent this many more bytes. */
  silenceAfter(bytes: number): void;
  /** Connections made from now on pass everything on. */
  speak(): void;
  close(): Promise<void>;
}

/** Starts a proxy in front of a server on 127.0.0.1. It does what a firewall does that forgets its connections. */
export async function silentProxy(target: number): Promise<SilentProxy> {
  /** Connections of an earlier generation pass nothing on. */
  let generation = 0;
  let isSilent = false;
  let bytesLeft = Number.POSITIVE_INFINITY;
  const sockets = new Set<Socket>();
  const silence = (): void => {
    generation += 1;
    isSilent = true;
    bytesLeft = Number.POSITIVE_INFINITY;
  };
  const proxy = createServer((client) => {
    const server = connect(target, "127.0.0.1");
    const mine = generation;
    const passes = (): boolean => !isSilent && mine === generation;
    const join = (from: Socket, to: Socket, limited: boolean): void => {
      sockets.add(from);
      from.on("error", () => undefined);
      from.on("data", (chunk) => {
        if (!passes()) return;
        const part = limited ? chunk.subarray(0, bytesLeft) : chunk;
        to.write(part);
        if (!limited) return;
        bytesLeft -= part.length;
        if (bytesLeft <= 0) silence();
      });
      from.on("close", () => {
        sockets.delete(from);
        if (passes()) to.destroy();
      });
    };
    join(client, server, false);
    join(server, client, true);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const address = proxy.address();
  if (address === null || typeof address === "string") throw new Error("the proxy has no port");
  return {
    port: address.port,
    silence,
    silenceAfter: (bytes) => (bytesLeft = bytes),
    speak: () => (isSilent = false),
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => proxy.close(() => resolve()));
    },
  };
}
