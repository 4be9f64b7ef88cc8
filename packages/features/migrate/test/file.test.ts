// long file: everything that a file keeps, refuses and leaves behind
import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import {
  MemorySaver as OfficialSaver,
  emptyCheckpoint,
  uuid6,
  type Checkpoint,
} from "@langchain/langgraph-checkpoint";
import { MemorySaver, TierSaver } from "@stratigraph/core";
import { exportThreads, importThreads, saverTarget } from "@stratigraph/migrate";
import { fileSource, fileTarget } from "@stratigraph/migrate/internal";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { smallDisk } from "../../../../test/servers/smallDisk.ts";
import { counting, history, say } from "./support/conversation.ts";

let folder: string;
let saver: MemorySaver;

/** What JSON loses, and what looks like something else in a line of JSON. */
const odd = {
  date: new Date(5),
  bytes: new Uint8Array([0, 255, 10]),
  big: 12345678901234567890n,
  map: new Map([["k", Number.NaN]]),
  lines: "a\nb\u2028c\u2029d\r",
  lone: "\ud800",
};

function checkpointWith(values: Record<string, unknown>, version: number): Checkpoint {
  const versions = Object.fromEntries(Object.keys(values).map((channel) => [channel, version]));
  return { ...emptyCheckpoint(), id: uuid6(version), channel_values: values, channel_versions: versions };
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "stratigraph-file-"));
  saver = new MemorySaver({ conflict: "branch" });
  await say(saver, "ada", "One");
  await say(saver, "ada", "Two");
  const ada = { configurable: { thread_id: "ada" } };
  const states = [];
  for await (const state of counting(saver).getStateHistory(ada)) states.push(state);
  await counting(saver).invoke({ messages: ["fork"] }, states.at(-2)!.config);

  const at = { configurable: { thread_id: 'od"d\n\u2028', checkpoint_ns: "" } };
  const metadata = { source: "loop", step: 0, parents: {}, run_id: "run-1" } as const;
  const first = await saver.put(at, checkpointWith({ odd }, 1), metadata, { odd: 1 });
  const { lone: _lone, ...wellFormed } = odd;
  await saver.putWrites(
    first,
    [
      ["odd", wellFormed],
      ["raw", odd.bytes],
    ],
    "task",
    "~__pregel_pull, node",
  );
  await saver.put(first, checkpointWith({ odd, more: odd.bytes }, 2), metadata, { odd: 2, more: 2 });
  // Somebody else goes on from the same checkpoint.
  const late = checkpointWith({ odd: "late" }, 3);
  await saver.put(first, late, { ...metadata, source: "update" }, { odd: 3 });
  expect((await saver.conflicts(at.configurable.thread_id)).length).toBe(1);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Records and heads as they are stored. */
async function stored(from: MemorySaver, threadId: string) {
  const found = [];
  for await (const { record, head } of from.tier.list({ threadId, recordsOnly: true }))
    found.push([record.namespace, record.checkpointId, record.parentId, record.lostTo, record.runId, head]);
  return found;
}

test.each(["jsonl", "jsonl.gz", "jsonl.zst"])("*.%s keeps everything, both ways", async (ending) => {
  const path = join(folder, `all.${ending}`);
  const target = fileTarget({ path });
  const exported = await exportThreads(saver, target);
  await target.close();
  expect(exported).toMatchObject({ complete: true, threads: 2, verified: true, differences: [], leftOut: 0 });
  expect(readdirSync(folder).filter((name) => name.includes("partial"))).toEqual([]);
  const copy = new MemorySaver();
  const source = fileSource({ path });
  expect(await source.plan()).toEqual({ threads: 2, checkpoints: exported.checkpoints });
  const report = await importThreads(source, copy);
  expect(report).toMatchObject({ threads: 2, checkpoints: exported.checkpoints, differences: [] });
  expect(report.writes).toBe(exported.writes);
  for (const threadId of ["ada", 'od"d\n\u2028']) {
    expect(await history(copy, threadId)).toEqual(await history(saver, threadId));
    expect(await stored(copy, threadId)).toEqual(await stored(saver, threadId));
    expect(await copy.conflicts(threadId)).toEqual(await saver.conflicts(threadId));
  }
  expect((await say(copy, "ada", "on")).length).toBe((await say(saver, "ada", "on")).length);
});

test("is readable, and repeats no value that didn't change", async () => {
  const path = join(folder, "plain.jsonl");
  await exportThreads(saver, fileTarget({ path }), { threadIds: ["ada"] });
  const lines = readFileSync(path, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { checkpoint?: { same: string[] } });
  expect(lines[0]).toEqual({ format: "stratigraph-threads", version: 2, serde: "stratigraph" });
  expect(lines[1]).toMatchObject({ thread: "ada" });
  expect(lines.at(-1)).toMatchObject({ end: { threads: 1 } });
  expect(lines.some((line) => line.checkpoint?.same.includes("messages"))).toBe(true);
});

test("one that is damaged, cut off or something else is refused before anything is imported", async () => {
  const path = join(folder, "good.jsonl.gz");
  await exportThreads(saver, fileTarget({ path }));
  const good = gunzipSync(readFileSync(path)).toString();
  const bad: Record<string, [content: string | Buffer, code: string]> = {
    "changed.jsonl": [good.replace("1 read", "2 read"), "CORRUPT"],
    "cut.jsonl": [good.slice(0, good.length - 200), "CORRUPT"],
    "cut-at-a-line.jsonl": [`${good.split("\n").slice(0, -2).join("\n")}\n`, "CORRUPT"],
    "cut.jsonl.gz": [readFileSync(path).subarray(0, 900), "CORRUPT"],
    "longer.jsonl": [`${good}${good}`, "CORRUPT"],
    "newer.jsonl": [good.replace('"version":2', '"version":3'), "NEWER_FORMAT"],
    "other.jsonl": ['{"a":1}\n', "INVALID_OPTION"],
    "none.jsonl.zst": ["not zstd at all", "CORRUPT"],
  };
  for (const [name, [content, code]] of Object.entries(bad)) {
    writeFileSync(join(folder, name), content);
    const copy = new MemorySaver();
    const source = fileSource({ path: join(folder, name) });
    await expect(importThreads(source, copy), name).rejects.toMatchObject({ code });
    expect((await copy.listThreads()).threads, name).toEqual([]);
  }
  await expect(fileSource({ path: join(folder, "absent.jsonl") }).plan()).rejects.toThrow("no such file");
  expect(() => fileTarget({ path: "x.json" })).toThrow("*.jsonl");
});

test("an export that is interrupted leaves what was there before, and can't go on from a cursor", async () => {
  const path = join(folder, "interrupted.jsonl.zst");
  const whole = await written(path);
  const target = fileTarget({ path });
  const report = await exportThreads(saver, target, { signal: AbortSignal.abort() });
  await target.close();
  const nothing = { threads: 0, skipped: 0, checkpoints: 0, writes: 0, leftOut: 0, verified: false };
  const lists = { notHeld: [], erased: [], mixedUp: [], diverged: [], differences: [] };
  expect(report).toEqual({ complete: false, ...nothing, ...lists });
  expect(namesLike("interrupted")).toEqual(["interrupted.jsonl.zst"]);
  expect(readFileSync(path)).toEqual(whole);

  const later = fileTarget({ path });
  const goingOn = exportThreads(saver, later, { after: "ada" });
  await expect(goingOn).rejects.toMatchObject({ code: "INVALID_OPTION", data: { field: "after" } });
  await later.close();
  expect(namesLike("interrupted")).toEqual(["interrupted.jsonl.zst"]);
  expect(readFileSync(path)).toEqual(whole);
});

test("an export that is interrupted at its last thread is complete", async () => {
  const path = join(folder, "last.jsonl");
  const options = { threadIds: ["ada"], signal: AbortSignal.abort() };
  expect(await exportThreads(saver, fileTarget({ path }), options)).toMatchObject({ complete: true });
  expect(await fileSource({ path }).plan()).toMatchObject({ threads: 1 });
});

test("two exports to one file at once leave one that is whole", async () => {
  const path = join(folder, "raced.jsonl.gz");
  const reports = await Promise.all(
    [1, 2].map(() => exportThreads(saver, fileTarget({ path }), { verify: false })),
  );
  expect(reports.map(({ threads }) => threads)).toEqual([2, 2]);
  expect(await fileSource({ path }).plan()).toMatchObject({ threads: 2 });
  expect(namesLike("raced")).toEqual(["raced.jsonl.gz"]);
});

test.for(["jsonl", "jsonl.gz", "jsonl.zst"])(
  "a full disk: *.%s says so, and nothing is left",
  async (ending, context) => {
    const disk = smallDisk(3);
    onTestFinished(() => disk?.remove());
    if (disk === undefined) return context.skip("no small file system can be mounted here");
    const big = new MemorySaver();
    for (let n = 0; n < 10; n += 1) {
      const at = { configurable: { thread_id: `t${n}`, checkpoint_ns: "" } };
      const metadata = { source: "loop", step: 0, parents: {} } as const;
      await big.put(at, checkpointWith({ data: randomBytes(600_000).toString("base64") }, 1), metadata, {
        data: 1,
      });
    }
    const path = join(disk.folder, `all.${ending}`);
    await exportThreads(big, fileTarget({ path }), { threadIds: ["t0"] });
    const before = readFileSync(path);
    const target = fileTarget({ path });
    const failed = exportThreads(big, target);
    await expect(failed).rejects.toMatchObject({ code: "STORAGE_FULL", data: { path } });
    await expect(failed).rejects.toThrow("Free space");
    await target.close();
    expect(readdirSync(disk.folder)).toEqual([`all.${ending}`]);
    expect(readFileSync(path).equals(before)).toBe(true);
  },
);

test("what can't be written says why", async () => {
  for (const path of [join(folder, "absent", "x.jsonl"), join(folder, "absent", "x.jsonl.gz")]) {
    const target = fileTarget({ path });
    await expect(exportThreads(saver, target)).rejects.toMatchObject({ code: "INVALID_OPTION" });
    await target.close();
  }
  const place = join(folder, "folder.jsonl");
  mkdirSync(place);
  const target = fileTarget({ path: place });
  await expect(exportThreads(saver, target)).rejects.toThrow("It is a folder");
  await target.close();
  expect(namesLike("folder")).toEqual(["folder.jsonl"]);
});

/** The bytes of a complete export. */
async function written(path: string): Promise<Buffer> {
  await exportThreads(saver, fileTarget({ path }));
  return readFileSync(path);
}

function namesLike(beginning: string): string[] {
  return readdirSync(folder).filter((name) => name.startsWith(beginning));
}

test("one thread out of many, and from where an import ended", async () => {
  const path = join(folder, "many.jsonl.zst");
  const many = new MemorySaver();
  for (const id of ["a", "b", "c"]) await say(many, id, id);
  await exportThreads(many, fileTarget({ path }));
  const copy = new MemorySaver();
  expect(await importThreads(fileSource({ path }), copy, { threadIds: ["b"] })).toMatchObject({ threads: 1 });
  expect(await importThreads(fileSource({ path }), copy, { after: "b" })).toMatchObject({ threads: 1 });
  expect((await copy.listThreads()).threads.map(({ threadId }) => threadId).sort()).toEqual(["b", "c"]);
});

test("each part of a thread keeps the version of the state that it was written under", async () => {
  const path = join(folder, "versions.jsonl");
  const from = new MemorySaver();
  const stateVersions = {
    current: 2,
    steps: [{ to: 2, changes: [{ from: "count", to: "count", up: (count: string) => Number(count) }] }],
  };
  const metadata = { source: "loop", step: 0, parents: {} } as const;
  const at = { configurable: { thread_id: "v", checkpoint_ns: "" } };
  const first = await from.put(at, checkpointWith({ count: "1", other: "same" }, 1), metadata);
  await from.putWrites(first, [["count", "2"]], "task");
  const newer = new TierSaver(from.tier, { stateVersions });
  const { checkpoint } = (await newer.getTuple(first))!;
  const second = await newer.put(first, { ...checkpoint, id: uuid6(2) }, metadata, {});
  await newer.putWrites(second, [["count", 3]], "task");
  await exportThreads(from, fileTarget({ path }));
  const to = new MemorySaver();
  expect(await importThreads(fileSource({ path }), to)).toMatchObject({ complete: true, differences: [] });
  const copied = new TierSaver(to.tier, { stateVersions });
  for (const config of [first, second])
    expect(await copied.getTuple(config)).toEqual(await newer.getTuple(config));
  expect((await copied.getTuple(second))?.checkpoint.channel_values).toEqual({ count: 1, other: "same" });
  expect((await to.getTuple(first))?.checkpoint.channel_values).toEqual({ count: "1", other: "same" });
  await expect(to.getTuple(second)).rejects.toMatchObject({ code: "STATE_VERSION" });
  // An official saver would take the state for today's. The thread is named, nothing of it is written, and the others are exported.
  await say(from, "w", "One");
  const official = new OfficialSaver();
  const report = await exportThreads(from, saverTarget(official));
  expect(report).toMatchObject({ complete: true, threads: 2, differences: [{ threadId: "v" }] });
  expect(report.differences[0]!.what).toContain("state of version 2");
  expect(await official.getTuple(at)).toBeUndefined();
  expect(await official.getTuple({ configurable: { thread_id: "w" } })).toBeDefined();
});

test("a file of version 1, which knew no batches, is read; one of today brings what it lacked", async () => {
  const path = join(folder, "version1.jsonl");
  const from = new MemorySaver();
  for (const text of ["One", "Two"]) await say(from, "v1", text);
  await exportThreads(from, fileTarget({ path }));
  type Lines = Record<string, unknown> & { checkpoint?: Record<string, unknown>; outline?: unknown[][] };
  type Batch = { task: string; path?: string; writes: object[] };
  const lines = readFileSync(path, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Lines);
  const whole = createHash("sha256");
  let thread = createHash("sha256");
  let text = "";
  for (const line of lines) {
    if ("format" in line) line["version"] = 1;
    if ("thread" in line) {
      thread = createHash("sha256");
      line.outline = line.outline!.map((entry) => entry.slice(0, 3));
    }
    if (line.checkpoint !== undefined) {
      const { batches, made: _made, ...rest } = line.checkpoint;
      const writes = (batches as Batch[]).flatMap(({ task, path: taskPath, writes: written }) =>
        written.map((write) => ({ task, path: taskPath, ...write })),
      );
      line.checkpoint = { ...rest, writes };
    }
    if ("threadEnd" in line) line["sha256"] = thread.digest("hex");
    if ("end" in line) line["sha256"] = whole.digest("hex");
    const written = `${JSON.stringify(line)}\n`;
    if (!("end" in line))
      for (const sum of "threadEnd" in line ? [whole] : [whole, thread]) sum.update(written);
    text += written;
  }
  const old = join(folder, "old.jsonl");
  writeFileSync(old, text);
  const to = new MemorySaver();
  expect(await importThreads(fileSource({ path: old }), to)).toMatchObject({ threads: 1, differences: [] });
  expect(await history(to, "v1")).toEqual(await history(from, "v1"));
  const report = await importThreads(fileSource({ path }), to);
  expect(report).toMatchObject({ threads: 1, differences: [], diverged: [] });
  expect(await history(to, "v1")).toEqual(await history(from, "v1"));
  expect(await importThreads(fileSource({ path }), to)).toMatchObject({
    checkpoints: 0,
    writes: 0,
    differences: [],
  });
});
