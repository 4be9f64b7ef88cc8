import type { Executor } from "../connection/client.ts";
import type { Statement } from "../schema/statements.ts";

/** What a diagnosis knows of a server. */
export interface ServerFacts {
  readonly version: string;
  readonly user: string;
  readonly database: string;
  readonly fsync: boolean;
  readonly fullPageWrites: boolean;
  readonly synchronousCommit: string;
  readonly standby: boolean;
  readonly readOnly: boolean;
  readonly maxConnections: number;
  /** How many of these only superusers get. */
  readonly reserved: number;
  /** How many are open now, of all clients. */
  readonly connected: number;
  /** The server's clock, in milliseconds since 1970. */
  readonly nowMs: number;
  /** When it was asked, by this process's clock, and how long the answer took. Milliseconds. */
  readonly askedMs: number;
  readonly ms: number;
}

/** @throws StratigraphError */
export async function readServerFacts(executor: Executor, statement: Statement): Promise<ServerFacts> {
  // The first statement may open a connection, which takes longer than an answer and would blur the clock.
  await executor.run(statement);
  const askedMs = Date.now();
  const { rows } = await executor.run(statement);
  const ms = Date.now() - askedMs;
  const row = rows[0]!;
  return {
    // "15.18 (Debian 15.18-0+deb12u1)"
    version: String(row["version"]).split(" ", 1)[0]!,
    user: String(row["user"]),
    database: String(row["database"]),
    fsync: row["fsync"] === "on",
    fullPageWrites: row["full_page_writes"] === "on",
    synchronousCommit: String(row["synchronous_commit"]),
    standby: row["standby"] === true,
    readOnly: row["read_only"] === "on",
    maxConnections: Number(row["max_connections"]),
    reserved: Number(row["reserved"]),
    connected: Number(row["connected"]),
    nowMs: Number(row["now_ms"]),
    askedMs,
    ms,
  };
}
