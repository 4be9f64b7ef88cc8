import { InvalidOptionError } from "@stratigraph/core";
import { existsSync } from "node:fs";
import { withDriver } from "./importDriver.ts";
import type { MongoDatabase } from "./sources/mongoSource.ts";
import type { SourcePool } from "./sources/postgresTables.ts";
import type { SqliteDatabase } from "./sources/sqliteSource.ts";

/** How long a server may take to accept a connection, in milliseconds. In a pool, also how long to wait for a free connection. */
const longestConnectMs = 30_000;

interface Pool extends SourcePool {
  on(event: "error", listener: () => void): unknown;
  end(): Promise<void>;
}

/** A pool for a URL whose query may name a schema. @throws StratigraphError "DRIVER_MISSING" */
export async function openPool(url: string) {
  const { connection, schema } = withoutSchema(url);
  const pool = await withDriver(
    "The official PostgresSaver",
    ["pg"],
    (driver: { readonly Pool: new (options: object) => Pool }) =>
      new driver.Pool({ connectionString: connection, max: 4, connectionTimeoutMillis: longestConnectMs }),
  );
  // A connection that idles may break; the next query gets another one.
  pool.on("error", () => undefined);
  return { pool, schema, close: once(() => pool.end()) };
}

/** A connection string of pg, and the schema that its query named. @throws InvalidOptionError */
export function withoutSchema(url: string): { readonly connection: string; readonly schema: string } {
  if (!URL.canParse(url))
    throw new InvalidOptionError(
      "url",
      "text that is no URL",
      "Write official+postgresql://user:password@host/database.",
    );
  const parsed = new URL(url);
  const schema = parsed.searchParams.get("schema") ?? "public";
  parsed.searchParams.delete("schema");
  return { connection: parsed.href, schema };
}

type Database = SqliteDatabase & { close(): unknown };
type OpenDatabase = new (path: string, options?: object) => Database;

/** Opens a file of SQLite for reading only. @throws InvalidOptionError; StratigraphError "DRIVER_MISSING" */
export async function openSqlite(path: string) {
  if (!existsSync(path)) throw new InvalidOptionError("url", path, "There is no such file.");
  const database = await withDriver(
    "The official SqliteSaver",
    ["better-sqlite3", "node:sqlite", "libsql"],
    (driver: { readonly default: OpenDatabase; readonly DatabaseSync?: OpenDatabase }) =>
      driver.DatabaseSync === undefined
        ? new driver.default(path, { readonly: true })
        : new driver.DatabaseSync(path, { readOnly: true }),
  );
  return { database, close: once(async () => void database.close()) };
}

/** Opens a file of SQLite for the official SqliteSaver, or creates it. @throws StratigraphError "DRIVER_MISSING" */
export async function openSqliteForWriting(path: string): Promise<Database> {
  return await withDriver(
    "The official SqliteSaver",
    ["better-sqlite3", "libsql"],
    (driver: { readonly default: OpenDatabase }) => new driver.default(path),
  );
}

interface Ioredis {
  call(...args: string[]): Promise<unknown>;
  on(event: "error", listener: (error: Error) => void): unknown;
  disconnect(): void;
  quit(): Promise<unknown>;
}

/** Sends commands to a Redis. @throws StratigraphError "DRIVER_MISSING" */
export async function openRedis(url: string) {
  const client = await withDriver(
    "The official RedisSaver",
    ["ioredis"],
    (driver: { readonly Redis: new (url: string, options: object) => Ioredis }) =>
      new driver.Redis(url, { maxRetriesPerRequest: 3 }),
  );
  // The error of a failed command says only how often it was tried. Without a listener ioredis prints errors.
  let last: Error | undefined;
  client.on("error", (error) => (last = error));
  return {
    command: async (...args: [string, ...string[]]) => {
      try {
        return await client.call(...args);
      } catch (error) {
        throw (error as Error).name === "MaxRetriesPerRequestError" ? (last ?? error) : error;
      }
    },
    close: once(async () => {
      try {
        await client.quit();
      } catch {
        client.disconnect();
      }
    }),
  };
}

interface MongoClient {
  db(): MongoDatabase;
  close(): Promise<void>;
}

/** A client of the database that a URL names. @throws StratigraphError "DRIVER_MISSING" */
export async function openMongo(url: string) {
  const client = await withDriver(
    "The official MongoDBSaver",
    ["mongodb"],
    (driver: { readonly MongoClient: new (url: string, options: object) => MongoClient }) =>
      new driver.MongoClient(url, { serverSelectionTimeoutMS: longestConnectMs }),
  );
  return { client, close: once(() => client.close()) };
}

/** Runs `close` at the first call only. */
export function once(close: () => Promise<void>): () => Promise<void> {
  let closed: Promise<void> | undefined;
  return () => (closed ??= close());
}
