import type { Finding } from "@stratigraph/core";
import type { PgPool } from "../connection/client.ts";
import type { PoolPlace } from "./poolPlace.ts";
import type { ServerFacts } from "./serverFacts.ts";

/** From which part of the server's connections on being used there is a warning. */
const crowded = 0.85;

/** Whether the pool fits into what the server allows. @param pool most connections of the pool, where it says */
export function poolFinding(
  pool: number | undefined,
  { maxConnections, reserved, connected }: ServerFacts,
): Finding {
  const room = maxConnections - reserved;
  const server = `the server allows ${room} (max_connections ${maxConnections}), of which ${connected} are in use now`;
  const raise =
    "alter system set max_connections = …; and restart the server, or put PgBouncer in front of it";
  if (pool !== undefined && pool > room)
    return {
      status: "problem",
      found: `The pool may open ${pool} connections; ${server}.`,
      advice: `new pg.Pool({ max: ${Math.max(1, Math.floor(room / 2))} }), or ${raise}`,
    };
  const fits = pool === undefined ? "" : ` ${Math.floor(room / pool)} processes with such a pool fit.`;
  const found = `The pool has ${pool ?? "an unknown number of"} connections; ${server}.${fits}`;
  if (connected >= room * crowded)
    return { status: "warning", found, advice: `Smaller pools in all processes, or ${raise}` };
  return { status: "ok", found };
}

/**
 * Whether a pooler stands between, and in which mode: in transaction mode, two connections that do nothing are served by the same
 * process of the server one after the other.
 * @param backend the statement that asks for that process
 */
export async function poolerFinding(
  pool: PgPool,
  { connections = 0 }: PoolPlace,
  backend: string,
): Promise<Finding | undefined> {
  if (pool.connect === undefined || connections < 2) return undefined;
  const clients = [];
  try {
    const pids: number[] = [];
    for (let n = 0; n < 2; n += 1) {
      const client = await pool.connect();
      clients.push(client);
      const { rows } = await client.query({ text: backend });
      pids.push(Number((rows[0] as { readonly pid: unknown }).pid));
    }
    const [first, second] = pids;
    // pg keeps the number that it was told when it connected. A pooler tells one of its own.
    const { processID } = clients[0] as { readonly processID?: unknown };
    if (first === second)
      return {
        status: "ok",
        found:
          "A pooler in transaction mode (PgBouncer or alike) stands between, which is fine: no statement is named, no session is kept. " +
          "Settings in the URL (options=…) would not be.",
      };
    if (typeof processID === "number" && processID !== first)
      return {
        status: "warning",
        found:
          "A pooler stands between and isn't seen to share connections: it is in session mode, so each connection of this pool holds " +
          "one of the server's.",
        advice: "pool_mode = transaction in pgbouncer.ini, then: psql -p 6432 pgbouncer -c reload",
      };
    return { status: "ok", found: "No pooler stands between." };
  } finally {
    for (const client of clients) client.release();
  }
}
