import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PostgresSaver as OfficialSaver } from "@langchain/langgraph-checkpoint-postgres";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { MemorySaver } from "@stratigraph/core";
import { importThreads, openSource, postgresSource, readThrough } from "@stratigraph/migrate";
import Database from "libsql";
import pg from "pg";
import { createCheckpointer, type PostgresSaver } from "stratigraph";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { freshDatabase, type FreshDatabase } from "../../../../test/servers/shared.ts";
import { history, say } from "./support/conversation.ts";

// What the official savers left behind isn't always whole. The tables are theirs, and rows are damaged by hand.

let database: FreshDatabase;
let pool: pg.Pool;
let official: OfficialSaver;

beforeAll(async () => {
  database = await freshDatabase();
  pool = new pg.Pool({ connectionString: database.url });
  // Connections that are still closing meet the end of the database.
  pool.on("error", () => undefined);
  official = new OfficialSaver(pool);
  await official.setup();
});

afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

/** The rows of the messages that a thread has as of its second turn. */
const lateMessages = "thread_id = $1 and channel = 'messages' and version::int > 4";

async function threads(ids: readonly string[]): Promise<void> {
  for (const id of ids) for (const text of ["One", "Two"]) await say(official, id, text);
}

/** Takes rows away, and gives a function that puts them back. */
async function takenAway(threadId: string): Promise<() => Promise<void>> {
  await pool.query("create table taken (like checkpoint_blobs)");
  await pool.query(`insert into taken select * from checkpoint_blobs where ${lateMessages}`, [threadId]);
  const { rowCount } = await pool.query(`delete from checkpoint_blobs where ${lateMessages}`, [threadId]);
  expect(rowCount).toBeGreaterThan(0);
  onTestFinished(async () => void (await pool.query("drop table taken")));
  return async () => void (await pool.query("insert into checkpoint_blobs select * from taken"));
}

test("a row that can't be decoded is told with its place, and the other threads come over", async () => {
  const ids = ["broken value", "broken write", "whole 1", "whole 2"];
  await threads(ids);
  await pool.query(
    `update checkpoint_blobs set blob = convert_to('{"secret": 4711', 'utf8') where ${lateMessages}`,
    ["broken value"],
  );
  await pool.query(
    "update checkpoint_writes set blob = '\\x00' where thread_id = $1 and channel = 'messages'",
    ["broken write"],
  );
  const saver = new MemorySaver();
  const report = await importThreads(postgresSource({ pool }), saver, { threadIds: ids });
  expect(report).toMatchObject({ complete: true, threads: 4, skipped: 0, checkpoints: 12 });
  expect(report.differences).toEqual([
    {
      threadId: "broken value",
      namespace: "",
      checkpointId: expect.any(String) as string,
      what: expect.stringMatching(
        /^the thread wasn't copied: the value of channel "messages" can't be decoded: text that is not JSON\. Repair/,
      ) as string,
    },
    expect.objectContaining({
      threadId: "broken write",
      what: expect.stringContaining('a pending write to channel "messages" can\'t be decoded') as string,
    }),
  ]);
  expect(JSON.stringify(report.differences)).not.toContain("4711");
  const there = (await saver.listThreads()).threads.map(({ threadId }) => threadId);
  expect(there.sort()).toEqual(["whole 1", "whole 2"]);
  for (const id of there) expect(await history(saver, id)).toEqual(await history(official, id));
});

test("so it is with a file of the official SqliteSaver", async () => {
  const folder = mkdtempSync(join(tmpdir(), "stratigraph-damaged-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = new Database(join(folder, "x.sqlite"));
  onTestFinished(() => void file.close());
  const sqlite = new SqliteSaver(file as never);
  for (const id of ["broken", "whole"]) await say(sqlite, id, "One");
  file.prepare("update checkpoints set metadata = 'no json' where thread_id = 'broken'").run();
  const source = await openSource("sqlite:x.sqlite", { cwd: folder });
  const saver = new MemorySaver();
  const report = await importThreads(source, saver);
  await source.close();
  expect(report).toMatchObject({ complete: true, threads: 2, checkpoints: 3 });
  expect(report.differences.map(({ threadId, what }) => [threadId, what])).toEqual([
    ["broken", expect.stringContaining("the metadata can't be decoded")],
  ]);
  expect(await history(saver, "whole")).toEqual(await history(sqlite, "whole"));
});

test("a value that the tables name and don't have is told once, and not taken for an absent one", async () => {
  await threads(["lacking"]);
  const { rowCount } = await pool.query(
    "select 1 from checkpoint_blobs where thread_id = 'lacking' and type = 'empty'",
  );
  expect(rowCount, "channels without a value have a row of their own").toBeGreaterThan(0);
  await takenAway("lacking");
  const saver = new MemorySaver();
  const source = postgresSource({ pool });
  for (const verify of [false, true]) {
    const report = await importThreads(source, verify ? saver : new MemorySaver(), {
      threadIds: ["lacking"],
      verify,
    });
    expect(report).toMatchObject({ complete: true, checkpoints: 6 });
    expect(report.differences.length).toBe(2);
    expect(report.differences[0]).toMatchObject({
      threadId: "lacking",
      namespace: "",
      what: 'the source names a value of channel "messages" and doesn\'t have it',
    });
  }
  expect((await importThreads(source, saver, { threadIds: ["lacking"] })).differences.length).toBe(2);
  expect(await history(saver, "lacking")).toEqual(await history(official, "lacking"));
});

async function reading(): Promise<PostgresSaver> {
  const saver = await createCheckpointer({
    postgres: database.url,
    readThrough: `official+${database.url}`,
  });
  onTestFinished(() => saver.end());
  return saver;
}

test("readThrough refuses a thread that lacks values, again and again, and brings it once it is repaired", async () => {
  await threads(["refused"]);
  const before = await history(official, "refused");
  const putBack = await takenAway("refused");
  const saver = await reading();
  const config = { configurable: { thread_id: "refused" } };
  for (let n = 0; n < 2; n += 1) {
    const read = saver.getTuple(config);
    await expect(read).rejects.toMatchObject({
      code: "CORRUPT",
      data: { threadId: "refused", source: "the official PostgresSaver" },
    });
    await expect(read).rejects.toThrow(/"messages".*It isn't served\. Repair it there.*stratigraph import/);
    await expect(say(saver, "refused", "Three")).rejects.toMatchObject({ code: "CORRUPT" });
    await expect(history(saver, "refused")).rejects.toMatchObject({ code: "CORRUPT" });
  }
  expect((await saver.listThreads()).threads).toEqual([]);
  await putBack();
  expect(await history(saver, "refused")).toEqual(before);
  expect((await say(saver, "refused", "Three")).length).toBe(6);
});

test("one that was taken as it is, by an import, is served", async () => {
  await threads(["taken as it is"]);
  await takenAway("taken as it is");
  const saver = await reading();
  const config = { configurable: { thread_id: "taken as it is" } };
  await expect(saver.getTuple(config)).rejects.toMatchObject({ code: "CORRUPT" });
  const report = await importThreads(postgresSource({ pool }), saver, { threadIds: ["taken as it is"] });
  expect(report.differences.length).toBe(2);
  expect((await saver.getTuple(config))!.checkpoint).toEqual((await official.getTuple(config))!.checkpoint);
});

test("readThrough refuses a thread of which a row can't be decoded", async () => {
  await threads(["undecodable"]);
  await pool.query(`update checkpoint_blobs set blob = '\\x00' where ${lateMessages}`, ["undecodable"]);
  const saver = new MemorySaver();
  readThrough(saver, postgresSource({ pool }));
  await expect(say(saver, "undecodable", "Three")).rejects.toMatchObject({
    code: "CORRUPT",
    message: expect.stringContaining('the value of channel "messages"') as string,
  });
  expect((await saver.listThreads()).threads).toEqual([]);
});

test("what an attempt left of a thread that was repaired since isn't served", async () => {
  await threads(["changed since"]);
  const saver = await reading();
  const config = { configurable: { thread_id: "changed since", checkpoint_ns: "" } };
  const putBack = await takenAway("changed since");
  // It stores what there is of the thread, without heads.
  await expect(saver.getTuple(config)).rejects.toMatchObject({ code: "CORRUPT" });
  expect((await saver.tier.peek({ threadId: "changed since", namespace: "" })).revision).toBeGreaterThan(0);
  await putBack();
  expect((await saver.getTuple(config))!.checkpoint).toEqual((await official.getTuple(config))!.checkpoint);
});
