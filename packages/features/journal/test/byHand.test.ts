// long file: stories
import { setImmediate as nextTurn } from "node:timers/promises";
import { HumanMessage } from "@langchain/core/messages";
import { Annotation, END, MessagesAnnotation, Send, START, StateGraph } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { fork, merge } from "@stratigraph/branch";
import { describe, expect, it } from "vitest";
import { createJournal, type Journal } from "../src/index.ts";
import { asks, payments, pays } from "./support/effects.ts";
import { fewSavers, type Opened } from "./support/savers.ts";
import { journalOn } from "./support/journalOn.ts";

// What a person does to a thread by hand, and what a run is given again that goes back: what somebody would say was bought, and for whom.

describe.each(fewSavers)("on %s", (_name, open) => {
  let opened: Opened;
  let journal: Journal;
  journalOn(open, (...on) => ([opened, journal] = on));

  const thread = () => ({ configurable: { thread_id: crypto.randomUUID() }, durability: "sync" as const });

  describe("a trip, whose hotel and flight cost the same and are paid under one id", () => {
    /** @param hotel the node's name, which a deployment may change */
    function trip() {
      const bank: string[] = [];
      const breaks: { hotel?: "before" | "behind" } = { hotel: "behind" };
      const State = Annotation.Root({
        amount: Annotation<number>,
        hotel: Annotation<string>,
        flight: Annotation<string>,
      });
      const pays = async (what: "hotel" | "flight", config: object) => {
        if (what === "hotel" && breaks.hotel === "before") throw new Error("broke off");
        const receipt = await journal.run(
          config,
          { id: "charge", args: { amount: 100 } },
          () => `${bank.push(what)}: ${what}`,
        );
        if (what === "hotel" && breaks.hotel === "behind") throw new Error("broke off");
        return { [what]: receipt };
      };
      const graph = (node = "books") =>
        new StateGraph(State)
          .addNode("looks", () => ({}))
          .addNode(node, (_, config) => pays("hotel", config))
          .addNode("flies", (_, config) => pays("flight", config))
          .addEdge(START, "looks" as never)
          .addEdge("looks" as never, node as never)
          .addConditionalEdges(node as never, ({ amount }) => (amount > 0 ? "flies" : END), [
            "flies",
            END,
          ] as never)
          .addEdge("flies" as never, END)
          .compile({ checkpointer: opened.saver });
      return { bank, breaks, graph };
    }

    it("the hotel's receipt is entered by hand in its node's name: the flight is paid, in each turn and in a fork", async () => {
      const { bank, breaks, graph } = trip();
      const config = thread();
      for (const turn of [1, 2]) {
        breaks.hotel = "behind";
        await expect(graph().invoke({ amount: 100 }, config)).rejects.toThrow("broke off");
        await graph().updateState(config, { hotel: "by hand" }, "books" as never);
        delete breaks.hotel;
        const { hotel, flight } = await graph().invoke(null, config);
        expect([hotel, flight]).toEqual(["by hand", `${2 * turn}: flight`]);
      }
      breaks.hotel = "behind";
      await expect(graph().invoke({ amount: 100 }, config)).rejects.toThrow("broke off");
      const { threadId } = await fork(opened.saver, { threadId: config.configurable.thread_id });
      const forked = { ...config, configurable: { thread_id: threadId } };
      await graph().updateState(forked, { hotel: "by hand" }, "books" as never);
      delete breaks.hotel;
      expect((await graph().invoke(null, forked)).flight).toBe("6: flight");
      expect(bank).toEqual(["hotel", "flight", "hotel", "flight", "hotel", "flight"]);
    });

    it("a fork of behind an entry by hand knows that the step has ended", async () => {
      const { bank, breaks, graph } = trip();
      const config = thread();
      await expect(graph().invoke({ amount: 100 }, config)).rejects.toThrow("broke off");
      await graph().updateState(config, { hotel: "by hand" }, "books" as never);
      delete breaks.hotel;
      const { threadId } = await fork(opened.saver, { threadId: config.configurable.thread_id });
      const forked = { ...config, configurable: { thread_id: threadId } };
      expect((await graph().invoke(null, forked)).flight).toBe("2: flight");
      expect(bank).toEqual(["hotel", "flight"]);
    });

    it("a hotel that broke off before it was paid is entered by hand: the flight is paid", async () => {
      const { bank, breaks, graph } = trip();
      const config = thread();
      breaks.hotel = "before";
      await expect(graph().invoke({ amount: 100 }, config)).rejects.toThrow("broke off");
      await graph().updateState(config, { hotel: "by hand" }, "books" as never);
      await graph().invoke(null, config);
      expect(bank).toEqual(["flight"]);
    });

    it("something else is edited: the hotel is given its receipt, also where its node is renamed in the same hour", async () => {
      for (const node of ["books", "reserves"]) {
        const { bank, breaks, graph } = trip();
        const config = thread();
        await expect(graph().invoke({ amount: 100 }, config)).rejects.toThrow("broke off");
        await graph(node).updateState(config, { amount: 100 }, "looks" as never);
        delete breaks.hotel;
        const { hotel, flight } = await graph(node).invoke(null, config);
        expect([hotel, flight]).toEqual(["1: hotel", "2: flight"]);
        expect(bank).toEqual(["hotel", "flight"]);
      }
    });

    it("where nobody can tell whether the node was renamed or its receipt entered by hand, nothing is paid, and it says so", async () => {
      const { bank, breaks, graph } = trip();
      const config = thread();
      delete breaks.hotel;
      // The first turn ends at the hotel: the flight's node has never run.
      await graph().invoke({ amount: 0 }, config);
      breaks.hotel = "behind";
      await expect(graph().invoke({ amount: 100 }, config)).rejects.toThrow("broke off");
      await graph().updateState(config, { hotel: "by hand" }, "books" as never);
      delete breaks.hotel;
      const refused = await graph()
        .invoke(null, config)
        .catch((error: unknown) => error);
      expect(refused).toMatchObject({
        code: "DUPLICATE_CALL",
        data: { tool: "charge", where: { node: "books" } },
      });
      expect((refused as Error).message).toContain("give it an id of its own");
      expect(bank).toEqual(["hotel", "hotel"]);
    });
  });

  it("equal Sends that pay under one id are given each its own receipt when the run goes back", async () => {
    const bank: string[] = [];
    const State = Annotation.Root({
      who: Annotation<string>,
      receipts: Annotation<string[]>({ reducer: (all, more) => [...all, ...more], default: () => [] }),
    });
    const graph = new StateGraph(State)
      .addNode("plan", () => ({}))
      .addNode("pay", async ({ who }, config) => {
        const receipt = await journal.run(
          config,
          { id: "charge", args: { amount: 100 } },
          () => `${bank.push(who)}: ${who}`,
        );
        return { receipts: [`${who} has ${receipt}`] };
      })
      .addEdge(START, "plan")
      .addConditionalEdges("plan", () => ["ada", "bob", "cyd"].map((who) => new Send("pay", { who })), [
        "pay",
      ])
      .compile({ checkpointer: opened.saver });
    const config = thread();
    const { receipts } = await graph.invoke({ who: "" }, config);
    const before = [];
    for await (const state of graph.getStateHistory(config))
      if (state.next.length > 0) before.push(state.config);
    for (const back of before) expect((await graph.invoke(null, back)).receipts).toEqual(receipts);
    expect(bank).toHaveLength(3);
  });

  it("two tasks that ask for equal calls are refused when the run goes back, too, by another process, in a fork: none is given the other's receipt", async () => {
    const { pay, paid } = payments();
    const build = () => {
      const tools = new ToolNode(journal.tools([pay], { pay: "once" }), { handleToolErrors: false });
      const asking = (state: object) => {
        const message = asks(pays(5));
        return { messages: [message], ...journal.next(state, message) };
      };
      return new StateGraph(Annotation.Root({ ...MessagesAnnotation.spec, ...journal.channel }))
        .addNode("hotel", asking)
        .addNode("flight", asking)
        .addNode("gather", () => ({}))
        .addNode("tools", tools)
        .addEdge(START, "hotel")
        .addEdge(START, "flight")
        .addEdge(["hotel", "flight"], "gather")
        .addConditionalEdges(
          "gather",
          (state) =>
            state.messages.slice(-2).map((message) => new Send("tools", { ...state, messages: [message] })),
          ["tools"],
        )
        .addEdge("tools", END)
        .compile({ checkpointer: opened.saver });
    };
    const config = thread();
    const graph = build();
    const refused = { code: "DUPLICATE_CALL" };
    await expect(graph.invoke({ messages: [new HumanMessage("go")] }, config)).rejects.toMatchObject(refused);
    const states = [];
    for await (const state of graph.getStateHistory(config)) states.push(state);
    for (const { config: back, next } of states)
      if (next.length > 0) await expect(graph.invoke(null, back)).rejects.toMatchObject(refused);
    const start = states.find(({ next }) => next.includes("hotel"))!.config.configurable!;
    const source = { threadId: start["thread_id"] as string, checkpointId: start["checkpoint_id"] as string };
    const { threadId } = await fork(opened.saver, source);
    const forked = { ...config, configurable: { thread_id: threadId } };
    for (let attempt = 0; attempt < 2; attempt += 1)
      await expect(build().invoke(null, forked)).rejects.toMatchObject(refused);
    expect(paid).toEqual([5]);
  });

  /** A node that pays for each order, and may break off behind it. */
  function shop(on = journal) {
    const bank: string[] = [];
    const breaks = { off: false };
    const State = Annotation.Root({
      order: Annotation<string>,
      receipts: Annotation<string[]>({ reducer: (all, more) => [...all, ...more], default: () => [] }),
    });
    const graph = new StateGraph(State)
      .addNode("sell", async ({ order }, config) => {
        const receipt = await on.run(
          config,
          { id: "charge", args: { order } },
          () => `${bank.push(order)}: ${order}`,
        );
        if (breaks.off) throw new Error("broke off");
        return { receipts: [receipt] };
      })
      .addEdge(START, "sell")
      .compile({ checkpointer: opened.saver });
    return { bank, breaks, graph };
  }

  it("a merge that would continue a fork's step behind what it paid is refused; one that continues the thread's own isn't, and pays nothing again", async () => {
    for (const unfinished of ["fork", "own"]) {
      const { bank, breaks, graph } = shop();
      const config = thread();
      await graph.invoke({ order: "apples" }, config);
      const { threadId } = await fork(opened.saver, { threadId: config.configurable.thread_id });
      const forked = { ...config, configurable: { thread_id: threadId } };
      const [broken, other] = unfinished === "fork" ? [forked, config] : [config, forked];
      await graph.invoke({ order: "figs" }, other);
      breaks.off = true;
      await expect(graph.invoke({ order: "pears" }, broken)).rejects.toThrow("broke off");
      breaks.off = false;
      const merged = merge(
        graph,
        config.configurable.thread_id,
        { threadId },
        { strategy: { order: "ours" } },
      );
      if (unfinished === "fork") await expect(merged).rejects.toMatchObject({ code: "MERGE_REFUSED" });
      else {
        expect(await merged).toMatchObject({ status: "merged" });
        expect((await graph.invoke(null, config)).receipts).toContain("3: pears");
      }
      expect(bank).toEqual(["apples", "figs", "pears"]);
    }
  });

  it("a thread that another process deleted and began anew with as many turns is another one", async () => {
    const { bank, graph } = shop();
    const other = createJournal(opened.saver);
    const elsewhere = shop(other);
    const config = thread();
    await graph.invoke({ order: "apples" }, config);
    await opened.saver.deleteThread(config.configurable.thread_id);
    await elsewhere.graph.invoke({ order: "apples" }, config);
    const { receipts } = await graph.invoke({ order: "apples" }, config);
    expect(receipts).toEqual(["1: apples", "2: apples"]);
    expect([bank, elsewhere.bank]).toEqual([["apples", "apples"], ["apples"]]);
    await other.end();
  });

  it("calls that end at the same time don't end their tasks in one turn, in which LangGraph loses what was written beside a failure", async () => {
    let fails = true;
    let begun = 0;
    let begins = () => {};
    const both = new Promise<void>((resolve) => (begins = resolve));
    const State = Annotation.Root({
      joined: Annotation<boolean>,
      paid: Annotation<string>({ reducer: (all, more) => all + more, default: () => "" }),
    });
    const pays = (name: string) => async (_: object, config: object) => {
      const paid = await journal.run(config, { id: "charge" }, async () => {
        begun += 1;
        if (begun === 2) begins();
        await both;
        return name;
      });
      if (name === "l" && fails) throw new Error("broke off");
      return { paid };
    };
    const graph = new StateGraph(State)
      .addNode("l", pays("l"))
      .addNode("r", pays("r"))
      .addNode("joins", () => ({ joined: true }))
      .addEdge(START, "l")
      .addEdge(START, "r")
      .addEdge(["l", "r"], "joins")
      .compile({ checkpointer: opened.saver });
    const config = thread();
    await expect(graph.invoke({}, config)).rejects.toThrow("broke off");
    fails = false;
    const { joined, paid } = await graph.invoke(null, config);
    expect([joined, [...paid].toSorted()]).toEqual([true, ["l", "r"]]);
    expect(begun).toBe(2);
  });

  it("a trip of a subgraph that is entered by hand, and one that is skipped by hand, end: the car is paid", async () => {
    for (const by of ["trip", "insures"]) {
      const bank: string[] = [];
      const State = Annotation.Root({ note: Annotation<string> });
      const breaks = { off: true };
      const pays = (what: string) => async (_: object, config: object) => {
        const note = await journal.run(
          config,
          { id: "charge", args: { amount: 100 } },
          () => `${bank.push(what)}: ${what}`,
        );
        if (what === "hotel" && breaks.off) throw new Error("broke off");
        return { note };
      };
      const inner = new StateGraph(State).addNode("books", pays("hotel")).addEdge(START, "books").compile();
      const graph = new StateGraph(State)
        .addNode("trip", by === "trip" ? inner : pays("hotel"))
        .addNode("insures", () => ({}))
        .addNode("car", pays("car"))
        .addEdge(START, "trip")
        .addEdge("trip", "insures")
        .addEdge("insures", "car")
        .compile({ checkpointer: opened.saver });
      const config = thread();
      await expect(graph.invoke({}, config)).rejects.toThrow("broke off");
      await graph.updateState(config, { note: "by hand" }, by as never);
      breaks.off = false;
      expect((await graph.invoke(null, config)).note).toBe("2: car");
      expect(bank).toEqual(["hotel", "car"]);
    }
  });

  it("a run that goes back while a call is under way waits for it", async () => {
    const bank: string[] = [];
    let ends = () => {};
    const banks = new Promise<void>((resolve) => (ends = resolve));
    let begun = () => {};
    const paying = new Promise<void>((resolve) => (begun = resolve));
    let fails = true;
    let goesBack = () => {};
    const asked = new Promise<void>((resolve) => (goesBack = resolve));
    const State = Annotation.Root({ receipt: Annotation<string> });
    const graph = new StateGraph(State)
      .addNode("plan", () => ({}))
      .addNode("pay", async (_, config) => {
        if (!fails) goesBack();
        const receipt = await journal.run(config, { id: "charge" }, async () => {
          begun();
          await banks;
          return `receipt ${bank.push("paid")}`;
        });
        return { receipt };
      })
      .addNode("look", async () => {
        await paying;
        if (fails) throw new Error("it is dark");
        return {};
      })
      .addEdge(START, "plan")
      .addEdge("plan", "pay")
      .addEdge("plan", "look")
      .compile({ checkpointer: opened.saver });
    const config = thread();
    await expect(graph.invoke({}, config)).rejects.toThrow("it is dark");
    fails = false;
    let start;
    for await (const state of graph.getStateHistory(config))
      if (state.next.includes("plan")) start = state.config;
    const again = graph.invoke(null, start);
    await asked;
    // In memory what it does at once is done by then.
    for (let turn = 0; turn < 500; turn += 1) await nextTurn();
    ends();
    expect((await again).receipt).toBe("receipt 1");
    expect(bank).toEqual(["paid"]);
  });
});
