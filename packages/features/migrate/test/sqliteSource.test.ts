import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { MemorySaver } from "@stratigraph/core";
import { exportThreads, importThreads, openSource, openTarget } from "@stratigraph/migrate";
import { sqliteSource } from "@stratigraph/migrate/internal";
import Database from "libsql";
import { createCheckpointer } from "stratigraph";
import { afterAll, expect, test } from "vitest";
import { counting, history, say } from "./support/conversation.ts";

// libsql has the API of better-sqlite3, and its binaries needn't be compiled. The file is real, and so is its write-ahead log.

const folder = mkdtempSync(join(tmpdir(), "stratigraph-sqlite-"));
const closing: (() => void)[] = [];

afterAll(() => {
  for (const close of closing) close();
  rmSync(folder, { recursive: true, force: true });
});

function opened(name: string) {
  const path = join(folder, name);
  const database = new Database(path);
  closing.push(() => database.close());
  return { path, database, official: new SqliteSaver(database as never) };
}

const hostile = ["a:b", "it's", "émoji 🎉", "%_", "' or 1=1 --", "a\nb"];

test("a file comes over while its saver has it open, the write-ahead log included", async () => {
  const { path, official } = opened("live.sqlite");
  for (const id of ["ada", ...hostile]) {
    await say(official, id, "Hello");
    await say(official, id, "Again");
  }
  // Nothing was checkpointed into the file itself: it has its first page at most.
  expect(statSync(`${path}-wal`).size).toBeGreaterThan(statSync(path).size);
  const saver = new MemorySaver();
  const source = await openSource(`sqlite:${path}`);
  expect(await source.plan()).toMatchObject({ threads: 7, checkpoints: 42 });
  const report = await importThreads(source, saver);
  expect(report).toMatchObject({ threads: 7, checkpoints: 42, verified: true, differences: [], mixedUp: [] });
  for (const id of ["ada", ...hostile]) expect(await history(saver, id)).toEqual(await history(official, id));
  // It goes on writing: nothing is locked.
  expect((await say(official, "ada", "Third")).length).toBe(6);
  expect(await importThreads(source, saver)).toMatchObject({ checkpoints: 3, skipped: 6, diverged: [] });
  expect((await say(saver, "ada", "Fourth")).length).toBe(8);
  await source.close();
});

test("binary values and binary pending writes, which the official list breaks", async () => {
  const { database, official } = opened("binary.sqlite");
  const bytes = new Uint8Array([0, 159, 146, 150, 255]);
  const at = { configurable: { thread_id: "bin", checkpoint_ns: "" } };
  const checkpoint = { ...emptyCheckpoint(), id: uuid6(0) };
  checkpoint.channel_values = { text: "t" };
  checkpoint.channel_versions = { text: 1 };
  const config = await official.put(at, checkpoint, { source: "loop", step: 0, parents: {} });
  await official.putWrites(
    config,
    [
      ["raw", bytes],
      ["text", "x"],
    ],
    "task-1",
  );
  await official.putWrites(config, [["__interrupt__", { value: "why?" }]], "task-1");
  const saver = new MemorySaver();
  const report = await importThreads(sqliteSource({ database }), saver);
  expect(report).toMatchObject({ checkpoints: 1, writes: 3, differences: [] });
  const tuple = (await saver.getTuple(at))!;
  expect(tuple.pendingWrites).toEqual(
    expect.arrayContaining([
      ["task-1", "raw", bytes],
      ["task-1", "text", "x"],
      ["task-1", "__interrupt__", { value: "why?" }],
    ]),
  );
});

test("forks stay what they are: each checkpoint has its own values in this saver", async () => {
  const { database, official } = opened("forked.sqlite");
  const config = { configurable: { thread_id: "forked" } };
  await say(official, "forked", "One");
  await say(official, "forked", "Two");
  const states = [];
  for await (const state of counting(official).getStateHistory(config)) states.push(state);
  const early = states.find(({ values }) => values.messages?.length === 2)!;
  await counting(official).invoke({ messages: ["Other"] }, early.config);
  const saver = new MemorySaver();
  expect(await importThreads(sqliteSource({ database }), saver)).toMatchObject({
    differences: [],
    mixedUp: [],
  });
  expect(await history(saver, "forked")).toEqual(await history(official, "forked"));

  // And back into another file, branches too.
  const target = await openTarget(`sqlite:${join(folder, "back.sqlite")}`);
  const report = await exportThreads(saver, target);
  expect(report).toMatchObject({ threads: 1, leftOut: 0, differences: [] });
  const back = opened("back.sqlite");
  expect(await history(back.official, "forked")).toEqual(await history(official, "forked"));
  expect(await exportThreads(saver, target)).toMatchObject({ skipped: 1, checkpoints: 0, differences: [] });
  await target.close();
  expect((await say(back.official, "forked", "on")).length).toBe(
    (await say(official, "forked", "on")).length,
  );
});

test("behind readThrough: threads that are read at once share the connection's one transaction", async () => {
  const { path, official } = opened("read-through.sqlite");
  const ids = ["one", "two", "three"];
  for (const id of ids) await say(official, id, "Hello");
  const saver = await createCheckpointer({ memory: true, readThrough: `sqlite:${path}` });
  const lengths = await Promise.all(ids.map(async (id) => (await say(saver, id, "Again")).length));
  expect(lengths).toEqual([4, 4, 4]);
  // What the old saver wrote meanwhile is seen by the next one.
  await say(official, "four", "Hello");
  expect((await say(saver, "four", "Again")).length).toBe(4);
  await saver.end();
});

test("what isn't there, or isn't known, is told", async () => {
  await expect(openSource(`sqlite:${join(folder, "absent")}`)).rejects.toThrow("no such file");
  await expect(openSource("oracle://user:secret@host")).rejects.toThrow('"oracle:…"');
  await expect(openSource("oracle://user:secret@host")).rejects.not.toThrow("secret");
});
