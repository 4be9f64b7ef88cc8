export type { Executor, PgPool, PgQuery, PgResult } from "./client.ts";
export {
  pglite,
  postgres,
  PostgresSaver,
  type PostgresOptions,
  type PostgresSaverOptions,
} from "./postgresSaver.ts";
export { PostgresTier } from "./postgresTier.ts";
export type { SetupOptions } from "./setUp.ts";
export { setupSql } from "./statements.ts";
