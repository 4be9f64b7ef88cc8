import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import type { TierSaver } from "@stratigraph/core";
import { layersOf } from "@stratigraph/core/internal";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { anotherTime } from "../support/anotherTime.ts";
import { createJournal, readTrail, verifyTrail, type Journal, type TrailEntry } from "../../src/index.ts";
import { journalNamespace } from "../../src/log/records.ts";
import { savers, type Opened } from "../support/savers.ts";

const sign = { keys: { "2026": "a secret of the year 2026" }, activeKey: "2026" };
const secret = "4111 1111 1111 1111 belongs to Ada Lovelace, and nobody else may ever read it in any storage";

describe.each(savers)("a trail on %s", (_name, open) => {
  let opened: Opened;
  let journal: Journal;
  let saver: TierSaver;

  beforeAll(async () => {
    opened = await open();
    saver = opened.saver;
    journal = createJournal(saver, { sign, author: "ada" });
  });
  afterAll(async () => {
    await journal.end();
    await opened.close();
  });

  const pay = async (thread: string, amount: number, note?: string): Promise<string> =>
    await journal.run(
      { configurable: { thread_id: thread } },
      {
        id: `pay ${amount} ${note ?? ""}`,
        tool: "pay",
        args: note === undefined ? { amount } : { amount, note },
      },
      () => `receipt ${amount} ${note ?? ""}`,
    );
  const search = async (thread: string, what: string): Promise<unknown> =>
    await journal.run(
      { configurable: { thread_id: thread } },
      { id: `search ${what}`, tool: "search", args: { what }, effects: "none" },
      () => ({ found: [what] }),
    );

  it("gives entries oldest first, filtered, with arguments and results", async () => {
    const thread = crypto.randomUUID();
    await pay(thread, 5);
    await search(thread, "flights");
    await anotherTime();
    const between = new Date();
    await anotherTime();
    await pay(thread, 7);
    const all = await entriesOf(journal.trail(thread));
    expect(all.map(({ seq }) => seq)).toEqual(all.map((_, n) => n + 1));
    expect(all.map(({ event }) => event.type)).toEqual([
      "session",
      "claimed",
      "succeeded",
      "read",
      "claimed",
      "succeeded",
    ]);
    expect(all[3]).toMatchObject({ tool: "search", args: { what: "flights" }, author: "ada" });
    expect(await all[3]!.result()).toEqual({ found: ["flights"] });
    const paid = await entriesOf(journal.trail(thread, { tool: "pay" }));
    expect(paid.map(({ args }) => args)).toEqual([{ amount: 5 }, undefined, { amount: 7 }, undefined]);
    expect(await paid[3]!.result()).toBe("receipt 7 ");
    const seqs = async (options: Parameters<Journal["trail"]>[1]): Promise<number[]> =>
      (await entriesOf(journal.trail(thread, options))).map(({ seq }) => seq);
    expect(await seqs({ types: ["succeeded"] })).toEqual([3, 6]);
    expect(await seqs({ since: between })).toEqual([5, 6]);
    expect(await seqs({ until: between })).toEqual([1, 2, 3, 4]);
    expect(await seqs({ from: 2, to: 4 })).toEqual([2, 3, 4]);
    expect(await seqs({ from: 3, tool: "pay", limit: 2 })).toEqual([3, 5]);
    expect(await seqs({ tool: "pay", since: between, types: ["succeeded"] })).toEqual([6]);
  });

  it("verifies, and names what was changed, removed or put out of its place", async () => {
    const thread = crypto.randomUUID();
    for (let n = 1; n <= 3; n += 1) await pay(thread, n);
    const head = await journal.head(thread);
    expect(await journal.verify(thread, { head })).toEqual({
      ok: true,
      entries: 7,
      from: 1,
      to: 7,
      erased: 0,
    });
    await pay(thread, 4);
    expect(await journal.verify(thread, { head })).toMatchObject({ ok: true, to: 9 });
    expect(await journal.verify(thread, { head: { ...head, hash: "0".repeat(64) } })).toMatchObject({
      ok: false,
      brokenAt: 7,
    });
    const { records, revision } = await recordsOf(saver, thread);
    // What comes behind the third entry is removed, and so a head from before tells.
    const { checkpointId } = records[2]!;
    expect(
      await saver.tier.remove({
        threadId: thread,
        revision,
        checkpoints: records.slice(3),
        dropBlobs: [],
        replaceBlobs: [],
        heads: [{ namespace: journalNamespace, to: checkpointId }],
      }),
    ).toBe(true);
    const fresh = createJournal(saver, { sign });
    expect(await fresh.verify(thread)).toMatchObject({ ok: true, to: 3 });
    expect(await fresh.verify(thread, { head })).toMatchObject({ ok: false, brokenAt: 4 });
    const { records: left, revision: now } = await recordsOf(saver, thread);
    await saver.tier.remove({
      threadId: thread,
      revision: now,
      checkpoints: [left[1]!],
      dropBlobs: [],
      replaceBlobs: [],
      heads: [],
    });
    expect(await fresh.verify(thread)).toMatchObject({ ok: false, brokenAt: 2 });
  });

  it("erases arguments and results from the storage, and still verifies", async () => {
    const thread = crypto.randomUUID();
    await pay(thread, 1, secret);
    await pay(thread, 2, `${secret}!`);
    await pay(thread, 3);
    const head = await journal.head(thread);
    expect(await bytesOf(saver, thread)).toContain(secret);
    const [first] = await entriesOf(journal.trail(thread, { types: ["claimed"], limit: 1 }));
    const { call } = first!.event as { call: string };
    expect(await journal.erase(thread, { call, author: "operator" })).toEqual({ entries: 2 });
    const [gone, kept] = await entriesOf(journal.trail(thread, { types: ["claimed"] }));
    expect(gone!.args).toBeUndefined();
    expect(kept!.args).toEqual({ amount: 2, note: `${secret}!` });
    expect(await journal.verify(thread, { head })).toMatchObject({ ok: true, erased: 2 });
    expect(await journal.erase(thread, { before: new Date(Date.now() + 1000) })).toEqual({ entries: 4 });
    expect(await journal.verify(thread, { head })).toMatchObject({ ok: true, erased: 6 });
    expect(await bytesOf(saver, thread)).not.toContain("Lovelace");
    await expect(pay(thread, 3)).rejects.toMatchObject({ code: "RESULT_NOT_KEPT" });
    await expect(otherProcess(saver, thread)).rejects.toMatchObject({ code: "RESULT_NOT_KEPT" });
    expect((await exported(journal, thread)).includes("Lovelace")).toBe(false);
  });

  it("cuts off old entries, and their calls aren't repeated", async () => {
    const thread = crypto.randomUUID();
    await pay(thread, 1, secret);
    await pay(thread, 2);
    const head = await journal.head(thread);
    await anotherTime();
    const before = new Date();
    await pay(thread, 3);
    const cut = await journal.cut(thread, { before });
    expect(cut).toEqual({ entries: 5, head: { seq: 8, hash: expect.any(String) } });
    expect((await entriesOf(journal.trail(thread))).map(({ seq }) => seq)).toEqual([6, 7, 8]);
    expect(await journal.verify(thread, { head: cut.head })).toMatchObject({ ok: true, from: 6, to: 8 });
    expect(await journal.verify(thread, { head })).toMatchObject({ ok: true });
    expect(await journal.verify(thread, { head: { ...head, seq: 4 } })).toMatchObject({
      ok: false,
      brokenAt: 4,
    });
    expect(await bytesOf(saver, thread)).not.toContain("Lovelace");
    expect(await pay(thread, 3)).toBe("receipt 3 ");
    await expect(pay(thread, 2)).rejects.toMatchObject({ code: "RESULT_NOT_KEPT" });
    await expect(otherProcess(saver, thread, 2)).rejects.toMatchObject({ code: "RESULT_NOT_KEPT" });
    await pay(thread, 4);
    expect(await journal.cut(thread, { before: new Date(Date.now() + 1000) })).toMatchObject({ entries: 7 });
    expect(await journal.verify(thread)).toMatchObject({ ok: true, entries: 1 });
    await expect(otherProcess(saver, thread, 1, secret)).rejects.toMatchObject({ code: "RESULT_NOT_KEPT" });
    const lines = await exported(journal, thread);
    // The cut, and that the result was asked for, by a new process.
    expect(await verifyTrail([lines], { sign })).toMatchObject({ ok: true, entries: 3 });
  });

  it("is exported, read and verified without the storage", async () => {
    const thread = crypto.randomUUID();
    await pay(thread, 5);
    await search(thread, "flüge\n\u2028 nach Ottawa");
    const lines = await exported(journal, thread);
    const trail = readTrail([lines]);
    expect(await trail.header()).toMatchObject({ threadId: thread, head: await journal.head(thread) });
    const read: TrailEntry[] = [];
    for await (const line of trail) read.push(line);
    expect(trail.torn).toBeUndefined();
    expect(read.map(({ event }) => event.type)).toEqual(["session", "claimed", "succeeded", "read"]);
    const shown = [];
    for await (const entry of journal.trail(thread)) shown.push(entry);
    const whole = (entries: typeof read) =>
      Promise.all(entries.map(async ({ result, ...entry }) => ({ ...entry, result: await result() })));
    expect(await whole(read)).toEqual(await whole(shown));
    expect(read[3]).toMatchObject({ tool: "search", args: { what: "flüge\n\u2028 nach Ottawa" } });
    const head = await journal.head(thread);
    expect(await verifyTrail([lines], { head, sign })).toMatchObject({ ok: true, entries: 4 });
    expect(await verifyTrail([lines], { head })).toMatchObject({ ok: false });
  });
});

/** Another process that makes a payment which happened. */
async function otherProcess(saver: TierSaver, thread: string, amount = 3, note?: string): Promise<unknown> {
  const journal = createJournal(saver, { sign });
  return await journal.run(
    { configurable: { thread_id: thread } },
    {
      id: `pay ${amount} ${note ?? ""}`,
      tool: "pay",
      args: note === undefined ? { amount } : { amount, note },
    },
    () => {
      throw new Error("paid twice");
    },
  );
}

async function exported(journal: Journal, thread: string): Promise<string> {
  const through = new PassThrough();
  const [lines] = await Promise.all([text(through), journal.export(thread, through)]);
  return lines;
}

async function entriesOf(trail: AsyncIterable<TrailEntry>): Promise<TrailEntry[]> {
  const entries: TrailEntry[] = [];
  for await (const entry of trail) entries.push(entry);
  return entries;
}

async function recordsOf({ tier }: TierSaver, threadId: string) {
  const { revision } = await tier.peek({ threadId, namespace: journalNamespace });
  const records = [];
  for await (const { record } of tier.list({ threadId, namespace: journalNamespace, recordsOnly: true }))
    records.push(record);
  return { revision, records: records.reverse() };
}

/** All that the storages have of a thread, decoded. Each layer of a stack is asked. @throws where a blob is left that nothing needs */
async function bytesOf({ coder, tier }: TierSaver, threadId: string): Promise<string> {
  const found: string[] = [];
  for (const layer of layersOf(tier)) {
    // A copy under way to the hot tier may arrive now, so blobs are listed before the records that need them.
    const blobs = await layer.tier.blobs(threadId);
    const needed = new Set<string>();
    for await (const stored of layer.tier.list({ threadId })) {
      for (const hash of stored.record.blobs) needed.add(hash);
      const body = await coder.decodeBody(stored.record);
      found.push(JSON.stringify(await coder.checkpoint(stored, body, {})));
      found.push(JSON.stringify(await coder.metadata(stored.record, body)));
    }
    for (const { hash } of blobs)
      if (!needed.has(hash)) throw new Error(`the blob ${hash} is left in ${layer.tier.name}`);
  }
  return found.join("\n");
}
