import type { Connection } from "../connection.ts";

/** What a server says of itself: the fields of INFO by name. */
export type ServerInfo = ReadonlyMap<string, string>;

/** What the first round trips to a server show. */
export interface ServerFacts {
  /** Absent if this user may not ask. `refused` says why. */
  readonly info?: ServerInfo | undefined;
  readonly refused?: unknown;
  /** The server's clock, in milliseconds since 1970. */
  readonly nowMs: number;
  /** When it was asked, by this process's clock, and how long the answer took. Milliseconds. */
  readonly askedMs: number;
  readonly ms: number;
}

/** Asks a server for its time and its INFO. @throws StratigraphError if it doesn't answer */
export async function readServerFacts(connection: Connection): Promise<ServerFacts> {
  // The first command may open a connection, which takes longer than an answer and would blur the clock.
  await connection.command("PING");
  const askedMs = Date.now();
  const [seconds, micros] = (await connection.command("TIME")) as [Buffer, Buffer];
  const ms = Date.now() - askedMs;
  const nowMs = Number(seconds) * 1000 + Number(micros) / 1000;
  try {
    const text = String(await connection.command("INFO"));
    return { info: infoIn(text), nowMs, askedMs, ms };
  } catch (refused) {
    return { refused, nowMs, askedMs, ms };
  }
}

/** The fields of INFO. */
function infoIn(text: string): ServerInfo {
  return new Map(
    text.split(/\r?\n/).flatMap((line): [string, string][] => {
      const split = line.indexOf(":");
      return split <= 0 || line.startsWith("#") ? [] : [[line.slice(0, split), line.slice(split + 1)]];
    }),
  );
}
