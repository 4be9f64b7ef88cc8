// long file: each operation of the journal, on the same small agent
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HumanMessage } from "@langchain/core/messages";
import { Annotation, Send, START, StateGraph } from "@langchain/langgraph";
import { MemorySaver, type TierSaver } from "@stratigraph/core";
import { reservedNamespaces } from "@stratigraph/core/tier";
import { createJournal, verifyTrail } from "@stratigraph/journal";
import { describe, expect, test } from "vitest";
import {
  agentOf,
  asks,
  payments,
  pays,
  receipts,
  says,
  type Script,
} from "../../../../../features/journal/test/support/effects.ts";
import type { OutputOf } from "../../../src/operations/index.ts";
import { savers } from "../../../../../features/branch/test/support/savers.ts";
import { hostileId, ran } from "../support/ran.ts";
import { putValues } from "../support/threads.ts";

const hello = { messages: [new HumanMessage({ content: "pay", id: "m1" })] };
const on = (thread_id: string) => ({ configurable: { thread_id }, durability: "sync" as const });
const calls = async (saver: TierSaver, input: object = {}, given = {}) =>
  await ran<OutputOf<"calls">>("calls", { thread: "ada", ...input }, saver, given);
const questions = async (saver: TierSaver, input: object = {}, given = {}) =>
  await ran<OutputOf<"questions">>("questions", input, saver, given);
const audit = async (saver: TierSaver, input: object = {}, given = {}) =>
  await ran<OutputOf<"audit">>("audit", { thread: "ada", ...input }, saver, given);
const answer = async (saver: TierSaver, input: object, given = {}) =>
  await ran<OutputOf<"answer">>("answer", { thread: "ada", author: "Petra", ...input }, saver, given);

/** An agent whose tool fails in a way that doesn't tell what happened, where its script says so. */
function agent(
  saver: TierSaver,
  script: Script,
  options: Parameters<typeof createJournal>[1] & { readonly cut?: number } = {},
) {
  const { cut, ...journalOptions } = options;
  const journal = createJournal(saver, journalOptions);
  const { pay, paid } = payments((amount) => {
    if (amount === cut) throw new Error("the line was cut");
  });
  return { ...agentOf(journal, journal.tools([pay], { pay: "once" }), script, saver), paid, journal };
}

const payOnce: Script = (turn) => (turn === 0 ? asks(pays(5)) : says("done"));

describe.each(savers)("on %s", (_name, open) => {
  test("calls are listed with arguments, results and what was decided; filtered, and page by page", async () => {
    const { saver, close } = await open();
    const script: Script = (turn) =>
      turn < 3 ? asks(pays(turn + 1)) : turn === 3 ? asks(pays(900)) : says("done");
    const policy = ({ args }: { args: unknown }) =>
      (args as { amount: number }).amount > 500 ? { deny: "over 500" } : true;
    const { graph } = agent(saver, script, { policy, author: "desk" });
    await graph.invoke(hello, on("ada"));
    const { output, text } = await calls(saver);
    expect(output).toMatchObject({ total: 4, unresolved: 0, tools: [{ tool: "pay", calls: 4 }] });
    expect(output.items.map(({ status, args }) => [status, args?.value])).toEqual([
      ["denied", { amount: 900 }],
      ["succeeded", { amount: 3 }],
      ["succeeded", { amount: 2 }],
      ["succeeded", { amount: 1 }],
    ]);
    const [denied, paid] = output.items;
    expect(denied).toMatchObject({
      attempts: 0,
      error: "Denied: over 500",
      entries: [{ type: "denied", by: "policy", author: "desk" }],
    });
    expect(denied!.result).toBeUndefined();
    expect(paid).toMatchObject({ effects: "once", attempts: 1, replays: 0, where: { node: "tools" } });
    expect(JSON.stringify(paid!.result!.value)).toContain("receipt 3");
    expect(paid!.entries.map(({ type }) => type)).toEqual(["claimed", "succeeded"]);
    expect(text).toContain("{amount: 900}");
    const first = await calls(saver, { order: "oldest", limit: 3 });
    expect(first.output.items).toHaveLength(3);
    const rest = await calls(saver, { order: "oldest", limit: 3, cursor: first.output.cursor });
    expect([...first.output.items, ...rest.output.items]).toEqual(output.items.toReversed());
    expect(rest.output.cursor).toBeUndefined();
    expect((await calls(saver, { status: "denied" })).output.items).toEqual([denied]);
    expect((await calls(saver, { tool: "mail" })).text).toContain("None of 4 calls fits.");
    expect((await calls(saver, { until: paid!.begun! })).output.items).toHaveLength(2);
    const one = await calls(saver, { call: paid!.call.slice(0, 12), path: "args.amount" });
    expect(one.output.items[0]).toMatchObject({ args: { value: 3 } });
    expect(one.output.items[0]).not.toHaveProperty("result");
    await expect(calls(saver, { call: paid!.call, path: "args.x" })).rejects.toThrow(
      "leads nowhere in the arguments",
    );
    await expect(calls(saver, { call: "0000000" })).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(calls(saver, { thread: "nobody" })).rejects.toMatchObject({ code: "NOT_FOUND" });
    await close();
  });

  test("the continued run uses the answer that was stored for a policy's question, with its author", async () => {
    const { saver, close } = await open();
    const policy = () => ({ ask: "over the limit" });
    const { graph, paid } = agent(saver, payOnce, { policy });
    await graph.invoke(hello, on("ada"));
    const asked = await questions(saver);
    expect(asked.output.items).toMatchObject([
      {
        thread: "ada",
        kind: "approval",
        tool: "pay",
        args: { value: { amount: 5 } },
        why: "over the limit",
        asked: true,
      },
    ]);
    const { call, interrupt } = asked.output.items[0]!;
    // The same question by LangGraph's id, with what an answer has to have.
    const run = async (input: object) =>
      (await ran<OutputOf<"run">>("run", { at: "ada", ...input }, saver, { graph })).output;
    expect((await run({ dryRun: true })).interrupts).toMatchObject([
      { id: interrupt, schema: { required: ["id", "allow"] } },
    ]);
    await expect(run({ resume: '{"allow":"yes"}' })).rejects.toMatchObject({
      code: "INVALID_OPTION",
      message: expect.stringContaining('expected "id" beside it') as string,
    });
    await expect(answer(saver, { call, answer: "happened" })).rejects.toThrow("answer allow or deny");
    expect((await answer(saver, { call, answer: "allow", dryRun: true })).output.applied).toBe(false);
    expect((await questions(saver)).found).toBe(true);
    await answer(saver, { call, answer: "allow", reason: "it is fine" });
    const now = await questions(saver, { thread: "ada" });
    expect(now.output.items).toMatchObject([{ answered: true }]);
    expect(now.found).toBe(false);
    await expect(answer(saver, { call, answer: "deny" })).rejects.toMatchObject({ code: "NOT_FOUND" });
    const done = await graph.invoke(null, on("ada"));
    expect(receipts(done.messages)).toEqual(["receipt 5"]);
    expect(paid).toEqual([5]);
    const [item] = (await calls(saver)).output.items;
    expect(item!.entries[0]).toMatchObject({
      type: "approved",
      author: "Petra",
      text: "allowed by a person: it is fine; the policy asked: over the limit",
    });
    expect((await questions(saver)).output.items).toEqual([]);
    await close();
  });
});

test("a denial reaches the model with its reason, and of two questions each gets its own answer", async () => {
  const saver = new MemorySaver();
  const script: Script = (turn) => (turn === 0 ? asks(pays(5), pays(6)) : says("done"));
  const { graph, paid } = agent(saver, script, { policy: () => ({ ask: "over the limit" }) });
  await graph.invoke(hello, on("ada"));
  for (const times of [0, 1]) {
    const open = (await questions(saver)).output.items.filter(({ answered }) => !answered);
    expect(open.length).toBeGreaterThan(0);
    const [{ call, args }] = open as [(typeof open)[0]];
    const isSix = (args!.value as { amount: number }).amount === 6;
    await answer(saver, { call, answer: isSix ? "allow" : "deny", ...(isSix ? {} : { reason: "too much" }) });
    const result = await graph.invoke(null, on("ada"));
    if (times === 1) expect(receipts(result.messages)).toEqual(["Denied: too much", "receipt 6"]);
  }
  expect(paid).toEqual([6]);
});

test("a question of a task that has ended keeps nobody from answering that of another one", async () => {
  const saver = new MemorySaver();
  const journal = createJournal(saver, { policy: () => ({ ask: "over the limit" }) });
  const State = Annotation.Root({
    receipts: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  });
  const [pay] = journal.tools([payments(() => {}).pay], { pay: "once" });
  const paying = (amount: number) => async (_state: unknown, config: object) => ({
    receipts: [String(await pay!.invoke({ amount }, config))],
  });
  const graph = new StateGraph(State)
    .addNode("a", paying(5))
    .addNode("b", paying(6))
    .addEdge(START, "a")
    .addEdge(START, "b")
    .compile({ checkpointer: saver });
  await graph.invoke({}, on("ada"));
  for (const left of [2, 1]) {
    const { items } = (await questions(saver)).output;
    expect(items.map(({ answered }) => answered)).toEqual(Array.from({ length: left }, () => false));
    await answer(saver, { call: items[0]!.call, answer: "allow" });
    await graph.invoke(null, on("ada"));
  }
  expect((await graph.getState(on("ada"))).next).toEqual([]);
});

test("a call that may have happened: found not to have, it runs again; refused where nothing is open", async () => {
  const saver = new MemorySaver();
  let cut = 5;
  const journal = createJournal(saver);
  const { pay, paid } = payments((amount) => {
    if (amount === cut) throw new Error("the line was cut");
  });
  const { graph } = agentOf(
    journal,
    journal.tools([pay], { pay: "once" }),
    (turn) => (turn < 2 ? asks(pays(5)) : says("done")),
    saver,
  );
  await graph.invoke(hello, on("ada"));
  const { output } = await questions(saver, { thread: "ada" });
  expect(output.items).toMatchObject([{ kind: "ambiguous", asked: true, why: "the line was cut" }]);
  const { call } = output.items[0]!;
  await expect(answer(saver, { call, answer: "allow" })).rejects.toThrow("answer happened or not-happened");
  await expect(answer(saver, { call, answer: "not-happened", result: "1" })).rejects.toThrow("leave it out");
  await answer(saver, { call, answer: "not-happened" });
  cut = 0;
  const done = await graph.invoke(null, on("ada"));
  expect(receipts(done.messages).at(-1)).toBe("receipt 5");
  expect(paid).toEqual([5, 5]);
  await expect(answer(saver, { call, answer: "happened" })).rejects.toMatchObject({ code: "NOT_FOUND" });
});

test("a call that happened and whose result isn't kept is asked about: only its result is taken", async () => {
  const saver = new MemorySaver();
  const { graph, journal, paid } = agent(saver, payOnce);
  await graph.invoke(hello, on("ada"));
  await journal.erase("ada", { before: new Date(Date.now() + 60_000) });
  expect((await questions(saver)).output.items).toEqual([]);
  const states = [];
  for await (const state of graph.getStateHistory(on("ada"))) states.push(state);
  await graph.invoke(null, states.find(({ next }) => next.includes("tools"))!.config);
  const { output, text } = await questions(saver, { thread: "ada" });
  expect(output.items).toMatchObject([
    { kind: "ambiguous", happened: true, asked: true, why: "it was erased" },
  ]);
  expect(text).toContain("It happened. What was its result? it was erased");
  expect((await calls(saver)).output.items).toMatchObject([
    { status: "unresolved", notKept: "it was erased" },
  ]);
  const { call } = output.items[0]!;
  await expect(answer(saver, { call, answer: "not-happened" })).rejects.toThrow("answer happened");
  await answer(saver, { call, answer: "happened", result: '"by phone"' });
  const done = await graph.invoke(null, on("ada"));
  expect([receipts(done.messages), paid]).toEqual([["by phone"], [5]]);
});

test("a call that was found not to have happened runs again with its idempotency key, as the answer says", async () => {
  const saver = new MemorySaver();
  const journal = createJournal(saver);
  const keys: string[] = [];
  const charge = async (fails: boolean) =>
    await journal.run(on("ada"), { id: "charge" }, ({ idempotencyKey }) => {
      keys.push(idempotencyKey);
      if (fails) throw new Error("the line was cut");
    });
  await expect(charge(true)).rejects.toThrow("the line was cut");
  const { output } = await questions(saver, { thread: "ada" });
  const given = await answer(saver, { call: output.items[0]!.call, answer: "not-happened" });
  expect(given.output.does).toContain("with the same idempotency key");
  await charge(false);
  expect(keys).toEqual([keys[0], keys[0]]);
});

test("questions of many threads come page by page", async () => {
  const saver = new MemorySaver();
  const { graph } = agent(saver, payOnce, { policy: () => ({ ask: "over the limit" }) });
  const threads = Array.from({ length: 20 }, (_, n) => `t${n}`);
  for (const thread of threads) await graph.invoke(hello, on(thread));
  const found: string[] = [];
  let cursor: string | undefined;
  do {
    const { output } = await questions(saver, { limit: 8, ...(cursor === undefined ? {} : { cursor }) });
    expect(output.items.length).toBeLessThanOrEqual(8);
    found.push(...output.items.map(({ thread }) => thread));
    cursor = output.cursor;
  } while (cursor !== undefined);
  expect(found.toSorted()).toEqual(threads.toSorted());
});

test("why: what a model had seen, from a message, from a call, and from nothing but the thread", async () => {
  const saver = new MemorySaver();
  const script: Script = (turn) =>
    turn === 0 ? asks(pays(900)) : turn === 1 ? asks(pays(5)) : says("All is paid.");
  const policy = ({ args }: { args: unknown }) =>
    (args as { amount: number }).amount > 500 ? { deny: "over 500" } : true;
  const { graph } = agent(saver, script, { policy });
  const { messages } = await graph.invoke(hello, on("ada"));
  const why = async (input: object, given = {}) =>
    await ran<OutputOf<"why">>("why", { thread: "ada", ...input }, saver, given);
  const last = await why({});
  expect(last.output).toMatchObject({
    message: { id: messages.at(-1)!.id, type: "ai" },
    source: "loop",
    context: 5,
    inputs: [{ id: "m1", type: "human" }],
    asks: [],
    calls: [
      {
        tool: "pay",
        args: { value: { amount: 900 } },
        foundBy: "id",
        entries: [{ type: "denied", by: "policy" }],
      },
      { tool: "pay", args: { value: { amount: 5 } }, entries: [{ type: "claimed" }, { type: "succeeded" }] },
    ],
  });
  expect(last.text).toContain("human: pay");
  expect(last.text).toContain("refused by the policy: over 500");
  const [made] = (await calls(saver)).output.items;
  const asking = await why({ call: made!.call });
  expect(asking.output).toMatchObject({ message: { id: messages[3]!.id }, asks: [{ calls: [made!.call] }] });
  expect(asking.output).toEqual((await why({ message: messages[3]!.id })).output);
  await expect(why({ message: "none" })).rejects.toMatchObject({ code: "NOT_FOUND" });
});

test("trail: written to a file that verifyTrail takes, as far as audit says; signed ones with their key", async () => {
  const saver = new MemorySaver();
  const cwd = await mkdtemp(join(tmpdir(), "trail-"));
  const sign = { keys: { k: "a secret of sixteen bytes" }, activeKey: "k" };
  await agent(saver, payOnce, { sign }).graph.invoke(hello, on(hostileId));
  const written = await ran<OutputOf<"trail">>("trail", { thread: hostileId, to: "trail.jsonl" }, saver, {
    cwd,
    sign,
  });
  expect(written.output).toEqual({
    thread: hostileId,
    to: join(cwd, "trail.jsonl"),
    head: (await audit(saver, { thread: hostileId }, { sign })).output.head,
  });
  expect(written.text).toContain(`Last entry: ${written.output.head}`);
  expect(await verifyTrail(written.output.to, { sign })).toMatchObject({ ok: true });
  expect(await verifyTrail(written.output.to)).toMatchObject({ ok: false });
  await putValues(saver, "plain", { a: 1 });
  expect((await ran("trail", { thread: "plain", to: "none.jsonl" }, saver, { cwd })).text).toBe(
    "Thread plain has no journal.",
  );
  await expect(ran("trail", { thread: "nobody", to: "none.jsonl" }, saver, { cwd })).rejects.toMatchObject({
    code: "NOT_FOUND",
  });
  expect(await readdir(cwd)).toEqual(["trail.jsonl"]);
  await rm(cwd, { recursive: true });
});

test("audit: verified, broken, empty, signed with a key that is here or isn't, and a head that was kept", async () => {
  const saver = new MemorySaver();
  const sign = { keys: { "2026": "a secret of the year 2026" }, activeKey: "2026" };
  const { graph } = agent(saver, payOnce);
  await graph.invoke(hello, on("ada"));
  await agent(saver, payOnce, { sign }).graph.invoke(hello, on("bob"));
  const plain = await audit(saver);
  expect(plain).toMatchObject({
    found: false,
    output: { status: "verified", entries: 3, signed: 0, keys: [] },
  });
  expect(plain.text).toContain("Chain verified: 3 entries, 1 to 3.");
  const kept = await audit(saver, { head: plain.output.head });
  expect(kept.output.proves).toContain("Nothing up to entry 3 was removed or made anew.");
  const other = await audit(saver, { head: `3:${"0".repeat(64)}` });
  expect(other).toMatchObject({ found: true, output: { status: "broken", brokenAt: 3 } });
  expect((await audit(saver, { thread: "bob" })).output).toMatchObject({
    status: "unproven",
    keys: ["2026"],
    missing: ["2026"],
  });
  const signed = await audit(saver, { thread: "bob" }, { sign });
  expect(signed.output).toMatchObject({ status: "verified", signed: 3, missing: [] });
  // What needs no key works without it, and an answer isn't written unsigned.
  expect((await calls(saver, { thread: "bob" })).output.items).toMatchObject([{ status: "succeeded" }]);
  await saver.put(
    { configurable: { thread_id: "new", checkpoint_ns: "" } },
    (await saver.getTuple(on("ada")))!.checkpoint,
    { source: "loop", step: 0, parents: {} },
    {},
  );
  expect((await audit(saver, { thread: "new" })).output).toMatchObject({ status: "empty" });
  const records = [];
  const namespace = reservedNamespaces.calls;
  for await (const { record } of saver.tier.list({ threadId: "ada", namespace })) records.push(record);
  const { revision } = await saver.tier.peek({ threadId: "ada", namespace });
  await saver.tier.remove({
    threadId: "ada",
    revision,
    checkpoints: [{ threadId: "ada", namespace, checkpointId: records[1]!.checkpointId }],
    dropBlobs: [],
    replaceBlobs: [],
    heads: [],
  });
  expect(await audit(saver)).toMatchObject({
    found: true,
    output: { status: "broken", brokenAt: 2, why: "entry 2 is missing" },
  });
});

test("without the key, a question of a signed journal is listed, and an answer is refused", async () => {
  const saver = new MemorySaver();
  const sign = { keys: { "2026": "a secret of the year 2026" }, activeKey: "2026" };
  const { graph } = agent(saver, payOnce, { sign, cut: 5 });
  await graph.invoke(hello, on("ada"));
  const { output } = await questions(saver);
  const given = { call: output.items[0]!.call, answer: "not-happened" };
  await expect(answer(saver, given)).rejects.toMatchObject({ code: "KEY_MISSING" });
  expect((await answer(saver, given, { sign })).output.applied).toBe(true);
  expect((await audit(saver, {}, { sign })).output.status).toBe("verified");
});

test("no operation of the journal shows what is redacted of messages or of calls", async () => {
  const saver = new MemorySaver();
  const { graph, journal } = agent(saver, payOnce);
  await graph.invoke(hello, on("ada"));
  await journal.run(
    on("ada"),
    { id: "mail", args: { to: "secret@example.org", text: { body: "hi" } } },
    () => ({ id: "sent-7" }),
  );
  await expect(
    journal.run(on("ada"), { id: "mail b", tool: "mail", args: { to: "b" } }, () => {
      throw new Error("secret@example.org bounced");
    }),
  ).rejects.toThrow();
  const told = async (redact: string[]) => {
    const { output, text } = await calls(saver, {}, { redact });
    const why = await ran("why", { thread: "ada" }, saver, { redact });
    const open = await questions(saver, {}, { redact });
    return JSON.stringify([output, why.output, open.output]) + text + why.text + open.text;
  };
  expect(await told([])).toMatch(/secret.*receipt 5/s);
  const hidden = await told(["calls.mail.args.to", "messages.*.content"]);
  expect(hidden).not.toMatch(/secret|receipt 5|sent-7/);
  expect(hidden).toContain('"body":"hi"');
  expect(await told(["calls"])).not.toMatch(/secret|"amount":5|sent-7/);
  expect(await told(["messages"])).not.toMatch(/secret|"amount":5|sent-7|receipt/);
  expect(await told(["to"])).not.toContain("secret");
  expect(await told(["messages.*.tool_calls.*.args"])).not.toMatch(/secret|"amount":5/);
});

test("ids and texts of others can't move a terminal's cursor", async () => {
  const saver = new MemorySaver();
  const journal = createJournal(saver, { author: hostileId });
  await journal.run(on(hostileId), { id: hostileId, args: { [hostileId]: hostileId } }, () => hostileId);
  await expect(
    journal.run(on(hostileId), { id: "x", args: {} }, () => {
      throw new Error(hostileId);
    }),
  ).rejects.toThrow();
  for (const [name, input] of [
    ["calls", {}],
    ["questions", {}],
    ["audit", {}],
    ["calls", { tool: hostileId }],
  ] as const)
    await ran(name, { thread: hostileId, ...input }, saver);
});

test("equal calls of parallel tasks are one question, and the answer says how many happened", async () => {
  const saver = new MemorySaver();
  const journal = createJournal(saver);
  let begun = 0;
  let begin!: () => void;
  const all = new Promise<void>((resolve) => (begin = resolve));
  const State = Annotation.Root({
    receipts: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  });
  const graph = new StateGraph(State)
    .addNode("pay", async (_state, config) => {
      const receipt = await journal.run(config, { id: "pay", args: { amount: 5 } }, async () => {
        if (++begun > 3) return `receipt ${begun}`;
        if (begun === 3) begin();
        await all;
        throw new Error("the line was cut");
      });
      return { receipts: [receipt] };
    })
    .addConditionalEdges(START, () => [1, 2, 3].map(() => new Send("pay", {})))
    .compile({ checkpointer: saver });
  await expect(graph.invoke({}, on("ada"))).rejects.toThrow("cut");
  const { output, text } = await questions(saver);
  const [{ call, calls: equal }] = output.items as [OutputOf<"questions">["items"][number]];
  expect([output.items.length, equal?.length]).toEqual([1, 3]);
  expect(text).toContain("How many of these 3 equal calls happened?");
  expect(text).toContain("happened 3");
  const short = call.slice(0, 12);
  await expect(answer(saver, { call: short, answer: "happened" })).rejects.toThrow("how many of the 3");
  await expect(answer(saver, { call, answer: "happened", count: 4 })).rejects.toThrow("how many of the 3");
  await expect(answer(saver, { call, answer: "not-happened", count: 1 })).rejects.toThrow("leave it out");
  // Whoever names one of them answers for that one.
  await answer(saver, { call: equal![2]!, answer: "not-happened" });
  expect((await questions(saver)).output.items).toMatchObject([{ calls: equal!.slice(0, 2) }]);
  await answer(saver, { call: short, answer: "happened", count: "2", result: '"by phone"' });
  expect((await questions(saver)).output.items).toEqual([]);
  const { receipts: told } = await graph.invoke(null, on("ada"));
  expect(told.toSorted()).toEqual(["by phone", "by phone", "receipt 4"]);
});
