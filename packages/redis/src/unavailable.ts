import { StratigraphError } from "@stratigraph/core";

/** What a server or client says, and what a person can do about it. First match counts. */
const advice: readonly (readonly [RegExp, string])[] = [
  [
    /\bOOM\b|maxmemory/,
    "It has reached maxmemory and its policy evicts nothing: raise maxmemory, or set maxmemory-policy to allkeys-lru where Redis is only the hot tier.",
  ],
  [
    /WRONGPASS|NOAUTH|invalid password|without any password/i,
    "It refuses this user or password: check the URL or the client's username and password.",
  ],
  [
    /DB index|SELECT is not allowed/i,
    "The URL names a database that isn't there: the server's setting databases says how many there are, a cluster has one.",
  ],
  [
    /NOPERM/,
    "This user may not run the commands needed: allow it the keys under the prefix, and @read, @write and @scripting.",
  ],
  [
    /\b(MOVED|CROSSSLOT)\b/,
    "This is a Redis Cluster: pass a Cluster client instead of one to a single server.",
  ],
  [
    /\b(READONLY|MASTERDOWN)\b/,
    "This server is a replica: connect to the primary. After a failover this ends by itself.",
  ],
  [
    /CLUSTERDOWN|TRYAGAIN|ClusterAllFailed/,
    "The cluster has no master for some slots: after a failover this ends by itself, otherwise restore the lost nodes.",
  ],
  [/\bLOADING\b/, "It is loading its data after a restart: this ends by itself."],
  [/\bBUSY\b/, "Another script holds it up: find it with SLOWLOG and stop it with SCRIPT KILL."],
  [
    /\b(MISCONF|NOREPLICAS)\b/,
    "It refuses writes because it can't save or replicate them: look into its log.",
  ],
  [
    /WRONGTYPE|STRATIGRAPHKEY/,
    "A key under this prefix belongs to something else: use a keyPrefix of your own.",
  ],
  [
    /unknown command|eval.*not allowed/i,
    "It lacks a command that is needed: use Redis 6.2 or later, Valkey, or a compatible service with Lua scripts.",
  ],
];

/** The error that a failed command becomes. */
export function unavailable(cause: unknown): StratigraphError {
  if (StratigraphError.is(cause)) return cause;
  const said = saidBy(cause);
  const [, what] = advice.find(([pattern]) => pattern.test(said)) ?? [];
  return new StratigraphError(
    "UNAVAILABLE",
    `Redis can't be used: ${said}. ${what ?? "Check that it is up and can be reached from here; the saver tries again with the next call."}`,
    { tier: "redis" },
    cause,
  );
}

/** The error that a command without an answer becomes. */
export function noAnswer(timeoutMs: number, last: Error | undefined): StratigraphError {
  if (last !== undefined) return unavailable(last);
  return new StratigraphError(
    "UNAVAILABLE",
    `Redis can't be used: it gave no answer within ${timeoutMs} ms. It hangs, or it can't be reached; a write that was under ` +
      `way may still be done. The saver tries again with the next call; the option commandTimeout sets this limit.`,
    { tier: "redis", timeoutMs },
  );
}

function saidBy(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  // ioredis names only the last step ("max retries per request"); why a cluster node failed is one level deeper.
  const { lastNodeError } = cause as { lastNodeError?: unknown };
  const deeper = lastNodeError instanceof Error ? lastNodeError.message : "";
  const said = cause.message === "" ? cause.name : cause.message;
  return deeper === "" ? said.replace(/\.$/, "") : `${said.replace(/\.$/, "")}: ${deeper}`;
}
