import { InvalidOptionError, type Duration, type SaverOptions } from "@stratigraph/core";
import {
  checkOptions,
  msOf,
  waitMsOf,
  saverOptionAdvice,
  saverOptionNames,
  type OptionAdvice,
  type OptionNames,
} from "@stratigraph/core/internal";
import type { RedisClient } from "./client.ts";
import { KeyNames } from "./keyNames.ts";
import { redisNames, type RedisOptions } from "./redisOptions.ts";
import { parseRedisUrl } from "./redisUrl.ts";

/** Options of a RedisSaver. */
export interface RedisSaverOptions extends SaverOptions, RedisOptions {}

/**
 * Where Redis is: a client that the caller opened and closes, the URL of a server, or URLs of some nodes of a cluster. Given URLs,
 * the tier opens a client itself, and `end()` closes it. The URL of a server may contain options: `redis://host:6379/0?ttl=15m`.
 */
export type RedisSource =
  | { readonly client: RedisClient; readonly url?: undefined; readonly cluster?: undefined }
  | { readonly url: string; readonly client?: undefined; readonly cluster?: undefined }
  | { readonly cluster: readonly ClusterNode[]; readonly client?: undefined; readonly url?: undefined };

/** A node of a cluster, in the form that LangGraph's RedisSaver takes. */
export interface ClusterNode {
  readonly url: string;
}

/** What to connect to. */
export type Server =
  | { readonly client: RedisClient }
  | { readonly url: string; readonly database: number }
  | { readonly nodes: readonly string[] };

/** Options with every default filled in. */
export interface ResolvedRedisOptions {
  /** 0 means that threads never expire. */
  readonly ttlMs: number;
  /** The time to live that a read sets; 0 means that reads leave it unchanged. */
  readonly refreshMs: number;
  readonly keys: KeyNames;
  readonly commandTimeoutMs: number;
  readonly server: Server;
}

export const redisSaverNames: OptionNames<RedisSaverOptions> = { ...redisNames, ...saverOptionNames };
export const sourceNames: OptionNames<RedisSource> = { client: true, url: true, cluster: true };

/** Advice on option names that belong to clients or to other savers. */
export function redisAdvice(options: unknown): OptionAdvice {
  const { defaultTTL } = Object(options) as { readonly defaultTTL?: unknown };
  const minutes = typeof defaultTTL === "number" && defaultTTL > 0 ? defaultTTL : 60;
  const ofClient = "It belongs to the client: pass one of ioredis, opened with it, as client.";
  return {
    ...saverOptionAdvice,
    // LangGraph's own saver counts in minutes.
    defaultTTL: `Write ttl: "${minutes}m".`,
    defaultTtl: `Write ttl: "${minutes}m".`,
    keyPrefix: "Write prefix.",
    rootNodes: "Write cluster, or use RedisSaver.fromCluster.",
    nodes: "Write cluster, or use RedisSaver.fromCluster.",
    timeout: "Write commandTimeout.",
    host: "Write url.",
    port: "Write url.",
    socket: "Write url.",
    password: ofClient,
    username: ofClient,
    tls: ofClient,
    db: ofClient,
  };
}

/** @throws InvalidOptionError */
export function resolveRedisOptions(options: RedisSource & RedisOptions): ResolvedRedisOptions {
  checkOptions("redis", options, { ...redisNames, ...sourceNames }, redisAdvice(options));
  const { server, options: inUrl } = serverOf(options);
  const {
    ttl = inUrl.ttl ?? "never",
    refreshOnRead = inUrl.refreshOnRead ?? true,
    prefix = inUrl.prefix ?? "stratigraph:",
    commandTimeout = inUrl.commandTimeout ?? "2s",
  } = options;
  if (typeof refreshOnRead !== "boolean")
    throw new InvalidOptionError("refreshOnRead", typeof refreshOnRead, "Pass true or false.");
  if (typeof prefix !== "string")
    throw new InvalidOptionError("prefix", typeof prefix, 'Pass a string, for example "stratigraph:".');
  const ttlMs = ttl === "never" ? 0 : positive("ttl", ttl);
  return {
    ttlMs,
    refreshMs: refreshOnRead ? ttlMs : 0,
    keys: new KeyNames(prefix),
    commandTimeoutMs: positive("commandTimeout", commandTimeout, waitMsOf),
    server,
  };
}

/** Whether a value is an ioredis client: whether it has the one method that is used. */
export function isClient(value: unknown): value is RedisClient {
  return (
    typeof value === "object" &&
    value !== null &&
    typeof (value as Partial<RedisClient>).callBuffer === "function"
  );
}

function serverOf(source: RedisSource | undefined): {
  readonly server: Server;
  readonly options: RedisOptions;
} {
  const { client, url, cluster } = source ?? {};
  const given = Object.entries({ client, url, cluster }).flatMap(([name, one]) =>
    one === undefined ? [] : [name],
  );
  if (given.length > 1)
    throw new InvalidOptionError(
      given[1]!,
      given.join(" and "),
      "Say once where Redis is: one of client, url and cluster.",
    );
  if (url !== undefined) {
    const { server, database, options } = parseRedisUrl(url);
    return { server: { url: server, database }, options };
  }
  if (cluster !== undefined) return { server: { nodes: nodesOf(cluster) }, options: {} };
  if (!isClient(client)) throw noClient("client", client);
  return { server: { client }, options: {} };
}

/** The error for a value that isn't an ioredis client. LangGraph's own saver takes a client of the package redis. */
export function noClient(field: string, found: unknown): InvalidOptionError {
  const isNodeRedis =
    typeof (found as { sendCommand?: unknown } | null | undefined)?.sendCommand === "function";
  return isNodeRedis
    ? new InvalidOptionError(
        field,
        "a client of the package redis",
        "Pass one of ioredis, or a url: it needs replies as bytes.",
      )
    : new InvalidOptionError(
        field,
        found === null ? "null" : typeof found,
        "Pass an ioredis client, or a url.",
      );
}

function nodesOf(cluster: unknown): readonly string[] {
  const example = 'Pass a list of nodes: [{ url: "redis://host:6379" }].';
  if (!Array.isArray(cluster) || cluster.length === 0)
    throw new InvalidOptionError(
      "cluster",
      Array.isArray(cluster) ? "an empty list" : typeof cluster,
      example,
    );
  return cluster.map((node: unknown, n) => {
    const url = (node as Partial<ClusterNode> | null | undefined)?.url;
    if (typeof url !== "string") throw new InvalidOptionError(`cluster[${n}]`, typeof node, example);
    const { server, database, options } = parseRedisUrl(url);
    if (database !== 0 || Object.values(options).some((option) => option !== undefined))
      throw new InvalidOptionError(
        `cluster[${n}]`,
        "a URL with a database or options",
        "A cluster has one database; pass options beside it.",
      );
    return server;
  });
}

function positive(field: string, value: Duration, toMs = msOf): number {
  const ms = Math.round(toMs(field, value));
  if (ms < 1) throw new InvalidOptionError(field, value, "Use a duration of at least 1ms, or leave it out.");
  return ms;
}
