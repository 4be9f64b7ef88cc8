import { sql } from "../embedded.ts";
import type { Decode } from "./decode.ts";
import { reaching } from "./sourceError.ts";

/** The part of a `pg.Pool` that is used. */
export interface SourcePool {
  connect(): Promise<SourceClient>;
}

/** The part of a `pg.PoolClient` that is used. */
export interface SourceClient {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: unknown[] }>;
  release(error?: boolean): void;
}

/** The official saver's tables. */
export interface Tables {
  readonly pool: SourcePool;
  readonly schema: string;
  readonly decode: Decode;
}

/** The source's name in messages. */
export const postgresName = "the official PostgresSaver";

/** Takes a connection from the pool. @throws StratigraphError if there is none */
export async function connected({ pool }: Tables): Promise<SourceClient> {
  return await reaching(postgresName, () => pool.connect());
}

/** Runs a statement of sql/postgres.sql and returns its rows. @throws StratigraphError if the database refuses it */
export async function query<Row>(
  { schema }: Tables,
  client: SourceClient,
  name: keyof typeof sql,
  values: unknown[] = [],
): Promise<Row[]> {
  const text = sql[name].replaceAll(":schema", () => quoted(schema));
  const { rows } = await reaching(postgresName, () => client.query(text, values));
  return rows as Row[];
}

/** A name, quoted for SQL. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
