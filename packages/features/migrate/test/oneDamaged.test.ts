import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MemorySaver as OfficialMemory } from "@langchain/langgraph-checkpoint";
import { CorruptionError, MemorySaver, MemoryTier, StratigraphError, TierSaver } from "@stratigraph/core";
import type { CheckpointRecord } from "@stratigraph/core/tier";
import { exportThreads, importThreads, moveThreads, saverTarget } from "@stratigraph/migrate";
import { fileSource, fileTarget } from "@stratigraph/migrate/internal";
import { FaultyTier } from "@stratigraph/testing";
import { TieredSaver } from "@stratigraph/tiered";
import { afterAll, expect, test } from "vitest";
import { history, say } from "./support/conversation.ts";

// One thread of several is damaged. Whoever takes all of them elsewhere gets the others, and is told of this one; no part of it is taken
// for the whole.

const folder = mkdtempSync(join(tmpdir(), "stratigraph-one-damaged-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const ids = ["ada", "bad", "eve"];

/**
 * Three threads of two turns each; a checkpoint of "bad" isn't what was put.
 * @param nth which, from the newest on, which is 0
 */
async function withDamage(nth = 1) {
  const saver = new MemorySaver();
  for (const id of ids) for (const text of ["One", "Two"]) await say(saver, id, text);
  const records: CheckpointRecord[] = [];
  for await (const { record } of saver.tier.list({ threadId: "bad" })) records.push(record);
  const before = await history(saver, "bad");
  const put = (record: CheckpointRecord) =>
    saver.tier.append({ threadId: "bad", records: [record], blobs: [], heads: [], onConflict: "refuse" });
  await put({ ...records[nth]!, body: new Uint8Array([1, 2, 3]) });
  return { saver, before, mend: () => put(records[nth]!) };
}

async function exported(saver: TierSaver, name: string) {
  const path = join(folder, name);
  const target = fileTarget({ path });
  try {
    return { path, report: await exportThreads(saver, target) };
  } finally {
    await target.close();
  }
}

async function idsIn(saver: MemorySaver): Promise<string[]> {
  return (await saver.listThreads()).threads.map(({ threadId }) => threadId).toSorted();
}

const named = { threadId: "bad", what: expect.stringContaining("the thread wasn't copied") };

test.each(["some.jsonl", "some.jsonl.gz", "some.jsonl.zst"])(
  "%s has the others; an import of it says what it lacks, and why",
  async (name) => {
    const { saver, before, mend } = await withDamage();
    const { path, report } = await exported(saver, name);
    expect(report).toMatchObject({ complete: true, threads: 3, differences: [named] });
    const copy = new MemorySaver();
    const source = fileSource({ path });
    for (const skipped of [0, 2]) {
      const brought = await importThreads(source, copy);
      expect(brought).toMatchObject({ complete: true, threads: 3, skipped, differences: [named] });
      expect(brought.differences[0]!.what).toContain("it couldn't be read when it was exported");
      for (const id of ["ada", "eve"]) expect(await history(copy, id)).toEqual(await history(saver, id));
      expect(await idsIn(copy)).toEqual(["ada", "eve"]);
      expect(await history(copy, "bad")).toEqual([]);
    }
    await mend();
    const whole = await exported(saver, name);
    expect(whole.report.differences).toEqual([]);
    expect((await importThreads(fileSource({ path }), copy)).differences).toEqual([]);
    expect(await history(copy, "bad")).toEqual(before);
  },
);

test("only the damaged thread is asked for: the file has none that can be imported", async () => {
  const { saver } = await withDamage();
  const path = join(folder, "only.jsonl");
  const report = await exportThreads(saver, fileTarget({ path }), { threadIds: ["bad"] });
  expect(report).toMatchObject({ complete: true, threads: 1, differences: [named] });
  const copy = new MemorySaver();
  expect(await importThreads(fileSource({ path }), copy)).toMatchObject({ threads: 1, differences: [named] });
  expect(await idsIn(copy)).toEqual([]);
});

test("a thread whose checkpoints can't even be listed is told, and isn't in the file", async () => {
  const { saver } = await withDamage();
  const tier = new FaultyTier(saver.tier);
  const error = new CorruptionError({ threadId: "bad", namespace: "", checkpointId: "c" }, "damaged");
  tier.failWhen(({ method, args: [first] }) =>
    method === "list" && (first as { threadId?: string }).threadId === "bad" ? error : undefined,
  );
  const { path, report } = await exported(new TierSaver(tier), "unlisted.jsonl");
  expect(report).toMatchObject({ complete: true, threads: 3, differences: [named] });
  const copy = new MemorySaver();
  expect(await importThreads(fileSource({ path }), copy)).toMatchObject({ threads: 2, differences: [] });
});

test("the mark of a part can't be taken off", async () => {
  const { saver } = await withDamage();
  const { path } = await exported(saver, "marked.jsonl");
  const text = readFileSync(path, "utf8");
  const taken = text.replace(/"failed":"(?:[^"\\]|\\.)*",/, "");
  expect(taken).not.toBe(text);
  writeFileSync(path, taken);
  await expect(importThreads(fileSource({ path }), new MemorySaver())).rejects.toMatchObject({
    code: "CORRUPT",
  });
});

test("another saver gets the others", async () => {
  const { saver } = await withDamage();
  const official = new OfficialMemory();
  const report = await exportThreads(saver, saverTarget(official, { branches: true }));
  expect(report).toMatchObject({ complete: true, threads: 3, differences: [named] });
  for (const id of ["ada", "eve"]) expect((await say(official, id, "Three")).length).toBe(6);
});

test("a move that deletes takes the others along; this one stays where it is, until it is mended", async () => {
  const { saver, before, mend } = await withDamage(0);
  const whole = new Map([["ada", await history(saver, "ada")]]);
  const to = new MemorySaver();
  const report = await moveThreads(saver, to, { source: "delete" });
  expect(report).toMatchObject({ complete: true, threads: 3, differences: [named] });
  expect(await idsIn(saver)).toEqual(["bad"]);
  expect(await history(to, "ada")).toEqual(whole.get("ada"));
  await mend();
  // What a target has already is left as it is.
  await to.deleteThread("bad");
  expect(await moveThreads(saver, to, { source: "delete" })).toMatchObject({ threads: 1, differences: [] });
  expect(await history(to, "bad")).toEqual(before);
  expect(await idsIn(saver)).toEqual([]);
});

test("a thread that the archive has lost is one of many, too", async () => {
  const cold = new MemoryTier();
  const stack = new TieredSaver(
    { warm: new MemoryTier(), cold, archiveAfter: "1d" },
    () => Date.now() + 7 * 86_400_000,
  );
  for (const id of ids) await say(stack, id, "One");
  await stack.maintain();
  await cold.deleteThread("bad");
  const { report } = await exported(stack, "evicted.jsonl");
  expect(report).toMatchObject({ complete: true, differences: [{ threadId: "bad" }] });
  const moved = await moveThreads(stack, new MemorySaver());
  expect(moved).toMatchObject({ complete: true, differences: [{ threadId: "bad" }] });
  const copy = new MemorySaver();
  await importThreads(fileSource({ path: join(folder, "evicted.jsonl") }), copy);
  expect(await idsIn(copy)).toEqual(["ada", "eve"]);
});

test("a storage that is away ends an export: nothing is left of the file, and what was there before stays", async () => {
  const { saver } = await withDamage();
  const { path } = await exported(saver, "away.jsonl");
  const before = readFileSync(path);
  const tier = new FaultyTier(saver.tier);
  const away = new StratigraphError("UNAVAILABLE", "It doesn't answer.", {});
  tier.failWhen(({ args: [first] }) =>
    (first as { threadId?: string } | undefined)?.threadId === "eve" ? away : undefined,
  );
  await expect(exported(new TierSaver(tier), "away.jsonl")).rejects.toMatchObject({ code: "UNAVAILABLE" });
  expect(readFileSync(path)).toEqual(before);
  expect(readdirSync(folder).filter((name) => name.includes("partial"))).toEqual([]);
  await expect(moveThreads(new TierSaver(tier), new MemorySaver())).rejects.toMatchObject({
    code: "UNAVAILABLE",
  });
});
