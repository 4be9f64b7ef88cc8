import type { UrlNames } from "./urlOptions.ts";

/** Settings of a pool that a connection string may have. pg takes them from the options of a `pg.Pool` alone. */
export interface PostgresPoolSettings {
  readonly max?: number;
  readonly min?: number;
  readonly idleTimeoutMillis?: number;
  readonly connectionTimeoutMillis?: number;
  readonly maxUses?: number;
  readonly maxLifetimeSeconds?: number;
  readonly allowExitOnIdle?: boolean;
  readonly keepAlive?: boolean;
  readonly keepAliveInitialDelayMillis?: number;
  /** libpq's name of connectionTimeoutMillis, in seconds. */
  readonly connect_timeout?: number;
}

export const postgresPoolNames: UrlNames<PostgresPoolSettings> = {
  max: "count",
  min: "count",
  idleTimeoutMillis: "count",
  connectionTimeoutMillis: "count",
  maxUses: "count",
  maxLifetimeSeconds: "count",
  allowExitOnIdle: "flag",
  keepAlive: "flag",
  keepAliveInitialDelayMillis: "count",
  connect_timeout: "count",
};

/** Parameters of connection strings: settings of the pool, and what pg and libpq know (PostgreSQL's manual, 34.1.2; pg-connection-string). */
export const postgresParameters: ReadonlySet<string> = new Set([
  ...Object.keys(postgresPoolNames),
  "application_name",
  "channel_binding",
  "client_encoding",
  "database",
  "db",
  "dbname",
  "encoding",
  "fallback_application_name",
  "gssencmode",
  "host",
  "hostaddr",
  "idle_in_transaction_session_timeout",
  "keepalives",
  "keepalives_count",
  "keepalives_idle",
  "keepalives_interval",
  "lock_timeout",
  "options",
  "passfile",
  "password",
  "port",
  "query_timeout",
  "replication",
  "require_auth",
  "ssl",
  "ssl_max_protocol_version",
  "ssl_min_protocol_version",
  "sslcert",
  "sslcompression",
  "sslcrl",
  "sslkey",
  "sslmode",
  "sslnegotiation",
  "sslpassword",
  "sslrootcert",
  "sslsni",
  "statement_timeout",
  "target_session_attrs",
  "tcp_user_timeout",
  "uselibpqcompat",
  "user",
]);
