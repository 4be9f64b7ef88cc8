// long file: a stored state against the entries, and what may become of it
import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { fork } from "@stratigraph/branch";
import { MemorySaver, type TierSaver } from "@stratigraph/core";
import { describe, expect, it } from "vitest";
import { inRounds } from "../../../../test/rounds.ts";
import { createJournal } from "../src/index.ts";
import { anotherTime } from "./support/anotherTime.ts";
import { putEntry } from "./support/putEntry.ts";
import { Calls } from "../src/log/calls.ts";
import type { CallState } from "../src/log/callState.ts";
import type { Entry, FoldedEvent, JournalEvent } from "../src/log/entry.ts";
import { foldOf } from "../src/log/folds.ts";
import { JournalLog } from "../src/log/journalLog.ts";
import { decodeEntry, decodePayload, journalNamespace, newRecordId } from "../src/log/records.ts";
import { Sealing } from "../src/log/sealing.ts";

const sealing = new Sealing(undefined);
const digest = (n: number): string => n.toString(16).padStart(64, "0");

/** What a step does to one of a few calls: some are named, and share their names. */
function eventOf(step: number, seq: number): JournalEvent {
  const n = step % 7;
  const call = digest(n);
  const named = n < 4 ? { named: true as const } : {};
  const where = { checkpoint: `c${step % 5}`, task: `t${step % 2}`, node: "pay", step: step % 9 };
  const described = {
    call,
    tool: n % 2 === 0 ? "pay" : "mail",
    effects: "once" as const,
    previous: digest(100 + (n % 2)),
    nth: n % 4,
    ...named,
    argsHash: digest(200 + (n % 3)),
    where,
  };
  const events: JournalEvent[] = [
    { type: "claimed", ...described, attempt: 1, key: `key ${step % 3}` },
    { type: "claimed", ...described, attempt: 2, key: `key ${step % 3}`, of: digest((n + 1) % 7) },
    { type: "succeeded", call, claim: seq - 1, resultHash: digest(step), kept: true, ms: 1 },
    { type: "read", ...described, resultHash: digest(step), kept: step % 2 === 0, ms: 1 },
    {
      type: "unknown",
      call,
      claim: 1,
      reason: "error",
      error: { name: "Error", message: 'a "line"\n\twas cut 🐢' },
    },
    { type: "returned", call, where },
    { type: "denied", ...described, by: "policy", reason: "no" },
    { type: "approved", ...described, reason: "over 500", thread: "t", until: "2027-01-01T00:00:00.000Z" },
    { type: "repeats", ...described, of: digest((n + 2) % 7) },
    { type: "forgotten", call, reason: "again" },
    { type: "session", machine: `m${seq % 3}`, pid: seq % 3, thread: "t" },
    { type: "suspended", call, claim: 1 },
  ];
  return events[Math.floor(step / 7) % events.length]!;
}

function entryOf(calls: Calls, event: JournalEvent): Entry {
  const seq = calls.seq + 1;
  return {
    v: 1,
    seq,
    at: "2026-11-26T00:00:00.000Z",
    session: `s${seq % 3}`,
    prev: calls.hash,
    event,
    hash: digest(seq),
  };
}

/** All that a journal is asked about its calls. */
function told(calls: Calls): unknown {
  const all = [...calls.all()];
  const open = all.flatMap(({ tool, argsHash }) => [...calls.openOf(JSON.stringify([tool, argsHash]))]);
  const names = [0, 1].map((n) => digest(100 + n));
  return JSON.parse(
    JSON.stringify({
      all: all.toSorted((a, b) => (a.call < b.call ? -1 : 1)),
      open: open.toSorted(),
      named: names.map((name) => [...new Set([...calls.named(name)].map(({ call }) => call))].toSorted()),
      visits: names.map((name) => calls.visitsOf(name)),
      claimants: all
        .filter(({ status }) => status === "claimed" || status === "unknown")
        .map(({ claim }) => calls.session(claim?.session ?? ""))
        .map((session) => `${session?.machine} ${session?.pid}`)
        .toSorted(),
      seq: calls.seq,
      hash: calls.hash,
      cutUpTo: calls.cutUpTo,
      thread: calls.thread,
    }),
    (_key, value: unknown) => (value instanceof Object && !Array.isArray(value) ? sorted(value) : value),
  );
}

function sorted(value: object): object {
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

it("what is stored of a journal's state is what its entries come to, in however many layers", () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(fc.nat(10_000), { maxLength: 12 }), { minLength: 1, maxLength: 14 }),
      (parts) => {
        let calls = new Calls();
        const stored = new Map<number, Uint8Array>();
        const add = (event: JournalEvent, cut?: readonly CallState[]): void => {
          const entry = entryOf(calls, event);
          const next = calls.branch();
          next.fold(entry, `${entry.seq}`, cut);
          calls = next.commit();
        };
        // As in a journal, a session is known before it claims.
        for (const seq of [1, 2, 3])
          add({ type: "session", machine: `m${seq % 3}`, pid: seq % 3, thread: "t" });
        for (const steps of parts) {
          for (const step of steps) add(eventOf(step, calls.seq + 1));
          const { event, payload } = foldOf(calls, sealing);
          add(event);
          stored.set(calls.seq, payload.fold!);
          const opened = new Calls();
          for (const { seq } of calls.layers) opened.load(seq, stored.get(seq)!);
          opened.fold({ ...entryOf(calls, event), seq: calls.seq, hash: calls.hash }, `${calls.seq}`);
          expect(told(opened)).toEqual(told(calls));
          expect(opened.layers).toEqual(calls.layers);
          // A process that opened it goes on as the one that wrote it.
          if (steps.length % 2 === 0) calls = opened;
        }
        expect(calls.layers.length).toBeLessThanOrEqual(6);
      },
    ),
    {
      numRuns: inRounds({ few: 40, all: 400, soak: 20_000 }),
      // Found before: a call that is forgotten behind a stored state, one that ends there, one that is made again.
      examples: [
        [[[2362], [2670], []]],
        [[[0], [2 * 7], []]],
        [
          [
            [0, 0, 0],
            [0, 1],
            [9 * 7, 0],
          ],
        ],
      ],
    },
  );
});

it("states are put together up to a size that an append can carry", () => {
  const calls = new Calls();
  for (let n = 0; n < 1300; n += 1) {
    const entry = entryOf(calls, { type: "session", machine: "m", pid: n, thread: "t" });
    calls.fold(entry, `${entry.seq}`);
    const folded = entryOf(calls, foldOf(calls, sealing).event);
    calls.fold(folded, `${folded.seq}`);
  }
  // Of 256 each, and what is left of 1300.
  expect(calls.layers.map(({ level }) => level)).toEqual([4, 4, 4, 4, 4, 2, 1]);
});

const sign = { keys: { "2026": "a secret of the year 2026" }, activeKey: "2026" };

/** A journal with hundreds of calls, which were made outside a graph. */
async function madeCalls(saver: TierSaver, count: number, thread = "t", from = 0): Promise<void> {
  const journal = createJournal(saver, { sign });
  await Promise.all(Array.from({ length: count }, async (_, n) => await pay(journal, from + n, thread)));
  await journal.end();
}

async function pay(journal: ReturnType<typeof createJournal>, n: number, thread = "t"): Promise<unknown> {
  const config = { configurable: { thread_id: thread } };
  return await journal.run(config, { id: `pay ${n}`, args: { n } }, () => `receipt ${n} ${randomUUID()}`);
}

async function recordsOf(saver: TierSaver, threadId = "t") {
  const found = [];
  for await (const stored of saver.tier.list({ threadId, namespace: journalNamespace }))
    found.unshift({ stored, entry: await decodeEntry(saver, stored.record) });
  return found;
}

/** Puts another payload beside an entry, or removes its record. */
async function tamper(saver: TierSaver, seq: number, fold: Uint8Array | undefined | "gone"): Promise<void> {
  const { stored, entry } = (await recordsOf(saver)).find((each) => each.entry.seq === seq)!;
  const { checkpointId, parentId } = stored.record;
  if (fold === "gone") {
    const { revision } = await saver.tier.peek({ threadId: "t", namespace: journalNamespace });
    const checkpoints = [{ threadId: "t", namespace: journalNamespace, checkpointId }];
    await saver.tier.remove({
      threadId: "t",
      revision,
      checkpoints,
      dropBlobs: [],
      replaceBlobs: [],
      heads: [],
    });
    return;
  }
  await putEntry(saver, { checkpointId, parentId }, entry, { fold });
}

describe("a journal of hundreds of calls", () => {
  it("is opened without its old entries: what is stored tells of them", async () => {
    const saver = new MemorySaver();
    await madeCalls(saver, 120);
    const before = createJournal(saver, { sign });
    const receipts = [await pay(before, 3), await pay(before, 73), await pay(before, 119)];
    const records = await recordsOf(saver);
    const folds = records.filter(({ entry }) => entry.event.type === "folded");
    expect(folds.map(({ entry }) => entry.seq).length).toBeGreaterThanOrEqual(2);
    expect(await before.verify("t")).toMatchObject({ ok: true, entries: records.length });
    // Entries that nobody needs, to see that nobody reads them: of call 0 the claim, which isn't asked for here.
    await tamper(saver, 2, "gone");
    const fresh = createJournal(saver, { sign });
    expect([await pay(fresh, 3), await pay(fresh, 73), await pay(fresh, 119)]).toEqual(receipts);
    expect(await fresh.verify("t")).toMatchObject({ ok: false, brokenAt: 2 });
  });

  it("is read whole where something of what is stored is gone", async () => {
    const saver = new MemorySaver();
    await madeCalls(saver, 150);
    const receipts = [
      await pay(createJournal(saver, { sign }), 3),
      await pay(createJournal(saver, { sign }), 149),
    ];
    const folds = (await recordsOf(saver)).filter(({ entry }) => entry.event.type === "folded");
    for (const { entry } of folds) await tamper(saver, entry.seq, undefined);
    const fresh = createJournal(saver, { sign });
    expect([await pay(fresh, 3), await pay(fresh, 149)]).toEqual(receipts);
    expect(await fresh.verify("t")).toMatchObject({ ok: true });
  });

  it("isn't opened with what somebody else put beside an entry", async () => {
    const saver = new MemorySaver();
    await madeCalls(saver, 120);
    const folds = (await recordsOf(saver)).filter(({ entry }) => entry.event.type === "folded");
    const [first, newest] = [folds[0]!, folds.at(-1)!];
    const { fold } = await decodePayload(saver, first.stored);
    await tamper(saver, newest.entry.seq, fold);
    await expect(pay(createJournal(saver, { sign }), 3)).rejects.toMatchObject({ code: "JOURNAL_BROKEN" });
    expect(await createJournal(saver, { sign }).verify("t")).toMatchObject({
      ok: false,
      brokenAt: newest.entry.seq,
    });
  });

  it("isn't opened with a state that was stored elsewhere, by whoever has the key", async () => {
    const saver = new MemorySaver();
    await madeCalls(saver, 120);
    const records = await recordsOf(saver);
    const { event: newest } = records.findLast(({ entry }) => entry.event.type === "folded")!.entry;
    const below = (newest as FoldedEvent).layers[0]!.seq;
    const first = records.find(({ entry }) => entry.seq === below);
    const { checkpointId, parentId } = first!.stored.record;
    const withKey = new Sealing(sign);
    const { event, payload } = foldOf(Object.assign(new Calls(), { thread: "t" }), withKey);
    const { event: _event, hash: _hash, ...header } = first!.entry;
    const entry = { ...header, event, hash: withKey.hashOf(header, event) };
    await putEntry(saver, { checkpointId, parentId }, entry, payload);
    await expect(pay(createJournal(saver, { sign }), 3)).rejects.toMatchObject({ code: "JOURNAL_BROKEN" });
  });

  it("isn't opened with a state that nobody signed, behind entries that are", async () => {
    const saver = new MemorySaver();
    await madeCalls(saver, 50);
    const log = new JournalLog("t", saver, sealing, { session: randomUUID(), machine: "m", pid: 1 });
    const known = (await recordsOf(saver)).at(-1)!;
    const forged = foldOf(Object.assign(new Calls(), { thread: "t" }), sealing);
    const header = {
      v: 1 as const,
      seq: known.entry.seq + 1,
      at: known.entry.at,
      session: known.entry.session,
      prev: known.entry.hash,
    };
    const entry = { ...header, event: forged.event, hash: sealing.hashOf(header, forged.event) };
    const at = { checkpointId: newRecordId(entry.seq), parentId: known.stored.record.checkpointId };
    const head = { namespace: journalNamespace, to: at.checkpointId, expected: [at.parentId] };
    await putEntry(saver, at, entry, forged.payload, [head]);
    // Without keys it is a state as any other.
    await expect(log.refresh()).resolves.toMatchObject({ seq: entry.seq });
    const journal = createJournal(saver, { sign: { ...sign, unsigned: "accept" } });
    await expect(pay(journal, 3)).rejects.toMatchObject({ code: "JOURNAL_BROKEN" });
  });

  it("verifies only if what is stored is what the entries say, whoever has the key", async () => {
    const saver = new MemorySaver();
    await madeCalls(saver, 50);
    const writer = { session: randomUUID(), machine: "m", pid: 1 };
    const withKey = new Sealing(sign);
    const log = new JournalLog("t", saver, withKey, writer);
    const other = new Calls();
    other.fold(entryOf(other, eventOf(0, 1)), "1");
    other.thread = "t";
    await log.change(() => ({ events: [foldOf(other, withKey)], answer: undefined }));
    expect(await createJournal(saver, { sign }).verify("t")).toMatchObject({
      ok: false,
      why: expect.stringContaining("isn't the one that follows from the entries before it") as string,
    });
  });

  it("verifies after it was cut before a stored state", async () => {
    const saver = new MemorySaver();
    await madeCalls(saver, 100);
    await anotherTime();
    const before = new Date();
    await anotherTime();
    await madeCalls(saver, 60, "t", 100);
    const journal = createJournal(saver, { sign });
    const { head } = await journal.cut("t", { before });
    expect((await recordsOf(saver)).some(({ entry }) => entry.event.type === "folded")).toBe(true);
    expect(await journal.verify("t", { head })).toMatchObject({ ok: true });
    expect(await pay(createJournal(saver, { sign }), 159)).toBe(await pay(journal, 159));
  });

  it("goes on after it was cut in the middle, forked, and cut again, and pays nothing twice", async () => {
    const saver = new MemorySaver();
    await madeCalls(saver, 250);
    const old = createJournal(saver, { sign });
    const receipt = await pay(old, 200);
    await old.cut("t", { before: new Date(Date.now() + 1) });
    await Promise.all(Array.from({ length: 200 }, async (_, n) => await pay(old, 250 + n)));
    const fresh = createJournal(saver, { sign });
    await expect(pay(fresh, 3)).rejects.toMatchObject({ code: "RESULT_NOT_KEPT" });
    await expect(pay(fresh, 200)).rejects.toMatchObject({ code: "RESULT_NOT_KEPT" });
    expect(receipt).toContain("receipt 200");
    const later = (await recordsOf(saver)).find(({ entry }) => entry.event.type === "folded");
    expect(later!.entry.event).toMatchObject({ layers: [] });
    expect(await pay(fresh, 449)).toBe(await pay(createJournal(saver, { sign }), 449));
    expect(await fresh.verify("t")).toMatchObject({ ok: true });
    await saver.put(
      { configurable: { thread_id: "t", checkpoint_ns: "" } },
      {
        v: 4,
        id: "1f000000-0000-6000-8000-000000000000",
        ts: "",
        channel_values: {},
        channel_versions: {},
        versions_seen: {},
      },
      { source: "input", step: -1, parents: {} },
      {},
    );
    await fork(saver, "t", { to: "copy" });
    const copy = createJournal(saver, { sign });
    await madeCalls(saver, 150, "copy", 450);
    expect(await pay(copy, 449, "copy")).toBe(await pay(fresh, 449));
    expect(await copy.verify("copy")).toMatchObject({ ok: true });
  });
});
