// long file: all readers of threads, and the threads that they read
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { interrupt, START, StateGraph } from "@langchain/langgraph";
import { MemorySaver as Official } from "@langchain/langgraph-checkpoint";
import { branches, compare, diff, fork, log, merge, mergeBase, promote } from "@stratigraph/branch";
import { MemoryTier, TierSaver, type Tier } from "@stratigraph/core";
import { createJournal, events } from "@stratigraph/journal";
import {
  exportThreads,
  importThreads,
  moveThreads,
  readThrough,
  saverSource,
  saverTarget,
} from "@stratigraph/migrate";
import { fileTarget, tierSource } from "@stratigraph/migrate/internal";
import { postgres } from "@stratigraph/postgres";
import { redis } from "@stratigraph/redis";
import { folder } from "@stratigraph/s3";
import { TieredSaver } from "@stratigraph/tiered";
import { createThreads } from "stratigraph";
import { Chat, chat, human, on } from "../../packages/features/branch/test/support/graphs.ts";
import { ran } from "../../packages/tools/cli/test/operations/support/ran.ts";
import { repaired, verified } from "../../packages/tools/cli/test/operations/verify/support.ts";
import { freshDatabase, sharedRedis } from "../servers/shared.ts";

// Whoever reads an archived thread without its archive is told so: what isn't here isn't taken for nothing, nor a part for the whole.

const sum = (all: number, event: number): number => all + event;
const pay = { id: "pay", args: { sum: 1 } };
const told = /archiv|evict/i;

async function turn(saver: TierSaver, id: string, text: string): Promise<void> {
  await chat(saver).invoke({ messages: [human(text)] }, { configurable: { thread_id: id, user: "anna" } });
}

function asking(checkpointer: TierSaver) {
  return new StateGraph(Chat)
    .addNode("ask", () => ({ title: interrupt("sure?") }))
    .addEdge(START, "ask")
    .compile({ checkpointer });
}

/** The root's head is lost, as a row may be. Other heads are there. */
async function loseHead(tier: Tier, threadId: string): Promise<void> {
  const { revision } = await tier.peek({ threadId, namespace: "" });
  const nothing = { checkpoints: [], dropBlobs: [], replaceBlobs: [] };
  expect(await tier.remove({ threadId, revision, ...nothing, heads: [{ namespace: "" }] })).toBe(true);
}

/** "young" isn't archived, "whole" is, of "part" the last turn is here, and "lost" was archived and lost its head. */
async function archived() {
  const [warm, cold] = [new MemoryTier(), new MemoryTier()];
  const stack = new TieredSaver({ warm, cold, threadTags: ["user"] });
  const ids = new Map<string, { first: string; last: string }>();
  for (const id of ["young", "whole", "part", "lost"]) {
    const metadata = { color: "blue", user: "anna" };
    await createThreads(stack, { graph: "g" }).set(id, { kind: "put", metadata });
    await events(stack, sum, { initial: 0 }).append(id, 1);
    await createJournal(stack).run(on(id), pay, () => "paid");
    for (const text of ["one", "two"]) await turn(stack, id, text);
    const all: string[] = [];
    for await (const { checkpoint } of stack.list(on(id))) all.push(checkpoint.id);
    ids.set(id, { first: all.at(-1)!, last: all[0]! });
  }
  for (const id of ["whole", "part", "lost"]) await stack.tier.archiveThread!(id, async () => undefined);
  await turn(stack, "part", "three");
  await loseHead(warm, "lost");
  return { warm, cold, stack, ids, alone: new TierSaver(warm, { threadTags: ["user"] }) };
}

const elsewhere = (): TierSaver => new TierSaver(new MemoryTier());
const threadsOf = (saver: TierSaver) => createThreads(saver, { graph: "g" });
const search = { limit: 10, offset: 0, sortBy: "created_at", sortOrder: "asc" } as const;

async function drained(listing: AsyncIterable<unknown>): Promise<unknown[]> {
  const all: unknown[] = [];
  for await (const one of listing) all.push(one);
  return all;
}

async function inFile(saver: TierSaver, threadIds?: readonly string[]): Promise<unknown> {
  const path = mkdtempSync(join(tmpdir(), "stratigraph-archived-"));
  const report = await exportThreads(saver, fileTarget({ path: join(path, "all.jsonl") }), { threadIds });
  rmSync(path, { recursive: true });
  return report;
}

async function throughAnother(saver: TierSaver, id: string): Promise<unknown> {
  const other = elsewhere();
  readThrough(other, saverSource(saver));
  return await other.getTuple(on(id));
}

/** What reads all threads. */
const ofAll: Record<string, (saver: TierSaver) => unknown> = {
  list: (saver) => drained(saver.list({})),
  "list by metadata": (saver) => drained(saver.list({}, { filter: { source: "input" } })),
  listThreads: (saver) => saver.listThreads(),
  "listThreads by metadata": (saver) => saver.listThreads({ filter: { source: "loop" } }),
  "listThreads by status": (saver) => saver.listThreads({ status: "idle" }),
  keysInUse: (saver) => saver.keysInUse(),
  search: (saver) => drained(threadsOf(saver).search(search)),
  "search by tag": (saver) => drained(threadsOf(saver).search({ ...search, metadata: { user: "anna" } })),
  "search by graph": (saver) => drained(threadsOf(saver).search({ ...search, metadata: { graph_id: "g" } })),
  "search by metadata": (saver) =>
    drained(threadsOf(saver).search({ ...search, metadata: { color: "blue" } })),
  "export to a file": (saver) => inFile(saver),
  "export to a saver": (saver) => exportThreads(saver, saverTarget(new Official())),
  "import from a saver": (saver) => importThreads(saverSource(saver), elsewhere()),
  "import from a tier": (saver) => importThreads(tierSource(saver), elsewhere()),
  move: (saver) => moveThreads(saver, elsewhere()),
};
/** And the terminal's operations, which MCP and the inspector have, too. */
const operationsOfAll: readonly (readonly [string, object])[] = [
  ["threads", {}],
  ["threads", { details: true }],
  ["threads", { filter: ["source=loop"] }],
  ["threads", { filter: ["source=loop"], search: "l" }],
  ["threads", { status: "idle" }],
  ["glance", { threads: ["whole"] }],
  ["conflicts", {}],
  ["stats", {}],
  ["keys", {}],
  ["questions", {}],
  ["delete", { thread: ["whole", "part", "lost"], dryRun: true }],
];

/** What reads one thread. */
const ofOne: Record<string, (saver: TierSaver, id: string, old: string) => unknown> = {
  "getTuple of an old checkpoint": (saver, id, old) =>
    saver.getTuple({ configurable: { thread_id: id, checkpoint_ns: "", checkpoint_id: old } }),
  list: (saver, id) => drained(saver.list(on(id))),
  "list before": (saver, id, old) =>
    drained(saver.list(on(id), { before: { configurable: { checkpoint_id: old } } })),
  getStateHistory: (saver, id) => drained(chat(saver).getStateHistory(on(id))),
  conflicts: (saver, id) => saver.conflicts(id),
  getDeltaChannelHistory: (saver, id, old) =>
    saver.getDeltaChannelHistory({
      config: { configurable: { thread_id: id, checkpoint_ns: "", checkpoint_id: old } },
      channels: ["messages"],
    }),
  copyThread: (saver, id) => saver.copyThread(id, "copy"),
  prune: (saver, id) => saver.prune([id], { strategy: "keep_latest" }),
  get: (saver, id) => threadsOf(saver).get(id),
  log,
  branches,
  mergeBase: (saver, id) => mergeBase(saver, id, "young"),
  merge: (saver, id) => merge(chat(saver), "young", id),
  compare: (saver, id) => compare(saver, [id, "young"]),
  diff: (saver, id, old) => diff(saver, { threadId: id, checkpointId: old }, "young"),
  "promote of a saver": (saver, id, old) =>
    saver.promote({ configurable: { thread_id: id, checkpoint_ns: "", checkpoint_id: old } }),
  promote: (saver, id, old) => promote(saver, { threadId: id, checkpointId: old }),
  "fork of an old checkpoint": (saver, id, old) => fork(saver, { threadId: id, checkpointId: old }),
  events: (saver, id) => events(saver, sum, { initial: 0 }).project(id),
  trail: (saver, id) => drained(createJournal(saver).trail(id)),
  "export to a file": (saver, id) => inFile(saver, [id]),
  "import from a saver": (saver, id) => importThreads(saverSource(saver), elsewhere(), { threadIds: [id] }),
  move: (saver, id) => moveThreads(saver, elsewhere(), { threadIds: [id] }),
  readThrough: throughAnother,
};
const operationsOfOne = (id: string, old: string): readonly (readonly [string, object])[] => [
  ["history", { thread: id }],
  ["show", { at: id, checkpoint: old }],
  ["show", { at: `${id}@head~9` }],
  ["show", { at: `${id}@${old.slice(0, 20)}` }],
  ["show", { at: `${id}@step:-1` }],
  ["show", { at: `${id}@lost:1` }],
  ["diff", { from: `${id}@${old}`, to: "young" }],
  ["blame", { at: id, path: "messages[0].content" }],
  ["compare", { threads: [id, "young"] }],
  ["stats", { thread: id }],
  ["calls", { thread: id }],
  ["questions", { thread: id }],
  ["why", { thread: id }],
  ["subagents", { thread: id }],
  ["conflicts", { thread: id }],
];

/** Expects that a reader says that something is archived, by its error or in what it found. */
async function tells(name: string, read: () => unknown): Promise<void> {
  const found: unknown = await Promise.resolve()
    .then(read)
    .catch((error: unknown) => error);
  if (found instanceof Error) expect(found, name).toMatchObject({ code: "EVICTED" });
  else expect(JSON.stringify(found), name).toMatch(told);
}

test("every list of all threads says which are archived, or that some are", async () => {
  const { alone } = await archived();
  for (const [name, read] of Object.entries(ofAll)) await tells(name, () => read(alone));
  for (const [name, input] of operationsOfAll)
    await tells(`${name} ${JSON.stringify(input)}`, async () => (await ran(name, input, alone)).text);
});

test.each(["whole", "part", "lost"])(
  "every reader of one thread says that it is archived: %s",
  async (id) => {
    const { alone, ids } = await archived();
    const { first } = ids.get(id)!;
    for (const [name, read] of Object.entries(ofOne)) await tells(name, () => read(alone, id, first));
    for (const [name, input] of operationsOfOne(id, first))
      await tells(`${name} ${JSON.stringify(input)}`, async () => (await ran(name, input, alone)).text);
    if (id === "part") expect((await alone.getTuple(on(id)))?.checkpoint.channel_values["sum"]).toBe(3);
    else await expect(alone.getTuple(on(id))).rejects.toMatchObject({ code: "EVICTED" });
  },
);

test("encrypting anew names the threads of which a part keeps its old key", async () => {
  const { warm } = await archived();
  const encryption = { keys: { k: Buffer.alloc(32, 1) }, activeKey: "k", hashKey: Buffer.alloc(32, 2) };
  const { failed, records } = await new TierSaver(warm, { encryption }).reencrypt();
  expect(records).toBeGreaterThan(0);
  expect(failed.map(({ threadId, error }) => `${threadId} ${error.code}`).toSorted()).toEqual(
    ["lost", "part", "whole"].map((id) => `${id} EVICTED`),
  );
});

test("what is here of a thread is listed before the list fails, and a limit that is reached is no failure", async () => {
  const { alone, stack } = await archived();
  const here: string[] = [];
  const listing = async () => {
    for await (const { checkpoint } of alone.list(on("part"))) here.push(checkpoint.id);
  };
  await expect(listing()).rejects.toMatchObject({ code: "EVICTED", data: { threadId: "part" } });
  expect(here.length).toBeGreaterThan(0);
  expect(await drained(alone.list(on("part"), { limit: here.length }))).toHaveLength(here.length);
  const one = { configurable: { thread_id: "part", checkpoint_ns: "", checkpoint_id: here[0]! } };
  expect(await drained(alone.list(one))).toHaveLength(1);
  expect((await drained(stack.list(on("part")))).length).toBeGreaterThan(here.length);
});

test("a step whose parent is archived, and a question that is", async () => {
  const { alone, stack, warm } = await archived();
  const here: string[] = [];
  for await (const { record } of warm.list({ threadId: "part", namespace: "", recordsOnly: true }))
    here.push(record.checkpointId);
  const { text } = await ran("writes", { at: "part", checkpoint: here.at(-1)! }, alone);
  expect(text).toMatch(/parent .* isn't here.*archived/);
  await asking(stack).invoke({ title: "asked" }, on("asks"));
  await stack.tier.archiveThread!("asks", async () => undefined);
  const { output } = await ran("inbox", {}, alone);
  expect(output).toMatchObject({ items: [{ thread: "asks", error: expect.stringMatching(told) }] });
});

test("one archived thread doesn't end an import: the others come, and it is named", async () => {
  const { alone } = await archived();
  await turn(alone, "zoe", "one");
  const to = elsewhere();
  const report = await importThreads(saverSource(alone), to);
  expect(report.differences.map(({ threadId }) => threadId).toSorted()).toEqual(["lost", "part", "whole"]);
  for (const id of ["young", "zoe"]) expect(await to.getTuple(on(id))).toBeDefined();
});

test("a search finds archived threads by their tags, and no others", async () => {
  const { alone, stack } = await archived();
  await threadsOf(stack).set("other", { kind: "put", metadata: { user: "bob", graph_id: "h" } });
  await chat(stack).invoke(
    { messages: [human("one")] },
    { configurable: { thread_id: "other", user: "bob" } },
  );
  await stack.tier.archiveThread!("other", async () => undefined);
  const found = await drained(threadsOf(alone).search({ ...search, metadata: { user: "bob" } }));
  expect(found).toMatchObject([
    { thread: { thread_id: "other", metadata: { user: "bob", "stratigraph:archived": true } }, total: 1 },
  ]);
  // Of another graph.
  const ofGraph = await drained(threadsOf(alone).search({ ...search, metadata: { graph_id: "g" } }));
  expect(JSON.stringify(ofGraph)).not.toContain('"other"');
  const byMetadata = drained(threadsOf(alone).search({ ...search, metadata: { color: "blue" } }));
  await expect(byMetadata).rejects.toMatchObject({ code: "EVICTED" });
});

test("a thread of which only a subgraph was restored isn't begun anew over a lost head", async () => {
  const warm = new MemoryTier();
  const stack = new TieredSaver({ warm, cold: new MemoryTier() });
  const inner = new StateGraph(Chat).addNode("inner", () => ({ sum: 1 })).addEdge(START, "inner");
  const outer = new StateGraph(Chat)
    .addNode("sub", inner.compile({ checkpointer: true }))
    .addEdge(START, "sub")
    .compile({ checkpointer: stack });
  await outer.invoke({ messages: [human("one")] }, on("ada"));
  await stack.tier.archiveThread!("ada", async () => undefined);
  expect(await stack.getTuple({ configurable: { thread_id: "ada", checkpoint_ns: "sub" } })).toBeDefined();
  expect((await warm.read({ threadId: "ada", namespace: "sub" })).checkpoint).toBeDefined();
  await loseHead(warm, "ada");
  await expect(new TierSaver(warm).getTuple(on("ada"))).rejects.toMatchObject({ code: "EVICTED" });
});

const places: Record<string, () => Promise<Tier>> = {
  memory: async () => new MemoryTier(),
  folder: async () => {
    const path = mkdtempSync(join(tmpdir(), "stratigraph-archived-"));
    onTestFinished(() => rmSync(path, { recursive: true }));
    return folder({ path });
  },
  postgres: async () => {
    const database = await freshDatabase();
    const tier = postgres({ url: database.url });
    onTestFinished(async () => (await tier.end!(), database.drop()));
    await tier.setup!();
    return tier;
  },
  redis: async () => {
    const { url, prefix } = await sharedRedis();
    const tier = redis({ url, prefix });
    onTestFinished(() => tier.end!());
    return tier;
  },
};

describe.each(Object.keys(places))("a lost head, in %s", (kind) => {
  test("an archived thread isn't begun anew; one that had no head goes on", async () => {
    const warm = await places[kind]!();
    const stack = new TieredSaver({ warm, cold: new MemoryTier() });
    for (const text of ["one", "two"]) await turn(stack, "ada", text);
    await createJournal(stack).run(on("calls"), pay, () => "paid");
    for (const id of ["ada", "calls"])
      expect(await stack.tier.archiveThread!(id, async () => undefined)).toMatchObject({ done: true });
    await loseHead(warm, "ada");
    const { revision } = await warm.peek({ threadId: "ada", namespace: "" });
    const alone = new TierSaver(warm);
    await expect(turn(alone, "ada", "three")).rejects.toMatchObject({ code: "EVICTED" });
    await expect(turn(stack, "ada", "three")).rejects.toMatchObject({ code: "CORRUPT" });
    // A writer that never read it.
    const other = elsewhere();
    await turn(other, "ada", "theirs");
    const { checkpoint, metadata } = (await other.getTuple(on("ada")))!;
    for (const saver of [alone, stack])
      await expect(
        saver.put({ configurable: { thread_id: "ada", checkpoint_ns: "" } }, checkpoint, metadata!, {}),
      ).rejects.toMatchObject({ code: "CORRUPT" });
    expect(await warm.peek({ threadId: "ada", namespace: "" })).toMatchObject({ revision, headless: true });
    // It is found, and with its archive the head is set again.
    expect((await verified(warm, { threads: ["ada"] })).findings).toMatchObject([
      { kind: "wrong-head", meaning: expect.stringContaining("archive") },
    ]);
    const report = await verified(stack.tier, { threads: ["ada"] });
    expect(await repaired(stack.tier, report)).toMatchObject({ results: [{ outcome: "done" }], left: [] });
    await turn(stack, "ada", "three");
    expect((await stack.getTuple(on("ada")))?.checkpoint.channel_values["sum"]).toBe(3);
    // Only calls were archived: the root begins, is archived, and goes on.
    for (const text of ["one", "two"]) {
      await turn(stack, "calls", text);
      await stack.tier.archiveThread!("calls", async () => undefined);
    }
    await loseHead(warm, "calls");
    await expect(turn(stack, "calls", "three")).rejects.toMatchObject({ code: "CORRUPT" });
    // A deletion ends it all.
    await stack.deleteThread("ada");
    await turn(stack, "ada", "anew");
    expect((await stack.getTuple(on("ada")))?.checkpoint.channel_values["sum"]).toBe(1);
  });
});
