import { PassThrough } from "node:stream";
import { Annotation, START, StateGraph } from "@langchain/langgraph";
import { fork, merge } from "@stratigraph/branch";
import { MemorySaver, type Tier } from "@stratigraph/core";
import { describe, expect, it } from "vitest";
import { createJournal, type Journal } from "../src/index.ts";
import { journalNamespace } from "../src/log/records.ts";

const sign = { keys: { "2026": "a secret of the year 2026" }, activeKey: "2026" };
const State = Annotation.Root({ order: Annotation<string> });

/** A graph that pays for its order, on a storage with two journals' worth of keys. */
function shop(saver: MemorySaver, journal: Journal) {
  const paid: string[] = [];
  const graph = new StateGraph(State)
    .addNode("sell", async ({ order }, config) => {
      await journal.run(config, { id: "charge", args: { order } }, () => paid.push(order));
    })
    .addEdge(START, "sell")
    .compile({ checkpointer: saver });
  const buy = async (thread: string, order: string) =>
    await graph.invoke({ order }, { configurable: { thread_id: thread } });
  return { paid, graph, buy };
}

/** What somebody does who may write to the storage, and has no key. */
async function empty({ tier }: MemorySaver, threadId: string): Promise<void> {
  const { revision } = await tier.peek({ threadId, namespace: journalNamespace });
  const checkpoints = [];
  for await (const { record } of tier.list({ threadId, namespace: journalNamespace }))
    checkpoints.push({ threadId, namespace: journalNamespace, checkpointId: record.checkpointId });
  const heads = [{ namespace: journalNamespace }];
  expect(await tier.remove({ threadId, revision, checkpoints, dropBlobs: [], replaceBlobs: [], heads })).toBe(
    true,
  );
}

async function replace(saver: MemorySaver, threadId: string, by: string): Promise<void> {
  await empty(saver, threadId);
  const { tier } = saver;
  const found = [];
  for await (const listed of tier.list({ threadId: by, namespace: journalNamespace })) found.unshift(listed);
  await tier.append({
    threadId,
    records: found.map(({ record }) => ({ ...record, threadId })),
    blobs: found.flatMap(({ blobs }) => [...blobs.values()]),
    relies: false,
    heads: [{ namespace: journalNamespace, to: found.at(-1)!.record.checkpointId, expected: [] }],
    onConflict: "refuse",
  } satisfies Parameters<Tier["append"]>[0]);
}

async function threadsIn(journal: Journal, threadId: string): Promise<string[]> {
  const named = [];
  for await (const { event } of journal.trail(threadId))
    if (event.type === "session") named.push(event.thread);
  return named;
}

describe("where there are keys", () => {
  it("another thread's journal in place of a thread's own is found, obeyed by nobody, and signed by nobody", async () => {
    const saver = new MemorySaver();
    const first = createJournal(saver, { sign });
    await shop(saver, first).buy("alice", "apples");
    await shop(saver, first).buy("bob", "rent");
    await first.end();
    await replace(saver, "bob", "alice");
    const journal = createJournal(saver, { sign });
    expect(await journal.verify("bob")).toEqual({
      ok: false,
      brokenAt: 3,
      why: 'entry 3 was made in the thread "alice", and nothing shows that "bob" was forked from it, or that it was merged into "bob" (fork() records this when it copies a thread, copyThread() doesn\'t)',
    });
    const { buy, paid } = shop(saver, journal);
    await expect(buy("bob", "apples")).rejects.toMatchObject({ code: "JOURNAL_BROKEN" });
    await expect(journal.export("bob", new PassThrough())).rejects.toMatchObject({ code: "JOURNAL_BROKEN" });
    expect(paid).toEqual([]);
    expect(await journal.verify("alice")).toMatchObject({ ok: true });
  });

  it("a fork goes on with its source's calls, also once that one is deleted, and says where they come from", async () => {
    const saver = new MemorySaver();
    const journal = createJournal(saver, { sign });
    const { buy, paid } = shop(saver, journal);
    await buy("source", "apples");
    await fork(saver, "source", { to: "copy" });
    expect(await journal.verify("copy")).toMatchObject({ ok: true, entries: 3 });
    await saver.deleteThread("source");
    await buy("copy", "pears");
    await fork(saver, "copy", { to: "copy of the copy" });
    await buy("copy of the copy", "plums");
    expect(paid).toEqual(["apples", "pears", "plums"]);
    expect(await threadsIn(journal, "copy of the copy")).toEqual(["source", "copy", "copy of the copy"]);
    for (const thread of ["copy", "copy of the copy"])
      expect(await journal.verify(thread)).toMatchObject({ ok: true });
    // By another process, which has to read all of it.
    await shop(saver, createJournal(saver, { sign })).buy("copy of the copy", "quinces");
  });

  it("what a fork's fork did is the thread's once it is merged, and the thread goes on behind it", async () => {
    const saver = new MemorySaver();
    const journal = createJournal(saver, { sign });
    const { buy, graph, paid } = shop(saver, journal);
    await buy("main", "apples");
    await fork(saver, "main", { to: "try" });
    await buy("try", "pears");
    await fork(saver, "try", { to: "try again" });
    await merge(graph, "main", "try again", { strategy: { "*": "theirs" } });
    const fresh = createJournal(saver, { sign });
    expect(await fresh.verify("main")).toMatchObject({ ok: true });
    await saver.deleteThread("try again");
    expect(await fresh.verify("main")).toMatchObject({ ok: true });
    const again = shop(saver, fresh);
    await again.buy("main", "plums");
    expect(again.paid).toEqual(["plums"]);
    expect(await threadsIn(fresh, "main")).toEqual(["main", "try", "main"]);
    expect(await fresh.verify("main")).toMatchObject({ ok: true });
    expect(paid).toEqual(["apples", "pears"]);
  });

  it("a journal whose beginning was cut off is still its thread's", async () => {
    const saver = new MemorySaver();
    const journal = createJournal(saver, { sign });
    await shop(saver, journal).buy("alice", "apples");
    await shop(saver, journal).buy("bob", "rent");
    for (const thread of ["alice", "bob"]) await journal.cut(thread, { before: new Date(Date.now() + 1) });
    const fresh = createJournal(saver, { sign });
    expect(await fresh.verify("alice")).toMatchObject({ ok: true, from: 4 });
    await replace(saver, "bob", "alice");
    expect(await fresh.verify("bob")).toMatchObject({ ok: false, brokenAt: 4 });
    await expect(shop(saver, fresh).buy("bob", "pears")).rejects.toMatchObject({ code: "JOURNAL_BROKEN" });
    await shop(saver, fresh).buy("alice", "pears");
    expect(await fresh.verify("alice")).toMatchObject({ ok: true });
  });

  it("a journal that was emptied has no proof, nor has one that was never begun, but by a head", async () => {
    const saver = new MemorySaver();
    const journal = createJournal(saver, { sign });
    await shop(saver, journal).buy("alice", "apples");
    await empty(saver, "alice");
    const fresh = createJournal(saver, { sign });
    for (const thread of ["alice", "nobody"])
      expect(await fresh.verify(thread)).toMatchObject({
        ok: false,
        brokenAt: 0,
        why: expect.stringContaining("emptied") as string,
      });
    const head = { seq: 0, hash: "" };
    expect(await fresh.verify("nobody", { head })).toMatchObject({ ok: true, entries: 0 });
    expect(await createJournal(saver).verify("nobody")).toMatchObject({ ok: true, entries: 0 });
  });

  it("a copy by copyThread isn't the thread that made the calls: a fork is", async () => {
    const saver = new MemorySaver();
    const journal = createJournal(saver, { sign });
    const { buy, paid } = shop(saver, journal);
    await buy("source", "apples");
    await saver.copyThread("source", "copy");
    await expect(buy("copy", "pears")).rejects.toMatchObject({ code: "JOURNAL_BROKEN" });
    expect(paid).toEqual(["apples"]);
    const plain = shop(saver, createJournal(saver));
    await saver.copyThread("source", "plain");
    await expect(plain.buy("plain", "pears")).rejects.toMatchObject({ code: "KEY_MISSING" });
  });
});

it("without keys nobody can tell whose journal it is, and a copy goes on", async () => {
  const saver = new MemorySaver();
  const journal = createJournal(saver);
  const { buy, paid } = shop(saver, journal);
  await buy("source", "apples");
  await saver.copyThread("source", "copy");
  await buy("copy", "pears");
  expect(paid).toEqual(["apples", "pears"]);
  expect(await threadsIn(journal, "copy")).toEqual(["source", "copy"]);
  expect(await journal.verify("copy")).toMatchObject({ ok: true });
});
