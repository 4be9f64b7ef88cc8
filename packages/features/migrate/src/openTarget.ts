import type { BaseCheckpointSaver, SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { checkOptions } from "@stratigraph/core/internal";
import type { ThreadTarget } from "./contract/target.ts";
import { schemeOf, unknownScheme } from "./addresses.ts";
import { once, openMongo, openPool, openRedis, openSqlite, openSqliteForWriting } from "./drivers.ts";
import { withDriver } from "./importDriver.ts";
import { openNames, type OpenOptions } from "./openSource.ts";
import { mongoSource } from "./sources/mongoSource.ts";
import { postgresSource } from "./sources/postgresSource.ts";
import { redisSource } from "./sources/redisSource.ts";
import { reaching, throughSaver } from "./sources/sourceError.ts";
import { sqliteSource } from "./sources/sqliteSource.ts";
import { fileTarget } from "./targets/fileTarget.ts";
import { saverTarget } from "./targets/saverTarget.ts";

type Serde = SerializerProtocol | undefined;

/**
 * Opens the target that a URL names, with the same URLs as `openSource`. The savers are the official ones from the project's own
 * packages; they create the tables they need. Close it afterwards.
 * @throws InvalidOptionError; StratigraphError "DRIVER_MISSING" that names the package to install; what a source throws if its
 * storage can't be used
 */
export async function openTarget(url: string, options: OpenOptions = {}): Promise<ThreadTarget> {
  checkOptions("openTarget", options, openNames);
  const place = schemeOf(url, options.cwd);
  switch (place.scheme) {
    case "official+postgresql":
    case "official+postgres":
      return await toPostgres(place.rest, options.serde);
    case "sqlite":
      return await toSqlite(place.rest, options.serde);
    case "official+redis":
    case "official+rediss":
      return await toRedis(place.rest, options.serde);
    case "mongodb":
    case "mongodb+srv":
      return await toMongo(place.rest, options.serde);
    case "file":
      return fileTarget({ path: place.rest, serde: options.serde });
    default:
      throw unknownScheme("target", place);
  }
}

interface PostgresPackage {
  readonly PostgresSaver: new (
    pool: object,
    serde: Serde,
    options: { schema: string },
  ) => BaseCheckpointSaver & { setup(): Promise<void> };
}

async function toPostgres(url: string, serde: Serde): Promise<ThreadTarget> {
  const { pool, schema, close } = await openPool(url);
  return await orClosed(close, async () => {
    const saver = await withDriver(
      "The official PostgresSaver",
      ["@langchain/langgraph-checkpoint-postgres"],
      (driver: PostgresPackage) => new driver.PostgresSaver(pool, serde, { schema }),
    );
    await throughSaver(saver, () => saver.setup());
    return saverTarget(saver, { source: postgresSource({ pool, schema, serde }), close });
  });
}

/** Opens a target. If that fails, closes what was opened for it. */
async function orClosed(
  close: () => Promise<void>,
  open: () => Promise<ThreadTarget>,
): Promise<ThreadTarget> {
  try {
    return await open();
  } catch (error) {
    await close();
    throw error;
  }
}

interface SqlitePackage {
  readonly SqliteSaver: new (database: unknown, serde: Serde) => BaseCheckpointSaver;
}

async function toSqlite(path: string, serde: Serde): Promise<ThreadTarget> {
  const database = await openSqliteForWriting(path);
  const closing: (() => Promise<void>)[] = [async () => void database.close()];
  const close = once(async () => {
    for (const each of closing) await each();
  });
  return await orClosed(close, async () => {
    const saver = await withDriver(
      "The official SqliteSaver",
      ["@langchain/langgraph-checkpoint-sqlite"],
      (driver: SqlitePackage) => new driver.SqliteSaver(database, serde),
    );
    // Its first call makes its tables.
    await throughSaver(saver, () => saver.getTuple({ configurable: { thread_id: "" } }));
    const reading = await openSqlite(path);
    closing.unshift(reading.close);
    const source = sqliteSource({ database: reading.database, serde });
    return saverTarget(saver, { source, branches: true, close });
  });
}

interface RedisPackage {
  readonly RedisSaver: {
    fromUrl(url: string): Promise<BaseCheckpointSaver & { end(): Promise<void> }>;
  };
}

async function toRedis(url: string, serde: Serde): Promise<ThreadTarget> {
  const { command, close } = await openRedis(url);
  return await orClosed(close, async () => {
    // The official saver's client tries to connect for ever.
    await reaching("the official RedisSaver", () => command("PING"));
    const saver = await withDriver(
      "The official RedisSaver",
      ["@langchain/langgraph-checkpoint-redis"],
      (driver: RedisPackage) => driver.RedisSaver.fromUrl(url),
    );
    return saverTarget(saver, {
      source: redisSource({ command, serde }),
      close: once(async () => {
        await close();
        await saver.end();
      }),
    });
  });
}

interface MongoPackage {
  readonly MongoDBSaver: new (
    options: { client: unknown },
    serde: Serde,
  ) => BaseCheckpointSaver & { setup(): Promise<unknown> };
}

async function toMongo(url: string, serde: Serde): Promise<ThreadTarget> {
  const { client, close } = await openMongo(url);
  return await orClosed(close, async () => {
    const saver = await withDriver(
      "The official MongoDBSaver",
      ["@langchain/langgraph-checkpoint-mongodb"],
      (driver: MongoPackage) => new driver.MongoDBSaver({ client }, serde),
    );
    await throughSaver(saver, () => saver.setup());
    const source = mongoSource({ database: client.db(), serde });
    return saverTarget(saver, { source, branches: true, close });
  });
}
