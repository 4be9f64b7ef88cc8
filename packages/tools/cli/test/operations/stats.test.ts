import { MemorySaver, MemoryTier, TierSaver } from "@stratigraph/core";
import { FaultyTier } from "@stratigraph/testing";
import { expect, test } from "vitest";
import { chat, human, nested, on } from "../../../../features/branch/test/support/graphs.ts";
import { rendered, run } from "./support/run.ts";
import { testContext } from "./support/testContext.ts";
import { longThread, putValues } from "./support/threads.ts";

interface Stats {
  readonly checkpoints: number;
  readonly estimated: boolean;
  readonly threads: { readonly counted: number; readonly measured: number };
  readonly bytes: {
    readonly total: number;
    readonly records: number;
    readonly writes: number;
    readonly values: number;
  };
  readonly states: { readonly bytes: number; readonly sampled: boolean; readonly ratio: number };
  readonly channels: readonly { readonly channel: string; readonly values: number; readonly bytes: number }[];
  readonly namespaces: readonly { readonly namespace: string; readonly checkpoints: number }[];
  readonly tiers: readonly { readonly bytes: number; readonly checkpoints: number }[];
  readonly chains: { readonly whole: number; readonly patches: number; readonly longest: number };
  readonly growth: {
    readonly days: readonly { readonly day: string; readonly bytes: number; readonly checkpoints: number }[];
  };
  readonly frees: {
    readonly prune: { readonly checkpoints: number; readonly bytes: number };
    readonly archive: { readonly threads: number };
  };
}

/** What a storage holds of a thread, counted without the operation. */
async function stored(saver: MemorySaver, threadId: string): Promise<number> {
  let bytes = 0;
  for await (const { record, writes } of saver.tier.list({ threadId, recordsOnly: true }))
    bytes += record.body.length + writes.reduce((sum, { body }) => sum + body.length, 0);
  for (const { size } of await saver.tier.blobs(threadId)) bytes += size;
  return bytes;
}

test("of a thread: sizes add up, and pruning frees what it said", async () => {
  const saver = new MemorySaver();
  const graph = chat(saver);
  for (let n = 0; n < 15; n += 1)
    await graph.invoke(
      { messages: [human(`message ${n} ${"words ".repeat(50)}${Math.random()}`, `m${n}`)] },
      on("ada"),
    );
  await nested(saver).invoke({ log: ["start"] }, on("ada"));
  const found = await run<Stats>("stats", { thread: "ada", keepLast: 2 }, testContext(saver));
  const total = await stored(saver, "ada");
  expect(found.bytes.total).toBe(total);
  expect(found.tiers).toMatchObject([{ bytes: total }]);
  expect(found.channels.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(found.bytes.values);
  expect(found.growth.days.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(total);
  expect(found.namespaces.length).toBeGreaterThan(1);
  // However often a subgraph ran: its runs' namespaces end with ids.
  for (const { namespace } of found.namespaces) expect(namespace).not.toMatch(/[:\d]/);
  expect(found.namespaces.reduce((sum, { checkpoints }) => sum + checkpoints, 0)).toBe(found.checkpoints);
  expect(found.chains.whole + found.chains.patches).toBe((await saver.tier.blobs("ada")).length);
  expect(found.chains.longest).toBeGreaterThan(3);
  expect(found.states.ratio).toBeGreaterThan(2);
  // The text for people has none of LangGraph's internal names.
  const text = rendered("stats", found);
  expect(text).toContain("(LangGraph's own)");
  expect(text).not.toMatch(/__|branch:/);
  await saver.prune(["ada"], { strategy: "keep_latest", keepLast: 2 });
  expect(total - (await stored(saver, "ada"))).toBe(found.frees.prune.bytes);
  const after = await run<Stats>("stats", { thread: "ada", keepLast: 2 }, testContext(saver));
  expect(after.checkpoints).toBe(found.checkpoints - found.frees.prune.checkpoints);
  expect(after.frees.prune.checkpoints).toBe(0);
});

test("of a storage: some threads are measured, and it says so", async () => {
  const saver = new MemorySaver();
  for (let n = 0; n < 60; n += 1) await putValues(saver, `t${n}`, { text: "x".repeat(500) });
  const progress: number[] = [];
  const context = testContext(saver, { onProgress: ({ done }) => progress.push(done) });
  const all = await run<Stats>("stats", {}, context);
  expect(all).toMatchObject({ estimated: false, checkpoints: 60, threads: { counted: 60, measured: 60 } });
  expect(progress.at(-1)).toBe(60);
  const some = await run<Stats>("stats", { sample: 10, idleDays: 0 }, context);
  expect(some).toMatchObject({
    estimated: true,
    checkpoints: 60,
    threads: { counted: 60, measured: 10 },
    frees: { archive: { threads: expect.any(Number) } },
  });
  expect(Math.abs(some.bytes.total / all.bytes.total - 1)).toBeLessThan(0.1);
  expect(rendered("stats", some)).toContain("Measured 10 threads");
  const aborted = new AbortController();
  aborted.abort();
  expect(await run("stats", {}, testContext(saver, { signal: aborted.signal }))).toMatchObject({
    threads: { measured: 0, complete: false },
  });
  expect(await run("stats", {}, testContext(new MemorySaver()))).toMatchObject({
    checkpoints: 0,
    threads: { counted: 0 },
  });
});

test("a thread that can't be read doesn't hide the others", async () => {
  const tier = new FaultyTier(new MemoryTier());
  const saver = new TierSaver(tier);
  for (let n = 0; n < 5; n += 1) await putValues(saver, `t${n}`, { text: "x".repeat(500) });
  tier.failNext("blobs", new Error("a bad thread"));
  const found = await run("stats", {}, testContext(saver));
  expect(found).toMatchObject({
    threads: { counted: 5, measured: 4, failed: 1 },
    estimated: true,
    checkpoints: 5,
  });
  expect(rendered("stats", found)).toContain("Threads that couldn't be read: 1.");
  tier.failNext("blobs", new Error("a bad thread"));
  await expect(run("stats", { thread: "t1" }, testContext(saver))).rejects.toThrow("a bad thread");
});

test("days follow the checkpoints' own times", async () => {
  const saver = new MemorySaver();
  await longThread(saver, "long", 3000);
  const found = await run<Stats>("stats", { thread: "long" }, testContext(saver));
  expect(found.growth.days.map(({ day, checkpoints }) => [day, checkpoints])).toEqual([
    ["2026-03-03", 120],
    ["2026-03-02", 1440],
    ["2026-03-01", 1440],
  ]);
  expect(found.states.sampled).toBe(true);
  expect(found.frees.prune.checkpoints).toBe(2999);
});
