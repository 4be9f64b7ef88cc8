import type { PgPool } from "../connection/client.ts";

/** Where a pool leads to, without user and password. */
export interface PoolPlace {
  /** Absent if the pool doesn't say. */
  readonly host?: string | undefined;
  readonly port?: string | undefined;
  readonly database?: string | undefined;
  /** How many connections the pool has at most; absent if it doesn't say. */
  readonly connections?: number | undefined;
}

/** PostgreSQL's port if none is named. */
const standardPort = "5432";

/** Where a pool leads to, from what it was opened with. */
export function placeOf(pool: PgPool | undefined): PoolPlace {
  const options = Object(pool?.options) as Readonly<Record<string, unknown>>;
  const { connectionString, host, port, database, max } = options;
  const connections = typeof max === "number" ? { connections: max } : {};
  const url =
    typeof connectionString === "string" && URL.canParse(connectionString)
      ? new URL(connectionString)
      : undefined;
  if (url !== undefined)
    return {
      host: url.searchParams.get("host") ?? url.hostname,
      port: url.port === "" ? standardPort : url.port,
      database: decodeURIComponent(url.pathname.slice(1)),
      ...connections,
    };
  if (typeof host !== "string") return connections;
  return {
    host,
    port: port === undefined ? standardPort : String(port),
    ...(typeof database === "string" ? { database } : {}),
    ...connections,
  };
}

/** The place as text for people. */
export function placeText({ host, port }: PoolPlace): string {
  return host === undefined ? "PostgreSQL" : `PostgreSQL at ${host}:${port}`;
}

/** A command that tests from a shell whether the place can be reached. It asks for the password. */
export function placeTest({ host, port, database }: PoolPlace): string {
  if (host === undefined) return "psql -c '\\conninfo', with the settings of the pool";
  const named = database === undefined || database === "" ? "" : ` -d ${quoted(database)}`;
  return `pg_isready -h ${quoted(host)} -p ${port} && psql -h ${quoted(host)} -p ${port} -U USER${named} -c '\\conninfo'`;
}

/** Quotes an argument for a shell. */
function quoted(text: string): string {
  return /^[\w.:/-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
