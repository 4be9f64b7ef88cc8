import { MemorySaver, MemoryTier, TierSaver, type SaverOptions } from "@stratigraph/core";
import {
  exportThreads,
  importThreads,
  moveThreads,
  readThrough,
  saverSource,
  saverTarget,
  type CopyReport,
} from "@stratigraph/migrate";
import { createThreads } from "stratigraph";
import { describe, expect, test } from "vitest";
import { counting } from "./support/conversation.ts";
import { throughFile } from "./support/throughFile.ts";
import { tierWith } from "./support/tierWith.ts";

// Whoever deletes or searches by a tag finds the copies too, whatever keys the storages hash tags with.

const anna = { tag: { user_id: "anna" } };

function options(hashKey: number | undefined): SaverOptions {
  const threadTags = ["user_id"];
  if (hashKey === undefined) return { threadTags };
  const keys = { k: Buffer.alloc(32, 7) };
  return { threadTags, encryption: { keys, activeKey: "k", hashKey: Buffer.alloc(32, hashKey) } };
}

async function says(saver: TierSaver, threadId: string, userId: string): Promise<void> {
  // What LangGraph's API knows of the thread is stored, and a run's own metadata isn't.
  await createThreads(saver).set(threadId, { kind: "put", metadata: { user_id: userId } });
  const config = { configurable: { thread_id: threadId }, metadata: { user_id: userId } };
  await counting(saver).invoke({ messages: [{ role: "user", content: "Hello" }] }, config);
}

async function found(saver: TierSaver): Promise<string[]> {
  return (await saver.listThreads(anna)).threads.map(({ threadId }) => threadId);
}

const ways: Record<string, (from: TierSaver, to: TierSaver) => Promise<CopyReport>> = {
  "a file": throughFile,
  "its saver": async (from, to) => await importThreads(saverSource(from), to),
  "an export to ours": async (from, to) => await exportThreads(from, saverTarget(to)),
};

describe.each([
  ["another hash key", 1, 2],
  ["encryption to none", 1, undefined],
  ["none to encryption", undefined, 1],
  ["the same hash key", 1, 1],
] as const)("from %s", (_name, key, other) => {
  test.each(Object.keys(ways))("a thread is found by its tags after its copy by %s", async (way) => {
    const [from, to] = [new MemorySaver(options(key)), new MemorySaver(options(other))];
    await says(from, "t", "anna");
    await says(from, "u", "bo");
    const copied = { differences: [], notHeld: [], threads: 2 };
    expect(await ways[way]!(from, to)).toMatchObject(copied);
    expect(await found(to)).toEqual(["t"]);
    expect(await ways[way]!(from, to)).toMatchObject({ ...copied, checkpoints: 0 });
    expect(await to.deleteThreads(anna)).toMatchObject({ complete: true, threads: [{ threadId: "t" }] });
    expect((await to.listThreads()).threads.map(({ threadId }) => threadId)).toEqual(["u"]);
  });
});

test("a thread that moves to a storage with encryption is found by its tags", async () => {
  const [from, to] = [new MemorySaver(options(undefined)), new MemorySaver(options(1))];
  await says(from, "t", "anna");
  await from.tagThread("t", { tenant: "x".repeat(43) });
  expect(await moveThreads(from, to, { source: "delete" })).toMatchObject({ differences: [], threads: 1 });
  expect(await found(to)).toEqual(["t"]);
  expect((await to.listThreads({ tag: { tenant: "x".repeat(43) } })).threads).toHaveLength(1);
});

test.each(Object.keys(ways))(
  "a tag that only a hash under another key is left of is told by its name, until the thread has it: by %s",
  async (way) => {
    const [from, to, same] = [1, 2, 1].map((key) => new MemorySaver(options(key)));
    await says(from!, "t", "anna");
    await from!.tagThread("t", { tenant: "acme" });
    const report = await ways[way]!(from!, to!);
    expect(report.differences).toMatchObject([
      { threadId: "t", what: expect.stringMatching(/"tenant".*another hashKey.*tagThread/) },
    ]);
    expect(await found(to!)).toEqual(["t"]);
    await to!.tagThread("t", { tenant: "acme" });
    expect(await ways[way]!(from!, to!)).toMatchObject({ differences: [], checkpoints: 0 });
    expect(await ways[way]!(from!, same!)).toMatchObject({ differences: [] });
    expect((await same!.listThreads({ tag: { tenant: "acme" } })).threads).toHaveLength(1);
  },
);

test("a thread that isn't found by its tags isn't served by a read", async () => {
  const [from, to] = [new MemorySaver(options(1)), new MemorySaver(options(2))];
  await says(from, "t", "anna");
  await says(from, "u", "anna");
  await from.tagThread("t", { tenant: "acme" });
  readThrough(to, saverSource(from));
  const on = (thread_id: string) => ({ configurable: { thread_id } });
  await expect(to.getTuple(on("t"))).rejects.toMatchObject({ code: "CORRUPT", message: /"tenant"/ });
  expect(await to.getTuple(on("u"))).toBeDefined();
  expect(await found(to)).toContain("u");
});

test("tags come before the first byte, so that a killed import leaves none without them", async () => {
  const [from, tier] = [new MemorySaver(options(undefined)), new MemoryTier()];
  await says(from, "t", "anna");
  const dying = new TierSaver(
    tierWith(tier, {
      append: async (request: Parameters<MemoryTier["append"]>[0]) => {
        await tier.append({ ...request, heads: [] });
        throw new Error("killed");
      },
    }),
    options(undefined),
  );
  await expect(importThreads(saverSource(from), dying)).rejects.toThrow("killed");
  expect(await tier.threadTags("t")).toEqual([{ key: "user_id", value: "anna" }]);
});

test("LangGraph's API finds the threads of a graph after their copy", async () => {
  const [from, to] = [new MemorySaver(options(1)), new MemorySaver(options(2))];
  const begun = createThreads(from);
  await says(from, "t", "anna");
  await begun.set("t", { kind: "patch", metadata: { graph_id: "agent" } });
  expect(await importThreads(saverSource(from), to)).toMatchObject({ differences: [] });
  const page = { limit: 10, offset: 0, sortBy: "created_at", sortOrder: "asc" } as const;
  const threads = [];
  for await (const { thread } of createThreads(to).search({ metadata: { graph_id: "agent" }, ...page }))
    threads.push(thread.thread_id);
  expect(threads).toEqual(["t"]);
});

test("a deletion where threads are still brought from elsewhere names the source", async () => {
  const [from, to] = [new MemorySaver(options(undefined)), new MemorySaver(options(undefined))];
  for (const threadId of ["read", "unread"]) await says(from, threadId, "anna");
  const source = saverSource(from);
  readThrough(to, source);
  const reads = (threadId: string) => to.getTuple({ configurable: { thread_id: threadId } });
  await reads("read");
  const named = expect.arrayContaining([expect.objectContaining({ tier: source.name })]);
  expect(await to.deleteThreads(anna)).toMatchObject({
    complete: false,
    threads: [{ threadId: "read", verified: true }],
    remains: named,
  });
  expect(await reads("unread")).toBeDefined();
  const byId = await to.deleteThreads({ threadIds: ["unread"] });
  expect(byId).toMatchObject({ complete: true, remains: named });
  expect(await reads("unread")).toBeUndefined();
});
