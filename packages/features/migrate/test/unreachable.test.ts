import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PostgresSaver as OfficialSaver } from "@langchain/langgraph-checkpoint-postgres";
import { MemorySaver, type ErrorCode } from "@stratigraph/core";
import {
  importThreads,
  openSource,
  openTarget,
  readThrough,
  saverSource,
  type MongoDatabase,
} from "@stratigraph/migrate";
import { mongoSource } from "@stratigraph/migrate/internal";
import { createCheckpointer } from "stratigraph";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { available } from "../../../../test/servers/available.ts";
import { startRedis } from "../../../../test/servers/redis.ts";
import { freshDatabase, type FreshDatabase } from "../../../../test/servers/shared.ts";
import { openRedis } from "../src/drivers.ts";
import { withDriver } from "../src/importDriver.ts";

// Databases of other savers that can't be used: the errors say which, why and what to do, and never a password.

let folder: string;
let database: FreshDatabase;
/** A port that nothing listens at. */
let port: number;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "stratigraph-unreachable-"));
  database = await freshDatabase();
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  ({ port } = server.address() as { port: number });
  await new Promise((resolve) => server.close(resolve));
});

afterAll(async () => {
  await database?.drop();
  rmSync(folder, { recursive: true, force: true });
});

/** How an import from a URL fails. */
async function failure(url: string): Promise<Error & { code?: unknown; retryable?: unknown }> {
  const source = await openSource(url, { cwd: folder });
  try {
    return await importThreads(source, new MemorySaver()).then(
      () => expect.unreachable("it should have failed"),
      (error: Error) => error,
    );
  } finally {
    await source.close();
  }
}

const gone: readonly [saver: string, scheme: string][] = [
  ["PostgresSaver", "official+postgresql"],
  ["RedisSaver", "official+redis"],
];

describe.each(gone)("the official %s", (saver, scheme) => {
  const url = (): string => `${scheme}://someone:secret@127.0.0.1:${port}/app`;

  test("as a source that nothing answers at", async () => {
    const error = await failure(url());
    expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: true });
    expect(error.message).toMatch(new RegExp(`^The official ${saver} can't be used: .*ECONNREFUSED`));
    expect(error.message).toContain("Check the URL");
    expect(error.message).not.toContain("secret");
  });

  test("as a target that nothing answers at", { timeout: 30_000 }, async () => {
    const opening = openTarget(url());
    await expect(opening).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await expect(opening).rejects.toThrow(saver);
    await expect(opening).rejects.not.toThrow("secret");
  });

  test("behind readThrough", async () => {
    const checkpointer = await createCheckpointer({ memory: true, readThrough: url() });
    onTestFinished(() => checkpointer.end());
    const config = { configurable: { thread_id: "ada" } };
    const read = checkpointer.getTuple(config);
    await expect(read).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await expect(read).rejects.toThrow(`The official ${saver}`);
  });
});

test("a database without the official saver's tables, and one that isn't there", async () => {
  const cases: [url: string, code: ErrorCode, says: RegExp][] = [
    [database.url, "NOT_SET_UP", /tables aren't there: .*\?schema=/],
    [`${database.url}?schema=elsewhere`, "NOT_SET_UP", /tables aren't there/],
    [`${database.url}_gone`, "NOT_SET_UP", /database doesn't exist/],
  ];
  for (const [url, code, says] of cases) {
    const error = await failure(`official+${url}`);
    expect(error).toMatchObject({ code });
    expect(error.message).toMatch(says);
  }
});

test("files that aren't the official SqliteSaver's", async () => {
  writeFileSync(
    join(folder, "text.sqlite"),
    "no database at all, but long enough to have had a header".repeat(20),
  );
  writeFileSync(join(folder, "empty.sqlite"), "");
  expect(await failure("sqlite:text.sqlite")).toMatchObject({ code: "MISCONFIGURED" });
  expect(await failure("sqlite:empty.sqlite")).toMatchObject({ code: "NOT_SET_UP" });
});

test.skipIf(!available.redis)("a Redis that lacks RedisJSON, and one that wants a password", async () => {
  const server = await startRedis();
  onTestFinished(() => server.stop());
  const { command, close } = await openRedis(server.url);
  await command("SET", "checkpoint:x", "1");
  expect(await failure(`official+${server.url}`)).toMatchObject({ code: "MISCONFIGURED" });
  await command("CONFIG", "SET", "requirepass", "right");
  const error = await failure(`official+${server.url.replace("://", "://:secret@")}`);
  expect(error).toMatchObject({ code: "ACCESS_DENIED" });
  expect(JSON.stringify([error.message, error.cause])).not.toContain("secret");
  await close();
});

test("the official MongoDBSaver's database, by MongoDB's own driver", async () => {
  const mongo = createRequire(import.meta.resolve("@langchain/langgraph-checkpoint-mongodb"));
  const { MongoClient } = mongo("mongodb") as {
    MongoClient: new (url: string, options: object) => { db(): MongoDatabase; close(): Promise<void> };
  };
  const url = `mongodb://someone:secret@127.0.0.1:${port}/app`;
  const client = new MongoClient(url, { serverSelectionTimeoutMS: 200 });
  const source = mongoSource({ database: client.db(), close: () => client.close() });
  onTestFinished(() => source.close());
  const importing = importThreads(source, new MemorySaver());
  await expect(importing).rejects.toMatchObject({ code: "UNAVAILABLE" });
  await expect(importing).rejects.toThrow(/^The official MongoDBSaver can't be used: .*ECONNREFUSED/);
  await expect(importing).rejects.not.toThrow("secret");
});

test("a driver that isn't installed is told with the command that installs it", async () => {
  const opening = withDriver("The official NobodySaver", ["@stratigraph/nobody", "nobody-2"], () => "found");
  const missing = { code: "DRIVER_MISSING", data: { package: "@stratigraph/nobody" } };
  await expect(opening).rejects.toMatchObject(missing);
  await expect(opening).rejects.toThrow(
    "The official NobodySaver needs the package @stratigraph/nobody. Install it: npm install @stratigraph/nobody",
  );
});

test("any saver whose database is gone", async () => {
  const official = OfficialSaver.fromConnString(`postgresql://someone:secret@127.0.0.1:${port}/app`);
  onTestFinished(() => official.end());
  const source = saverSource(official);
  const unavailable = { code: "UNAVAILABLE", data: { source: "PostgresSaver" } };
  await expect(importThreads(source, new MemorySaver())).rejects.toMatchObject(unavailable);
  const saver = new MemorySaver();
  readThrough(saver, source);
  await expect(saver.getTuple({ configurable: { thread_id: "ada" } })).rejects.toMatchObject(unavailable);
});
