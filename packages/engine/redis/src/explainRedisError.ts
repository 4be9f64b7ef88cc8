import { StratigraphError, type ErrorCode } from "@stratigraph/core";

/** The error's code, and what to do about it, by the message of the server or the client. The first match counts. */
const advice: readonly (readonly [pattern: RegExp, code: ErrorCode, sentence: string])[] = [
  [
    /\bOOM\b|maxmemory/,
    "STORAGE_FULL",
    "It has reached maxmemory and its policy evicts nothing: raise maxmemory, or set maxmemory-policy to allkeys-lru where Redis is only the hot tier.",
  ],
  [
    /WRONGPASS|NOAUTH|invalid password|without any password/i,
    "ACCESS_DENIED",
    "It refuses this user or password: check the URL or the client's username and password.",
  ],
  [
    /DB index|SELECT is not allowed/i,
    "MISCONFIGURED",
    "The URL names a database that isn't there: the server's setting databases says how many there are, a cluster has one.",
  ],
  [
    /NOPERM|user executing the script can't|ACL failure in script/,
    "ACCESS_DENIED",
    "This user may not run the commands needed: allow it the keys under the prefix, and @read, @write and @scripting.",
  ],
  [
    /cluster support disabled/,
    "MISCONFIGURED",
    "This is a single server: pass a Redis client or a url instead of a cluster.",
  ],
  [
    /\b(MOVED|CROSSSLOT)\b/,
    "MISCONFIGURED",
    "This is a Redis Cluster: pass a Cluster client instead of one to a single server.",
  ],
  [
    /\b(READONLY|MASTERDOWN)\b/,
    "UNAVAILABLE",
    "This server is a replica: connect to the primary. After a failover this ends by itself.",
  ],
  [
    /certificate|wrong version number|packet length too long|ERR_TLS|ERR_SSL/i,
    "MISCONFIGURED",
    "TLS can't be agreed on: use rediss:// where the server wants TLS and redis:// where it doesn't, and a client of your own where it has a certificate authority of its own.",
  ],
  [
    /CLUSTERDOWN|TRYAGAIN|ClusterAllFailed/,
    "UNAVAILABLE",
    "The cluster has no master for some slots: after a failover this ends by itself, otherwise restore the lost nodes.",
  ],
  [/\bLOADING\b/, "UNAVAILABLE", "It is loading its data after a restart: this ends by itself."],
  [
    /\bBUSY\b/,
    "UNAVAILABLE",
    "Another script holds it up: find it with SLOWLOG and stop it with SCRIPT KILL.",
  ],
  [
    /\b(MISCONF|NOREPLICAS)\b/,
    "UNAVAILABLE",
    "It refuses writes because it can't save or replicate them: look into its log.",
  ],
  [
    /WRONGTYPE/,
    "MISCONFIGURED",
    "A key under this prefix belongs to something else: use a prefix of your own.",
  ],
  [
    /unknown (redis )?command|eval.*not allowed/i,
    "MISCONFIGURED",
    "It lacks a command that is needed: use Redis 6.2 or later, Valkey, or a compatible service with Lua scripts.",
  ],
];

/** Messages about a damaged field: the scripts' own, and those of Lua and Redis if a script didn't notice the damage. */
const damage = /STRATIGRAPHDAMAGED (.*) STRATIGRAPHEND/;
const luaOfDamage =
  /attempt to [a-z]+ |bad argument #|hash value is not an integer|unfinished (capture|string)/;

/** The error for a script that met a damaged field; undefined for other failures. `ofThread` adds the thread later. */
function damageIn(said: string, cause: unknown): StratigraphError | undefined {
  const field =
    damage.exec(said)?.[1] ?? (luaOfDamage.test(said) ? `a field is damaged (${said})` : undefined);
  if (field === undefined) return undefined;
  const message = `What Redis holds isn't what was put: ${field}. Restore the key from a backup.`;
  return new StratigraphError("CORRUPT", message, { tier: "redis", field }, cause);
}

/** Turns the error of a failed command into one that says what to do. */
export function explainRedisError(cause: unknown): StratigraphError {
  if (StratigraphError.is(cause)) return cause;
  const said = saidBy(cause);
  forgetArguments(cause);
  const damaged = damageIn(said, cause);
  if (damaged !== undefined) return damaged;
  const [, code, what] = advice.find(([pattern]) => pattern.test(said)) ?? [];
  return new StratigraphError(
    code ?? "UNAVAILABLE",
    `Redis can't be used: ${said}. ${what ?? "Check that it is up and can be reached from here; the saver tries again with the next call."}`,
    { tier: "redis" },
    cause,
  );
}

/**
 * The error for a command that got no answer.
 * @param bytes how many bytes were sent, or requested
 * @param last the last connection error that the client reported
 */
export function noAnswer(timeoutMs: number, bytes: number, last: Error | undefined): StratigraphError {
  if (last !== undefined) return explainRedisError(last);
  const what = bytes < 1 << 20 ? "" : ` to a command of ${Math.round(bytes / 1e6)} MB`;
  return new StratigraphError(
    "UNAVAILABLE",
    `Redis can't be used: it gave no answer${what} within ${timeoutMs} ms. It hangs, or it can't be reached; a write that was under ` +
      `way may still be done. The saver tries again with the next call; the option commandTimeout sets this limit.`,
    { tier: "redis", timeoutMs, bytes },
  );
}

/**
 * Removes a command's arguments from an error of ioredis. They may be the password of a login or the values of a checkpoint, and
 * a log of an error shows its causes, too.
 */
function forgetArguments(cause: unknown): void {
  if (!(cause instanceof Error)) return;
  const error = cause as { command?: { readonly name?: unknown }; lastNodeError?: unknown };
  if (error.command !== undefined) error.command = { name: error.command.name };
  forgetArguments(error.lastNodeError);
}

function saidBy(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  // ioredis names only the last step ("max retries per request"). Why a cluster node failed is in `lastNodeError`.
  const { lastNodeError } = cause as { lastNodeError?: unknown };
  const deeper = lastNodeError instanceof Error ? lastNodeError.message : "";
  const said = cause.message === "" ? cause.name : cause.message;
  return deeper === "" ? said.replace(/\.$/, "") : `${said.replace(/\.$/, "")}: ${deeper}`;
}
