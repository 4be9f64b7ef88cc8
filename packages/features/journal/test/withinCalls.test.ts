import { tool } from "@langchain/core/tools";
import { HumanMessage } from "@langchain/core/messages";
import { Annotation, END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { MemorySaver } from "@stratigraph/core";
import { createAgent } from "langchain";
import { expect, it } from "vitest";
import { z } from "zod";
import { createJournal, type PlainCall } from "../src/index.ts";
import { journalMiddleware } from "../src/langchain.ts";
import { agentOf, asks, call, payments, pays, says } from "./support/effects.ts";
import { ScriptedModel } from "./support/scriptedModel.ts";

// Calls that calls make, or wait for.

const on = (thread_id: string) => ({ configurable: { thread_id } });
const begins = { messages: [{ role: "user", content: "begin" }] };
const x = { id: "x", args: {} };

it("a tool is wrapped once: the call within would wait for the one around it", async () => {
  const journal = createJournal(new MemorySaver());
  const { pay } = payments();
  expect(() => journal.tools(journal.tools([pay], { pay: "once" }), { pay: "once" })).toThrowError(
    expect.objectContaining({ code: "INVALID_OPTION", data: { field: "tools", found: "pay" } }),
  );
});

it("every way to call a wrapped tool goes through the journal", async () => {
  const journal = createJournal(new MemorySaver());
  const { pay, paid } = payments();
  const [wrapped] = journal.tools([pay], { pay: "once" });
  const { call: olderInvoke } = wrapped as unknown as { call: typeof pay.invoke };
  const ways = [
    (amount: number) => wrapped!.invoke({ amount }, on("ada")),
    (amount: number) => olderInvoke.call(wrapped, { amount }, on("ada")),
    async (amount: number) => (await wrapped!.batch([{ amount }], on("ada")))[0],
    (amount: number) => wrapped!.pipe((receipt) => receipt).invoke({ amount }, on("ada")),
    (amount: number) => wrapped!.withRetry().invoke({ amount }, on("ada")),
    async (amount: number) => {
      let receipt = "";
      for await (const chunk of await wrapped!.stream({ amount }, on("ada"))) receipt += String(chunk);
      return receipt;
    },
  ];
  for (const [amount, way] of ways.entries())
    for (let time = 1; time <= 2; time += 1) expect(await way(amount)).toBe(`receipt ${amount}`);
  expect(paid).toEqual([...ways.keys()]);
});

it("a call that makes an equal one doesn't wait for its own end", async () => {
  const journal = createJournal(new MemorySaver());
  const inner: PlainCall = { ...x, id: "y" };
  const run = () =>
    journal.run(on("eve"), x, () => journal.run(on("eve"), inner, () => journal.run(on("eve"), x, () => 1)));
  expect(await run()).toBe(1);
});

it("an equal call that this process is making is waited for, and not longer than `waitFor`", async () => {
  const journal = createJournal(new MemorySaver(), { waitFor: "50ms" });
  let end: (result: string) => void = () => undefined;
  const work = () => new Promise<string>((resolve) => (end = resolve));
  const first = journal.run(on("ada"), x, work);
  await expect(journal.run(on("ada"), x, work)).rejects.toMatchObject({
    code: "LOCKED",
    data: { tool: "x" },
  });
  end("done");
  expect(await first).toBe("done");
  expect(await journal.run(on("ada"), x, work)).toBe("done");
});

it("one that another process is making is held by that one: make it again later, or find out once that process ended", async () => {
  const saver = new MemorySaver();
  let end: () => void = () => undefined;
  const first = createJournal(saver).run(
    on("ada"),
    x,
    async () => await new Promise<void>((done) => (end = done)),
  );
  const other = createJournal(saver, { waitFor: "50ms" });
  const again = expect(other.run(on("ada"), x, () => "twice")).rejects;
  await again.toMatchObject({
    code: "AMBIGUOUS_OUTCOME",
    message: expect.stringMatching(/Make it again later.*Once that process has ended/) as string,
  });
  end();
  await first;
  expect(await other.run(on("ada"), x, () => "twice")).toBeUndefined();
});

it("a question to a model that is denied throws CallDeniedError", async () => {
  const saver = new MemorySaver();
  const journal = createJournal(saver, { policy: () => ({ deny: "too dear" }) });
  const model = journal.model(new ScriptedModel(() => says("hello")));
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("ask", async ({ messages }, config) => ({ messages: [await model.invoke(messages, config)] }))
    .addEdge(START, "ask")
    .compile({ checkpointer: saver });
  await expect(graph.invoke(begins, on("ada"))).rejects.toMatchObject({
    name: "CallDeniedError",
    data: { threadId: "ada", tool: "model:ScriptedModel", reason: "too dear" },
  });
});

it("the calls of an agent that is a tool happen once, also where the model calls that tool again after an error", async () => {
  const saver = new MemorySaver();
  const journal = createJournal(saver);
  const { pay, paid } = payments();
  const payer = createAgent({
    model: new ScriptedModel((turn) => (turn < 2 ? asks(pays(turn + 1)) : says("both paid"))),
    tools: journal.tools([pay], { pay: "once" }),
    middleware: [journalMiddleware(journal)],
  });
  let tries = 0;
  const payAll = tool(
    async ({ of }: { of: string }, config) => {
      const { messages } = await payer.invoke({ messages: [new HumanMessage(of)] }, config);
      tries += 1;
      if (tries === 1) throw new Error("the line was cut");
      return messages.at(-1)!.content;
    },
    { name: "pay_all", schema: z.object({ of: z.string() }) },
  );
  const tools = journal.tools([payAll], { pay_all: "idempotent" });
  const may = call("pay_all", { of: "May" });
  const june = call("pay_all", { of: "June" });
  const { graph } = agentOf(
    journal,
    tools as never,
    (turn) => [asks(may), asks(may), asks(june)][turn] ?? says("done"),
    saver,
  );
  await graph.invoke(begins, on("ada"));
  expect(tries).toBe(3);
  expect(paid).toEqual([1, 2, 1, 2]);
});

it("plain calls of a graph that a tool runs: one for each step that comes to them, and each time that the tool is called", async () => {
  const saver = new MemorySaver();
  const journal = createJournal(saver);
  let ticks = 0;
  const clock = new StateGraph(Annotation.Root({ n: Annotation<number> }))
    .addNode("tick", async ({ n }, config) => {
      await journal.run(config, { id: "tick", args: {} }, () => (ticks += 1));
      return { n: n + 1 };
    })
    .addEdge(START, "tick")
    .addConditionalEdges("tick", ({ n }) => (n < 3 ? "tick" : END))
    .compile();
  const run = tool(async (_args, config) => String((await clock.invoke({ n: 0 }, config)).n), {
    name: "run",
    schema: z.object({}),
  });
  const { graph } = agentOf(
    journal,
    journal.tools([run], { run: "once" }),
    (turn) => (turn < 2 ? asks(call("run", {})) : says("done")),
    saver,
  );
  await graph.invoke(begins, on("ada"));
  expect(ticks).toBe(6);
});

it("plain calls of a graph that a tool runs happen once, where the model calls that tool again after an error", async () => {
  const saver = new MemorySaver();
  const journal = createJournal(saver);
  let ticks = 0;
  const clock = new StateGraph(Annotation.Root({ n: Annotation<number> }))
    .addNode("tick", async ({ n }, config) => {
      await journal.run(config, { id: "tick" }, () => (ticks += 1));
      return { n: n + 1 };
    })
    .addEdge(START, "tick")
    .addConditionalEdges("tick", ({ n }) => (n < 2 ? "tick" : END))
    .compile();
  let tries = 0;
  const run = tool(
    async (_args, config) => {
      const { n } = await clock.invoke({ n: 0 }, config);
      tries += 1;
      if (tries === 1) throw new Error("the line was cut");
      return String(n);
    },
    { name: "run", schema: z.object({}) },
  );
  const { graph } = agentOf(
    journal,
    journal.tools([run], { run: "idempotent" }),
    (turn) => (turn < 2 ? asks(call("run", {})) : says("done")),
    saver,
  );
  await graph.invoke(begins, on("ada"));
  expect([tries, ticks]).toEqual([2, 2]);
});

it("equal calls of two tools of one message keep their own results where one tool is begun anew", async () => {
  const saver = new MemorySaver();
  const journal = createJournal(saver);
  let charges = 0;
  const charged: Record<string, number[]> = { a: [], b: [] };
  const shop = (name: string) =>
    tool(
      async (_args, config) => {
        const receipt = await journal.run(config, { id: "charge", args: {} }, () => (charges += 1));
        charged[name]!.push(receipt);
        if (name === "b" && charged["b"]!.length === 1)
          throw Object.assign(new Error("closed"), { certain: true });
        return receipt;
      },
      { name, schema: z.object({}) },
    );
  const model = new ScriptedModel((turn) => (turn === 0 ? asks(call("a", {}), call("b", {})) : says("done")));
  const retries = { retryPolicy: { maxAttempts: 2, initialInterval: 1 } };
  const tools = journal.tools([shop("a"), shop("b")], { a: "once", b: "once" });
  const graph = new StateGraph(Annotation.Root({ ...MessagesAnnotation.spec, ...journal.channel }))
    .addNode("agent", async (state) => {
      const message = await model.invoke(state.messages);
      return { messages: [message], ...journal.next(state, message) };
    })
    .addNode("tools", new ToolNode(tools as never, { handleToolErrors: false }), retries)
    .addEdge(START, "agent")
    .addEdge("agent", "tools")
    .compile({ checkpointer: saver });
  await graph.invoke(begins, on("ada"));
  expect(charges).toBe(2);
  expect(charged["a"]).toHaveLength(1);
  expect(charged["b"]).toHaveLength(2);
  expect(new Set(charged["b"])).toEqual(new Set([charged["a"]![0] === 1 ? 2 : 1]));
});
