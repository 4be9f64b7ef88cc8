import { fork } from "@stratigraph/branch";
import { MemorySaver, type TierSaver } from "@stratigraph/core";
import { Annotation, Command, START, StateGraph } from "@langchain/langgraph";
import { expect, it, vi } from "vitest";
import { createJournal, type Policy } from "../src/index.ts";
import { decodeEntry, encodeEntry, journalNamespace, newRecordId } from "../src/log/records.ts";
import { Sealing } from "../src/log/sealing.ts";
import { agentOf, asks, payments, pays, questions, receipts, reply, says } from "./support/effects.ts";

// Who may say what of a call.

const begins = { messages: [{ role: "user", content: "pay" }] };
const on = (thread_id: string) => ({ configurable: { thread_id } });

/** An agent whose payments fail for certain as often as told, and a policy that can change. */
function desk(policy: { now: Policy }, { failures = 0, saver = new MemorySaver() as TierSaver } = {}) {
  const journal = createJournal(saver, { policy: (asked) => policy.now(asked) });
  let left = failures;
  const { pay, paid } = payments(() => {
    if (left > 0) {
      left -= 1;
      throw Object.assign(new Error("closed"), { certain: true });
    }
  });
  const { graph } = agentOf(
    journal,
    journal.tools([pay], { pay: "once" }),
    (turn) => (turn === 0 ? asks(pays(900)) : says("done")),
    saver,
    { retryPolicy: { maxAttempts: 1, initialInterval: 1 } },
  );
  return { graph, journal, paid, saver };
}

const asks500: Policy = () => ({ ask: "over 500" });

it("what a person allowed is denied where the rule says so by now", async () => {
  const policy = { now: asks500 };
  const { graph, paid } = desk(policy);
  const asked = await graph.invoke(begins, on("ada"));
  policy.now = () => ({ deny: "payments are stopped" });
  const { messages } = await graph.invoke(reply(asked, { allow: true }), on("ada"));
  expect(receipts(messages)).toEqual(["Denied: payments are stopped"]);
  expect(paid).toEqual([]);
});

it("it is asked again for another reason, and when its time is over", async () => {
  for (const [second, times] of [
    [() => ({ ask: "over 500" }), 1],
    [() => ({ ask: "over 800" }), 2],
  ] as const) {
    const policy: { now: Policy } = { now: asks500 };
    const { graph, journal, paid, saver } = desk(policy);
    const first = await graph.invoke(begins, on("ada"));
    // Allowed, and then the process ends before it pays.
    policy.now = () => {
      policy.now = second;
      return { ask: "over 500" };
    };
    let result: unknown = await graph.invoke(reply(first, { allow: true }), on("ada"));
    let count = 1;
    for (; questions(result).length > 0; count += 1)
      result = await graph.invoke(reply(result, { allow: true }), on("ada"));
    expect([count, paid.length]).toEqual([times, 1]);
    void [journal, saver];
  }
  const policy: { now: Policy } = { now: () => ({ ask: "over 500", validFor: "0ms" }) };
  const { graph, paid } = desk(policy);
  const first = await graph.invoke(begins, on("ada"));
  const again = await graph.invoke(reply(first, { allow: true }), on("ada"));
  expect(questions(again)).toMatchObject([{ value: { kind: "approval" } }]);
  expect(paid).toEqual([]);
});

it("in a fork it is asked again: one answer is one payment", async () => {
  const policy = { now: asks500 };
  const { graph, paid, saver } = desk(policy, { failures: 1 });
  const first = await graph.invoke(begins, on("ada"));
  await graph.invoke(reply(first, { allow: true }), on("ada"));
  const forks = [];
  let start;
  for await (const state of graph.getStateHistory(on("ada")))
    if (state.next.includes("tools")) start = state.config;
  for (const to of ["one", "two"]) {
    await fork(
      saver,
      { threadId: "ada", checkpointId: start!.configurable!["checkpoint_id"] as string } as never,
      { to },
    );
    forks.push(await graph.invoke(null, on(to)));
  }
  for (const result of forks) expect(questions(result)).toMatchObject([{ value: { kind: "approval" } }]);
  // The failed attempt was the only one.
  expect(paid).toHaveLength(1);
});

it("an answer that was given to a run of another thread counts nowhere", async () => {
  const policy = { now: asks500 };
  const { graph, paid } = desk(policy);
  const asked = await graph.invoke(begins, on("ada"));
  await graph.invoke(begins, on("bob"));
  const [question] = questions(asked);
  await graph.invoke(new Command({ resume: { id: question!.value.id, allow: true } }), on("bob"));
  expect(questions(await graph.invoke(null, on("ada")))).toMatchObject([{ value: { kind: "approval" } }]);
  expect(paid).toEqual([]);
});

it("a process that has keys obeys no entry that isn't signed", async () => {
  const sign = { keys: { k: "a secret of sixteen bytes" }, activeKey: "k" };
  const saver = new MemorySaver();
  const call = { id: "pay", args: { amount: 900 } };
  await createJournal(saver, { sign }).run(on("ada"), { id: "other" }, () => 1);
  // Somebody who can write to the storage, and has no key, appends that it was approved.
  const { head } = await saver.tier.peek({ threadId: "ada", namespace: journalNamespace });
  for await (const { record } of saver.tier.list({
    threadId: "ada",
    namespace: journalNamespace,
    limit: 1,
  })) {
    const last = await decodeEntry(saver, record);
    const header = {
      v: 1 as const,
      seq: last.seq + 1,
      at: new Date().toISOString(),
      session: last.session,
      prev: last.hash,
    };
    const event = { type: "note" as const, about: "forged", text: "approved" };
    const entry = { ...header, event, hash: new Sealing(undefined).hashOf(header, event) };
    const at = { checkpointId: newRecordId(entry.seq), parentId: head };
    const made = await encodeEntry(saver, "ada", at, entry, {});
    await saver.tier.append({
      threadId: "ada",
      records: [made.record],
      blobs: made.blobs,
      heads: [{ namespace: journalNamespace, to: at.checkpointId, expected: [head!] }],
      onConflict: "refuse",
    });
  }
  const ran: string[] = [];
  const signed = createJournal(saver, { sign });
  await expect(signed.run(on("ada"), call, () => void ran.push("paid"))).rejects.toMatchObject({
    code: "JOURNAL_BROKEN",
    message: expect.stringContaining("it isn't signed, and entries before it are") as string,
  });
  // A journal from before there were keys: only if that is said.
  await createJournal(saver).run(on("bob"), { id: "other" }, () => 1);
  await expect(signed.run(on("bob"), call, () => void ran.push("paid"))).rejects.toMatchObject({
    message: expect.stringContaining('unsigned: "accept"') as string,
  });
  expect(ran).toEqual([]);
  const accepting = createJournal(saver, { sign: { ...sign, unsigned: "accept" } });
  await accepting.run(on("bob"), call, () => void ran.push("paid"));
  await createJournal(saver, { sign: { ...sign, unsigned: "accept" } }).run(
    on("bob"),
    call,
    () => void ran.push("twice"),
  );
  expect(ran).toEqual(["paid"]);
});

/** A node that pays an amount, which may be another one whenever it runs; it fails for certain as often as told. */
function till(policy: Policy, { failures = 0 } = {}) {
  const saver = new MemorySaver();
  const journal = createJournal(saver, { policy });
  const paid: number[] = [];
  const now = { amount: 1, failures };
  const graph = new StateGraph(Annotation.Root({ receipt: Annotation<string> }))
    .addNode("pay", async (_, config) => {
      const call = { id: "pay", args: { amount: now.amount }, certain: () => true };
      const receipt = await journal.run(config, call, () => {
        now.failures -= 1;
        if (now.failures >= 0) throw new Error("closed");
        return `receipt ${paid.push(call.args.amount)}`;
      });
      return { receipt };
    })
    .addEdge(START, "pay")
    .compile({ checkpointer: saver });
  return { graph, paid, now };
}

it("what a person allowed is what they were shown: other arguments are asked about, before the answer and behind an attempt", async () => {
  for (const failures of [0, 1]) {
    const { graph, paid, now } = till(asks500, { failures });
    const first = await graph.invoke({}, on("ada"));
    expect(questions(first)[0]!.value.args).toEqual({ amount: 1 });
    if (failures > 0)
      await expect(graph.invoke(reply(first, { allow: true }), on("ada"))).rejects.toThrow("closed");
    now.amount = 1_000_000;
    const again = await graph.invoke(failures > 0 ? null : reply(first, { allow: true }), on("ada"));
    expect(questions(again)[0]!.value.args).toEqual({ amount: 1_000_000 });
    expect(paid).toEqual([]);
    await graph.invoke(reply(again, { allow: true }), on("ada"));
    expect(paid).toEqual([1_000_000]);
  }
});

it("when its time is over it is asked again in the same step, too, and in another thread that shares the journal", async () => {
  const { graph, paid } = till(() => ({ ask: "over 500", validFor: "1h" }), { failures: 3 });
  const first = await graph.invoke({}, on("ada"));
  const pays = (input: unknown, config: object = on("ada")) => graph.invoke(input as null, config);
  await expect(pays(reply(first, { allow: true }))).rejects.toThrow("closed");
  await expect(pays(null)).rejects.toThrow("closed");
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 2 * 3_600_000 });
  try {
    const again = await pays(null);
    expect(questions(again)).toHaveLength(1);
    await expect(pays(reply(again, { allow: true }))).rejects.toThrow("closed");
    const other = await pays({}, { configurable: { thread_id: "bob", journal: "ada" } });
    expect(questions(other)).toHaveLength(1);
  } finally {
    vi.useRealTimers();
  }
  expect(paid).toEqual([]);
});
