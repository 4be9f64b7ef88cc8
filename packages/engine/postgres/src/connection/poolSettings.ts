import { InvalidOptionError } from "@stratigraph/core";
import {
  postgresParameters,
  postgresPoolNames,
  takeOptions,
  type PostgresPoolSettings,
} from "@stratigraph/core/internal";

/**
 * Splits a connection string into settings for a `pg.Pool` and the rest: with `?max=2` it means a pool of two connections.
 * @throws InvalidOptionError on a parameter that neither pg nor libpq knows, and on a value that isn't what is expected
 */
export function poolSettingsOf(
  field: string,
  url: string,
): { readonly server: string; readonly settings: Omit<PostgresPoolSettings, "connect_timeout"> } {
  const { server, options } = takeOptions(field, url, postgresPoolNames, postgresParameters);
  const { connect_timeout: seconds, ...settings } = options;
  if (settings.max === 0)
    throw new InvalidOptionError(`${field}, max`, 0, "A pool has one connection or more.");
  return {
    server,
    settings: { ...(seconds ? { connectionTimeoutMillis: seconds * 1000 } : {}), ...settings },
  };
}
