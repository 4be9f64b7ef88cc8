import pg from "pg";
import { sql } from "../embedded.ts";
import type { ServerState } from "./primaryFinder.ts";

/** Asks a server whether it takes writes, on a connection of its own. @param timeoutMs for connecting, and for each question */
export async function askServer(url: string, timeoutMs: number): Promise<ServerState> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
  });
  // Without a listener, a connection that breaks would end the process.
  client.on("error", () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ writable: boolean }>(sql.writable);
    if (rows[0]?.writable !== true) return { writable: false, timeline: 0 };
    // Managed servers that aren't quite PostgreSQL have no timelines, and do without this safeguard.
    const timeline = await client.query<{ timeline: number }>(sql.timeline).then(
      (answer) => answer.rows[0]?.timeline ?? 0,
      () => 0,
    );
    return { writable: true, timeline };
  } finally {
    await client.end().catch(() => undefined);
  }
}
