export type { Executor, PgPool, PgQuery, PgResult } from "./client.ts";
export type {
  DatabaseOptions,
  EmbeddedOptions,
  PgliteOptions,
  PostgresOptions,
  PostgresSaverOptions,
  SetupSqlOptions,
} from "./options.ts";
export { pglite, postgres, PostgresSaver } from "./postgresSaver.ts";
export { PostgresTier } from "./postgresTier.ts";
export type { SetupOptions } from "./setUp.ts";
export { setupSql } from "./statements.ts";
