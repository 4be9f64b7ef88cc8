import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MemorySaver as OfficialMemory } from "@langchain/langgraph-checkpoint";
import { Annotation, START, StateGraph } from "@langchain/langgraph";
import { MemorySaver, TierSaver } from "@stratigraph/core";
import {
  exportThreads,
  importThreads,
  moveThreads,
  openSource,
  openTarget,
  readThrough,
  saverSource,
  saverTarget,
} from "@stratigraph/migrate";
import type { ThreadTagger } from "@stratigraph/core/tier";
import { createThreads } from "stratigraph";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { createJournal, events, type JournalOptions } from "../src/index.ts";
import { questions, reply } from "./support/effects.ts";
import { savers } from "./support/savers.ts";

// A copy that is made of decoded values, through a file or a source, has the whole thread: its calls and events, too.

const ada = { configurable: { thread_id: "ada" } };
const sign = { keys: { k1: "a secret of sixteen bytes" }, activeKey: "k1" };

/**
 * A node that pays once, by the journal, and dies after the payment as long as it is told to.
 * @param by the config that it gives to the journal. Default: its own
 */
function paying(
  saver: TierSaver,
  effects: "once" | "idempotent" = "once",
  { by, ...options }: JournalOptions & { readonly by?: object } = {},
) {
  const paid: number[] = [];
  const journal = createJournal(saver, options);
  const graphThat = (dies: "before" | "after" | "never") =>
    new StateGraph(Annotation.Root({ amount: Annotation<number>(), receipt: Annotation<string>() }))
      .addNode("pays", async ({ amount }, config) => {
        const pay = () => {
          paid.push(amount);
          if (dies === "before") throw new Error("the line was cut");
          return `receipt ${paid.length}`;
        };
        const call = { id: "rent", args: { amount }, tool: "pay", effects };
        const receipt = await journal.run(by ?? config, call, pay);
        if (dies === "after") throw new Error("the node died");
        return { receipt };
      })
      .addEdge(START, "pays")
      .compile({ checkpointer: saver });
  return { paid, journal, graphThat };
}

function fileName(): string {
  const folder = mkdtempSync(join(tmpdir(), "stratigraph-copied-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, "threads.jsonl.zst");
}

/** The ways to another storage: what each returns are the reports. */
const ways: readonly [name: string, copy: (from: TierSaver, to: TierSaver) => Promise<readonly object[]>][] =
  [
    [
      "a file",
      async (from, to) => {
        const file = fileName();
        const target = await openTarget(file);
        const exported = await exportThreads(from, target);
        await target.close();
        const source = await openSource(file);
        const imported = await importThreads(source, to);
        const again = await importThreads(await openSource(file), to);
        await source.close();
        expect(again).toMatchObject({ checkpoints: 0, writes: 0, skipped: again.threads });
        return [exported, imported, again];
      },
    ],
    ["saverSource", async (from, to) => [await importThreads(saverSource(from), to)]],
    [
      "readThrough",
      async (from, to) => {
        readThrough(to, saverSource(from));
        await to.getTuple(ada);
        return [];
      },
    ],
  ];

describe.each(savers.filter(([name]) => !name.includes(">")))("through %s", (_name, open) => {
  let saver: TierSaver;
  let close: () => Promise<void>;
  beforeAll(async () => ({ saver, close } = await open()));
  afterAll(() => close?.());

  // An id that was deleted isn't brought at its first read.
  it.each(ways.slice(0, 2))("a paid step isn't paid again: by %s", async (_way, copy) => {
    const from = new MemorySaver();
    const here = paying(from);
    await expect(here.graphThat("after").invoke({ amount: 100 }, ada)).rejects.toThrow("died");
    await here.journal.end();
    await saver.deleteThread("ada");
    const to = new TierSaver(saver.tier);
    for (const report of await copy(from, to))
      expect(report).toMatchObject({ complete: true, threads: 1, verified: true, differences: [] });
    const there = paying(to);
    expect(await there.graphThat("never").invoke(null, ada)).toMatchObject({ receipt: "receipt 1" });
    expect([...here.paid, ...there.paid]).toEqual([100]);
    await there.journal.end();
  });
});

it.each(ways)(
  "on memory: payment, question, and a trail that keeps its signature, by %s",
  async (_way, copy) => {
    const [from, to] = [new MemorySaver(), new MemorySaver()];
    const here = paying(from, "once", { sign });
    await expect(here.graphThat("before").invoke({ amount: 100 }, ada)).rejects.toThrow();
    await here.journal.end();
    const trail = await here.journal.verify("ada");
    for (const report of await copy(from, to))
      expect(report).toMatchObject({ complete: true, threads: 1, verified: true, differences: [] });
    const there = paying(to, "once", { sign });
    expect(await there.journal.verify("ada")).toEqual(trail);
    const unresolved = [];
    for await (const call of there.journal.unresolved()) unresolved.push(call);
    expect(unresolved).toMatchObject([{ tool: "pay", args: { amount: 100 } }]);
    const asked = await there.graphThat("never").invoke(null, ada);
    expect(questions(asked)).toHaveLength(1);
    const answered = await there
      .graphThat("never")
      .invoke(reply(asked, { happened: true, result: "found" }), ada);
    expect(answered).toMatchObject({ receipt: "found" });
    expect(there.paid).toEqual([]);
    await there.journal.end();
  },
);

const account = (saver: TierSaver) =>
  events(saver, (sum: number, { euros }: { euros: number }) => sum + euros, { initial: 0, snapshotEvery: 2 });

it.each(ways.slice(0, 2))("a thread whose state is events is copied, by %s", async (_way, copy) => {
  const [from, to] = [new MemorySaver(), new MemorySaver()];
  for (const [n, euros] of [50, 4, 3].entries())
    await account(from).append("ada", { euros }, { key: `k${n}` });
  for (const report of await copy(from, to))
    expect(report).toMatchObject({ complete: true, threads: 1, verified: true, differences: [] });
  expect((await account(to).project("ada")).state).toBe(57);
  expect(await account(to).append("ada", { euros: 4 }, { key: "k1" })).toMatchObject({ duplicate: true });
  await account(to).append("ada", { euros: 1 });
  expect((await account(to).project("ada")).state).toBe(58);
  // It has continued here: the source doesn't wind it back.
  await copy(from, to);
  expect((await account(to).project("ada")).state).toBe(58);
});

const tagger = (saver: TierSaver) => saver.tier as TierSaver["tier"] & ThreadTagger;

it("a saver of LangGraph gets no thread that would pay again there, and is told what it can't hold", async () => {
  const from = new MemorySaver();
  const on = (thread_id: string) => ({ configurable: { thread_id } });
  const { journal, graphThat } = paying(from);
  for (const dies of ["after", "before"] as const)
    await expect(graphThat(dies).invoke({ amount: 100 }, on(dies))).rejects.toThrow();
  await graphThat("never").invoke({ amount: 1 }, on("ended"));
  await tagger(from).tagThread("ended", [{ key: "user", value: "ada" }]);
  await account(from).append("account", { euros: 5 });
  const official = new OfficialMemory();
  const report = await exportThreads(from, saverTarget(official, { branches: true }));
  expect(report).toMatchObject({ complete: true, threads: 4, leftOut: 0 });
  expect(report.differences).toMatchObject([{ threadId: "after" }, { threadId: "before" }]);
  const [after, before] = report.differences.map(({ what }) => what);
  expect(after).toContain('call "pay"');
  expect(after).toContain("its step hasn't ended");
  expect(before).toContain("its outcome isn't known");
  expect(report.notHeld).toEqual([
    { threadId: "account", what: "1 event" },
    { threadId: "ended", what: expect.stringMatching(/^\d entries of its journal, 1 tag$/) as string },
  ]);
  for (const threadId of ["after", "before"]) expect(await official.getTuple(on(threadId))).toBeUndefined();
  expect(await official.getTuple(on("ended"))).toBeDefined();
  // By itself, the target refuses with a typed error that names the calls.
  const thread = await saverSource(from).thread!("after");
  const writing = saverTarget(official).write(thread!, { verify: true, wrote: () => undefined });
  await expect(writing).rejects.toMatchObject({ code: "AMBIGUOUS_OUTCOME", data: { threadId: "after" } });
  // Once the step has ended, it may go.
  await graphThat("never").invoke(null, on("after"));
  const later = await exportThreads(from, saverTarget(official), { threadIds: ["after"] });
  expect(later).toMatchObject({ differences: [], notHeld: [{ threadId: "after" }] });
  await journal.end();
});

it("nor does it get one whose step didn't end and was edited since, or whose call says no place, until nothing is due", async () => {
  const from = new MemorySaver();
  const [edited, placeless] = ["edited", "placeless"].map((thread_id) => ({ configurable: { thread_id } }));
  const { journal, graphThat } = paying(from);
  await expect(graphThat("after").invoke({ amount: 100 }, edited!)).rejects.toThrow("died");
  await graphThat("never").updateState(edited!, { amount: 100 }, "__start__");
  const outside = paying(from, "once", { by: placeless! });
  await expect(outside.graphThat("after").invoke({ amount: 100 }, placeless!)).rejects.toThrow("died");
  const official = new OfficialMemory();
  const report = await exportThreads(from, saverTarget(official));
  expect(report.differences).toMatchObject([{ threadId: "edited" }, { threadId: "placeless" }]);
  for (const { what } of report.differences) expect(what).toContain("its step hasn't ended");
  await graphThat("never").invoke(null, edited!);
  await outside.graphThat("never").invoke(null, placeless!);
  expect(await exportThreads(from, saverTarget(official))).toMatchObject({ threads: 2, differences: [] });
  await Promise.all([journal.end(), outside.journal.end()]);
});

describe("a thread whose calls are in another thread's journal", () => {
  const on = { configurable: { thread_id: "bob", journal: "team" } };
  const died = async (dies: "before" | "after") => {
    const saver = new MemorySaver();
    const { journal, graphThat } = paying(saver);
    await expect(graphThat(dies).invoke({ amount: 100 }, on)).rejects.toThrow();
    // Another thread of that journal, whose step has ended.
    const ended = { configurable: { ...on.configurable, thread_id: "eve" } };
    await graphThat("never").invoke({ amount: 1 }, ended);
    await journal.end();
    return { saver, graphThat };
  };

  it("goes to no saver of LangGraph before its step has ended", async () => {
    const { saver, graphThat } = await died("after");
    const official = new OfficialMemory();
    const { differences } = await exportThreads(saver, saverTarget(official));
    expect(differences).toMatchObject([{ threadId: "bob", what: expect.stringContaining('of "team"') }]);
    expect(await official.getTuple(on)).toBeUndefined();
    await graphThat("never").invoke(null, on);
    expect(await exportThreads(saver, saverTarget(official))).toMatchObject({ differences: [] });
    const asks = await died("before");
    const report = await exportThreads(asks.saver, saverTarget(official), { threadIds: ["bob"] });
    expect(report.differences[0]!.what).toContain("its outcome isn't known");
  });

  it("a selection without that journal says so, and the source keeps the thread", async () => {
    const { saver: from } = await died("after");
    const selected = { threadIds: ["bob"] };
    const leftOut = [{ threadId: "bob", what: expect.stringContaining('the journal of "team"') as string }];
    const target = await openTarget(fileName());
    expect((await exportThreads(from, target, selected)).differences).toEqual(leftOut);
    await target.close();
    expect((await importThreads(saverSource(from), new MemorySaver(), selected)).differences).toEqual(
      leftOut,
    );
    const to = new MemorySaver();
    const moved = await moveThreads(from, to, { ...selected, source: "delete" });
    expect(moved.differences).toEqual(leftOut);
    expect(await from.getTuple(on)).toBeDefined();
    // With the journal, in this call or an earlier one, all is well.
    const both = { threadIds: ["bob", "team"] };
    expect((await importThreads(saverSource(from), new MemorySaver(), both)).differences).toEqual([]);
    expect((await moveThreads(from, to, { threadIds: ["team"] })).differences).toEqual([]);
    expect(await moveThreads(from, to, { ...selected, source: "delete" })).toMatchObject({ differences: [] });
    expect(await from.getTuple(on)).toBeUndefined();
    const there = paying(to);
    expect(await there.graphThat("never").invoke(null, on)).toMatchObject({ receipt: "receipt 1" });
    expect(there.paid).toEqual([]);
    await there.journal.end();
  });
});

it.each(ways.slice(0, 2))("tags and metadata come along, and aren't set back, by %s", async (_way, copy) => {
  const [from, to] = [new MemorySaver(), new MemorySaver()];
  const [there, here] = [createThreads(from), createThreads(to)];
  await there.set("ada", { kind: "put", metadata: { owner: "ada", step: 1 } });
  await tagger(from).tagThread("ada", [{ key: "user", value: "u1" }]);
  const { journal, graphThat } = paying(from);
  await graphThat("never").invoke({ amount: 1 }, ada);
  await journal.end();
  await copy(from, to);
  expect((await here.get("ada")).metadata).toMatchObject({ owner: "ada", step: 1 });
  expect(await tagger(to).threadTags("ada")).toContainEqual({ key: "user", value: "u1" });
  await there.set("ada", { kind: "patch", metadata: { step: 2 } });
  await copy(from, to);
  expect((await here.get("ada")).metadata).toMatchObject({ step: 2 });
  await here.set("ada", { kind: "patch", metadata: { step: 3 } });
  await copy(from, to);
  expect((await here.get("ada")).metadata).toMatchObject({ step: 3 });
});
