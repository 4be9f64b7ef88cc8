import { fork } from "@stratigraph/branch";
import { TierSaver, type MemoryTier } from "@stratigraph/core";
import { describe, expect, it } from "vitest";
import { createJournal, type Journal } from "../src/index.ts";
import { agentOf, asks, payments, pays, questions, receipts, reply, says } from "./support/effects.ts";
import { savers } from "./support/places.ts";

// What becomes of the calls of runs that are deleted: nothing that they said or got is left, and an equal call is new work.

const input = { messages: [{ role: "user", content: "buy it" }] };
const run = (run_id: string) => ({ configurable: { thread_id: "ada", run_id } });

/** What is left of arguments and results of a thread's calls, by run. */
async function leftOf(journal: Journal, threadId: string): Promise<string[]> {
  const left: string[] = [];
  for await (const { event, args, result } of journal.trail(threadId))
    if (args !== undefined || (await result()) !== undefined)
      left.push(`${event.type} ${"where" in event ? event.where.run : ""}`.trim());
  return left;
}

/** The line is cut during the first payment. */
const cut = (times: number) => {
  if (times === 1) throw new Error("the line was cut");
};

/** A shop that buys for ada in each run. @param breaks how its payments end, by their number */
async function shop(
  open: (typeof savers)[number][1],
  effects: "once" | "idempotent" = "once",
  breaks: (times: number) => unknown = () => undefined,
) {
  const { saver, close } = await open();
  const journal = createJournal(saver);
  const { pay, paid } = payments((_amount, times) => breaks(times));
  const tools = journal.tools([pay], { pay: effects });
  // The model asks for a payment when it is spoken to.
  const { graph } = agentOf(journal, tools, (turn) => (turn % 2 === 0 ? asks(pays(5)) : says("done")), saver);
  const trail = async () => {
    const entries: { type: string; args: unknown; result: unknown }[] = [];
    for await (const { event, args, result } of journal.trail("ada"))
      entries.push({ type: event.type, args, result: await result() });
    return entries;
  };
  return { graph, journal, paid, saver, trail, end: async () => (await journal.end(), await close()) };
}

describe.each(savers)("on %s", (_name, open) => {
  it("arguments and results are erased, the trail can be verified, and an equal call of the next run is another one", async () => {
    const { graph, journal, paid, saver, trail, end } = await shop(open);
    await graph.invoke(input, run("kept"));
    await graph.invoke(input, run("gone"));
    await saver.deleteForRuns(["gone"]);
    const left = (await trail()).filter(({ args, result }) => args !== undefined || result !== undefined);
    expect(left.map(({ type }) => type)).toEqual(["claimed", "succeeded"]);
    expect(await journal.verify("ada")).toMatchObject({ ok: true, erased: 2 });
    const { messages } = await graph.invoke(input, run("next"));
    expect(receipts(messages)).toHaveLength(2);
    expect(paid).toHaveLength(3);
    // The run that stayed has its receipt: nothing is bought if somebody goes back to it.
    expect((await journal.calls("ada")).map(({ status }) => status)).toEqual(["succeeded", "succeeded"]);
    await end();
  });

  it("another process, which remembers the calls, makes the next one anew, too", async () => {
    const { graph, paid, saver, end } = await shop(open);
    await graph.invoke(input, run("gone"));
    // Both have read the journal.
    const other = new TierSaver(saver.tier);
    createJournal(other);
    await other.deleteForRuns(["gone"]);
    await graph.invoke(input, run("next"));
    expect(paid).toHaveLength(2);
    await end();
  });

  it("a question stays: whether a call of the deleted run happened is asked before an equal one is made", async () => {
    const { graph, journal, paid, saver, trail, end } = await shop(open, "once", cut);
    await graph.invoke(input, run("gone"));
    await saver.deleteForRuns(["gone"]);
    expect((await trail()).every(({ args }) => args === undefined)).toBe(true);
    const open_ = [];
    for await (const call of journal.unresolved("ada")) open_.push(call);
    expect(open_).toMatchObject([{ tool: "pay", args: undefined, attempts: 1 }]);
    const asked = await graph.invoke(input, run("next"));
    expect(questions(asked)).toMatchObject([{ value: { kind: "ambiguous", tool: "pay" } }]);
    await graph.invoke(reply(asked, { happened: false }), run("next"));
    expect(paid).toHaveLength(2);
    expect(await journal.verify("ada")).toMatchObject({ ok: true });
    await end();
  });

  it("it is erased, too, in a fork, and where the run's checkpoints were pruned", async () => {
    const { graph, journal, saver, end } = await shop(open);
    await graph.invoke(input, run("gone"));
    await graph.invoke(input, run("kept"));
    await saver.prune(["ada"], { strategy: "keep_latest" });
    await fork(saver, "ada", { to: "bob" });
    await journal.end();
    expect(await leftOf(journal, "bob")).toContain("claimed gone");
    await saver.deleteForRuns(["gone"]);
    for (const thread of ["ada", "bob"]) {
      expect(await leftOf(journal, thread)).toEqual(["claimed kept", "succeeded"]);
      expect(await journal.verify(thread)).toMatchObject({ ok: true });
    }
    await end();
  });

  it("as long as nobody knows what became of an idempotent one, an equal call repeats it with its key", async () => {
    const { graph, journal, paid, saver, end } = await shop(open, "idempotent", cut);
    await graph.invoke(input, run("gone"));
    await saver.deleteForRuns(["gone"]);
    await graph.invoke(input, run("next"));
    expect(paid).toHaveLength(2);
    expect(await journal.calls("ada")).toMatchObject([{ status: "succeeded", attempts: 2 }]);
    for await (const { tool } of journal.unresolved("ada")) expect(tool).toBe("nothing is open");
    await end();
  });
});

it("a resumed run that stored no checkpoint: nobody is given the receipt of its call", async () => {
  const { saver } = await savers[0]![1]();
  const journal = createJournal(saver);
  const { pay, paid } = payments();
  let fails = true;
  const afterTools = () => {
    if (fails) throw new Error("the disk is full");
  };
  const script = (turn: number) => (turn === 0 ? asks(pays(5)) : says("done"));
  const { graph } = agentOf(journal, journal.tools([pay], { pay: "once" }), script, saver, { afterTools });
  await graph.invoke(input, { ...run("first"), interruptBefore: ["tools"] });
  await expect(graph.invoke(null, run("gone"))).rejects.toThrow("the disk is full");
  await journal.end();
  await saver.deleteForRuns(["gone"]);
  expect(await leftOf(journal, "ada")).toEqual([]);
  fails = false;
  await graph.invoke(null, run("next"));
  expect(paid).toHaveLength(2);
  // Deleted again, it changes nothing.
  const before = await journal.verify("ada");
  await saver.deleteForRuns(["gone"]);
  expect(await journal.verify("ada")).toEqual(before);
});

it("what a run recorded in another thread's journal is erased there", async () => {
  const { graph, journal, saver } = await shop(savers[0]![1]);
  const shared = (id: string) => ({ configurable: { ...run(id).configurable, journal: "team" } });
  await graph.invoke(input, shared("kept"));
  await graph.invoke(input, shared("gone"));
  await journal.end();
  await saver.deleteForRuns(["gone"]);
  expect(await leftOf(journal, "team")).toEqual(["claimed kept", "succeeded"]);
});

it("a call that another run was given, too, stays as that one's", async () => {
  const { graph, journal, paid, saver, trail } = await shop(savers[0]![1]);
  await graph.invoke(input, run("first"));
  let before: object | undefined;
  for await (const state of graph.getStateHistory({ configurable: { thread_id: "ada" } }))
    if (state.next.includes("tools")) before = state.config;
  const { configurable } = before as { configurable: Record<string, unknown> };
  await graph.invoke(null, { configurable: { ...configurable, run_id: "again" } });
  expect(paid).toHaveLength(1);
  await journal.end();
  await saver.deleteForRuns(["again"]);
  expect((await trail()).filter(({ args }) => args !== undefined)).toHaveLength(1);
});

it("without a journal on the checkpointer nothing is deleted: nobody would erase what the runs' calls said", async () => {
  const { graph, saver } = await shop(savers[0]![1]);
  await graph.invoke(input, run("gone"));
  const alone = new TierSaver(saver.tier as MemoryTier);
  await expect(alone.deleteForRuns(["gone"])).rejects.toMatchObject({
    code: "MISCONFIGURED",
    message: expect.stringContaining("createJournal") as string,
  });
  expect(await alone.getTuple(run("gone"))).toBeDefined();
  createJournal(alone);
  await alone.deleteForRuns(["gone"]);
  expect(await alone.getTuple(run("gone"))).toBeUndefined();
});
