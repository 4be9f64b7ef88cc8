import { MemoryTier, StratigraphError, TierSaver, type Tier } from "@stratigraph/core";
import { FaultyTier } from "@stratigraph/testing";
import { expect, test } from "vitest";
import { expectRefused } from "../../../../../test/expectRefused.ts";
import { contents, twoSteps } from "./support.ts";

const threadTags = ["user_id"];
const anna = { tag: { user_id: "anna" } };

async function written(tier: Tier, users: Readonly<Record<string, string>>): Promise<TierSaver> {
  const saver = new TierSaver(tier, { threadTags });
  for (const [thread_id, user_id] of Object.entries(users))
    await twoSteps(saver).invoke({ who: user_id }, { configurable: { thread_id, user_id } });
  return saver;
}

async function idsIn(tier: Tier): Promise<string[]> {
  const found: string[] = [];
  for await (const { threadId } of tier.threads({})) found.push(threadId);
  return found.sort();
}

test("deletes every thread with the tag, and proves it", async () => {
  const tier = new MemoryTier();
  const saver = await written(tier, { a1: "anna", b1: "ben", a2: "anna" });
  const before = await contents(tier, "b1");
  const report = await saver.deleteThreads(anna);
  expect(report.complete).toBe(true);
  expect(report.threads.map(({ threadId }) => threadId).sort()).toEqual(["a1", "a2"]);
  for (const { found, verified, reason } of report.threads) {
    expect([verified, reason]).toEqual([true, undefined]);
    expect(found).toMatchObject([{ tier: "memory", role: "warm", checkpoints: 4 }]);
    expect(found[0]!.bytes).toBeGreaterThan(100);
  }
  expect(report.remains).toMatchObject([{ tier: "memory", forMs: 7 * 86_400_000 }]);
  expect(await idsIn(tier)).toEqual(["b1"]);
  expect(await contents(tier, "b1")).toEqual(before);
  expect(await saver.deleteThreads(anna)).toMatchObject({ complete: true, threads: [] });
});

test("a storage that can't be reached is asked about a few threads, not about each", async () => {
  const [warm, cold] = [new MemoryTier(), new FaultyTier(new MemoryTier(), "cold")];
  const users = Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`a${n}`, "anna"]));
  await written(warm, users);
  cold.failWhen(() => new StratigraphError("UNAVAILABLE", "It is away."));
  const stack = Object.assign(warm, {
    layers: [
      { role: "warm" as const, tier: new FaultyTier(warm) },
      { role: "cold" as const, tier: cold },
    ],
  });
  const report = await new TierSaver(stack, { threadTags }).deleteThreads(anna);
  expect(report.threads).toHaveLength(40);
  for (const { verified, reason } of report.threads)
    expect([verified, reason]).toEqual([false, "Tier cold could not be asked: It is away."]);
  // Those that were asked about at the same time as the first.
  expect(cold.count("list")).toBe(4);
  expect(await idsIn(warm)).toEqual([]);
});

test("a dry run tells what would go, and deletes nothing", async () => {
  const tier = new FaultyTier(new MemoryTier());
  const saver = await written(tier, { a1: "anna", b1: "ben" });
  const report = await saver.deleteThreads(anna, { dryRun: true });
  expect(report).toMatchObject({ complete: false, threads: [{ threadId: "a1", verified: false }] });
  expect(report.threads[0]!.found).toMatchObject([{ checkpoints: 4 }]);
  expect(tier.count("deleteThread")).toBe(0);
  expect(await idsIn(tier)).toEqual(["a1", "b1"]);
});

test("goes on where a thread can't be deleted, and finishes when it is called again", async () => {
  const tier = new FaultyTier(new MemoryTier());
  const users = Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`a${n}`, "anna"]));
  const saver = await written(tier, users);
  const heal = tier.failWhen(({ method, args }) => method === "deleteThread" && args[0] === "a4");
  const report = await saver.deleteThreads(anna);
  expect(report.complete).toBe(false);
  expect(report.threads).toHaveLength(9);
  const failed = report.threads.filter(({ verified }) => !verified);
  expect(failed).toMatchObject([{ threadId: "a4", reason: expect.stringContaining("The deletion failed") }]);
  expect(failed[0]!.found).toMatchObject([{ checkpoints: 4 }]);
  expect(await idsIn(tier)).toEqual(["a4"]);
  heal();
  const threadIds = failed.map(({ threadId }) => threadId);
  expect(await saver.deleteThreads({ threadIds })).toMatchObject({
    complete: true,
    threads: [{ threadId: "a4", verified: true }],
  });
  expect(await idsIn(tier)).toEqual([]);
});

test("a storage that says it did, and holds it still, isn't believed", async () => {
  const tier = new FaultyTier(new MemoryTier());
  const saver = await written(tier, { a1: "anna" });
  tier.deleteThread = async () => {};
  const report = await saver.deleteThreads(anna);
  expect(report).toMatchObject({
    complete: false,
    threads: [{ threadId: "a1", verified: false, reason: "Tier memory holds something of it." }],
  });
});

test("a storage that can't be asked afterwards isn't believed either", async () => {
  const tier = new FaultyTier(new MemoryTier());
  const saver = await written(tier, { a1: "anna" });
  tier.failWhen(({ method }) => method === "blobs" && tier.count("deleteThread") > 0);
  const report = await saver.deleteThreads({ threadIds: ["a1"] });
  expect(report.complete).toBe(false);
  expect(report.threads[0]).toMatchObject({
    verified: false,
    reason: expect.stringContaining("could not be asked"),
  });
  expect(await idsIn(tier)).toEqual([]);
});

test("threads that are tagged, or written again, while it runs are found", async () => {
  const tier = new FaultyTier(new MemoryTier());
  const saver = await written(tier, { a1: "anna" });
  const held = tier.hold("deleteThread");
  const deletion = saver.deleteThreads(anna);
  await held.reached;
  await written(tier, { a0: "anna", z9: "anna" });
  held.release();
  const report = await deletion;
  expect(report.complete).toBe(true);
  expect(report.threads.map(({ threadId }) => threadId).sort()).toEqual(["a0", "a1", "z9"]);
  expect(await idsIn(tier)).toEqual([]);
});

test("a thread that is written again and again ends the call all the same, and is told", async () => {
  const inner = new MemoryTier();
  const tier = new FaultyTier(inner);
  const saver = await written(tier, { a1: "anna" });
  tier.deleteThread = async (threadId) => {
    await inner.deleteThread(threadId);
    await written(inner, { [threadId]: "anna" });
  };
  const report = await saver.deleteThreads(anna);
  expect(report).toMatchObject({ complete: false, threads: [{ threadId: "a1", verified: false }] });
});

test("threads that were tagged before encryption was turned on are found, also by several tags", async () => {
  const tier = new MemoryTier();
  await written(tier, { before: "anna", both: "anna", b1: "ben" });
  const hashKey = new Uint8Array(32).fill(1);
  const encryption = { keys: { "1": new Uint8Array(32).fill(2) }, activeKey: "1", hashKey };
  const saver = new TierSaver(tier, { threadTags, encryption });
  await saver.tagThread("both", { tenant: 7 });
  await new TierSaver(tier).tagThread("before", { tenant: 7 });
  const report = await saver.deleteThreads({ tag: { user_id: "anna", tenant: 7 } });
  expect(report.complete).toBe(true);
  expect(report.threads.map(({ threadId }) => threadId).sort()).toEqual(["before", "both"]);
  expect(await idsIn(tier)).toEqual(["b1"]);
});

test("a limit leaves the rest for the next call", async () => {
  const tier = new MemoryTier();
  const saver = await written(tier, { a1: "anna", a2: "anna", a3: "anna" });
  const first = await saver.deleteThreads(anna, { limit: 2 });
  expect([first.complete, first.threads.length]).toEqual([false, 2]);
  const second = await saver.deleteThreads(anna, { limit: 2 });
  expect([second.complete, second.threads.length]).toEqual([true, 1]);
  expect(await idsIn(tier)).toEqual([]);
});

test.each([
  ["nothing", undefined, "tag", "Name at least one tag"],
  ["no tag", {}, "tag", "Name at least one tag"],
  ["an undefined tag", { tag: undefined }, "tag", "Name at least one tag"],
  ["an empty tag", { tag: {} }, "tag", "Name at least one tag"],
  [
    "nine tags",
    { tag: Object.fromEntries([..."abcdefghi"].map((name) => [name, 1])) },
    "tag",
    "Name 8 at most",
  ],
  ["a tag without value", { tag: { user_id: undefined } }, "tag.user_id", "Tags are text"],
  ["a tag with an empty value", { tag: { user_id: "" } }, "tag.user_id", "Tags are text"],
  ["a list", { tag: { user_id: ["anna"] } }, "tag.user_id", "Tags are text"],
  ["text", { tag: "anna" }, "tag", "Name at least one tag"],
  ["another name", { tags: { user_id: "anna" } }, "tags", "Write tag."],
  ["a filter", { filter: {} }, "filter", "by their tags"],
  ["both", { tag: { user_id: "anna" }, threadIds: ["a1"] }, "threadIds", "by one of them"],
  ["a text of ids", { threadIds: "a1" }, "threadIds", "Pass a list"],
] as const)("refuses %s, and deletes nothing", async (_, selection, field, says) => {
  const tier = new FaultyTier(new MemoryTier());
  const saver = await written(tier, { a1: "anna" });
  await expectRefused(() => saver.deleteThreads(selection as never), field, says);
  expect(tier.count("deleteThread")).toBe(0);
});

test.each([
  [{ dryrun: true }, "dryrun"],
  [{ dryRun: "yes" }, "dryRun"],
  [{ limit: 0 }, "limit"],
])("refuses the options %o, and deletes nothing", async (options, field) => {
  const tier = new FaultyTier(new MemoryTier());
  const saver = await written(tier, { a1: "anna" });
  await expectRefused(() => saver.deleteThreads(anna, options as never), field, "");
  expect(tier.count("deleteThread")).toBe(0);
});
