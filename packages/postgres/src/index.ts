export type { Executor, PgPool, PgQuery, PgResult } from "./client.ts";
export {
  pglite,
  postgres,
  PostgresSaver,
  type PostgresOptions,
  type PostgresSaverOptions,
} from "./postgresSaver.ts";
export { PostgresTier, type SetupOptions } from "./postgresTier.ts";
export { setupSql } from "./statements.ts";
