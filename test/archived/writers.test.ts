import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MemorySaver as Official } from "@langchain/langgraph-checkpoint";
import { fork } from "@stratigraph/branch";
import { MemoryTier, TierSaver, type Tier } from "@stratigraph/core";
import { reservedNamespaces } from "@stratigraph/core/tier";
import { createJournal, events } from "@stratigraph/journal";
import { exportThreads, importThreads, moveThreads, readThrough, saverSource } from "@stratigraph/migrate";
import { fileSource, fileTarget, tierSource } from "@stratigraph/migrate/internal";
import { postgres } from "@stratigraph/postgres";
import { TieredSaver } from "@stratigraph/tiered";
import { createThreads } from "stratigraph";
import { say } from "../../packages/features/migrate/test/support/conversation.ts";
import { tierWith } from "../../packages/features/migrate/test/support/tierWith.ts";
import { freshDatabase, type FreshDatabase } from "../servers/shared.ts";

// Whoever writes to an archived thread without its archive is refused, and nothing is written: to a writer that doesn't read first, the
// thread looks as if it had no checkpoints.

let database: FreshDatabase;
let onPostgres: Tier;
beforeAll(async () => {
  database = await freshDatabase();
  onPostgres = postgres({ url: database.url });
  await onPostgres.setup!();
});
afterAll(async () => {
  await onPostgres.end!();
  await database.drop();
});

const warmTiers = { memory: (): Tier => new MemoryTier(), postgres: (): Tier => onPostgres };
const state = { initial: 0 };
const sum = (all: number, event: number): number => all + event;
const pay = { id: "pay", args: { sum: 1 } };
const on = (threadId: string) => ({ configurable: { thread_id: threadId } });

/** What a tier has of a thread. */
async function held(tier: Tier, threadId: string): Promise<unknown[]> {
  const found: unknown[] = [await tier.peek({ threadId, namespace: "" })];
  for await (const { record } of tier.list({ threadId, recordsOnly: true })) found.push(record);
  return found;
}

/** Another conversation under the same id, in an official saver. */
async function elsewhere(threadId: string, texts = ["theirs", "more"]): Promise<Official> {
  const official = new Official();
  for (const text of texts) await say(official, threadId, text);
  return official;
}

/** The same in one of ours, with tags. */
async function ours(threadId: string): Promise<TierSaver> {
  const saver = new TierSaver(new MemoryTier());
  await say(saver, threadId, "theirs");
  await (saver.tier as MemoryTier).tagThread(threadId, [{ key: "user", value: "bob" }]);
  return saver;
}

const refusal = { code: "EVICTED" };
/** A report that names the thread, and counts nothing. */
const untouched = (threadId: string) => ({
  checkpoints: 0,
  writes: 0,
  diverged: [],
  differences: [{ threadId, what: expect.stringContaining("archive") }],
});

/** Every writer that doesn't read the thread's checkpoints first, and what becomes of it. */
const writers: Record<string, (saver: TierSaver, threadId: string) => Promise<void>> = {
  "an import from an official saver": async (saver, threadId) => {
    const source = saverSource(await elsewhere(threadId));
    expect(await importThreads(source, saver)).toMatchObject(untouched(threadId));
    expect(await importThreads(source, saver, { verify: false })).toMatchObject(untouched(threadId));
  },
  "an import from a file": async (saver, threadId) => {
    const folder = mkdtempSync(join(tmpdir(), "stratigraph-archived-"));
    const path = join(folder, "threads.jsonl");
    await exportThreads(await ours(threadId), fileTarget({ path }));
    expect(await importThreads(fileSource({ path }), saver)).toMatchObject(untouched(threadId));
    rmSync(folder, { recursive: true });
  },
  "an import from one of ours": async (saver, threadId) => {
    expect(await importThreads(tierSource(await ours(threadId)), saver)).toMatchObject(untouched(threadId));
  },
  "a move": async (saver, threadId) => {
    const from = await ours(threadId);
    for (const source of ["keep", "delete"] as const)
      expect(await moveThreads(from, saver, { source })).toMatchObject(untouched(threadId));
    expect((await from.tier.peek({ threadId, namespace: "" })).head).toBeDefined();
  },
  "reading through": async (saver, threadId) => {
    readThrough(saver, saverSource(await elsewhere(threadId)));
    await expect(say(saver, threadId, "next")).rejects.toMatchObject(refusal);
  },
  "a copy to it": async (saver, threadId) => {
    await say(saver, `${threadId} source`, "theirs");
    const copying = saver.copyThread(`${threadId} source`, threadId);
    await expect(copying).rejects.toMatchObject({ code: "THREAD_EXISTS" });
  },
  "a copy of it": async (saver, threadId) => {
    await expect(saver.copyThread(threadId, `${threadId} copy`)).rejects.toMatchObject(refusal);
  },
  "a fork to it": async (saver, threadId) => {
    await say(saver, `${threadId} origin`, "theirs");
    const forking = fork(saver, `${threadId} origin`, { to: threadId });
    await expect(forking).rejects.toMatchObject({ code: "THREAD_EXISTS" });
  },
  "a put without a read": async (saver, threadId) => {
    const { checkpoint, metadata } = (await (await elsewhere(threadId)).getTuple(on(threadId)))!;
    const putting = saver.put(
      { configurable: { thread_id: threadId, checkpoint_ns: "" } },
      checkpoint,
      metadata!,
    );
    await expect(putting).rejects.toMatchObject(refusal);
  },
  "metadata from a server": async (saver, threadId) => {
    const threads = createThreads(saver);
    for (const kind of ["put", "patch"] as const)
      await expect(threads.set(threadId, { kind, metadata: { color: "red" } })).rejects.toMatchObject(
        refusal,
      );
    await expect(threads.get(threadId)).rejects.toMatchObject(refusal);
  },
  "an event": async (saver, threadId) => {
    await expect(events(saver, sum, state).append(threadId, 1)).rejects.toMatchObject(refusal);
    await expect(events(saver, sum, state).project(threadId)).rejects.toMatchObject(refusal);
  },
};

/** A thread of two turns with an event and metadata, archived in a folder of its own. */
async function archived(warm: Tier, threadId: string): Promise<{ cold: MemoryTier; stack: TieredSaver }> {
  const cold = new MemoryTier();
  const stack = new TieredSaver({ warm, cold });
  await createThreads(stack, { graph: "g" }).set(threadId, { kind: "put", metadata: { color: "blue" } });
  await events(stack, sum, state).append(threadId, 1);
  await createJournal(stack).run(on(threadId), pay, () => "paid");
  for (const text of ["one", "two"]) await say(stack, threadId, text);
  expect(await stack.tier.archiveThread!(threadId, async () => undefined)).toMatchObject({ done: true });
  return { cold, stack };
}

describe.each(Object.keys(warmTiers) as (keyof typeof warmTiers)[])("%s", (kind) => {
  test.each(Object.keys(writers))("%s: refused, and the thread is as it was", async (name) => {
    const warm = warmTiers[kind]();
    const threadId = `ada ${name}`;
    const { cold, stack } = await archived(warm, threadId);
    const before = await held(warm, threadId);
    await writers[name]!(new TierSaver(warm), threadId);
    expect(await held(warm, threadId)).toEqual(before);
    // Another archive than that of the thread is no archive of it.
    await writers[name]!(new TieredSaver({ warm, cold: new MemoryTier() }), threadId);
    expect(await held(warm, threadId)).toEqual(before);
    expect((await say(new TieredSaver({ warm, cold }), threadId, "three")).map(({ text }) => text)).toEqual([
      "one",
      "1 read",
      "two",
      "3 read",
      "three",
      "5 read",
    ]);
    expect(await events(stack, sum, state).append(threadId, 2)).toMatchObject({ version: 2, state: 3 });
  });
});

test("a journal whose entries are archived is evicted, not broken: no call runs", async () => {
  const warm = new MemoryTier();
  const { cold } = await archived(warm, "ada");
  const before = await held(warm, "ada");
  const call = vi.fn(() => "paid again");
  const paying = createJournal(new TierSaver(warm)).run(on("ada"), pay, call);
  await expect(paying).rejects.toMatchObject(refusal);
  expect(call).not.toHaveBeenCalled();
  expect(await held(warm, "ada")).toEqual(before);
  expect(await createJournal(new TieredSaver({ warm, cold })).run(on("ada"), pay, call)).toBe("paid");
});

test("events that are missing, with no archive: CORRUPT, never a shorter state", async () => {
  const tier = new MemoryTier();
  for (const event of [1, 2, 3]) await events(new TierSaver(tier), sum, state).append("ada", event);
  const removed: { threadId: string; namespace: string; checkpointId: string }[] = [];
  for await (const { record } of tier.list({ threadId: "ada", recordsOnly: true })) removed.push(record);
  const { revision } = await tier.peek({ threadId: "ada", namespace: "" });
  const none = { dropBlobs: [], replaceBlobs: [], heads: [] };
  await tier.remove({ threadId: "ada", revision, checkpoints: removed.slice(2), ...none });
  const store = events(new TierSaver(tier), sum, state);
  await expect(store.append("ada", 4)).rejects.toMatchObject({ code: "CORRUPT" });
  await expect(store.project("ada", { until: 3 })).rejects.toMatchObject({ code: "CORRUPT" });
  expect(await store.project("ada", { until: 0 })).toMatchObject({ version: 0 });
  expect(await store.project("nobody", { until: new Date() })).toMatchObject({ version: 0 });
});

test("a thread that was evicted without an archive: an import and a move leave its head alone", async () => {
  const warm = new MemoryTier();
  await say(new TierSaver(warm), "ada", "one");
  await warm.evict("ada", (await warm.peek({ threadId: "ada", namespace: "" })).revision);
  const before = await held(warm, "ada");
  const saver = new TierSaver(warm);
  expect(await importThreads(saverSource(await elsewhere("ada")), saver)).toMatchObject({
    checkpoints: 0,
    differences: [{ threadId: "ada" }],
  });
  expect(await moveThreads(await ours("ada"), saver)).toMatchObject({
    checkpoints: 0,
    differences: [{ threadId: "ada" }],
  });
  expect(await held(warm, "ada")).toEqual(before);
});

test("imports around archiving: never archived, with the archive, repeated, after both sides went on, and killed", async () => {
  const [warm, cold] = [new MemoryTier(), new MemoryTier()];
  const stack = new TieredSaver({ warm, cold });
  const official = await elsewhere("ada", ["one"]);
  const source = saverSource(official);
  // A killed import leaves checkpoints without a head. It may be repeated without the archive, as nothing is archived.
  const dying = tierWith(warm, {
    append: async (request: Parameters<Tier["append"]>[0]) => {
      if (request.heads.length > 0) throw new Error("killed");
      return await warm.append(request);
    },
  });
  await expect(importThreads(source, new TierSaver(dying))).rejects.toThrow("killed");
  expect(await importThreads(source, new TierSaver(warm))).toMatchObject({ differences: [] });
  expect(await importThreads(source, stack)).toMatchObject({ skipped: 1, differences: [] });
  await stack.tier.archiveThread!("ada", async () => undefined);
  // The source went on: with the archive it is imported, without it isn't.
  await say(official, "ada", "two");
  expect(await importThreads(source, new TierSaver(warm))).toMatchObject(untouched("ada"));
  expect(await importThreads(source, stack)).toMatchObject({ checkpoints: 3, differences: [] });
  expect(await say(stack, "ada", "ours")).toHaveLength(6);
  await say(official, "ada", "theirs");
  await stack.tier.archiveThread!("ada", async () => undefined);
  expect(await importThreads(source, stack)).toMatchObject({ checkpoints: 0, diverged: ["ada"] });
  expect(await importThreads(source, new TierSaver(warm))).toMatchObject(untouched("ada"));
  expect(await say(stack, "ada", "last")).toHaveLength(8);
});

test("a thread of which a part is archived isn't taken for the whole: not moved, exported or copied without the archive", async () => {
  const [warm, cold] = [new MemoryTier(), new MemoryTier()];
  const stack = new TieredSaver({ warm, cold });
  for (const text of ["one", "two"]) await say(stack, "ada", text);
  await stack.tier.archiveThread!("ada", async () => undefined);
  // Restores the head alone.
  await say(stack, "ada", "three");
  const alone = new TierSaver(warm);
  const to = new TierSaver(new MemoryTier());
  const missing = {
    checkpoints: 0,
    differences: [{ threadId: "ada", what: expect.stringContaining("archive") }],
  };
  expect(await moveThreads(alone, to, { source: "delete" })).toMatchObject(missing);
  expect(await importThreads(saverSource(await elsewhere("ada")), alone)).toMatchObject(missing);
  const folder = mkdtempSync(join(tmpdir(), "stratigraph-archived-"));
  expect(await exportThreads(alone, fileTarget({ path: join(folder, "all.jsonl") }))).toMatchObject(missing);
  rmSync(folder, { recursive: true });
  await expect(alone.copyThread("ada", "copy")).rejects.toMatchObject(refusal);
  expect(await held(to.tier, "ada")).toHaveLength(1);
  expect(await moveThreads(stack, to, { source: "delete" })).toMatchObject({
    checkpoints: 9,
    differences: [],
  });
  expect((await warm.peek({ threadId: "ada", namespace: reservedNamespaces.archived })).head).toBeUndefined();
  expect(await say(to, "ada", "four")).toHaveLength(8);
});
