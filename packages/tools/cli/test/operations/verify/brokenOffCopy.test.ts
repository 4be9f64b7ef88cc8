import { MemoryTier, TierSaver, type Tier } from "@stratigraph/core";
import { reservedNamespaces, type AppendRequest } from "@stratigraph/core/tier";
import { createJournal, events } from "@stratigraph/journal";
import { importThreads, moveThreads, readThrough, saverSource } from "@stratigraph/migrate";
import { FaultyTier } from "@stratigraph/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { agent, on, repaired, storages, turns, verified, type Opened } from "./support.ts";

// A copy of a conversation is broken off where the thread's calls or events are already. It isn't here yet, and nothing of it was lost.

const recorded = {
  calls: async (saver: TierSaver, threadId: string): Promise<void> => {
    const journal = createJournal(saver);
    await journal.run(on(threadId), { id: "hello", args: {}, effects: "once" }, () => 1);
    await journal.end();
  },
  events: async (saver: TierSaver, threadId: string): Promise<void> => {
    const count = events(saver, (sum: number, { n }: { n: number }) => sum + n, { initial: 0 });
    await count.append(threadId, { n: 1 }, { key: "k" });
  },
};

const copies = {
  import: (from: TierSaver, to: TierSaver) => importThreads(saverSource(from), to),
  move: (from: TierSaver, to: TierSaver) => moveThreads(from, to),
  readThrough: async (from: TierSaver, to: TierSaver, threadId: string) => {
    readThrough(to, saverSource(from));
    await to.getTuple(on(threadId));
  },
};

/** A saver whose process dies before the thread gets its heads. */
function dying(tier: Tier): TierSaver {
  const faulty = new FaultyTier(tier);
  const isLast = ({ heads }: AppendRequest): boolean => heads.some(({ namespace }) => namespace === "");
  faulty.failWhen(({ method, args }) => method === "append" && isLast(args[0] as AppendRequest));
  return new TierSaver(faulty);
}

const lost = { code: "CORRUPT", message: expect.stringContaining("is lost") as unknown };

describe.each(Object.keys(storages) as (keyof typeof storages)[])("in %s", (name) => {
  let opened: Opened;
  beforeAll(async () => {
    opened = await storages[name]();
  });
  afterAll(() => opened.close());
  const saver = (): TierSaver => new TierSaver(opened.open());

  /** Somebody loses the head of the root. */
  async function loseHead(threadId: string): Promise<void> {
    const tier = opened.open();
    const { revision } = await tier.peek({ threadId, namespace: "" });
    const nothing = { checkpoints: [], dropBlobs: [], replaceBlobs: [] };
    expect(await tier.remove({ threadId, revision, ...nothing, heads: [{ namespace: "" }] })).toBe(true);
  }

  async function expectNotHere(threadId: string): Promise<void> {
    expect(await saver().getTuple(on(threadId))).toBeUndefined();
    const { threads } = await saver().listThreads();
    expect(threads.filter((thread) => thread.threadId === threadId)).toEqual([]);
    const report = await verified(opened.open(), { threads: [threadId] });
    const head = report.findings.filter(({ kind }) => kind === "wrong-head");
    expect(head).toMatchObject([{ severity: "warning", meaning: expect.stringContaining("interrupted") }]);
    const { results } = await repaired(opened.open(), report);
    expect(results.filter(({ finding }) => finding.kind === "wrong-head")).toMatchObject([
      { outcome: "impossible" },
    ]);
    expect(await saver().getTuple(on(threadId))).toBeUndefined();
  }

  async function expectWhole(threadId: string, from: TierSaver): Promise<void> {
    const wanted = (await agent(from).getState(on(threadId))).values;
    expect((await agent(saver()).getState(on(threadId))).values).toEqual(wanted);
    expect((await verified(opened.open(), { threads: [threadId] })).findings).toEqual([]);
    // From now on a lost head is one.
    await loseHead(threadId);
    await expect(saver().getTuple(on(threadId))).rejects.toMatchObject(lost);
  }

  const cases = Object.keys(copies).flatMap((how) => Object.keys(recorded).map((what) => ({ how, what })));

  test.each(cases as { how: keyof typeof copies; what: keyof typeof recorded }[])(
    "$how, broken off where $what are: the thread isn't here until the copy is repeated",
    async ({ how, what }) => {
      const threadId = `${how} ${what}`;
      const from = new TierSaver(new MemoryTier());
      await recorded[what](from, threadId);
      await moveThreads(from, saver());
      await turns(from, threadId, 2);
      await expect(copies[how](from, dying(opened.open()), threadId)).rejects.toThrow();
      await expectNotHere(threadId);
      await copies[how](from, saver(), threadId);
      await expectWhole(threadId, from);
    },
  );

  test("what is recorded after a copy was broken off doesn't make it a thread that lost its head", async () => {
    const from = new TierSaver(new MemoryTier());
    await turns(from, "new", 2);
    await expect(importThreads(saverSource(from), dying(opened.open()))).rejects.toThrow();
    await recorded.events(saver(), "new");
    await expectNotHere("new");
    await importThreads(saverSource(from), saver());
    await expectWhole("new", from);
  });

  test("a copy of what an import has brought so far isn't a thread, either", async () => {
    const from = new TierSaver(new MemoryTier());
    await recorded.events(from, "half");
    await moveThreads(from, saver());
    await turns(from, "half", 2);
    await expect(moveThreads(from, dying(opened.open()))).rejects.toThrow();
    await saver().copyThread("half", "copy of it");
    await expectNotHere("copy of it");
    const other = new TierSaver(new MemoryTier());
    await turns(other, "begun", 1);
    await expect(importThreads(saverSource(other), dying(opened.open()))).rejects.toThrow();
    for (const threadId of ["copy of it", "begun"])
      await expect(saver().copyThread("half", threadId)).rejects.toMatchObject({ code: "THREAD_EXISTS" });
  });

  test("an import into a thread that has lost its head doesn't hide that", async () => {
    const from = new TierSaver(new MemoryTier());
    await recorded.events(from, "lost");
    await turns(from, "lost", 1);
    await moveThreads(from, saver());
    await turns(from, "lost", 1);
    await loseHead("lost");
    await expect(moveThreads(from, dying(opened.open()))).rejects.toThrow();
    await expect(saver().getTuple(on("lost"))).rejects.toMatchObject(lost);
    const { head } = await opened.open().peek({ threadId: "lost", namespace: reservedNamespaces.copy });
    expect(head).toBeUndefined();
  });
});
