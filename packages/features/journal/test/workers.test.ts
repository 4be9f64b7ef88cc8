import { HumanMessage, type AIMessage, type BaseMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Annotation, END, MessagesAnnotation, Send, START, StateGraph } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { currentCall, type Journal } from "../src/index.ts";
import { asks, pays, says } from "./support/effects.ts";
import { fewSavers, type Opened } from "./support/savers.ts";
import { journalOn } from "./support/journalOn.ts";

// An agent that a node calls with messages of its own: each time that it is given its task it is new work, equal tasks too.

describe.each(fewSavers)("agents at work for a graph, on %s", (_name, open) => {
  let opened: Opened;
  let journal: Journal;
  journalOn(open, (...on) => ([opened, journal] = on));

  const thread = () => ({ configurable: { thread_id: crypto.randomUUID() }, durability: "sync" as const });

  /** A bank, and an agent that pays 5 by it when it is asked to buy; where the line breaks, it tries again. */
  function shop(effects: "once" | "idempotent" = "once") {
    const paid: string[] = [];
    const broken = { line: 0 };
    const pay = tool(
      () => {
        const { idempotencyKey } = currentCall()!;
        const n = paid.indexOf(idempotencyKey);
        const receipt = n < 0 ? paid.push(idempotencyKey) : n + 1;
        if (broken.line > 0) {
          broken.line -= 1;
          throw new Error("the line was cut");
        }
        return `receipt ${receipt}`;
      },
      { name: "pay", description: "pays", schema: z.object({ amount: z.number() }) },
    );
    const tools = journal.tools([pay], { pay: effects });
    const State = Annotation.Root({ ...MessagesAnnotation.spec, ...journal.channel });
    const isPaid = (messages: readonly BaseMessage[]) =>
      String(messages.at(-1)?.content).startsWith("receipt");
    const agent = new StateGraph(State)
      .addNode("model", (state) => {
        const message = isPaid(state.messages) ? says(String(state.messages.at(-1)!.content)) : asks(pays(5));
        return { messages: [message], ...journal.next(state, message) };
      })
      .addNode("tools", new ToolNode(tools))
      .addEdge(START, "model")
      .addConditionalEdges("model", ({ messages }) =>
        ((messages.at(-1) as AIMessage).tool_calls ?? []).length > 0 ? "tools" : END,
      )
      .addEdge("tools", "model")
      .compile();
    const buys = async (config: object): Promise<string> => {
      const { messages } = await agent.invoke({ messages: [new HumanMessage("buy")] }, config);
      return String(messages.at(-1)!.content);
    };
    return { paid, agent, buys, broken };
  }

  const Rounds = Annotation.Root({
    left: Annotation<number>(),
    receipts: Annotation<string[]>({ reducer: (all, more) => [...all, ...more], default: () => [] }),
  });

  it("a tool of their own that buys by the journal buys as often as a message asks for it, and no more in a second try", async () => {
    const paid: unknown[] = [];
    let breaks = 1;
    const buy = tool(
      async ({ what }: { what: string }, config) =>
        await journal.run(config, { id: `buy ${what}`, args: { what } }, () => `receipt ${paid.push(what)}`),
      { name: "buy", description: "buys", schema: z.object({ what: z.string() }) },
    );
    const wants = (what: string) => ({ name: "buy", args: { what } });
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("model", () => ({ messages: [asks(wants("apple"), wants("pear"), wants("apple"))] }))
      .addNode("tools", async (state, config) => {
        const done = (await new ToolNode([buy]).invoke(state, config)) as typeof MessagesAnnotation.State;
        breaks -= 1;
        if (breaks === 0) throw new Error("the process is killed here");
        return done;
      })
      .addEdge(START, "model")
      .addEdge("model", "tools")
      .compile({ checkpointer: opened.saver });
    const config = thread();
    await expect(graph.invoke({ messages: [] }, config)).rejects.toThrow("killed here");
    const { messages } = await graph.invoke(null, config);
    expect(paid.toSorted()).toEqual(["apple", "apple", "pear"]);
    expect(new Set(messages.slice(1).map(({ content }) => content)).size).toBe(3);
    await graph.invoke({ messages: [] }, config);
    expect(paid).toHaveLength(6);
  });

  it.each([true, false])(
    "a tool of their own that one message asks for with other arguments buys each, whether it tells them or not: %s",
    async (tells) => {
      const paid: string[] = [];
      const buy = tool(
        async ({ what }: { what: string }, config) =>
          await journal.run(config, { id: "buy", ...(tells ? { args: { what } } : {}) }, () => {
            paid.push(what);
            return `a receipt for ${what}`;
          }),
        { name: "buy", description: "buys", schema: z.object({ what: z.string() }) },
      );
      const wants = (what: string) => ({ name: "buy", args: { what } });
      const graph = new StateGraph(MessagesAnnotation)
        .addNode("model", () => ({ messages: [asks(wants("apple"), wants("pear"))] }))
        .addNode("tools", new ToolNode([buy]))
        .addEdge(START, "model")
        .addEdge("model", "tools")
        .compile({ checkpointer: opened.saver });
      const config = thread();
      const receipts = (messages: readonly BaseMessage[]) => messages.slice(-2).map(({ content }) => content);
      const { messages } = await graph.invoke({ messages: [] }, config);
      expect(receipts(messages)).toEqual(["a receipt for apple", "a receipt for pear"]);
      for await (const { next, config: back } of graph.getStateHistory(config))
        if (next[0] === "tools")
          expect(receipts((await graph.invoke(null, back)).messages)).toEqual(receipts(messages));
      expect(paid.toSorted()).toEqual(["apple", "pear"]);
    },
  );

  it("a tool of their own that loses its config is refused where it can't be told for which call of the message it buys", async () => {
    const paid: string[] = [];
    const inner = tool(
      async (_, config) => await journal.run(config, { id: "buy" }, () => `receipt ${paid.push("apple")}`),
      { name: "inner", description: "buys", schema: z.object({}) },
    );
    const outer = (passes: boolean) =>
      tool(async (_, config) => (await inner.invoke({}, passes ? config : { tags: ["t"] })) as string, {
        name: "outer",
        description: "has it bought",
        schema: z.object({ n: z.number() }),
      });
    const wants = (n: number) => ({ name: "outer", args: { n } });
    for (const passes of [false, true]) {
      const graph = new StateGraph(MessagesAnnotation)
        .addNode("model", () => ({ messages: [asks(wants(1), wants(2))] }))
        .addNode("tools", new ToolNode([outer(passes)]))
        .addEdge(START, "model")
        .addEdge("model", "tools")
        .compile({ checkpointer: opened.saver });
      const { messages } = await graph.invoke({ messages: [] }, thread());
      const contents = messages.slice(-2).map(({ content }) => String(content));
      if (passes) expect(new Set(contents)).toEqual(new Set(["receipt 2", "receipt 3"]));
      else expect(contents.filter((content) => content.includes("Pass on the whole config"))).toHaveLength(1);
    }
    expect(paid).toHaveLength(3);
  });

  it("a node that is retried behind a subgraph that bought is given its receipts, round by round, where the run is named", async () => {
    const paid: string[] = [];
    let fails = 2;
    const Order = Annotation.Root({
      callScope: Annotation<string>,
      rounds: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
    });
    const sub = new StateGraph(Order)
      .addNode("charge", async (_, config) => ({
        rounds: [
          await journal.run(
            config,
            { id: "charge", args: { amount: 5 } },
            () => `receipt ${paid.push("fee")}`,
          ),
        ],
      }))
      .addEdge(START, "charge")
      .addConditionalEdges("charge", ({ rounds }) => (rounds.length < 2 ? "charge" : END))
      .compile();
    const retryPolicy = { maxAttempts: 3, initialInterval: 1, logWarning: false };
    const graph = new StateGraph(Rounds)
      .addNode(
        "sell",
        async () => {
          const { rounds } = await sub.invoke({ callScope: "the fee", rounds: [] });
          fails -= 1;
          if (fails >= 0) throw new Error("nobody ships it");
          return { receipts: rounds };
        },
        { retryPolicy },
      )
      .addEdge(START, "sell")
      .compile({ checkpointer: opened.saver });
    const { receipts } = await graph.invoke({ left: 0 }, thread());
    expect(receipts).toEqual(["receipt 1", "receipt 2"]);
    expect(paid).toHaveLength(2);
  });

  it("two runs of a subgraph in one task, one after another, with an equal call: no purchase is dropped in silence, and names tell them apart", async () => {
    for (const named of [false, true]) {
      const paid: string[] = [];
      const Order = Annotation.Root({
        order: Annotation<string>,
        receipt: Annotation<string>,
        callScope: Annotation<string>,
      });
      const sub = new StateGraph(Order)
        .addNode("charge", async ({ order }, config) => ({
          receipt: await journal.run(config, { id: "charge", args: { amount: 5 } }, () => {
            paid.push(order);
            return `receipt for ${order}`;
          }),
        }))
        .addEdge(START, "charge")
        .compile();
      const graph = new StateGraph(Rounds)
        .addNode("sell", async () => {
          const receipts: string[] = [];
          for (const order of ["apples", "pears", "figs"]) {
            const { receipt } = await sub.invoke({ order, ...(named ? { callScope: order } : {}) });
            receipts.push(receipt);
          }
          return { receipts };
        })
        .addEdge(START, "sell")
        .compile({ checkpointer: opened.saver });
      const sold = graph.invoke({ left: 0 }, thread());
      if (named)
        expect((await sold).receipts).toEqual([
          "receipt for apples",
          "receipt for pears",
          "receipt for figs",
        ]);
      else await expect(sold).rejects.toMatchObject({ code: "DUPLICATE_CALL" });
      expect(paid).toEqual(named ? ["apples", "pears", "figs"] : ["apples"]);
    }
  });

  it("buy once in each round and each turn, also where the node broke off after it, and nothing when it goes back", async () => {
    const { paid, buys } = shop();
    let breaks = 1;
    const graph = new StateGraph(Rounds)
      .addNode("work", async ({ left }, config) => {
        const receipt = await buys(config);
        if (breaks > 0) {
          breaks -= 1;
          throw new Error("broke off");
        }
        return { receipts: [receipt], left: left - 1 };
      })
      .addEdge(START, "work")
      .addConditionalEdges("work", ({ left }) => (left > 0 ? "work" : END))
      .compile({ checkpointer: opened.saver });
    const config = thread();
    await expect(graph.invoke({ left: 2 }, config)).rejects.toThrow("broke off");
    await graph.invoke(null, config);
    breaks = 1;
    await expect(graph.invoke({ left: 2 }, config)).rejects.toThrow("broke off");
    const { receipts } = await graph.invoke(null, config);
    expect(receipts).toEqual(["receipt 1", "receipt 2", "receipt 3", "receipt 4"]);
    const points = [];
    for await (const { config: at, next } of graph.getStateHistory(config))
      if (next.includes("work")) points.push(at);
    await graph.invoke(null, { ...points.at(-1)!, durability: "sync" });
    expect(paid).toHaveLength(4);
  });

  it("that are sent equal tasks buy once each, in each turn", async () => {
    const { paid, agent } = shop();
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("work", agent)
      .addConditionalEdges(START, () =>
        [1, 2].map(() => new Send("work", { messages: [new HumanMessage("buy")] })),
      )
      .compile({ checkpointer: opened.saver });
    const config = thread();
    await graph.invoke({ messages: [] }, config);
    expect(paid).toHaveLength(2);
    await graph.invoke({ messages: [new HumanMessage("again")] }, config);
    expect(paid).toHaveLength(4);
  });

  it("try again with the key of the first try, where the line was cut", async () => {
    const { paid, buys, broken } = shop("idempotent");
    const graph = new StateGraph(Rounds)
      .addNode("work", async (_state, config) => ({ receipts: [await buys(config)] }))
      .addEdge(START, "work")
      .compile({ checkpointer: opened.saver });
    broken.line = 1;
    const config = thread();
    expect((await graph.invoke({ left: 0 }, config)).receipts).toEqual(["receipt 1"]);
    expect((await graph.invoke({ left: 0 }, config)).receipts).toEqual(["receipt 1", "receipt 2"]);
    expect(paid).toHaveLength(2);
  });
});
