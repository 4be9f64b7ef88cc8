import type { CheckResult } from "@stratigraph/core/tier";
import type { PgPool, PgPoolClient } from "../connection/client.ts";
import type { PoolPlace } from "./poolPlace.ts";
import type { ServerFacts } from "./serverFacts.ts";

/** There is a warning if at least this part of the server's connections is in use. */
const crowded = 0.85;

/** Whether the server allows as many connections as the pool has. @param pool how many these are at most; undefined if unknown */
export function poolFinding(
  pool: number | undefined,
  { maxConnections, reserved, connected }: ServerFacts,
): CheckResult {
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

/** How often two connections are asked which process serves them: other work may be served in between. */
const rounds = 10;

/**
 * Whether there is a pooler in front of the server, and in which mode. Only in transaction mode is a connection served by several
 * processes of the server, or two connections by the same one.
 * @param backend the statement that asks for that process
 */
export async function poolerFinding(
  pool: PgPool,
  { connections = 0 }: PoolPlace,
  backend: string,
): Promise<CheckResult | undefined> {
  if (pool.connect === undefined || connections < 2) return undefined;
  const clients: PgPoolClient[] = [];
  try {
    while (clients.length < 2) clients.push(await pool.connect());
    const served = clients.map(() => new Set<number>());
    for (let round = 0; round < rounds && !isShared(served); round += 1)
      for (const [n, client] of clients.entries()) served[n]!.add(await backendOf(client, backend));
    if (isShared(served))
      return {
        status: "ok",
        found:
          "A pooler in transaction mode (PgBouncer or alike) stands between, which is fine: no statement is named, no session is kept. " +
          "Settings in the URL (options=…) would not be.",
      };
    // pg keeps the process number that it received when it connected. A pooler sends a number of its own.
    const { processID } = clients[0] as { readonly processID?: unknown };
    if (typeof processID === "number" && !served[0]!.has(processID))
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

async function backendOf(client: PgPoolClient, text: string): Promise<number> {
  const { rows } = await client.query({ text });
  return Number((rows[0] as { readonly pid: unknown }).pid);
}

/** Whether a connection was served by several processes, or one process served several connections. */
function isShared(served: readonly ReadonlySet<number>[]): boolean {
  const all = new Set(served.flatMap((pids) => [...pids]));
  return served.some(({ size }) => size > 1) || all.size < served.reduce((sum, { size }) => sum + size, 0);
}
