import { MemoryTier, TierSaver } from "@stratigraph/core";
import { FaultyTier } from "@stratigraph/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openStack } from "../../../../features/branch/test/support/stack.ts";
import { chat, human, on } from "../../../../features/branch/test/support/graphs.ts";
import { savers } from "./support/savers.ts";
import { hostileId, ran } from "./support/ran.ts";

interface Deleted {
  readonly complete: boolean;
  readonly threads: number;
  readonly checkpoints: number;
  readonly bytes: number;
  readonly cursor?: string;
  readonly items: readonly {
    readonly thread: string;
    readonly checkpoints: number;
    readonly gone: boolean;
    readonly reason?: string;
    readonly where: readonly { readonly tier: string; readonly bytes: number }[];
  }[];
}

async function fill(saver: TierSaver, ...ids: string[]): Promise<void> {
  for (const id of ids) await chat(saver).invoke({ messages: [human("hello ".repeat(100))] }, on(id));
}

describe.each(savers)("delete on %s", (_name, open) => {
  let saver: TierSaver;
  let close: () => Promise<void>;
  beforeAll(async () => ({ saver, close } = await open()));
  afterAll(() => close());
  const there = async (id: string) => (await saver.getTuple(on(id))) !== undefined;

  test("by ids: tells what it would delete, with bytes, then deletes it and proves it", async () => {
    await fill(saver, hostileId, "stays");
    const plan = await ran<Deleted>("delete", { thread: hostileId, dryRun: "true" }, saver);
    expect(plan.output).toMatchObject({ complete: true, threads: 1, checkpoints: 3 });
    expect(plan.output.bytes).toBeGreaterThan(500);
    expect(plan.text).toContain("Would delete 1 thread, 3 checkpoints");
    expect(plan.found).toBe(false);
    expect(await there(hostileId)).toBe(true);
    const { output, text, found } = await ran<Deleted>("delete", { thread: [hostileId, "never"] }, saver);
    expect(output).toMatchObject({ complete: true, threads: 1, checkpoints: 3, bytes: plan.output.bytes });
    expect(output).toMatchObject({ missing: 1, failed: 0 });
    expect(output.items.map(({ gone }) => gone)).toEqual([true, true]);
    expect(text).toContain("Deleted 1 thread, 3 checkpoints");
    expect(text).toContain("never: There is no such thread, and never was.");
    expect(found).toBe(true);
    await expect(ran("delete", { thread: "never either" }, saver)).rejects.toMatchObject({
      code: "NOT_FOUND",
    });
    expect([await there(hostileId), await there("stays")]).toEqual([false, true]);
  });

  test("by tags, however many threads carry them", async () => {
    const ids = Array.from({ length: 23 }, (_, n) => `tagged-${n}`);
    await fill(saver, ...ids, "untagged");
    for (const id of ids) await saver.tagThread(id, { user: "anna" });
    const plan = await ran<Deleted>("delete", { tag: "user=anna", dryRun: true }, saver);
    expect(plan.output).toMatchObject({ complete: true, threads: 23 });
    const { output } = await ran<Deleted>("delete", { tag: "user=anna" }, saver);
    expect(output).toMatchObject({ complete: true, threads: 23, bytes: plan.output.bytes });
    expect((await saver.listThreads({ tag: { user: "anna" } })).threads).toEqual([]);
    expect(await there("untagged")).toBe(true);
    expect((await ran("delete", { tag: "user=anna" }, saver)).text).toBe("No such threads.");
  });

  test("says by what to choose threads", async () => {
    for (const input of [{}, { thread: "a", tag: "b=c" }, { thread: "a", olderThan: "1d" }])
      await expect(ran("delete", input, saver)).rejects.toMatchObject({ code: "INVALID_OPTION" });
    await expect(ran("delete", { olderThan: "1 day" }, saver)).rejects.toThrow("write a time with its unit");
  });

  test("after an interruption, it continues where it stopped", async () => {
    const ids = ["i1", "i2", "i3", "i4"];
    await fill(saver, ...ids);
    const abort = new AbortController();
    const first = await ran<Deleted>("delete", { thread: ids }, saver, {
      signal: abort.signal,
      onProgress: ({ done }) => (done === 2 ? abort.abort() : undefined),
    });
    expect(first.output).toMatchObject({ complete: false, threads: 2 });
    expect(first.text).toContain(`Go on with --cursor ${first.output.cursor}`);
    expect([await there("i2"), await there("i3")]).toEqual([false, true]);
    const second = await ran<Deleted>("delete", { thread: ids, cursor: first.output.cursor }, saver);
    expect(second.output.items.map(({ thread }) => thread)).toEqual(["i3", "i4"]);
    expect(second.output.complete).toBe(true);
  });
});

/** A tier whose clock can be set. */
function aged() {
  const clock = { nowMs: Date.now() };
  const tier = new FaultyTier(new MemoryTier(() => clock.nowMs));
  return { clock, tier, saver: new TierSaver(tier) };
}
const day = 86_400_000;

test("by age: only threads that nobody wrote to since they were chosen", async () => {
  const { clock, tier, saver } = aged();
  clock.nowMs -= 40 * day;
  await fill(saver, "old", "older");
  clock.nowMs += 35 * day;
  await fill(saver, "young");
  const plan = await ran<Deleted>("delete", { olderThan: "30d", dryRun: true }, saver);
  expect(plan.output.items.map(({ thread }) => thread)).toEqual(["old", "older"]);
  const revive = async (): Promise<boolean> => {
    await fill(saver, "older");
    return false;
  };
  let isRevived = false;
  const { deleteUnchanged } = tier;
  Object.assign(tier, {
    deleteUnchanged: async (id: string, revision: number) => {
      if (id === "older" && !isRevived) isRevived = !(await revive());
      return await deleteUnchanged!(id, revision);
    },
  });
  const { output } = await ran<Deleted>("delete", { olderThan: "30d" }, saver);
  expect(isRevived).toBe(true);
  expect(output).toMatchObject({ threads: 1, items: [{ thread: "old", gone: true }] });
  const { threads } = await saver.listThreads();
  expect(threads.map(({ threadId }) => threadId).sort()).toEqual(["older", "young"]);
});

test("threads that can't be deleted are counted, with the reason", async () => {
  const { tier, saver } = aged();
  await fill(saver, "a");
  tier.failNext("deleteThread", new Error("no right"), { times: 9 });
  const { output, found, text } = await ran<Deleted>("delete", { thread: "a" }, saver);
  expect(output.items).toMatchObject([{ gone: false, reason: expect.stringContaining("no right") }]);
  expect(found).toBe(true);
  expect(text).toContain("NOT DELETED");
});

test("a failed thread after the last listed one is counted, too", async () => {
  const tier = new FaultyTier(new MemoryTier());
  const saver = new TierSaver(tier);
  await fill(saver, "source");
  const ids = Array.from({ length: 1002 }, (_, n) => `of many ${n}`);
  for (const id of ids) await tier.copyThread!("source", id);
  tier.failWhen(({ method, args }) => method === "deleteThread" && args[0] === ids[1000]);
  const { output, found, text } = await ran<Deleted>("delete", { thread: ids }, saver);
  expect(output).toMatchObject({ complete: true, threads: 1002, failed: 1 });
  expect(text).toContain("1 of 1002 not deleted.");
  expect(found).toBe(true);
});

test("an archived thread is deleted from every tier", { timeout: 120_000 }, async () => {
  const stack = await openStack();
  try {
    const { saver } = await stack.open();
    await fill(saver, "cold", "warm");
    await stack.archive(2);
    await fill(saver, "warm");
    const plan = await ran<Deleted>("delete", { thread: ["cold", "warm"], dryRun: true }, saver);
    expect(plan.output.items[0]!.where.map(({ tier }) => tier)).toContain("s3");
    const { output } = await ran<Deleted>("delete", { thread: ["cold", "warm"] }, saver);
    expect(output.items.map(({ gone }) => gone)).toEqual([true, true]);
    expect((await saver.listThreads()).threads).toEqual([]);
  } finally {
    await stack.close();
  }
});
