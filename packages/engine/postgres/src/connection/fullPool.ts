import { StratigraphError } from "@stratigraph/core";
import { sql } from "../embedded.ts";
import type { PgPool } from "./client.ts";
import { isNoFreeConnection, textOf } from "./failures.ts";
import { FullPoolError, NoAnswerError, within } from "./timeouts.ts";

/** What a `pg.Pool` tells of itself. */
export interface CountedPool {
  readonly totalCount?: number | undefined;
  readonly idleCount?: number | undefined;
  readonly waitingCount?: number | undefined;
  readonly options?: { readonly max?: number };
  readonly Client?: new (options: object) => ProbingClient;
}

/** The used part of a `pg.Client`. */
interface ProbingClient {
  connect(): Promise<unknown>;
  query(text: string): Promise<{ rows: Record<string, unknown>[] }>;
  on(event: "error", listener: () => void): unknown;
  end(): Promise<void>;
}

/** How long the server may take to answer beside the pool, in milliseconds. */
const answerMs = 5000;

/** What is being asked beside a pool: calls that failed at the same time ask once. */
const asking = new WeakMap<PgPool, Promise<string | undefined>>();

/** The error of a statement that got no connection because all of the pool are in use; undefined if that isn't why it failed. */
export function fullPoolError(pool: PgPool, error: unknown): FullPoolError | undefined {
  const { totalCount = 0, idleCount = 0, waitingCount = 0, options } = pool as CountedPool;
  const connections = options?.max ?? Infinity;
  const waited = isNoFreeConnection(error) || (error instanceof NoAnswerError && waitingCount > 0);
  if (!waited || idleCount > 0 || totalCount < connections) return undefined;
  return new FullPoolError(connections, error);
}

/**
 * Says that a pool is full where calls failed for that and the server answers on a connection beside the pool. Connections that are being
 * opened to a server that is down count as used, too: then the error stays as it is.
 */
export async function explainFullPool(pool: PgPool, error: unknown): Promise<unknown> {
  if (!StratigraphError.is(error, "UNAVAILABLE") || !(error.cause instanceof FullPoolError)) return error;
  const answer =
    asking.get(pool) ??
    askBeside(pool)
      .catch(() => undefined)
      .finally(() => asking.delete(pool));
  asking.set(pool, answer);
  const sessions = await answer;
  if (sessions === undefined) return error;
  const { connections } = error.cause;
  const { forMs } = error.data as { readonly forMs?: number };
  const all =
    connections === 1
      ? "The only connection of the pool has"
      : `All ${connections} connections of the pool have`;
  return new StratigraphError(
    "UNAVAILABLE",
    `${all} been in use${forMs === undefined ? "" : ` for at least ${forMs} ms`} (${textOf(error.cause)}), while PostgreSQL answers. ${sessions} ` +
      `Look for transactions that stay open, for connections of pool.connect() that aren't released, and for slow statements. Or give the pool ` +
      `more connections (max), or Stratigraph a pool of its own. The call may be repeated.`,
    { ...error.data, connections },
    error.cause,
  );
}

/** What the server's sessions of this user do. @throws what connecting throws */
async function askBeside(pool: PgPool): Promise<string | undefined> {
  const { Client, options } = pool as CountedPool;
  if (typeof Client !== "function" || options === undefined) return undefined;
  const client = new Client({ ...options, connectionTimeoutMillis: answerMs, query_timeout: answerMs });
  // Without a listener, a connection that breaks would end the process.
  client.on("error", () => undefined);
  try {
    await within(client.connect(), answerMs);
    const { rows } = await within(client.query(sql.sessions), answerMs);
    const { user, sessions, open, seconds } = rows[0]!;
    const longest = Number(open) === 0 ? "" : `, the longest for ${Number(seconds)} s`;
    return `Of the ${Number(sessions)} sessions of user ${String(user)} there, ${Number(open)} hold a transaction open without a statement under way${longest}.`;
  } finally {
    void client.end().catch(() => undefined);
  }
}
