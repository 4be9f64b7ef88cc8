import { randomBytes } from "node:crypto";
import { emptyCheckpoint, type CheckpointMetadata } from "@langchain/langgraph-checkpoint";
import { Annotation, START, StateGraph } from "@langchain/langgraph";
import { MemoryTier, TierSaver, type SaverOptions } from "@stratigraph/core";
import { FaultyTier } from "@stratigraph/testing";
import { describe, expect, test } from "vitest";
import { metadataTerms } from "../../src/encode/metadataTerms.ts";
import { expectRefused } from "../../../../../test/expectRefused.ts";
import { Storage, replacing, text, twoSteps, withoutFastPaths } from "./support.ts";

const threadTags = ["user_id", "tenant"];
const metadata: CheckpointMetadata = { source: "loop", step: 0, parents: {} };

function open(tier = new MemoryTier(), options: SaverOptions = { threadTags }) {
  const door = new FaultyTier(tier);
  return { tier, door, saver: new TierSaver(door, options) };
}

async function idsOf(saver: TierSaver, tag: Record<string, string | number | boolean>): Promise<string[]> {
  return (await saver.listThreads({ tag })).threads.map(({ threadId }) => threadId).sort();
}

const run = async (saver: TierSaver, configurable: Record<string, unknown>, more: object = {}) =>
  await twoSteps(saver).invoke({ who: "x" }, { configurable, ...more });

const State = Annotation.Root({ n: Annotation<number> });

/** A graph whose second node runs a graph with a checkpointer of its own namespace. */
function nested(checkpointer: TierSaver) {
  const inner = new StateGraph(State)
    .addNode("deep", ({ n }) => ({ n: n + 1 }))
    .addEdge(START, "deep")
    .compile({ checkpointer: true });
  return new StateGraph(State)
    .addNode("first", ({ n }) => ({ n: n + 1 }))
    .addNode("inner", async (state, config) => await inner.invoke(state, config))
    .addEdge(START, "first")
    .addEdge("first", "inner")
    .compile({ checkpointer });
}

describe("threadTags", () => {
  describe.each(["sync", "async", "exit"] as const)("durability %s", (durability) => {
    test("what configurable and metadata name becomes a tag, before anything of the thread is stored", async () => {
      const { door, saver } = open();
      await nested(saver).invoke(
        { n: 0 },
        { configurable: { thread_id: "t", user_id: "anna" }, metadata: { tenant: 7 }, durability },
      );
      expect(await idsOf(saver, { user_id: "anna", tenant: 7 })).toEqual(["t"]);
      expect(await idsOf(saver, { tenant: "7" })).toEqual(["t"]);
      expect(await idsOf(saver, { user_id: "ben" })).toEqual([]);
      const writes = door.calls.map(({ method }) => method).filter((method) => /append|tag/.test(method));
      expect(writes[0]).toBe("tagThread");
      expect(writes.length).toBeGreaterThan(2);
    });

    test("a thread costs one statement more per process, not one per put or run", async () => {
      const { tier, door, saver } = open();
      const thread = { thread_id: "t", user_id: "anna" };
      for (let turn = 0; turn < 3; turn += 1) await run(saver, thread, { durability });
      expect(door.count("tagThread")).toBe(1);
      const other = open(tier);
      for (let turn = 0; turn < 3; turn += 1) await run(other.saver, thread, { durability });
      expect(other.door.count("tagThread")).toBe(1);
    });
  });

  test("updateState gives a new thread its tags", async () => {
    const { saver } = open();
    const config = { configurable: { thread_id: "t", user_id: "anna" } };
    await twoSteps(saver).updateState(config, { note: "by hand" }, "one");
    expect(await idsOf(saver, { user_id: "anna" })).toEqual(["t"]);
  });

  test("a thread carries the tags of all who wrote to it", async () => {
    const { saver } = open();
    for (const user_id of ["anna", "ben"]) await run(saver, { thread_id: "shared", user_id });
    await run(saver, { thread_id: "ben's", user_id: "ben" });
    await run(saver, { thread_id: "nobody's" });
    expect(await idsOf(saver, { user_id: "anna" })).toEqual(["shared"]);
    expect(await idsOf(saver, { user_id: "ben" })).toEqual(["ben's", "shared"]);
  });

  test("a thread that another process deleted gets its tags again when it begins anew", async () => {
    const storage = new MemoryTier();
    const [one, two] = [open(storage), open(storage)];
    const thread = { thread_id: "t", user_id: "anna" };
    await run(one.saver, thread);
    await two.saver.deleteThread("t");
    expect(await idsOf(one.saver, { user_id: "anna" })).toEqual([]);
    await run(one.saver, thread);
    expect(await idsOf(two.saver, { user_id: "anna" })).toEqual(["t"]);
    // Also without a run, which reads first.
    await two.saver.deleteThread("t");
    await one.saver.put({ configurable: thread }, emptyCheckpoint(), metadata, {});
    expect(await idsOf(two.saver, { user_id: "anna" })).toEqual(["t"]);
  });

  test("an import whose thread is deleted between its tags and its first checkpoint leaves no untagged thread", async () => {
    const { tier, door, saver } = open();
    const held = door.hold("append");
    const put = saver.put(
      { configurable: { thread_id: "t", user_id: "anna" } },
      emptyCheckpoint(),
      metadata,
      {},
    );
    await held.reached;
    await tier.deleteThread("t");
    held.release();
    await expect(put).rejects.toMatchObject({ code: "THREAD_DELETED" });
    expect((await saver.listThreads()).threads).toEqual([]);
  });

  test("a tagging that failed fails the put, and is done by the next one", async () => {
    const { door, saver } = open();
    door.failNext("tagThread", new Error("away"));
    await expect(run(saver, { thread_id: "t", user_id: "anna" })).rejects.toThrow("away");
    expect((await saver.listThreads()).threads).toEqual([]);
    await run(saver, { thread_id: "t", user_id: "anna" });
    expect(await idsOf(saver, { user_id: "anna" })).toEqual(["t"]);
    // Also in a thread that goes on, and isn't read again in between.
    const { config } = (await saver.getTuple({ configurable: { thread_id: "t" } }))!;
    const next = { configurable: { ...config.configurable, user_id: "ben" } };
    const put = async () => await saver.put(next, { ...emptyCheckpoint(), id: "next" }, metadata, {});
    door.failNext("tagThread", new Error("away"));
    await expect(put()).rejects.toThrow("away");
    await put();
    expect(await idsOf(saver, { user_id: "ben" })).toEqual(["t"]);
  });

  test.each([
    ["an empty text", "", 'found ""'],
    ["an object", { name: "anna" }, 'found "an object"'],
    ["no number", Number.NaN, 'found "NaN"'],
    ["a long text", "x".repeat(1025), "text of 1025 bytes"],
  ])("a value that is %s is refused, and nothing is stored", async (_, user_id, found) => {
    const { door, saver } = open();
    const put = saver.put({ configurable: { thread_id: "t", user_id } }, emptyCheckpoint(), metadata, {});
    await expect(put).rejects.toThrow(found);
    await expect(put).rejects.toMatchObject({ data: { field: "configurable.user_id" } });
    expect(door.calls).toEqual([]);
  });

  test("under encryption tags are found, and not stored as they are", async () => {
    const key = randomBytes(32);
    const encryption = { keys: { "1": key }, activeKey: "1", hashKey: randomBytes(32) };
    const { tier, saver } = open(new MemoryTier(), { threadTags, encryption });
    await run(saver, { thread_id: "t", user_id: "anna" });
    expect(await idsOf(saver, { user_id: "anna" })).toEqual(["t"]);
    expect(await idsOf(saver, { user_id: "anna " })).toEqual([]);
    const [stored, ...more] = await tier.threadTags("t");
    expect(more).toEqual([]);
    expect(stored).toEqual({ key: "user_id", value: expect.stringMatching(/^[\w-]{43}$/) });
    const others = open(tier, { threadTags, encryption: { ...encryption, hashKey: randomBytes(32) } });
    await expect(idsOf(others.saver, { user_id: "anna" })).rejects.toMatchObject({ code: "KEY_MISMATCH" });
  });

  test("a tier that keeps no tags is refused when the saver is made", async () => {
    const bare = replacing(new MemoryTier(), { tagThread: undefined });
    await expectRefused(() => new TierSaver(bare, { threadTags }), "threadTags", "keeps no tags");
    const saver = new TierSaver(bare);
    await expectRefused(() => saver.listThreads({ tag: { user_id: "anna" } }), "tag", "keeps no tags");
    await expectRefused(() => saver.deleteThreads({ tag: { user_id: "anna" } }), "tag", "keeps no tags");
    await expectRefused(() => saver.tagThread("t", { user_id: "anna" }), "tags", "keeps no tags");
  });
});

describe("tagThread and untagThread", () => {
  test("give a thread tags, and take them away", async () => {
    const { saver } = new Storage().open();
    await run(saver, { thread_id: "t" });
    await saver.tagThread("t", { user_id: "anna", vip: true });
    expect(await idsOf(saver, { user_id: "anna" })).toEqual(["t"]);
    expect(await idsOf(saver, { vip: "true" })).toEqual(["t"]);
    await saver.untagThread("t", { user_id: "anna", tenant: 1 });
    expect(await idsOf(saver, { user_id: "anna" })).toEqual([]);
    expect(await idsOf(saver, { vip: true })).toEqual(["t"]);
  });

  test("of a thread that isn't there, as of a misspelt id: an error", async () => {
    const { saver } = new Storage().open();
    await expect(saver.tagThread("t", { user_id: "anna" })).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  test("a tag that was taken away is given again by the writer that names it", async () => {
    const { saver } = open();
    await run(saver, { thread_id: "t", user_id: "anna" });
    await saver.untagThread("t", { user_id: "anna" });
    await run(saver, { thread_id: "t" });
    expect(await idsOf(saver, { user_id: "anna" })).toEqual([]);
    await run(saver, { thread_id: "t", user_id: "anna" });
    expect(await idsOf(saver, { user_id: "anna" })).toEqual(["t"]);
  });
});

test.each([
  ["inside the storage", new MemoryTier()],
  ["by reading and writing", withoutFastPaths(new MemoryTier())],
] as const)("a copy made %s inherits the tags", async (_, tier) => {
  const saver = new TierSaver(tier, { threadTags });
  await run(saver, { thread_id: "t", user_id: "anna" });
  await saver.copyThread("t", "copy");
  expect(await idsOf(saver, { user_id: "anna" })).toEqual(["copy", "t"]);
});

test("tags and a filter go together, page by page", async () => {
  const { saver } = open();
  for (let n = 0; n < 30; n += 1) {
    await run(saver, { thread_id: `t${n}`, user_id: n % 2 === 0 ? "anna" : "ben" });
    if (n % 3 === 0)
      await twoSteps(saver).updateState({ configurable: { thread_id: `t${n}` } }, { note: "n" }, "one");
  }
  const found: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await saver.listThreads({
      tag: { user_id: "anna" },
      filter: { source: "update" },
      limit: 2,
      ...(cursor === undefined ? {} : { cursor }),
    });
    expect(page.threads.length).toBeLessThanOrEqual(2);
    for (const thread of page.threads) {
      expect(thread).not.toHaveProperty("headRecord");
      found.push(thread.threadId);
    }
    cursor = page.cursor;
  } while (cursor !== undefined);
  expect(found.sort()).toEqual(["t0", "t12", "t18", "t24", "t6"]);
});

test("a filter finds whom it names, and nobody whose name has the same hash in the index", async () => {
  const { saver } = open();
  const [anna, ben] = ["user-139599", "user-322382"];
  expect(metadataTerms({ owner_id: anna })).toEqual(metadataTerms({ owner_id: ben }));
  for (const owner_id of [anna, ben])
    await saver.put(
      { configurable: { thread_id: owner_id } },
      emptyCheckpoint(),
      { ...metadata, owner_id } as CheckpointMetadata,
      {},
    );
  const filter = { owner_id: ben };
  expect((await saver.listThreads({ filter })).threads.map(({ threadId }) => threadId)).toEqual([ben]);
  const listed: unknown[] = [];
  for await (const { config } of saver.list({ configurable: {} }, { filter }))
    listed.push(config.configurable?.["thread_id"]);
  expect(listed).toEqual([ben]);
});

test("what was tagged before encryption was turned on can be untagged, and isn't deleted by that tag any more", async () => {
  const { tier, saver } = open();
  await run(saver, { thread_id: "t", user_id: "anna", tenant: 7 });
  const encryption = { keys: { "1": randomBytes(32) }, activeKey: "1", hashKey: randomBytes(32) };
  const encrypting = open(tier, { encryption }).saver;
  await encrypting.untagThread("t", { user_id: "anna" });
  expect(await tier.threadTags("t")).toEqual([{ key: "tenant", value: "7" }]);
  expect((await encrypting.deleteThreads({ tag: { user_id: "anna" } })).threads).toEqual([]);
  expect(await idsOf(saver, { tenant: 7 })).toEqual(["t"]);
});

test("a thread that another process deleted and began anew carries its next writer's tag", async () => {
  const { tier, saver } = open();
  await run(saver, { thread_id: "t", user_id: "anna" });
  const other = open(tier).saver;
  await other.deleteThread("t");
  await run(other, { thread_id: "t", user_id: "ben" });
  await run(saver, { thread_id: "t", user_id: "anna" });
  expect((await tier.threadTags("t")).map(({ value }) => value).sort()).toEqual(["anna", "ben"]);
  expect((await saver.deleteThreads({ tag: { user_id: "anna" } })).complete).toBe(true);
});

test("a thread that another process deleted and restored from a copy gets its tags from its next writer", async () => {
  const { tier, saver } = open();
  const tagged = { configurable: { thread_id: "t", user_id: "anna" } };
  const put = async (by: TierSaver, id: string, checkpoint_id?: string): Promise<unknown> =>
    await by.put(
      { configurable: { ...tagged.configurable, checkpoint_id } },
      { ...emptyCheckpoint(), id, channel_values: { note: text("note") }, channel_versions: { note: 1 } },
      metadata,
      checkpoint_id === undefined ? { note: 1 } : {},
    );
  const restored = open(tier, {}).saver;
  for (const by of [saver, restored]) {
    await by.deleteThread("t");
    await put(by, "1");
    await put(by, "2", "1");
  }
  expect(await idsOf(saver, { user_id: "anna" })).toEqual([]);
  await saver.getTuple(tagged);
  await put(saver, "3", "2");
  expect(await idsOf(saver, { user_id: "anna" })).toEqual(["t"]);
});
