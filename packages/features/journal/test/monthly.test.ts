// long file: what a person would say of an answer that was lost, story by story
import { ToolMessage, type AIMessage, type BaseMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import {
  Annotation,
  Command,
  END,
  interrupt,
  MessagesAnnotation,
  START,
  StateGraph,
} from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { MemoryTier, TierSaver } from "@stratigraph/core";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { inRounds } from "../../../../test/rounds.ts";
import { createJournal, currentCall, type Journal, type Policy } from "../src/index.ts";
import { agentOf, asks, call, says, type Script } from "./support/effects.ts";
import { deafToDeaths, Life, type Death } from "./support/mortal.ts";

// A bank that charges once for an idempotency key, as Stripe does. What is counted is what it charged.

const begins = { messages: [{ role: "user", content: "pay the rent" }] };
const on = (thread_id: string) => ({ configurable: { thread_id } });

/** A bank, and a storage, that live longer than a process. */
function newBank(tier = new MemoryTier()) {
  return { tier, saver: new TierSaver(tier), charged: [] as string[] };
}

/** How many calls are unresolved. */
async function unresolved(journal: Journal): Promise<number> {
  let count = 0;
  for await (const _call of journal.unresolved("ada")) count += 1;
  return count;
}

/** The results that the journal has, in the order in which the calls were first made. */
async function results(journal: Journal): Promise<unknown[]> {
  const found = new Map<string, unknown>();
  for await (const { event, result } of journal.trail("ada"))
    if ("call" in event && (event.type === "claimed" || event.type === "succeeded"))
      found.set(event.call, Object(await result()).content);
  return [...found.values()];
}

/**
 * An agent that pays ten euros in each turn, and tries again until it has a receipt.
 * @param cuts in which calls the line is cut, and when
 * @param patience how often it tries in a turn before it tells the user
 */
function payer(
  cuts: Readonly<Record<number, "before" | "after">> = {},
  patience = Infinity,
  {
    bank = newBank(),
    twice = false,
    policy = undefined as Policy | undefined,
    lives = () => undefined as void,
    window = Infinity,
    confirms = false,
  } = {},
) {
  const { saver, charged } = bank;
  const journal = createJournal(saver, { policy });
  let called = 0;
  const charge = tool(
    () => {
      lives();
      called += 1;
      if (confirms && called > 1) interrupt("Sure?");
      const { idempotencyKey } = currentCall()!;
      if (cuts[called] !== "before" && !charged.includes(idempotencyKey)) charged.push(idempotencyKey);
      if (cuts[called] !== undefined)
        throw Object.assign(new Error("socket hang up"), { code: "ECONNRESET" });
      return `receipt ${charged.indexOf(idempotencyKey) + 1}`;
    },
    { name: "charge", description: "charges", schema: z.object({ euros: z.number() }) },
  );
  const tools = journal.tools([charge], { charge: "idempotent" });
  const script: Script = (_turn, _asked, messages) => {
    const asked = messages.findLastIndex((one) => one.getType() === "human");
    const tries = messages.slice(asked).filter((one) => one.getType() === "tool").length;
    if (String(messages.at(-1)!.content).startsWith("receipt")) return says("paid");
    if (tries >= patience) return says("it failed");
    return asks(...Array.from({ length: twice ? 2 : 1 }, () => call("charge", { euros: 10 })));
  };
  const { graph } = agentOf(journal, tools, script, saver, { window });
  return { graph, journal, charged, saver, tools };
}

it.each([
  ["never", {}],
  ["once, before the bank charged", { 1: "before" }],
  ["once, after the bank charged", { 1: "after" }],
  ["three times in May", { 1: "after", 2: "before", 3: "after" }],
  ["in May and in July", { 1: "after", 4: "before" }],
] as const)(
  "a line that is cut %s: four months are four charges, with a receipt each",
  async (_name, cuts) => {
    const { graph, journal, charged } = payer(cuts);
    for (let month = 1; month <= 4; month += 1) {
      const { messages } = await graph.invoke(begins, on("ada"));
      expect(messages.at(-2)!.content).toBe(`receipt ${month}`);
    }
    expect(charged).toHaveLength(4);
    for await (const { fingerprint } of journal.unresolved("ada"))
      expect(fingerprint).toBe("nothing is open");
    expect(await journal.verify("ada")).toMatchObject({ ok: true });
  },
);

/** What the model was told in each turn. */
const told = (messages: readonly BaseMessage[]) =>
  messages.filter((one) => one.getType() === "tool").map(({ content }) => String(content));

describe("a model that tells the user of an error, instead of trying again", () => {
  it.each([
    ["before the bank charged", "before"],
    ["after it", "after"],
  ] as const)("cut %s: the next month settles May's call, and makes its own", async (_name, cut) => {
    const { graph, journal, charged } = payer({ 1: cut }, 1);
    await graph.invoke(begins, on("ada"));
    expect(await unresolved(journal)).toBe(1);
    expect(charged).toHaveLength(cut === "after" ? 1 : 0);
    await graph.invoke(begins, on("ada"));
    expect(charged).toHaveLength(2);
    const { messages } = await graph.invoke(begins, on("ada"));
    expect(charged).toHaveLength(3);
    expect(told(messages).slice(1)).toEqual(["receipt 2", "receipt 3"]);
    expect(await unresolved(journal)).toBe(0);
    // The receipts belong to their months.
    expect(await results(journal)).toEqual(["receipt 1", "receipt 2", "receipt 3"]);
    expect(await journal.verify("ada")).toMatchObject({ ok: true });
  });

  it("May's call fails again: June's isn't made, and says so; its second try settles May's and is made", async () => {
    const { graph, journal, charged } = payer({ 1: "after", 2: "before" }, 1);
    await graph.invoke(begins, on("ada"));
    const june = told((await graph.invoke(begins, on("ada"))).messages).at(-1);
    expect(june).toMatch(/earlier turn.*The new call, an equal one, wasn't made.*journal\.resolve/s);
    expect([charged.length, await unresolved(journal)]).toEqual([1, 1]);
    // July asks again: May's is settled, and June's never was.
    const july = await graph.invoke(begins, on("ada"));
    expect(told(july.messages).at(-1)).toBe("receipt 2");
    expect([charged.length, await unresolved(journal)]).toEqual([2, 0]);
    expect(await results(journal)).toEqual(["receipt 1", "receipt 2"]);
  });

  it("a person resolves May's call: nothing of it is repeated", async () => {
    const { graph, journal, charged } = payer({ 1: "after" }, 1);
    await graph.invoke(begins, on("ada"));
    for await (const { fingerprint } of journal.unresolved("ada"))
      await journal.resolve(fingerprint, { threadId: "ada", happened: true, result: "by phone" });
    expect(told((await graph.invoke(begins, on("ada"))).messages).at(-1)).toBe("receipt 2");
    expect(charged).toHaveLength(2);
  });

  it("two equal calls of one message are open: each is settled with its own key", async () => {
    const { graph, journal, charged } = payer({ 1: "after", 2: "before" }, 1, { twice: true });
    await graph.invoke(begins, on("ada"));
    expect(await unresolved(journal)).toBe(2);
    await graph.invoke(begins, on("ada"));
    expect([charged.length, await unresolved(journal)]).toEqual([4, 0]);
    expect(new Set(await results(journal)).size).toBe(4);
  });

  it("a policy that denies June's call leaves May's open: nobody knows more of it than before", async () => {
    let denies = false;
    const { graph, journal, charged } = payer({ 1: "after" }, 1, {
      policy: () => !denies || { deny: "the account is closed" },
    });
    await graph.invoke(begins, on("ada"));
    denies = true;
    expect(told((await graph.invoke(begins, on("ada"))).messages).at(-1)).toBe(
      "Denied: the account is closed",
    );
    expect([charged.length, await unresolved(journal)]).toEqual([1, 1]);
  });

  it.each([false, true])(
    "a state that keeps two messages: the input shows that June is another turn, also once May was pruned: %s",
    async (isPruned) => {
      const { graph, charged, saver, journal } = payer({ 1: "after" }, 1, { window: 2 });
      await graph.invoke(begins, on("ada"));
      if (isPruned) await saver.prune(["ada"], { strategy: "keep_latest" });
      await graph.invoke(begins, on("ada"));
      expect([charged.length, await unresolved(journal)]).toEqual([2, 0]);
    },
  );

  it("a tool that interrupts before it charges: May's call stays open until the question is answered", async () => {
    const { graph, charged, journal } = payer({ 1: "after" }, 1, { confirms: true });
    await graph.invoke(begins, on("ada"));
    expect(await graph.invoke(begins, on("ada"))).toHaveProperty("__interrupt__");
    expect([charged.length, await unresolved(journal)]).toEqual([1, 1]);
    expect(await graph.invoke(new Command({ resume: "yes" }), on("ada"))).toHaveProperty("__interrupt__");
    await graph.invoke(new Command({ resume: "yes" }), on("ada"));
    expect([charged.length, await unresolved(journal)]).toEqual([2, 0]);
  });

  it("back to before May's call, by another way: it is May's, and is charged once", async () => {
    const { graph, charged, journal } = payer({ 1: "after", 2: "before" }, 2);
    await graph.invoke(begins, on("ada"));
    let start: object | undefined;
    for await (const state of graph.getStateHistory(on("ada")))
      if (state.next.includes("agent")) start = state.config;
    // Another message of the model before it: another place in the chain.
    const looks = asks(call("look", {}));
    const looked = new ToolMessage({ content: "seen", tool_call_id: looks.tool_calls![0]!.id! });
    const { values } = await graph.getState(start as never);
    const config = await graph.updateState(
      start as never,
      { messages: [looks, looked], ...journal.next(values, looks) },
      "tools",
    );
    expect(told((await graph.invoke(null, config)).messages).at(-1)).toBe("receipt 1");
    expect([charged.length, await unresolved(journal)]).toEqual([1, 0]);
  });

  it("an input at the checkpoint before May's: it is another try of May's turn, and is charged once", async () => {
    const { graph, charged, journal } = payer({ 1: "after", 2: "before" }, 2);
    const hello = { messages: [{ role: "user", content: "hello" }, says("hello")] };
    const start = await graph.updateState(on("ada"), hello, "agent");
    await graph.invoke(begins, on("ada"));
    const looks = asks(call("look", {}));
    const looked = new ToolMessage({ content: "seen", tool_call_id: looks.tool_calls![0]!.id! });
    const { values } = await graph.getState(start);
    const looking = { messages: [looks, looked], ...journal.next(values, looks) };
    const config = await graph.updateState(start, looking, "agent");
    expect(told((await graph.invoke(begins, config)).messages).at(-1)).toBe("receipt 1");
    expect([charged.length, await unresolved(journal)]).toEqual([1, 0]);
  });

  it("it is killed at any statement of June's turn, and continued: two months are two charges, with a receipt each", async () => {
    const turn = async (bank: ReturnType<typeof newBank>, life: Life, input: typeof begins | null) => {
      const saver = new TierSaver(life.of(bank.tier));
      const { graph } = payer({}, 1, { bank: { ...bank, saver }, lives: () => life.lives() });
      return await graph.invoke(input, { ...on("ada"), durability: "sync" }).catch(() => undefined);
    };
    const may = async () => {
      const bank = newBank();
      await payer({ 1: "after" }, 1, { bank }).graph.invoke(begins, on("ada"));
      return bank;
    };
    const whole = new Life();
    await turn(await may(), whole, begins);
    const deaths = [...whole.calls.keys()].flatMap((n): Death[] => [
      ...inRounds<Death[]>({ few: [], all: [{ at: n + 1, how: "before" }] }),
      ...(whole.changes.includes(n + 1) ? [{ at: n + 1, how: "after" as const }] : []),
    ]);
    expect(deaths.length).toBeGreaterThan(8);
    const hear = deafToDeaths();
    try {
      for (const death of deaths) {
        const bank = await may();
        await turn(bank, new Life(death), begins);
        const { graph, journal, charged } = payer({}, 1, { bank });
        const open = await unresolved(journal);
        const isBegun = (await graph.getState(on("ada"))).values.messages.length > 4;
        // May's is open until it is recorded, and then June's.
        const isRecorded = (await results(journal))[0] === "receipt 1";
        expect([death, open === 1 || (open === 0 && isRecorded)]).toEqual([death, true]);
        await graph.invoke(isBegun ? null : begins, on("ada"));
        const { messages } = (await graph.getState(on("ada"))).values;
        expect([death, told(messages).at(-1)]).toEqual([death, "receipt 2"]);
        expect([death, charged.length, await unresolved(journal)]).toEqual([death, 2, 0]);
        expect(await results(journal)).toEqual(["receipt 1", "receipt 2"]);
      }
    } finally {
      hear();
    }
  });
});

/** A model that asks for a charge whenever a person spoke last. */
const charges = (_turn: number, _asked: number, last?: BaseMessage) =>
  last?.getType() === "human" ? asks(call("charge", { euros: 10 })) : says("done");

it("a person who answers an interrupt begins a turn, too", async () => {
  const { tools, journal, saver, charged } = payer({ 1: "after" });
  const graph = new StateGraph(Annotation.Root({ ...MessagesAnnotation.spec, ...journal.channel }))
    .addNode("agent", (state) => {
      const message = charges(0, 0, state.messages.at(-1));
      return { messages: [message], ...journal.next(state, message) };
    })
    .addNode("tools", new ToolNode(tools))
    .addNode("person", () => ({ messages: [{ role: "user", content: interrupt("What next?") as string }] }))
    .addEdge(START, "agent")
    .addConditionalEdges("agent", ({ messages }) =>
      ((messages.at(-1) as AIMessage).tool_calls?.length ?? 0) > 0 ? "tools" : "person",
    )
    .addEdge("tools", "agent")
    .addEdge("person", "agent")
    .compile({ checkpointer: saver });
  await graph.invoke(begins, on("ada"));
  for (const month of ["June", "July"])
    await graph.invoke(new Command({ resume: `the rent of ${month}` }), on("ada"));
  expect(charged).toHaveLength(3);
  expect(await unresolved(journal)).toBe(0);
});

it.each([
  ["turn", false],
  ["round", true],
])("an agent in a node: its next %s settles its last one's call", async (_next, isOneRun) => {
  const { tools, journal, saver, charged } = payer({ 1: "after" });
  const agent = new StateGraph(Annotation.Root({ ...MessagesAnnotation.spec, ...journal.channel }))
    .addNode("ask", (state) => {
      const message = charges(0, 0, state.messages.at(-1));
      return { messages: [message], ...journal.next(state, message) };
    })
    .addNode("tools", new ToolNode(tools))
    .addEdge(START, "ask")
    .addConditionalEdges("ask", ({ messages }) =>
      ((messages.at(-1) as AIMessage).tool_calls?.length ?? 0) > 0 ? "tools" : END,
    )
    .addEdge("tools", "ask")
    .compile();
  const graph = new StateGraph(Annotation.Root({ month: Annotation<number> }))
    .addNode("bill", async ({ month }) => {
      await agent.invoke({ messages: [{ role: "user", content: "pay the rent" }] });
      return { month: month - 1 };
    })
    .addEdge(START, "bill")
    .addConditionalEdges("bill", ({ month }) => (month > 0 ? "bill" : END))
    .compile({ checkpointer: saver });
  if (isOneRun) await graph.invoke({ month: 3 }, on("ada"));
  else for (const month of [1, 1, 1]) await graph.invoke({ month }, on("ada"));
  expect([charged.length, await unresolved(journal)]).toEqual([3, 0]);
});

it("two customers who pay the same have keys of their own, which tell nothing", async () => {
  const { graph, charged } = payer();
  for (const customer of ["ada", "bob"]) await graph.invoke(begins, on(customer));
  expect(new Set(charged).size).toBe(2);
});

it("a call that is forgotten is charged again", async () => {
  const { graph, journal, charged } = payer();
  await graph.invoke(begins, on("ada"));
  const [made] = await journal.calls("ada");
  await journal.forget(made!.fingerprint, { threadId: "ada", reason: "refunded" });
  let start;
  for await (const state of graph.getStateHistory(on("ada")))
    if (state.next.includes("agent")) start = state.config;
  await graph.invoke(null, start!);
  expect(charged).toHaveLength(2);
});
