// long file: every way in which a copy may leave out calls that are in the journal of another thread
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Annotation, START, StateGraph } from "@langchain/langgraph";
import { MemorySaver as OfficialMemory } from "@langchain/langgraph-checkpoint";
import { MemorySaver, MemoryTier, TierSaver } from "@stratigraph/core";
import { reservedNamespaces, type CheckpointRecord } from "@stratigraph/core/tier";
import { TieredSaver } from "@stratigraph/tiered";
import {
  exportThreads,
  importThreads,
  moveThreads,
  openSource,
  openTarget,
  readThrough,
  saverSource,
  saverTarget,
  type CopyReport,
} from "@stratigraph/migrate";
import { describe, expect, it, onTestFinished, test } from "vitest";
import { createJournal } from "../src/index.ts";

// A thread whose calls are in the journal of another thread ("team") arrives with these calls, or its source keeps it and is told.

const on = (thread_id: string, journal = "team") => ({ configurable: { thread_id, journal } });
const told = [{ threadId: "bob", what: expect.stringContaining('the journal of "team"') as string }];

const staysFor = (user: string) => ({
  threadId: "team",
  what: expect.stringContaining(`has calls of thread "${user}", which stays here`) as string,
});
const hasJournal = async ({ tier }: TierSaver, threadId = "team") =>
  (await tier.peek({ threadId, namespace: reservedNamespaces.calls })).head !== undefined;

/** Pays once by the team's journal. Returns who paid in this storage. */
async function pays(
  saver: TierSaver,
  threadId: string,
  dies = false,
  input: object | null = { amount: threadId },
  where = "team",
  run_id?: string,
) {
  const paid: string[] = [];
  const journal = createJournal(saver);
  const graph = new StateGraph(
    Annotation.Root({ amount: Annotation<string>(), receipt: Annotation<string>() }),
  )
    .addNode("pays", async ({ amount }, config) => {
      const call = { id: "rent", args: { amount }, tool: "pay", effects: "once" as const };
      const receipt = await journal.run(config, call, () => `receipt ${paid.push(threadId)}`);
      if (dies) throw new Error("died");
      return { receipt };
    })
    .addEdge(START, "pays")
    .compile({ checkpointer: saver });
  try {
    const config = on(threadId, where);
    await graph.invoke(input, { configurable: { ...config.configurable, ...(run_id && { run_id }) } });
  } catch (error) {
    if (!dies) throw error;
  } finally {
    await journal.end();
  }
  return paid;
}

/** Bob, who died after he paid, in a storage of his own. */
async function bob(): Promise<MemorySaver> {
  const from = new MemorySaver();
  await pays(from, "bob", true);
  return from;
}

/** A storage whose own team has paid for eve, whose call has the name of bob's by default. */
async function eves(amount = "bob"): Promise<MemorySaver> {
  const to = new MemorySaver();
  await pays(to, "eve", false, { amount });
  return to;
}

function folderOf(): string {
  const folder = mkdtempSync(join(tmpdir(), "stratigraph-shared-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

const selections = { "bob alone": ["bob"], "bob and the journal": ["bob", "team"], "all of them": undefined };

describe.each(Object.entries(selections))(
  "the own journal of the target isn't the source's: %s",
  (_, threadIds) => {
    it("a move says so, and the source keeps the thread", async () => {
      const [from, to] = [await bob(), await eves()];
      const moved = await moveThreads(from, to, { threadIds, source: "delete" });
      expect(moved.differences).toEqual(told);
      expect(await from.getTuple(on("bob"))).toBeDefined();
      expect(await pays(from, "bob", false, null)).toEqual([]);
    });

    it("an import says so", async () => {
      const report = await importThreads(saverSource(await bob()), await eves(), { threadIds });
      expect(report.differences).toEqual(told);
    });

    it("an import from a file says so", async () => {
      const path = join(folderOf(), "threads.jsonl");
      const target = await openTarget(path);
      await exportThreads(await bob(), target);
      await target.close();
      const report = await importThreads(await openSource(path), await eves(), { threadIds });
      expect(report.differences).toEqual(told);
    });
  },
);

test("a journal that was moved before the payment isn't enough", async () => {
  const [from, to] = [await eves("eve"), new MemorySaver()];
  await moveThreads(from, to, { threadIds: ["team"] });
  await pays(from, "bob", true);
  const moved = await moveThreads(from, to, { threadIds: ["bob"], source: "delete" });
  expect(moved.differences).toEqual(told);
  expect(await from.getTuple(on("bob"))).toBeDefined();
  // With the journal, all of it arrived. Eve stays, and with her the journal.
  const both = { threadIds: ["bob", "team"], source: "delete" } as const;
  expect(await moveThreads(from, to, both)).toMatchObject({ differences: [staysFor("eve")], diverged: [] });
  expect(await from.getTuple(on("bob"))).toBeUndefined();
  expect(await pays(to, "bob", false, null)).toEqual([]);
  expect(await moveThreads(from, to, { source: "delete" })).toMatchObject({ differences: [], diverged: [] });
  expect(await hasJournal(from)).toBe(false);
});

test("a move that keeps the source names the thread, too", async () => {
  expect(await moveThreads(await bob(), await eves())).toMatchObject({
    differences: told,
    diverged: ["team"],
  });
});

describe("a journal stays where threads are that use it", () => {
  it("it was moved alone", async () => {
    const from = await bob();
    const moved = await moveThreads(from, new MemorySaver(), { threadIds: ["team"], source: "delete" });
    expect(moved).toMatchObject({ differences: [staysFor("bob")], diverged: [] });
    expect(await pays(from, "bob", false, null)).toEqual([]);
  });

  it("the thread was written to before it could be deleted", async () => {
    const [from, to] = [await bob(), new MemorySaver()];
    const { deleteUnchanged } = from.tier as MemoryTier;
    (from.tier as MemoryTier).deleteUnchanged = async (threadId, revision) => {
      if (threadId === "bob") await pays(from, "bob", true, null);
      return await deleteUnchanged.call(from.tier, threadId, revision);
    };
    const changed = {
      threadId: "bob",
      what: expect.stringContaining("before it could be deleted") as string,
    };
    const moved = await moveThreads(from, to, { source: "delete" });
    expect(moved.differences).toEqual([changed, staysFor("bob")]);
    expect(await pays(from, "bob", false, null)).toEqual([]);
  });

  it("the thread went on in the target, too", async () => {
    const [from, to] = [await bob(), new MemorySaver()];
    await moveThreads(from, to);
    await pays(to, "bob", false, { amount: "anew" }, "other");
    await pays(from, "bob", true, { amount: "february" });
    const moved = await moveThreads(from, to, { source: "delete" });
    expect(moved).toMatchObject({ differences: [staysFor("bob")], diverged: ["bob"] });
    expect(await pays(from, "bob", false, null)).toEqual([]);
  });

  it("the move was ended before the thread's turn came", async () => {
    const from = await bob();
    await pays(from, "zoe", true);
    const ending = new AbortController();
    const onProgress = ({ threadId }: { threadId?: string | undefined }) =>
      threadId === "team" ? ending.abort() : undefined;
    const how = { source: "delete", signal: ending.signal, onProgress } as const;
    const moved = await moveThreads(from, new MemorySaver(), how);
    expect(moved).toMatchObject({ complete: false, differences: [staysFor("zoe")] });
    expect(await pays(from, "zoe", false, null)).toEqual([]);
  });

  it("a thread that is gone needs none, and neither do two that use each other's", async () => {
    const from = await bob();
    await from.deleteThread("bob");
    const uses = async (threadId: string, journal: string) => {
      const own = createJournal(from);
      const configurable = { thread_id: threadId, journal };
      await own.run({ configurable }, { id: threadId, args: {}, effects: "once" }, () => 1);
      await own.end();
    };
    await uses("one", "other");
    await uses("other", "one");
    const to = new MemorySaver();
    expect(await moveThreads(from, to, { source: "delete" })).toMatchObject({ differences: [] });
    expect((await from.listThreads()).threads).toEqual([]);
    expect(await hasJournal(from)).toBe(false);
    expect(await hasJournal(to, "one")).toBe(true);
  });
});

describe("who is told to delete a thread here is told whose calls its journal has", () => {
  const names = expect.stringContaining('calls of "eve", which would be made again') as string;
  const ownTeam = async () => {
    const from = new MemorySaver();
    await pays(from, "team", true);
    return from;
  };

  it("by an import", async () => {
    const report = await importThreads(saverSource(await ownTeam()), await eves());
    expect(report.differences).toEqual([{ threadId: "team", what: names }]);
  });

  it("by readThrough", async () => {
    const to = await eves();
    readThrough(to, saverSource(await ownTeam()));
    await expect(to.getTuple(on("team"))).rejects.toMatchObject({ message: names });
  });
});

test("a copy of the journal that goes on there has the calls still", async () => {
  const [from, to] = [await bob(), new MemorySaver()];
  const journal = createJournal(from);
  const asks = { id: "asks", args: {}, effects: "once" as const };
  const fails = () => Promise.reject(new Error("the line was cut"));
  await expect(journal.run(on("bob"), asks, fails)).rejects.toThrow();
  let asked = "";
  for await (const { fingerprint } of journal.unresolved("team")) asked = fingerprint;
  await moveThreads(from, to);
  const there = createJournal(to);
  await there.resolve(asked, { threadId: "team", happened: true, result: 1 });
  expect(await importThreads(saverSource(from), to)).toMatchObject({ differences: [], diverged: [] });
  expect(await moveThreads(from, to, { source: "delete" })).toMatchObject({ differences: [], diverged: [] });
  expect(await from.getTuple(on("bob"))).toBeUndefined();
  await Promise.all([journal.end(), there.end()]);
});

describe("readThrough refuses a thread whose calls it doesn't find here", () => {
  it("the team of the new storage has its own", async () => {
    const to = await eves();
    readThrough(to, saverSource(await bob()));
    await expect(pays(to, "bob", false, null)).rejects.toMatchObject({ code: "THREAD_EXISTS" });
    expect(await pays(to, "eve", false, null)).toEqual([]);
  });

  it("the team was brought before the payment", async () => {
    const [from, to] = [await eves("eve"), new MemorySaver()];
    readThrough(to, saverSource(from));
    await pays(to, "zoe");
    await pays(from, "bob", true);
    await expect(pays(to, "bob", false, null)).rejects.toMatchObject({ code: "THREAD_EXISTS" });
  });

  it("and brings the others, whose journal it brings after them", async () => {
    const to = new MemorySaver();
    readThrough(to, saverSource(await bob()));
    expect(await pays(to, "bob", false, null)).toEqual([]);
  });
});

/** The journal is in an archive that isn't open. */
async function archived(): Promise<TierSaver> {
  const [warm, cold] = [new MemoryTier(), new MemoryTier()];
  const whole = new TieredSaver({ warm, cold });
  await pays(whole, "bob", true);
  await whole.tier.archiveThread!("team", async () => undefined);
  return new TierSaver(warm);
}

/** The journal's last entry can't be read. */
async function damaged(): Promise<TierSaver> {
  const tier = new MemoryTier();
  const from = new TierSaver(tier);
  await pays(from, "bob", true);
  const { head } = await tier.peek({ threadId: "team", namespace: reservedNamespaces.calls });
  const damage = <Found extends { readonly record: CheckpointRecord }>(found: Found): Found => {
    const { record } = found;
    const isDamaged = record.threadId === "team" && record.checkpointId === head;
    return isDamaged ? { ...found, record: { ...record, body: record.body.slice(1) } } : found;
  };
  const { list, read } = tier;
  tier.list = async function* (query) {
    for await (const found of list.call(tier, query)) yield damage(found);
  };
  tier.read = async (at) => {
    const found = await read.call(tier, at);
    return { ...found, checkpoint: found.checkpoint && damage(found.checkpoint) };
  };
  return from;
}

const mayBe = (why: string) => ({ threadId: "bob", what: expect.stringContaining(why) as string });
const notOpen = mayBe("together with its archive");
const notRead = mayBe("of which an entry can't be read");
// An import of all threads reads the journal as one of them, and finds calls in what can be read of it.
const madeAgain = mayBe("without them they would be made again");
describe.each([
  {
    ...{ is: "archived, and its archive isn't open", open: archived },
    ...{ told: notOpen, ofAll: notOpen, exported: [notOpen] },
  },
  {
    ...{ is: "damaged in an entry", open: damaged },
    ...{ told: notRead, ofAll: madeAgain, exported: expect.arrayContaining([notRead]) },
  },
])("a journal is $is: nobody knows whose calls it has", ({ open, told, ofAll, exported }) => {
  it.each(Object.entries(selections))(
    "a move and an import say so, and the source keeps the thread: %s",
    async (_, threadIds) => {
      const from = await open();
      const imported = await importThreads(saverSource(from), new MemorySaver(), { threadIds });
      expect(imported.differences).toContainEqual(threadIds === undefined ? ofAll : told);
      const moved = await moveThreads(from, new MemorySaver(), { threadIds, source: "delete" });
      expect(moved.differences).toContainEqual(told);
      expect(await from.getTuple(on("bob"))).toBeDefined();
    },
  );

  it("a saver of LangGraph gets no thread that may have paid there", async () => {
    const official = new OfficialMemory();
    const { differences } = await exportThreads(await open(), saverTarget(official), {
      threadIds: ["bob"],
    });
    expect(differences).toEqual(exported);
    expect(await official.getTuple(on("bob"))).toBeUndefined();
  });
});

test("an export whose journal didn't come along says so", async () => {
  const target = await openTarget(join(folderOf(), "threads.jsonl"));
  const from = await bob();
  const write = target.write.bind(target);
  // A target that couldn't hold the journal.
  target.write = async (thread, options) => ({
    ...(await write(thread, options)),
    differences: thread.threadId === "team" ? ["it was lost"] : [],
  });
  const { differences } = await exportThreads(from, target, { threadIds: ["team", "bob"] });
  expect(differences).toEqual([expect.objectContaining({ threadId: "team" }), ...told]);
  await target.close();
});

test("threads that use their own journal are copied with no statement more, and deleted with two for all", async () => {
  const from = new MemorySaver();
  for (const threadId of ["ada", "eve"]) {
    const journal = createJournal(from);
    await journal.run(
      { configurable: { thread_id: threadId } },
      { id: "rent", args: {}, effects: "once" },
      () => 1,
    );
    await journal.end();
  }
  let searches = 0;
  const { list } = from.tier;
  from.tier.list = (query) => {
    if (query.terms !== undefined) searches += 1;
    return list.call(from.tier, query);
  };
  const ways: ((to: TierSaver) => Promise<CopyReport>)[] = [
    (to) => importThreads(saverSource(from), to),
    (to) => moveThreads(from, to),
    (to) => moveThreads(from, to, { source: "delete" }),
  ];
  const counts: number[] = [];
  for (const way of ways) {
    expect(await way(new MemorySaver())).toMatchObject({ threads: 2, differences: [] });
    counts.push(searches);
    searches = 0;
  }
  expect(counts).toEqual([0, 0, 2]);
});

const ways: Record<string, (from: TierSaver, to: TierSaver) => Promise<CopyReport>> = {
  import: (from, to) => importThreads(saverSource(from), to),
  export: (from, to) => exportThreads(from, saverTarget(to)),
  file: async (from, to) => {
    const folder = mkdtempSync(join(tmpdir(), "stratigraph-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = await openTarget(join(folder, "all.jsonl"));
    await exportThreads(from, file);
    await file.close();
    return await importThreads(await openSource(join(folder, "all.jsonl")), to);
  },
};

it.each(Object.entries(ways))(
  "a copy that is repeated by %s after its source deleted a run is told that it has the run, but no longer its calls",
  async (_way, copy) => {
    const [from, to] = [new MemorySaver(), new MemorySaver()];
    await pays(from, "bob", false, undefined, "team", "kept");
    expect(await pays(from, "bob", true, { amount: "another" }, "team", "gone")).toEqual(["bob"]);
    expect((await copy(from, to)).differences).toEqual([]);
    await from.deleteForRuns(["gone"]);
    const { differences } = await copy(from, to);
    expect(differences).toEqual([
      { threadId: "bob", what: expect.stringContaining('deleteForRuns(["gone"]) on the copy') as string },
    ]);
    const journal = createJournal(to);
    await to.deleteForRuns(["gone"]);
    await journal.end();
    expect((await copy(from, to)).differences).toEqual([]);
    expect(await pays(to, "bob", false, null)).toEqual([]);
    // A run that begins anew under the id is another one.
    const { configurable } = on("bob");
    await new StateGraph(Annotation.Root({ amount: Annotation<string>() }))
      .addNode("notes", () => ({ amount: "one more" }))
      .addEdge(START, "notes")
      .compile({ checkpointer: from })
      .invoke({ amount: "any" }, { configurable: { ...configurable, run_id: "gone" } });
    expect(await copy(from, to)).toMatchObject({ differences: [], diverged: [] });
    expect(
      (await to.getTuple({ configurable: { thread_id: "bob" } }))?.checkpoint.channel_values,
    ).toMatchObject({
      amount: "one more",
    });
  },
);
