import { connect, createServer, type Socket } from "node:net";

/** A TCP proxy before a PostgreSQL server that can lose answers, or go silent, as a broken network does. */
export interface DeafProxy {
  /** The server's URL, through the proxy. */
  readonly url: string;
  /** Answers lost so far. */
  readonly lost: () => number;
  /**
   * The next `count` statements reach the server, which does them; their answers, and the connection, are lost.
   * @param having only statements that have this text
   */
  loseAnswers(count: number, having?: string): void;
  /** Forwards nothing in either direction and closes nothing. New connections are accepted and get no answer. */
  silence(): void;
  /** New connections work again. Older ones stay silent for ever ("lost"), or get what was held back ("kept"). */
  restore(before: "lost" | "kept"): void;
  stop(): Promise<void>;
}

/** ReadyForQuery, the last message of every answer: 'Z', length 5, status. Before it, the statement is done. */
function isAnswered(bytes: Buffer): boolean {
  return bytes.length >= 6 && bytes[bytes.length - 6] === 0x5a && bytes.readInt32BE(bytes.length - 5) === 5;
}

/** Starts a proxy on a free port of 127.0.0.1. */
export async function startDeafProxy(target: string): Promise<DeafProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let toLose = 0;
  let wanted = "";
  let lost = 0;
  /** What is to be done once the wire is back, in order; undefined while it is there. */
  let held: (() => void)[] | undefined;
  /** How often connections were lost: those of an earlier count stay silent. */
  let wire = 0;
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    const ofWire = wire;
    let loggedIn = false;
    let losing = false;
    const forward = (work: () => void): void => {
      if (ofWire !== wire) return;
      if (held === undefined) work();
      else held.push(() => forward(work));
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        client.destroy();
        upstream.destroy();
        sockets.delete(socket);
      });
    }
    client.on("data", (chunk) =>
      forward(() => {
        // The login comes before the first ReadyForQuery; 'X' is a good-bye.
        if (loggedIn && !losing && toLose > 0 && chunk[0] !== 0x58 && chunk.includes(wanted)) {
          toLose -= 1;
          losing = true;
        }
        upstream.write(chunk);
      }),
    );
    upstream.on("data", (chunk) =>
      forward(() => {
        const answered = isAnswered(chunk);
        if (!losing) client.write(chunk);
        if (answered && losing) {
          lost += 1;
          client.destroy();
        }
        loggedIn ||= answered;
      }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = new URL(target);
  const address = server.address();
  url.host = `127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
  return {
    url: url.href,
    lost: () => lost,
    loseAnswers: (count, having = "") => ([toLose, wanted] = [count, having]),
    silence: () => (held ??= []),
    restore: (before) => {
      const waiting = held ?? [];
      held = undefined;
      if (before === "lost") wire += 1;
      for (const work of waiting) work();
    },
    stop: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}
