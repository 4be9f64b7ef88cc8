import { InvalidOptionError, type Duration } from "@stratigraph/core";
import { shownName, unknownParameter } from "@stratigraph/core/internal";
import { redisNames, type RedisOptions } from "./redisOptions.ts";

/** A parsed Redis URL. */
export interface RedisUrl {
  /** The URL without our options, for ioredis. */
  readonly server: string;
  /** The number of the database; 0 if the URL names none. */
  readonly database: number;
  /** Our options, as in `redis://host:6379?ttl=15m`. Their values aren't checked yet. */
  readonly options: RedisOptions;
}

/** Parameters for ioredis: the IP version, and the database. */
const drivers: ReadonlySet<string> = new Set(["family", "db"]);

const advice = 'Pass one such as "redis://user:password@host:6379/0?ttl=15m", or "rediss://…" for TLS.';

/** Parses a URL. Errors never show it, because it may contain a password. @throws InvalidOptionError */
export function parseRedisUrl(text: unknown): RedisUrl {
  if (typeof text !== "string")
    throw new InvalidOptionError("url", text === null ? "null" : typeof text, advice);
  // The path of a Unix socket, which ioredis takes unchanged.
  if (text.startsWith("/")) return { server: text, database: 0, options: {} };
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== "redis:" && url.protocol !== "rediss:"))
    throw new InvalidOptionError("url", text === "" ? "empty text" : "text that is no Redis URL", advice);
  if (!isDecodable(url.username) || !isDecodable(url.password))
    throw new InvalidOptionError(
      "url",
      "a user or password with a % that begins no escape",
      "Encode both with encodeURIComponent: % is %25.",
    );
  const params = url.searchParams;
  for (const name of params.keys()) {
    if (Object.hasOwn(redisNames, name) || drivers.has(name)) continue;
    const own = Object.keys(redisNames);
    throw unknownParameter(name, { field: "url", query: url.search, own, drivers });
  }
  const path = url.pathname.replace(/^\//, "");
  const database = path === "" ? (params.get("db") ?? "0") : path;
  if (!/^\d+$/.test(database))
    throw new InvalidOptionError(
      "url",
      `the database ${shownName(database)}`,
      "Redis numbers its databases: redis://host:6379/0.",
    );
  const kept = new URLSearchParams([...params].filter(([name]) => !Object.hasOwn(redisNames, name)));
  const [server] = text.split("?", 1) as [string];
  return {
    server: kept.size === 0 ? server : `${server}?${kept}`,
    database: Number(database),
    options: {
      ttl: valueOf(params, "ttl") as Duration | "never" | undefined,
      refreshOnRead: flag(params, "refreshOnRead"),
      prefix: valueOf(params, "prefix"),
      commandTimeout: valueOf(params, "commandTimeout") as Duration | undefined,
    },
  };
}

/** Whether a part of a URL has only valid escapes. The driver decodes it, and would throw. */
function isDecodable(part: string): boolean {
  try {
    decodeURIComponent(part);
    return true;
  } catch {
    return false;
  }
}

function valueOf(params: URLSearchParams, name: keyof RedisOptions): string | undefined {
  return params.get(name) ?? undefined;
}

function flag(params: URLSearchParams, name: keyof RedisOptions): boolean | undefined {
  const found = params.get(name);
  if (found === null) return undefined;
  if (found === "true" || found === "false") return found === "true";
  throw new InvalidOptionError(`url, ${name}`, found, "Write true or false.");
}
