import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { fork } from "@stratigraph/branch";
import { MemorySaver, MemoryTier, TierSaver } from "@stratigraph/core";
import { describe, expect, it } from "vitest";
import {
  batch,
  createJournal,
  replayTrail,
  verifyTrail,
  type Journal,
  type Replay,
  type SignOptions,
} from "../src/index.ts";
import { canonical } from "../src/identity/canonical.ts";
import { digestOfName, fingerprintOf, fingerprintOfNamed, sha256 } from "../src/identity/fingerprint.ts";
import type { Entry, EntryHeader, JournalEvent } from "../src/log/entry.ts";
import { journalNamespace, newRecordId } from "../src/log/records.ts";
import { Sealing } from "../src/log/sealing.ts";
import { agentOf, asks, payments, says } from "./support/effects.ts";
import { putEntry } from "./support/putEntry.ts";

// Where a journal signs, its calls are known by the key of its first entry: nobody without it can try what erased arguments were.

const keys = { "2026": "a secret of the year 2026", "2027": "a secret of the year 2027" };
const sign = { keys, activeKey: "2026" };
const later = { keys, activeKey: "2027" };
const config = { configurable: { thread_id: "t" } };
const input = { messages: [{ role: "user" as const, content: "pay" }] };

/** Calls of all kinds: of a tool, of a name, of a batch. Returns what ran. */
async function calls(saver: TierSaver, journal: Journal | Replay, thread = "t"): Promise<string[]> {
  const ran: string[] = [];
  const own = { configurable: { thread_id: thread } };
  const { pay, paid } = payments();
  const tools = journal.tools([pay], { pay: "once" });
  // The second one stands in the chain behind the first.
  const script = (turn: number) =>
    turn < 2 ? asks({ name: "pay", args: { amount: 7 + turn } }) : says("done");
  const { graph } = agentOf(journal as Journal, tools, script, saver);
  const start = (await graph.getState(own)).config.configurable?.["checkpoint_id"] as string | undefined;
  const first = start === undefined ? own : await beginning(saver, thread);
  await graph.invoke(start === undefined ? input : null, first);
  if (paid.length > 0) ran.push("tool");
  await journal.run(own, { id: "letter", args: { to: "ada" } }, () => void ran.push("named"));
  if ("trail" in journal)
    await batch(
      journal,
      own,
      ["one", "two"],
      { id: "items", key: (item) => item },
      (item) => void ran.push(item),
    );
  return ran;
}

/** The first checkpoint of a thread: a run from there makes the same calls. */
async function beginning(saver: TierSaver, thread: string) {
  let oldest = { configurable: { thread_id: thread } } as object;
  for await (const { config: found } of saver.list({ configurable: { thread_id: thread } })) oldest = found;
  return oldest;
}

async function exported(journal: Journal, thread = "t"): Promise<string> {
  const through = new PassThrough();
  const [file] = await Promise.all([text(through), journal.export(thread, through)]);
  return file;
}

/** A journal in which all of them were made. */
async function called(signing: SignOptions | undefined) {
  const saver = new MemorySaver();
  const journal = createJournal(saver, { sign: signing });
  expect(await calls(saver, journal)).toEqual(["tool", "named", "one", "two"]);
  return { saver, journal };
}

/** What somebody tries who knows all but the amount, or the name, and has whatever is stored. */
const guesses = [
  fingerprintOf({ tool: "pay", version: null, args: { amount: 7 }, previous: "", nth: 0 }),
  digestOfName("outside", null, "letter", null),
  fingerprintOfNamed(digestOfName("outside", null, "letter", null), 0, 0),
  fingerprintOf({
    tool: "items",
    version: null,
    args: { key: "one" },
    previous: sha256(canonical(["items/1", "items"])),
    nth: 0,
  }),
];

describe("erased arguments", () => {
  it.each([
    ["without keys, can be found by trying", undefined, 4],
    ["with keys, can't", sign, 0],
  ])("%s", async (_name, signing, found) => {
    const { saver, journal } = await called(signing);
    const [{ fingerprint: call } = { fingerprint: "" }] = await journal.calls("t");
    await journal.erase("t", { call });
    const before = await exported(journal);
    await journal.erase("t", { before: new Date(Date.now() + 1) });
    await journal.cut("t", { before: new Date(Date.now() + 1) });
    const file = before + (await exported(journal));
    expect(guesses.filter((guess) => file.includes(guess))).toHaveLength(found);
    expect(await journal.verify("t")).toMatchObject({ ok: true });
    await expect(calls(saver, createJournal(saver, { sign: signing }))).rejects.toMatchObject({
      code: "RESULT_NOT_KEPT",
    });
  });
});

describe("another key since", () => {
  it("finds every call, also one that was cut off, of many, and in a fork; with the key that is missing it says which", async () => {
    const { saver, journal } = await called(sign);
    const many = async (by: Journal) => {
      let ran = 0;
      const run = (n: number) => by.run(config, { id: `many ${n}` }, () => void (ran += 1));
      await Promise.all(Array.from({ length: 150 }, (_, n) => run(n)));
      return ran;
    };
    expect(await many(journal)).toBe(150);
    await journal.end();
    const next = () => createJournal(saver, { sign: later });
    expect(await calls(saver, next())).toEqual([]);
    expect(await many(next())).toBe(0);
    await fork(saver, "t", { to: "fork" });
    expect(await calls(saver, next(), "fork")).toEqual([]);
    await next().run(config, { id: "since", args: { to: "bob" } }, () => undefined);
    expect(await next().verify("t")).toMatchObject({ ok: true });
    await next().cut("t", { before: new Date(Date.now() + 1) });
    await expect(calls(saver, next())).rejects.toMatchObject({ code: "RESULT_NOT_KEPT" });
    const lost = createJournal(saver, { sign: { keys: { "2027": keys["2027"] }, activeKey: "2027" } });
    await expect(lost.run(config, { id: "new" }, () => undefined)).rejects.toMatchObject({
      code: "KEY_MISSING",
      data: { keyId: "2026" },
    });
  });

  it.each([
    ["a call that must not act twice", { effects: "once" }, ["the other"]],
    ["a read", { effects: "none" }, ["the first", "the other"]],
    ["one that the policy denies the first", { effects: "once", deny: true }, ["the other"]],
  ] as const)(
    "two processes of two keys begin a journal at once: %s",
    async (_name, { effects, ...rest }, expected) => {
      const tier = new MemoryTier();
      const other = createJournal(new TierSaver(tier), { sign: later });
      const policy = () => ("deny" in rest ? { deny: "no" } : true);
      const first = createJournal(new TierSaver(tier), { sign, policy });
      const made: string[] = [];
      const pay = (journal: Journal, who: string) =>
        journal.run(config, { id: "pay", args: { amount: 7 }, effects }, () => void made.push(who));
      const append = tier.append.bind(tier);
      tier.append = async (request) => {
        tier.append = append;
        await pay(other, "the other");
        return await append(request);
      };
      await pay(first, "the first").catch((error: unknown) =>
        expect(error).toMatchObject({ code: "CALL_DENIED" }),
      );
      expect(made).toEqual(expected);
      expect(await other.verify("t")).toMatchObject({ ok: true });
    },
  );

  it("a thread that was deleted and begun anew under it is another one for whoever knew the first", async () => {
    const saver = new MemorySaver();
    const [first, second] = [createJournal(saver, { sign }), createJournal(saver, { sign: later })];
    const paid: string[] = [];
    const pay = async (journal: Journal, who: string) =>
      await journal.run(config, { id: "pay" }, () => void paid.push(who));
    await pay(first, "first");
    await saver.deleteThread("t");
    await pay(second, "second");
    await pay(first, "first again");
    expect(paid).toEqual(["first", "second"]);
    expect(await first.verify("t")).toMatchObject({ ok: true });
  });
});

it("a journal that was begun when fingerprints weren't keyed goes on as it was", async () => {
  const saver = new MemorySaver();
  const sealing = new Sealing(sign);
  const [session, at] = ["a process", new Date().toISOString()];
  const previous = digestOfName("outside", null, "pay", null);
  const call = fingerprintOfNamed(previous, 0, 0);
  const [argsHash, resultHash] = [sealing.hash("null"), sealing.hash("x")];
  const named = { effects: "once", previous, nth: 0, named: true, argsHash, where: {} } as const;
  const events: JournalEvent[] = [
    { type: "session", machine: "m", pid: 1, thread: "t" },
    { type: "claimed", call, tool: "pay", ...named, attempt: 1, key: "k" },
    { type: "succeeded", call, claim: 2, resultHash, kept: false, ms: 1 },
  ];
  let last: Entry | undefined;
  let record: string | undefined;
  for (const [n, event] of events.entries()) {
    const header: EntryHeader = { v: 1, seq: n + 1, at, session, prev: last?.hash ?? "", keyId: "2026" };
    const names = { checkpointId: newRecordId(n + 1), parentId: record };
    const heads = [
      { namespace: journalNamespace, to: names.checkpointId, expected: record === undefined ? [] : [record] },
    ];
    last = { ...header, event, hash: sealing.hashOf(header, event) };
    await putEntry(saver, names, last, event.type === "claimed" ? { args: "null" } : {}, heads);
    record = names.checkpointId;
  }
  const journal = createJournal(saver, { sign: later });
  expect(await journal.verify("t")).toMatchObject({ ok: true, entries: 3 });
  await expect(journal.run(config, { id: "pay" }, () => "paid again")).rejects.toMatchObject({
    code: "RESULT_NOT_KEPT",
  });
  await journal.run(config, { id: "new" }, () => undefined);
  expect(await createJournal(saver, { sign }).run(config, { id: "new" }, () => "again")).toBeUndefined();
  expect(await journal.verify("t")).toMatchObject({ ok: true });
});

it("a journal that was begun without keys verifies where it is taken, and isn't taken elsewhere, however long it is", async () => {
  const saver = new MemorySaver();
  const accepting = { ...later, unsigned: "accept" } as const;
  await createJournal(saver).run(config, { id: "pay" }, () => "paid");
  const journal = createJournal(saver, { sign: accepting });
  for (const count of [1, 80]) {
    const run = (n: number) => journal.run(config, { id: `${count}, ${n}` }, () => undefined);
    await Promise.all(Array.from({ length: count }, (_, n) => run(n)));
    const file = await exported(journal);
    for (const sign of [accepting, later]) {
      const fresh = createJournal(saver, { sign });
      const paid = await fresh
        .run(config, { id: "pay" }, () => "paid again")
        .catch(({ code }) => code as string);
      const found = [await fresh.verify("t"), await verifyTrail([file], { sign })];
      if (sign === accepting) expect([paid, ...found]).toMatchObject(["paid", { ok: true }, { ok: true }]);
      else
        expect([paid, ...found]).toMatchObject([
          "JOURNAL_BROKEN",
          { ok: false, brokenAt: 1, why: expect.stringContaining('unsigned: "accept"') as string },
          { ok: false, brokenAt: 1 },
        ]);
    }
  }
});

describe("a replay", () => {
  it.each([undefined, sign])(
    "gives what was recorded, also of a journal that was cut (%j)",
    async (signing) => {
      const { saver, journal } = await called(signing);
      const file = await exported(journal);
      const given = signing === undefined ? {} : { sign: later };
      const other = signing === undefined ? undefined : later;
      for (const replay of [
        await replayTrail([file], given),
        await createJournal(saver, { sign: other }).replay("t"),
      ]) {
        expect(await replay.follow(() => calls(new MemorySaver(), replay))).toEqual([]);
        expect(replay.calls.map(({ tool, outcome }) => [tool, outcome])).toEqual([
          ["pay", "recorded"],
          ["pay", "recorded"],
          ["letter", "recorded"],
        ]);
        const known = (await journal.calls("t")).map(({ fingerprint }) => fingerprint);
        expect(known).toEqual(expect.arrayContaining(replay.calls.map(({ fingerprint }) => fingerprint)));
      }
      await journal.cut("t", { before: new Date(Date.now() + 1) });
      const run = async (by: Journal | Replay, id: string, effects: "once" | "idempotent" = "once") =>
        await by.run(config, { id, effects }, () => `live ${id}`);
      await run(journal, "new", "idempotent");
      const cut = await replayTrail([await exported(journal)], { ...given, onMiss: "run" });
      expect(await run(cut, "new", "idempotent")).toBe("live new");
      expect(cut.calls.map(({ outcome }) => outcome)).toEqual(["recorded"]);
      // What was cut off may have happened, and isn't run.
      const ran: string[] = [];
      const again = cut.follow(async () => void ran.push(...(await calls(new MemorySaver(), cut))));
      await expect(again).rejects.toMatchObject({ code: "REPLAY_DIVERGED" });
      expect(ran).toEqual([]);
    },
  );

  it("of a journal that signs needs its keys, and says so", async () => {
    const { saver, journal } = await called(sign);
    const file = await exported(journal);
    for (const open of [() => replayTrail([file]), () => createJournal(saver).replay("t")])
      await expect(open()).rejects.toMatchObject({ code: "KEY_MISSING", data: { keyId: "2026" } });
  });

  it.each([undefined, sign])(
    "runs nothing of what was erased, also where what wasn't recorded may run (%j)",
    async (signing) => {
      const { journal } = await called(signing);
      await journal.erase("t", { before: new Date(Date.now() + 1) });
      const replay = await journal.replay("t", { onMiss: "run" });
      const ran: string[] = [];
      await expect(
        replay.follow(async () => await calls(new MemorySaver(), replay).then((made) => ran.push(...made))),
      ).rejects.toMatchObject({ code: "REPLAY_DIVERGED" });
      expect(ran).toEqual([]);
    },
  );
});
