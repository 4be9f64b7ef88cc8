import { InvalidOptionError } from "@stratigraph/core";
import {
  postgresParameters,
  takeOptions,
  type UrlNames,
  type UrlWithOptions,
} from "@stratigraph/core/internal";
import type { DatabaseOptions, PostgresOptions } from "@stratigraph/postgres";
import type { BoundedMemoryOptions } from "@stratigraph/tiered";

/** The schemes of URLs that name a storage. */
export type Scheme = "memory" | "pglite" | "postgresql" | "redis" | "s3" | "file";

const schemes: Readonly<Record<string, Scheme>> = {
  memory: "memory",
  pglite: "pglite",
  postgres: "postgresql",
  postgresql: "postgresql",
  redis: "redis",
  rediss: "redis",
  s3: "s3",
  file: "file",
};

const examples =
  "memory:, pglite:./folder, postgresql://host/database, redis://host:6379, s3://bucket/prefix, file:./folder";

const databaseNames: UrlNames<DatabaseOptions> = {
  schema: "text",
  statementTimeout: "text",
  maxCalls: "count",
};
const postgresNames: UrlNames<PostgresOptions> = { ...databaseNames, retryFor: "text" };
const memoryNames: UrlNames<BoundedMemoryOptions> = { maxSize: "text", forgetAfter: "text" };

/** The scheme of a URL. @throws InvalidOptionError if it names no storage; the error shows only the scheme */
export function schemeOf(field: string, url: string): Scheme {
  const found = /^([a-z0-9+]+):/i.exec(url)?.[1]?.toLowerCase();
  const scheme = found !== undefined && Object.hasOwn(schemes, found) ? schemes[found] : undefined;
  const isServer = scheme === "postgresql" || scheme === "redis" || scheme === "s3";
  // With only one slash, the host would be parsed as a path, and the driver would connect to its default host.
  if (isServer && !/^[^:]+:\/\//.test(url))
    throw new InvalidOptionError(
      field,
      `${found}:… without // behind the colon`,
      `Write ${found}://${scheme === "s3" ? "bucket/prefix" : "host"}: what stands behind the two slashes is the ${scheme === "s3" ? "bucket" : "host"}.`,
    );
  if (scheme !== undefined) return scheme;
  // Show only the scheme: the URL may hold a password.
  const shown = found === undefined ? "text without a scheme" : `${found}:…`;
  throw new InvalidOptionError(field, shown, `Pass a tier, or a URL such as ${examples}.`);
}

/** Splits a PostgreSQL URL into our options and the URL without them. @throws InvalidOptionError */
export function postgresUrl(field: string, url: string): UrlWithOptions<PostgresOptions> {
  const found = takeOptions(field, url, postgresNames, postgresParameters);
  // Prisma writes schema=public into every URL, and means the application's tables.
  if (found.options.schema === "public") {
    const advice =
      'If this is the URL of another library, leave it out. To have the tables there, write the option schema: "public".';
    throw new InvalidOptionError(`${field}, schema`, "public", advice);
  }
  return found;
}

/** The folder and the options that a URL of an embedded database names. @throws InvalidOptionError */
export function pgliteUrl(field: string, url: string): { readonly path: string } & DatabaseOptions {
  const { server, options } = takeOptions(field, url, databaseNames);
  return { path: pathIn(field, server, "pglite:./.stratigraph"), ...options };
}

/** The folder that a URL of an archive names. @throws InvalidOptionError */
export function fileUrl(field: string, url: string): { readonly path: string } {
  const { server } = takeOptions(field, url, {});
  return { path: pathIn(field, server, "file:./archive") };
}

/**
 * The limits that a "memory:" URL names. Only a hot tier has limits: a tier that owns threads can't forget them.
 * @throws InvalidOptionError
 */
export function memoryUrl(field: string, url: string, isHot: boolean): BoundedMemoryOptions {
  const { server, options } = isHot ? takeOptions(field, url, memoryNames) : takeOptions(field, url, {});
  if (/^memory:(\/\/)?$/i.test(server)) return options;
  const example = isHot ? '"memory:?maxSize=256mb"' : '"memory:" alone';
  throw new InvalidOptionError(field, "memory: with more behind it", `Write ${example}.`);
}

function pathIn(field: string, url: string, example: string): string {
  const path = url.slice(url.indexOf(":") + 1).replace(/^\/\/(?=\/)/, "");
  if (path !== "") return path;
  throw new InvalidOptionError(field, url, `Name the folder, for example ${JSON.stringify(example)}.`);
}
