import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { checkOptions, type OptionNames } from "@stratigraph/core/internal";
import type { ThreadSource } from "./contract/source.ts";
import { schemeOf, unknownScheme } from "./addresses.ts";
import { openMongo, openPool, openRedis, openSqlite } from "./drivers.ts";
import { compressionOf } from "./file/compression.ts";
import { fileSource } from "./sources/fileSource.ts";
import { mongoSource } from "./sources/mongoSource.ts";
import { postgresSource } from "./sources/postgresSource.ts";
import { redisSource } from "./sources/redisSource.ts";
import { sqliteSource } from "./sources/sqliteSource.ts";

/** Options of {@link openSource} and {@link openTarget}. */
export interface OpenOptions {
  /** The serializer of values. Default: Stratigraph's own. Pass the saver's if it has registered types. */
  readonly serde?: SerializerProtocol | undefined;
  /** The folder that relative paths of files start from. Default: the current folder of the process. */
  readonly cwd?: string | undefined;
}

/** The names of {@link OpenOptions}. */
export const openNames: OptionNames<OpenOptions> = { serde: true, cwd: true };

/**
 * Opens the source that a URL names. Close it afterwards.
 *
 * - `official+postgresql://user:password@host/database?schema=public`: the tables of the official PostgresSaver
 * - `sqlite:./checkpoints.sqlite`: the file of the official SqliteSaver
 * - `official+redis://host:6379`, `official+rediss://…`: the keys of the official RedisSaver
 * - `mongodb://host/database`, `mongodb+srv://…`: the collections of the official MongoDBSaver
 * - `threads.jsonl`, `threads.jsonl.gz`, `threads.jsonl.zst`: a file that `exportThreads` wrote
 *
 * @throws InvalidOptionError; StratigraphError "DRIVER_MISSING" that names the package to install
 */
export async function openSource(url: string, options: OpenOptions = {}): Promise<ThreadSource> {
  checkOptions("openSource", options, openNames);
  const place = schemeOf(url, options.cwd);
  const { scheme, rest } = place;
  switch (scheme) {
    case "official+postgresql":
    case "official+postgres": {
      const { pool, schema, close } = await openPool(rest);
      return postgresSource({ pool, schema, serde: options.serde, close });
    }
    case "sqlite": {
      const { database, close } = await openSqlite(rest);
      return sqliteSource({ database, serde: options.serde, close });
    }
    case "official+redis":
    case "official+rediss": {
      const { command, close } = await openRedis(rest);
      return redisSource({ command, serde: options.serde, close });
    }
    case "mongodb":
    case "mongodb+srv": {
      const { client, close } = await openMongo(rest);
      return mongoSource({ database: client.db(), serde: options.serde, close });
    }
    case "file":
      compressionOf(rest);
      return fileSource({ path: rest, serde: options.serde });
    default:
      throw unknownScheme("source", place);
  }
}
