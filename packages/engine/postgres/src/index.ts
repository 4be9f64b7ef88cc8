export type { Executor, PgPool, PgQuery, PgResult } from "./connection/client.ts";
export type {
  DatabaseOptions,
  EmbeddedOptions,
  PgliteOptions,
  PostgresOptions,
  PostgresSaverOptions,
  SetupSqlOptions,
} from "./options.ts";
export { pglite, postgres, PostgresSaver } from "./postgresSaver.ts";
export { ShardedTier } from "./shards/shardedTier.ts";
export { PostgresTier } from "./postgresTier.ts";
export type { SetupOptions } from "./schema/setUp.ts";
export { setupSql } from "./schema/statements.ts";
