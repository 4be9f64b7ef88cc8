import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { MemoryTier, StratigraphError, TierSaver, type Tier } from "@stratigraph/core";
import { FaultyTier } from "@stratigraph/testing";
import { TieredSaver } from "@stratigraph/tiered";
import { operations, runOperation, type Progress, type Report } from "../../../src/operations/index.ts";
import pg from "pg";
import { testContext } from "../support/testContext.ts";
import { brief, line, repaired, storages, turns, verified } from "./support.ts";

const verify = operations.find(({ name }) => name === "verify")!;

async function filled(count: number): Promise<Tier> {
  const tier = new MemoryTier();
  const saver = new TierSaver(tier);
  for (let n = 0; n < count; n += 1) await turns(saver, `thread ${n}`, 1);
  return tier;
}

/** The ids of the threads that were verified. */
async function visited(tier: Tier, input: object, signal?: AbortSignal): Promise<[string[], Report]> {
  const ids: string[] = [];
  const onProgress = ({ at }: Progress): void => void ids.push(at!);
  const context = testContext(new TierSaver(tier), {
    onProgress,
    ...(signal === undefined ? {} : { signal }),
  });
  return [ids, (await runOperation(verify, input, context)) as Report];
}

test("a sample is a part of the threads, the same for one seed and another one for another", async () => {
  const tier = await filled(60);
  const [first] = await visited(tier, { sample: "30%" });
  expect(first.length).toBeGreaterThan(5);
  expect(first.length).toBeLessThan(35);
  expect((await visited(tier, { sample: "30%" }))[0]).toEqual(first);
  const [other] = await visited(tier, { sample: "30%", seed: "tuesday" });
  expect(other).not.toEqual(first);
  expect((await visited(tier, { sample: "100%" }))[0]).toHaveLength(60);
  expect((await visited(tier, { sample: "0%" }))[0]).toHaveLength(0);
});

test("only threads that were written since", async () => {
  let now = Date.parse("2026-01-01T00:00:00Z");
  const tier = new MemoryTier(() => now);
  const saver = new TierSaver(tier);
  await turns(saver, "before", 1);
  now += 3_600_000;
  await turns(saver, "after", 1);
  expect((await visited(tier, { since: "2026-01-01T00:30:00Z" }))[0]).toEqual(["after"]);
  expect((await visited(tier, { since: "2026-01-01T00:00:00Z" }))[0]).toEqual(["before", "after"]);
  expect((await visited(tier, { since: "2026-01-02T00:00:00+01:00" }))[0]).toEqual([]);
});

test("an aborted run ends with the thread it is at, and goes on from its cursor", async () => {
  const tier = await filled(7);
  const all: string[] = [];
  let cursor: string | undefined;
  for (let run = 0; run < 20; run += 1) {
    const [ids, report] = await visited(tier, cursor === undefined ? {} : { cursor }, AbortSignal.abort());
    all.push(...ids);
    cursor = report.cursor;
    expect(report.complete).toBe(cursor === undefined);
    if (cursor === undefined) break;
  }
  expect(all).toHaveLength(7);
  expect(new Set(all).size).toBe(7);
  const named = { threads: ["thread 1", "thread 2"] };
  const [, first] = await visited(tier, named, AbortSignal.abort());
  expect((await visited(tier, { ...named, cursor: first.cursor }))[0]).toEqual(["thread 2"]);
});

test("a rate isn't exceeded", async () => {
  const tier = await filled(5);
  const secondsAt = async (rate: string): Promise<number> => (await verified(tier, { rate })).totals.seconds;
  expect(await secondsAt("20/s")).toBeGreaterThanOrEqual(0.24);
  const { bytes } = (await verified(tier)).totals;
  expect(await secondsAt(`${bytes * 2}b/s`)).toBeGreaterThanOrEqual(0.45);
});

test("inputs that mean nothing are refused", async () => {
  const context = testContext(new TierSaver(new MemoryTier()));
  for (const input of [
    { sample: "5" },
    { sample: "101%" },
    { rate: "fast" },
    { since: "yesterday" },
    { keep: 0 },
  ])
    await expect(runOperation(verify, input, context)).rejects.toMatchObject({ code: "INVALID_OPTION" });
  await expect(runOperation(verify, { cursor: "e30x" }, context)).rejects.toMatchObject({
    code: "INVALID_OPTION",
  });
  await expect(runOperation(verify, { threads: ["nobody"] }, context)).rejects.toMatchObject({
    code: "NOT_FOUND",
    message: expect.stringContaining("nobody"),
  });
});

test("more findings than are kept are counted", async () => {
  const tier = (await filled(4)) as MemoryTier;
  for (let n = 0; n < 4; n += 1) {
    const threadId = `thread ${n}`;
    const { revision } = await tier.peek({ threadId, namespace: "" });
    const blob = { hash: "ab".repeat(20), bytes: Buffer.from("spare") };
    const nothing = { checkpoints: [], dropBlobs: [], heads: [] };
    await tier.remove({ threadId, revision, replaceBlobs: [blob], ...nothing });
  }
  const report = await verified(tier, { keep: 3 });
  expect(report).toMatchObject({ leftOut: 1, totals: { findings: { orphan: 4 } } });
  expect(report.findings).toHaveLength(3);
  expect([...verify.render(report)].join("\n")).toContain("1 more finding");
});

test("pending writes without a checkpoint are orphans once their thread is idle, and not before", async () => {
  let now = Date.now();
  const tier = new MemoryTier(() => now);
  const saver = new TierSaver(tier);
  await turns(saver, "t", 1);
  const configurable = { thread_id: "t", checkpoint_ns: "", checkpoint_id: "never" };
  await saver.putWrites({ configurable }, [["log", line("early")]], "task");
  expect((await verified(tier)).findings).toEqual([]);
  now -= 3_600_000;
  await saver.putWrites({ configurable }, [["log", line("more")]], "other");
  const report = await verified(tier);
  expect(report.findings).toMatchObject([{ kind: "orphan", part: "writes", checkpoint: "never" }]);
  expect(await repaired(tier, report)).toMatchObject({ results: [{ outcome: "done" }], left: [] });
  expect((await verified(tier)).findings).toEqual([]);
});

test("without the key, nothing is called damaged", async () => {
  const tier = new MemoryTier();
  const key = randomBytes(32);
  const encryption = { activeKey: "k1", keys: { k1: key }, hashKey: randomBytes(32) };
  const saver = new TierSaver(tier, { encryption });
  await turns(saver, "secret", 2);
  const report = await verified(tier);
  expect(report.findings.map(brief)).toEqual([
    {
      ...{ kind: "key-missing", severity: "warning", part: "record" },
      ...{ tier: "memory", thread: "secret", goodIn: [] },
    },
  ]);
  expect(report.findings[0]!.detail).toContain("k1");
  expect(await repaired(tier, report)).toMatchObject({ results: [{ outcome: "impossible" }], left: [] });
  const context = testContext(saver);
  expect(((await runOperation(verify, {}, context)) as Report).findings).toEqual([]);
  // With another key under the same id, verify doesn't begin to call everything damaged.
  const wrong = new TierSaver(tier, { encryption: { ...encryption, keys: { k1: randomBytes(32) } } });
  await expect(runOperation(verify, {}, testContext(wrong))).rejects.toMatchObject({ code: "KEY_MISMATCH" });
});

test("rows of deleted threads are found and removed in PostgreSQL, those of a thread whose own row is lost stay", async () => {
  const storage = await storages.postgres();
  const pool = new pg.Pool({ connectionString: storage.url, max: 1 });
  try {
    const saver = new TierSaver(storage.open());
    for (const threadId of ["kept", "lost", "deleted"]) await turns(saver, threadId, 1);
    await pool.query("create table saved as select * from stratigraph.checkpoints");
    await saver.deleteThread("deleted");
    await pool.query("insert into stratigraph.checkpoints select * from saved on conflict do nothing");
    await pool.query("delete from stratigraph.threads where key = $1", [Buffer.from("\u0002lost")]);
    const report = await verified(storage.open());
    expect(report.findings.map(({ kind, thread, detail }) => [kind, thread, detail])).toEqual([
      ["lost-thread", undefined, expect.stringMatching(/^4 checkpoints, \d+ blobs.*row thread = \d+ of/)],
      ["tombstone-leak", "deleted", expect.stringMatching(/^4 checkpoints, 0 blobs/)],
    ]);
    const rows = async (): Promise<unknown> =>
      (await pool.query("select count(*) from stratigraph.checkpoints")).rows[0].count;
    expect((await repaired(storage.open(), report, {})).results.map(({ outcome }) => outcome)).toEqual([
      "impossible",
      "would",
    ]);
    expect(await rows()).toBe("12");
    expect((await repaired(storage.open(), report)).results.map(({ outcome }) => outcome)).toEqual([
      "impossible",
      "done",
    ]);
    expect(await rows()).toBe("8");
    expect((await verified(storage.open())).findings.map(({ kind }) => kind)).toEqual(["lost-thread"]);
    expect((await repaired(storage.open(), report)).results.map(({ outcome }) => outcome)).toEqual([
      "impossible",
      "solved",
    ]);
  } finally {
    await pool.end();
    await storage.close();
  }
});

describe("objects of a folder", () => {
  const damages: [string, (file: string) => Promise<void>][] = [
    [
      "a pack with a flipped byte",
      async (file) => {
        const bytes = await readFile(file);
        bytes[100]! ^= 0xff;
        await writeFile(file, bytes);
      },
    ],
    ["a pack that was cut", async (file) => await writeFile(file, (await readFile(file)).subarray(0, 2000))],
    ["a pack that is gone", async (file) => await rm(file)],
  ];

  test.each(damages)("%s is found, and it is said what a person can do", async (_, damage) => {
    const storage = await storages.folder();
    try {
      const saver = new TierSaver(storage.open());
      await turns(saver, "whole", 1);
      for (let n = 0; n < 12; n += 1) await turns(saver, "packed", 1);
      const files = (await readdir(join(storage.path, "packed"))).filter((name) => name.endsWith(".pack"));
      expect(files.length).toBeGreaterThan(0);
      expect((await verified(storage.open())).findings).toEqual([]);
      await damage(join(storage.path, "packed", files[0]!));
      const report = await verified(storage.open());
      expect(new Set(report.findings.map(({ kind, thread }) => `${kind} ${thread}`))).toEqual(
        new Set(["corrupt packed"]),
      );
      const { results } = await repaired(storage.open(), report);
      expect(results[0]).toMatchObject({ outcome: "impossible", action: expect.stringContaining("backup") });
    } finally {
      await storage.close();
    }
  });

  test("a damaged head", async () => {
    const storage = await storages.folder();
    try {
      await turns(new TierSaver(storage.open()), "one", 1);
      await turns(new TierSaver(storage.open()), "two", 1);
      const file = join(storage.path, "one", "head");
      const bytes = await readFile(file);
      bytes[bytes.length - 10]! ^= 0xff;
      await writeFile(file, bytes);
      const report = await verified(storage.open(), { threads: ["one", "two"] });
      expect(report.findings.map(brief)).toMatchObject([{ kind: "corrupt", part: "thread", thread: "one" }]);
      const all = await verified(storage.open());
      expect(all.findings).toMatchObject([
        { kind: "corrupt", part: "thread", thread: "one", detail: expect.stringContaining("one/head") },
      ]);
      expect(all.totals.threads).toBe(2);
      expect((await repaired(storage.open(), all)).results).toMatchObject([{ outcome: "impossible" }]);
    } finally {
      await storage.close();
    }
  });
});

test("a hot tier that is away is told of, and the rest is verified", async () => {
  const hot = new FaultyTier(new MemoryTier(), "hot");
  const saver = new TieredSaver({ hot, warm: new MemoryTier() });
  await turns(saver, "t", 1);
  await saver.tier.idle();
  const comesBack = hot.failWhen(() => new StratigraphError("UNAVAILABLE", "it is away"));
  const report = await verified(saver.tier);
  expect(report).toMatchObject({
    complete: true,
    findings: [],
    unreachable: ["hot"],
    totals: { threads: 1 },
  });
  expect([...verify.render(report)].join("\n")).toContain("Not reached, and so not verified: hot.");
  comesBack();
  await saver.end();
});
