import { InvalidOptionError } from "@stratigraph/core";
import { postgres, type PgPool, type PostgresOptions, type ShardedTier } from "@stratigraph/postgres";
import { postgresUrl } from "./urls.ts";

/**
 * The tier over databases that a list of a config names.
 * @param field the option that has the list
 * @throws InvalidOptionError
 */
export function openShards(
  field: string,
  sources: readonly unknown[],
  options: PostgresOptions = {},
): ShardedTier {
  if (sources.length === 0)
    throw new InvalidOptionError(field, "an empty list", "Name every database that threads are spread over.");
  const shards = sources.map((source, n): string | PgPool => {
    const at = `${field}[${n}]`;
    if (typeof source === "object" && typeof (source as PgPool | null)?.query === "function")
      return source as PgPool;
    if (typeof source !== "string" || !/^postgres(ql)?:\/\//.test(source))
      throw new InvalidOptionError(
        at,
        typeof source === "string" ? "text that is no connection string" : typeof source,
        "Pass a connection string that begins with postgresql://.",
      );
    const { server, options: inUrl } = postgresUrl(at, source);
    const [name] = Object.keys(inUrl);
    if (name !== undefined)
      throw new InvalidOptionError(
        `${at}, ${name}`,
        "it in the URL of one of several databases",
        "They share their options: write it beside the list, or make the tier with postgres({ shards, … }).",
      );
    return server;
  });
  return postgres({ ...options, shards });
}
