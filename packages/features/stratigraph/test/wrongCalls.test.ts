import { existsSync } from "node:fs";
import { join } from "node:path";
import { tmpdir } from "node:os";
import {
  createCheckpointer,
  boundedMemory,
  MemoryTier,
  StratigraphError,
  type CheckpointerConfig,
  type PgliteConfig,
} from "stratigraph";
import { describe, expect, test } from "vitest";
import { expectRefused } from "../../../../test/expectRefused.ts";

// Configs that are wrong: each is refused with an error that names the field, says what was found and what to do, before anything is
// opened. Some are refused by the compiler too.

const warm = new MemoryTier();
const client = { callBuffer: async () => null };
const folder = join(tmpdir(), `stratigraph-never-made-${process.pid}`);
const unset = process.env["STRATIGRAPH_TEST_UNSET"];

test.each<[string, unknown, string, string]>([
  ["a variable that isn't set", undefined, "config", "If it comes from an environment variable"],
  ["a connection string of another database", "mysql://u:secret@h/d", "config", 'found "mysql:…"'],
  ["text that is no URL", "secret", "config", "text without a scheme"],
  ["a URL with one slash", "postgres:/h/secret", "config", "Write postgres://host"],
  [
    "an owner's URL with one slash",
    { postgres: "postgresql:/h/secret" },
    "postgres",
    "begins with postgresql://",
  ],
  ["a hot tier's URL without slashes", { hot: "redis:secret", warm }, "hot", "Write redis://host"],
  ["a bucket with one slash", { cold: "s3:/secret", warm }, "cold", "Write s3://bucket"],
  ["a list", [{ memory: true }], "config", "Pass an object"],
  ["an empty object", {}, "config", "one of memory, pglite, postgres, redis, warm"],
  ["a misspelt kind", { memroy: true }, "config", "Did you mean memory?"],
  ["options without a place", { conflict: "throw" }, "config", 'found "conflict"'],
  ["a URL without a kind", { url: "redis://u:secret@h" }, "config", "Say where checkpoints are kept"],
  ["a hot tier alone", { hot: "memory:" }, "config", "add warm"],
  [
    "an environment variable that isn't set",
    { postgres: unset },
    "postgres",
    'found "undefined". Pass a connection string',
  ],
  ["another one, with options", { redis: unset, ttl: "7d" }, "redis", "isn't set"],
  ["a stack's, too", { hot: "memory:", warm: unset }, "warm", "isn't set"],
  ["a folder's, too", { pglite: unset }, "pglite", "the path of a folder"],
  ["one that is empty", { postgres: "" }, "postgres", "empty text"],
  ["null", { postgres: null }, "postgres", 'found "null"'],
  ["two owners", { memory: true, postgres: "postgresql://h/d" }, "postgres", "one owner"],
  ["an owner beside a stack", { postgres: "postgresql://h/d", warm, hot: "memory:" }, "warm", "one owner"],
  ["a misspelt option", { memory: true, conflcit: "throw" }, "conflcit", "Did you mean conflict?"],
  ["an option of another kind", { pglite: folder, ttl: "1m" }, "ttl", "It is an option of { redis }"],
  ["an option of a tier beside a stack", { warm, hot: "memory:", ttl: "1m" }, "ttl", "belongs to one tier"],
  ["a schema beside a stack", { warm, schema: "mine" }, "schema", "belongs to one tier"],
  ["LangGraph's defaultTTL", { redis: "redis://h", defaultTTL: 60 }, "defaultTTL", 'ttl: "60m"'],
  ["schmea", { postgres: "postgresql://h/d", schmea: "mine" }, "schmea", "Did you mean schema?"],
  [
    "a secret where none belongs",
    { postgres: "postgresql://h/d", password: "secret" },
    "password",
    "no such option",
  ],
  [
    "retryFor beside a folder",
    { pglite: folder, retryFor: "1s" },
    "retryFor",
    "It is an option of { postgres }",
  ],
  ["a cold tier that isn't set", { warm, cold: unset, keepLast: 5 }, "cold", "delete checkpoints for good"],
  [
    "archiveAfter without a stack",
    { postgres: "postgresql://h/d", archiveAfter: "7d" },
    "archiveAfter",
    "It is an option of { warm }",
  ],
  ["deleteAfter in days", { postgres: "postgresql://h/d", deleteAfter: 90 }, "deleteAfter", "units"],
  ["deleteAfter of seconds", { memory: true, deleteAfter: "30s" }, "deleteAfter", 'at least "1m"'],
  ["keepLast 0", { redis: "redis://h", keepLast: 0 }, "keepLast", "1 or more"],
  ["trimAfter without a unit", { pglite: folder, trimAfter: "30" }, "trimAfter", "units"],
  ["maintenance of no thread", { memory: true, maxThreads: 0 }, "maxThreads", "1 or more"],
  ["a pause without a unit", { memory: true, pause: 5 }, "pause", "units"],
  ["maxAge", { postgres: "postgresql://h/d", maxAge: "90d" }, "maxAge", "Write deleteAfter"],
  ["every", { memory: true, every: "10m" }, "every", "startMaintenance"],
  ["memory that isn't true", { memory: "yes" }, "memory", "Pass true"],
  ["an empty folder", { pglite: "" }, "pglite", "path of a folder"],
  ["a URL for a folder", { pglite: "postgresql://u:secret@h/d" }, "pglite", "write postgres"],
  ["a folder that is no text", { pglite: true }, "pglite", "path of a folder"],
  ["a folder without its kind", { folder }, "config", "is { pglite }"],
  ["a folder for a connection string", { postgres: "./data" }, "postgres", "postgresql://"],
  ["a number for a pool", { postgres: 5432 }, "postgres", "pg.Pool"],
  ["no shards", { postgres: [] }, "postgres", "every database"],
  ["a shard that isn't set", { postgres: ["postgresql://h/d", undefined] }, "postgres[1]", "postgresql://"],
  ["a Redis among shards", { warm: ["redis://:secret@h"] }, "warm[0]", "postgresql://"],
  [
    "a schema for one of several databases",
    { postgres: ["postgresql://u:secret@h/d?schema=mine", "postgresql://h/e"] },
    "postgres[0], schema",
    "beside the list",
  ],
  ["no Redis URL", { redis: "localhost:6379" }, "redis", "redis://"],
  ["no Redis client", { redis: {} }, "redis", "ioredis"],
  [
    "a Redis URL with a parameter of no one",
    { redis: "redis://:secret@h?tll=1m" },
    "url, tll",
    "Did you mean ttl?",
  ],
  ["an unknown scheme", { warm: "mysql://root:secret@h/d" }, "warm", "postgresql://host"],
  ["a folder without a name", { warm: "pglite:" }, "warm", "pglite:./"],
  [
    "a folder with a parameter of no one",
    { warm: `pglite:${folder}?schmea=mine` },
    "warm, schmea",
    "Did you mean schema?",
  ],
  ["an archive without a name", { warm, cold: "file:" }, "cold", "file:./"],
  ["an archive with parameters", { warm, cold: `file:${folder}?cache=1` }, "cold, cache", "It has none."],
  ["memory with a size in its URL", { hot: "memory:256mb", warm }, "hot", "memory:?maxSize=256mb"],
  [
    "a bucket with a parameter of no one",
    { warm, cold: "s3://bucket?regoin=eu" },
    "url, regoin",
    "Did you mean region?",
  ],
  [
    "a hot Redis with a parameter of no one",
    { hot: "redis://h?expire=1m", warm },
    "url, expire",
    "nothing listens to",
  ],
  ["a hot Redis that expires at no time", { hot: "redis://h?ttl=none", warm }, "ttl", "units"],
  ["a time to drain without a unit", { warm, drainFor: 5 }, "drainFor", "units"],
  ["a hot tier that is none", { hot: [boundedMemory(), {}], warm }, "hot[1]", "Pass a tier"],
  ["one replica", { warm, replicas: "postgresql://u:secret@h/d" }, "replicas", "Pass a list"],
  ["a tier in two roles", { hot: warm, warm }, "warm", "same tier as hot"],
  ["a duration without a unit", { redis: "redis://h", ttl: "5" }, "ttl", "units"],
  ["setup that is no boolean", { memory: true, setup: "yes" }, "setup", "true or false"],
  ["an unknown policy", { memory: true, conflict: "merge" }, "conflict", '"branch"'],
  [
    "archiveAfer",
    { warm, cold: `file:${folder}`, archiveAfer: "7d" },
    "archiveAfer",
    "Did you mean archiveAfter?",
  ],
  ["archiveAfter without an archive", { warm, archiveAfter: "7d" }, "archiveAfter", "needs a cold tier"],
  [
    "how often, where what is asked",
    { warm, cold: `file:${folder}`, every: "10m" },
    "every",
    "startMaintenance",
  ],
  [
    "a misspelt option of a breaker",
    { warm, breaker: { timeOut: "1s" } },
    "breaker.timeOut",
    "Did you mean timeout?",
  ],
  ["a misspelt option of a queue", { warm, queue: { max: 5 } }, "queue.max", "Write maxCopies"],
  [
    "a key of the encryption alone",
    { memory: true, encryption: { key: "secret" } },
    "encryption.key",
    "Write keys",
  ],
])("refuses %s", async (_name, config, field, says) => {
  const error: unknown = await createCheckpointer(config as CheckpointerConfig).then(
    () => new Error("It was accepted."),
    (reason: unknown) => reason,
  );
  if (!StratigraphError.is(error, "INVALID_OPTION")) throw error;
  const { data, message } = error;
  expect(data["field"]).toBe(field);
  expect(message).toContain(`Invalid option ${field}: found `);
  expect(message).toContain(says);
  expect(message).not.toContain("secret");
  expect(JSON.stringify(data)).not.toContain("secret");
  expect(existsSync(folder)).toBe(false);
});

test("options after a URL, as createStore takes them, are refused: ignored, they would leave values unencrypted", async () => {
  const call = createCheckpointer as (...given: unknown[]) => Promise<unknown>;
  await expectRefused(
    () => call("memory:", { conflict: "throw" }),
    "options",
    "Write the options beside the URL",
  );
});

test("undefined is as good as absent", async () => {
  const none = { postgres: undefined, redis: undefined, warm: undefined, ttl: undefined };
  await createCheckpointer({ memory: true, ...none, setup: undefined, conflict: undefined });
  const config = { warm, hot: undefined, cold: undefined, replicas: undefined, archiveAfter: undefined };
  await createCheckpointer({ ...config, breaker: undefined, colour: undefined } as CheckpointerConfig);
});

describe("the compiler", () => {
  // Never called: that this file compiles is the test.
  const _never = async (): Promise<void> => {
    // @ts-expect-error two owners
    await createCheckpointer({ memory: true, postgres: "postgresql://h/d" });
    // @ts-expect-error an option of another kind
    await createCheckpointer({ postgres: "postgresql://h/d", ttl: "7d" });
    // @ts-expect-error an owner beside a stack
    await createCheckpointer({ redis: client, warm });
    // @ts-expect-error maintenance without a stack
    await createCheckpointer({ pglite: folder, archiveAfter: "7d" });
    // @ts-expect-error a misspelt option
    await createCheckpointer({ pglite: folder, schmea: "mine" });
    const config: PgliteConfig = { pglite: folder };
    await createCheckpointer(config);
    const any: CheckpointerConfig = { redis: client, ttl: "7d" };
    await createCheckpointer(any);
    (await createCheckpointer({ warm, cold: "file:x", archiveAfter: "7d" })).startMaintenance({
      every: "1h",
    });
  };

  test("refuses what can't be meant, and takes the rest", () => {
    expect(_never).toBeTypeOf("function");
  });
});

describe("a wait of over a day, which timers would take for no wait at all,", () => {
  const wait = "30d";
  const key = new Uint8Array(32);
  test.each<[string, () => unknown]>([
    [
      "encryption.keyTimeout",
      () =>
        createCheckpointer({
          memory: true,
          encryption: { keys: { a: key }, activeKey: "a", hashKey: key, keyTimeout: wait },
        }),
    ],
    ["pause", () => createCheckpointer({ memory: true, pause: wait })],
    ["statementTimeout", () => createCheckpointer({ pglite: folder, statementTimeout: wait })],
    ["commandTimeout", () => createCheckpointer({ redis: "redis://h", commandTimeout: wait })],
    ["breaker.timeout", () => createCheckpointer({ warm, breaker: { timeout: wait } })],
    ["breaker.coldTimeout", () => createCheckpointer({ warm, breaker: { coldTimeout: wait } })],
    ["url, timeout", () => createCheckpointer({ warm, cold: `s3://bucket?region=eu&timeout=${wait}` })],
    ["timeout", async () => (await createCheckpointer({ memory: true })).health({ timeout: wait })],
  ])("is refused as %s", async (field, work) => {
    await expectRefused(work, field, "at most 1d");
  });
});
