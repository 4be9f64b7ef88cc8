import { Writable } from "node:stream";
import { MemoryTier, TierSaver } from "@stratigraph/core";
import { reservedNamespaces } from "@stratigraph/core/tier";
import { FaultyTier } from "@stratigraph/testing";
import { expect, it, vi } from "vitest";
import { createJournal, verifyTrail } from "../src/index.ts";
import { agentOf, asks, payments, pays, questions, reply, says } from "./support/effects.ts";

const all = () => ({ before: new Date(Date.now() + 60_000) });
const on = (thread_id: string) => ({ configurable: { thread_id } });
/** Long enough for a blob of its own. */
const secret = `belongs to Ada Lovelace ${"and nobody else ".repeat(2000)}`;

it("an erasure that was killed after it wrote the entries leaves nothing once it is repeated", async () => {
  const tier = new FaultyTier(new MemoryTier());
  const journal = createJournal(new TierSaver(tier));
  await journal.run(on("ada"), { id: "pay", args: { secret } }, () => secret.toUpperCase());
  const heal = tier.failWhen(({ method }) => method === "remove");
  await expect(journal.erase("ada", all())).rejects.toThrow();
  heal();
  expect(await tier.blobs("ada")).not.toEqual([]);
  await createJournal(new TierSaver(tier)).erase("ada", all());
  expect(await tier.blobs("ada")).toEqual([]);
  expect(await journal.verify("ada")).toMatchObject({ ok: true, erased: 2 });
});

it("with a call go the arguments of those that were taken for repetitions of it", async () => {
  const saver = new TierSaver(new MemoryTier());
  const journal = createJournal(saver);
  const { pay } = payments((_amount, times) => {
    if (times === 1) throw new Error("the line was cut");
  });
  const script = (turn: number) => (turn < 2 ? asks(pays(5)) : says("done"));
  const { graph } = agentOf(journal, journal.tools([pay], { pay: "once" }), script, saver);
  const stopped = await graph.invoke({ messages: [{ role: "user", content: "pay" }] }, on("ada"));
  const [question] = questions(stopped);
  await graph.invoke(reply(stopped, { happened: true, result: "by phone" }), on("ada"));
  await journal.erase("ada", { call: question!.value.call });
  for await (const { args } of journal.trail("ada")) expect(args).toBeUndefined();
});

it("a process whose clock was ahead doesn't end an erasure early", async () => {
  const saver = new TierSaver(new MemoryTier());
  const journal = createJournal(saver);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3_600_000 });
  try {
    await journal.run(on("ada"), { id: "first", args: { secret } }, () => 1);
  } finally {
    vi.useRealTimers();
  }
  await journal.run(on("ada"), { id: "second", args: { secret } }, () => 2);
  expect(await journal.erase("ada", all())).toEqual({ entries: 2 });
});

it("an error that was recorded is told where the outcome is ambiguous", async () => {
  const journal = createJournal(new TierSaver(new MemoryTier()));
  const pay = () =>
    journal.run(on("ada"), { id: "pay" }, () => {
      throw new TypeError("the line was cut");
    });
  await expect(pay()).rejects.toThrow("the line was cut");
  await expect(pay()).rejects.toMatchObject({
    code: "AMBIGUOUS_OUTCOME",
    message: expect.stringContaining("(TypeError: the line was cut)") as string,
    data: { error: { name: "TypeError", message: "the line was cut" } },
  });
});

it("arguments that come back from a backup aren't erased, in the storage and in an export", async () => {
  const tier = new MemoryTier();
  const journal = createJournal(new TierSaver(tier));
  await journal.run(on("ada"), { id: "pay", args: { secret: "a short one" } }, () => "paid");
  const entries = [];
  for await (const entry of tier.list({ threadId: "ada", namespace: reservedNamespaces.calls }))
    entries.push(entry);
  const { record, blobs } = entries.at(-2)!;
  await journal.erase("ada", all());
  expect(await journal.verify("ada")).toMatchObject({ ok: true, erased: 2 });
  await tier.append({
    threadId: "ada",
    records: [record],
    blobs: [...blobs.values()],
    heads: [],
    onConflict: "refuse",
  });
  const said = { ok: false, brokenAt: 4, why: expect.stringContaining("erase again") as string };
  expect(await journal.verify("ada")).toMatchObject(said);
  const lines: string[] = [];
  await journal.export("ada", new Writable({ write: (line, _, done) => (lines.push(String(line)), done()) }));
  expect(await verifyTrail([lines.join("")])).toMatchObject(said);
  await journal.erase("ada", all());
  expect(await journal.verify("ada")).toMatchObject({ ok: true, erased: 2 });
});
