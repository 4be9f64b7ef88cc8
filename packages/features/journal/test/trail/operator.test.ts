import type { TierSaver } from "@stratigraph/core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createJournal, type Journal, type UnresolvedCall } from "../../src/index.ts";
import { savers, type Opened } from "../support/savers.ts";

describe.each(savers.filter(([name]) => name !== "s3"))("an operator, on %s", (_name, open) => {
  let opened: Opened;
  let saver: TierSaver;
  let journal: Journal;

  beforeAll(async () => {
    opened = await open();
    saver = opened.saver;
    journal = createJournal(saver);
  });
  afterAll(async () => {
    await journal.end();
    await opened.close();
  });

  const pay = async (thread: string, work: () => unknown, by = journal): Promise<unknown> =>
    await by.run(
      { configurable: { thread_id: thread } },
      { id: "pay 5", tool: "pay", args: { amount: 5 } },
      work,
    );
  const cutLine = (): never => {
    throw new Error("the line was cut");
  };

  it("is told of calls that nobody can answer for, in one thread and in all", async () => {
    const [one, two, fine] = [crypto.randomUUID(), crypto.randomUUID(), crypto.randomUUID()];
    await expect(pay(one, cutLine)).rejects.toThrow("the line was cut");
    await expect(pay(two, cutLine)).rejects.toThrow("the line was cut");
    await pay(fine, () => "receipt");
    expect(await callsOf(journal.unresolved(one))).toMatchObject([
      {
        threadId: one,
        tool: "pay",
        args: { amount: 5 },
        attempts: 1,
        why: "the line was cut",
        effects: "once",
      },
    ]);
    const fresh = createJournal(saver);
    const all = (await callsOf(fresh.unresolved())).map(({ threadId }) => threadId);
    expect(all).toEqual(expect.arrayContaining([one, two]));
    expect(all).not.toContain(fine);
  });

  it("says that a call happened: its result is given, and it isn't repeated", async () => {
    const thread = crypto.randomUUID();
    await expect(pay(thread, cutLine)).rejects.toThrow("the line was cut");
    const [call] = await callsOf(journal.unresolved(thread));
    const { fingerprint } = call!;
    await journal.resolve(fingerprint, {
      threadId: thread,
      happened: true,
      result: "by phone",
      author: "ops",
    });
    expect(await callsOf(journal.unresolved(thread))).toEqual([]);
    expect(await pay(thread, cutLine)).toBe("by phone");
    const [entry] = await entriesOf(journal, thread, "resolved");
    expect(entry).toMatchObject({ author: "ops", event: { by: "operator", happened: true } });
    await expect(journal.resolve(fingerprint, { threadId: thread, happened: false })).rejects.toMatchObject({
      code: "INVALID_OPTION",
    });
    await journal.erase(thread, { call: fingerprint });
    await expect(pay(thread, cutLine)).rejects.toMatchObject({ code: "RESULT_NOT_KEPT" });
    await journal.resolve(fingerprint, { threadId: thread, happened: true, result: "found again" });
    expect(await pay(thread, cutLine)).toBe("found again");
    expect(await journal.verify(thread)).toMatchObject({ ok: true });
  });

  it("says that a call didn't happen: it runs when it is made again", async () => {
    const thread = crypto.randomUUID();
    await expect(pay(thread, cutLine)).rejects.toThrow("the line was cut");
    const [call] = await callsOf(journal.unresolved(thread));
    await journal.resolve(call!.fingerprint, { threadId: thread, happened: false });
    expect(await pay(thread, () => "second receipt")).toBe("second receipt");
  });

  it("lets a call that happened run again", async () => {
    const thread = crypto.randomUUID();
    await pay(thread, () => "receipt 1");
    const [entry] = await entriesOf(journal, thread, "claimed");
    const { call } = entry!.event as { call: string };
    await journal.forget(call, { threadId: thread, reason: "the bank undid it", author: "ops" });
    expect(await pay(thread, () => "receipt 2")).toBe("receipt 2");
    expect(await pay(thread, cutLine, createJournal(saver))).toBe("receipt 2");
    await expect(journal.forget("0".repeat(64), { threadId: thread, reason: "" })).rejects.toMatchObject({
      code: "NOT_FOUND",
    });
  });

  it("can't decide about a call that is being made", async () => {
    const thread = crypto.randomUUID();
    let end: ((receipt: string) => void) | undefined;
    let paying: Promise<unknown> | undefined;
    await new Promise<void>((started) => {
      paying = pay(thread, () => {
        started();
        return new Promise<string>((resolve) => (end = resolve));
      });
    });
    const [entry] = await entriesOf(journal, thread, "claimed");
    const { call } = entry!.event as { call: string };
    for (const by of [journal, createJournal(saver)]) {
      expect(await callsOf(by.unresolved(thread))).toEqual([]);
      await expect(by.resolve(call, { threadId: thread, happened: false })).rejects.toMatchObject({
        code: "LOCKED",
      });
      await expect(by.forget(call, { threadId: thread, reason: "" })).rejects.toMatchObject({
        code: "LOCKED",
      });
    }
    end!("receipt");
    expect(await paying).toBe("receipt");
  });
});

async function callsOf(calls: AsyncIterable<UnresolvedCall>): Promise<UnresolvedCall[]> {
  const found: UnresolvedCall[] = [];
  for await (const call of calls) found.push(call);
  return found;
}

async function entriesOf(journal: Journal, thread: string, type: "claimed" | "resolved") {
  const found = [];
  for await (const entry of journal.trail(thread, { types: [type] })) found.push(entry);
  return found;
}
