// long file: one test for each edge case of identity and replay, all on the same graphs
import { HumanMessage, RemoveMessage, type AIMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import {
  Annotation,
  Command,
  END,
  MessagesAnnotation,
  REMOVE_ALL_MESSAGES,
  Send,
  START,
  StateGraph,
} from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { fork, merge } from "@stratigraph/branch";
import { createJournal, type Journal } from "@stratigraph/journal";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  agentOf,
  asks,
  call,
  payments,
  pays,
  questions,
  receipts,
  reply,
  says,
  type Script,
} from "./support/effects.ts";
import { fewSavers as savers, type Opened } from "./support/savers.ts";
import { journalOn } from "./support/journalOn.ts";

const hello = { messages: [new HumanMessage("pay")] };

describe.each(savers.slice(0, 2))("calls of a StateGraph, on %s", (_name, open) => {
  let opened: Opened;
  let journal: Journal;
  journalOn(open, (...on) => ([opened, journal] = on));

  const thread = () => ({ configurable: { thread_id: crypto.randomUUID() } });

  /** An agent that pays, in a thread of its own. */
  function payer(script: Script, behave?: Parameters<typeof payments>[0]) {
    const { pay, paid } = payments(behave);
    const { graph, asked } = agentOf(journal, journal.tools([pay], { pay: "once" }), script, opened.saver);
    const config = thread();
    const historyAt = async (next: string, where: Parameters<typeof graph.getStateHistory>[0] = config) => {
      let first;
      for await (const state of graph.getStateHistory(where))
        if (state.next.includes(next)) first = state.config;
      if (first === undefined) throw new Error(`No step before ${next}`);
      return first;
    };
    return { graph, asked, paid, config, historyAt };
  }

  it("two equal calls of one message both run, and both are replayed", async () => {
    const { graph, paid, config, historyAt } = payer((turn) =>
      turn === 0 ? asks(pays(5), pays(5)) : says("done"),
    );
    await graph.invoke(hello, config);
    expect(paid).toEqual([5, 5]);
    const again = await graph.invoke(null, await historyAt("tools"));
    expect(paid).toEqual([5, 5]);
    expect(receipts(again.messages)).toEqual(["receipt 5", "receipt 5"]);
  });

  it("parallel calls in another order on a second try are recorded ones; one that is added runs", async () => {
    const orders = [
      [1, 2],
      [2, 1],
      [2, 3, 1],
    ];
    const { graph, paid, config, historyAt } = payer((turn, asked) =>
      turn === 0
        ? asks(...orders[Math.min(Math.ceil(asked / 2), orders.length) - 1]!.map(pays))
        : says("done"),
    );
    await graph.invoke(hello, config);
    const start = await historyAt("agent");
    const swapped = await graph.invoke(null, start);
    expect(receipts(swapped.messages)).toEqual(["receipt 2", "receipt 1"]);
    // They run at the same time.
    expect(paid.toSorted()).toEqual([1, 2]);
    const longer = await graph.invoke(null, start);
    expect(receipts(longer.messages)).toEqual(["receipt 2", "receipt 3", "receipt 1"]);
    expect(paid.toSorted()).toEqual([1, 2, 3]);
  });

  it("the same call in a later turn runs again, also after all messages were removed", async () => {
    const { graph, paid, config } = payer((turn) => (turn % 2 === 0 ? asks(pays(5)) : says("done")));
    await graph.invoke(hello, config);
    await graph.invoke(hello, config);
    expect(paid).toEqual([5, 5]);
    await graph.invoke(
      { messages: [new RemoveMessage({ id: REMOVE_ALL_MESSAGES }), new HumanMessage("pay")] },
      config,
    );
    expect(paid).toEqual([5, 5, 5]);
  });

  it("arguments that were edited under the same id of a call run", async () => {
    const { graph, paid, config, historyAt } = payer((turn) => (turn === 0 ? asks(pays(5)) : says("done")));
    await graph.invoke(hello, config);
    const before = await historyAt("tools");
    const { messages } = (await graph.getState(before)).values;
    const [asked] = (messages.at(-1) as AIMessage).tool_calls!;
    const edited = asks(pays(7));
    edited.id = messages.at(-1)!.id!;
    edited.tool_calls![0]!.id = asked!.id!;
    const there = await graph.updateState(before, { messages: [edited] }, "agent");
    const done = await graph.invoke(null, there);
    expect(paid).toEqual([5, 7]);
    expect(receipts(done.messages)).toEqual(["receipt 7"]);
  });

  it("a call that failed for certain advances the chain, so that the model's next try runs", async () => {
    const { graph, paid, config } = payer(
      (turn) => (turn < 2 ? asks(pays(5)) : says("done")),
      (_amount, times) => {
        if (times === 1) throw Object.assign(new Error("refused by the bank"), { certain: true });
      },
    );
    const done = await graph.invoke(hello, config);
    expect(paid).toEqual([5, 5]);
    expect(receipts(done.messages)).toEqual([expect.stringContaining("refused by the bank"), "receipt 5"]);
  });

  it("arguments that the tool's schema refuses are no open question", async () => {
    const { graph, paid, config } = payer((turn) =>
      turn === 0 ? asks(call("pay", { amount: "five" })) : turn === 1 ? asks(pays(5)) : says("done"),
    );
    const done = await graph.invoke(hello, config);
    expect(questions(done)).toEqual([]);
    expect(paid).toEqual([5]);
  });

  it("another version of a tool runs anew, and other code of the same version doesn't", async () => {
    const first = payments();
    const second = payments();
    const config = thread();
    const script: Script = (turn) => (turn === 0 ? asks(pays(5)) : says("done"));
    const old = agentOf(journal, journal.tools([first.pay], { pay: "once" }), script, opened.saver);
    await old.graph.invoke(hello, config);
    let start;
    for await (const state of old.graph.getStateHistory(config))
      if (state.next.includes("agent")) start = state.config;
    const changed = agentOf(journal, journal.tools([second.pay], { pay: "once" }), script, opened.saver);
    await changed.graph.invoke(null, start!);
    expect(second.paid).toEqual([]);
    const versioned = createJournal(opened.saver);
    const renewed = agentOf(
      versioned,
      versioned.tools([second.pay], { pay: { effects: "once", version: "2" } }),
      script,
      opened.saver,
    );
    await renewed.graph.invoke(null, start!);
    expect(second.paid).toEqual([5]);
    await versioned.end();
  });

  it("subgraphs that make the same first call both pay, and so do equal Sends", async () => {
    const { pay, paid } = payments();
    const tools = journal.tools([pay], { pay: "once" });
    const agent = () =>
      agentOf(journal, tools, (turn) => (turn === 0 ? asks(pays(5)) : says("done")), undefined).graph;
    const State = Annotation.Root({ ...MessagesAnnotation.spec });
    const both = new StateGraph(State)
      .addNode("left", agent())
      .addNode("right", agent())
      .addEdge(START, "left")
      .addEdge(START, "right")
      .compile({ checkpointer: opened.saver });
    await both.invoke(hello, thread());
    expect(paid).toEqual([5, 5]);
    const sending = (inputs: object[]) =>
      new StateGraph(State)
        .addNode("work", agent())
        .addConditionalEdges(START, () => inputs.map((input) => new Send("work", input)))
        .compile({ checkpointer: opened.saver });
    paid.length = 0;
    const sent = await sending([hello, hello]).invoke(hello, thread());
    expect(receipts(sent.messages)).toEqual(["receipt 5", "receipt 5"]);
    expect(paid).toEqual([5, 5]);
    paid.length = 0;
    await sending([{ messages: [new HumanMessage("one")] }, { messages: [new HumanMessage("two")] }]).invoke(
      hello,
      thread(),
    );
    expect(paid).toEqual([5, 5]);
  });

  it.each(["ours", "theirs", "union", "reducer"] as const)(
    "behind a merge, settled by %s, a call is neither side's",
    async (strategy) => {
      const { pay, paid } = payments();
      const tools = journal.tools([pay], { pay: "once" });
      const { graph } = agentOf(
        journal,
        tools,
        (_turn, asked) => (asked % 2 === 1 ? asks(pays(5)) : says("done")),
        opened.saver,
      );
      const [main, side] = [thread(), thread()];
      const buy = async (config: object) => await graph.invoke(hello, config);
      await buy(main);
      await fork(opened.saver, main.configurable.thread_id, { to: side.configurable.thread_id });
      await buy(side);
      await buy(main);
      await buy(main);
      const merged = await merge(graph, main.configurable.thread_id, side.configurable.thread_id, {
        strategy: { "*": strategy, messages: "union" },
      });
      expect(merged).toMatchObject({ status: "merged" });
      for (let turn = 0; turn < 3; turn += 1) await buy(main);
      expect(paid).toHaveLength(7);
    },
  );

  it("a node's retry gives calls of the first try their results", async () => {
    const { pay, paid } = payments();
    let tries = 0;
    const flaky = tool(
      () => {
        tries += 1;
        if (tries < 3) throw new Error("not yet");
        return "now";
      },
      { name: "flaky", description: "fails twice", schema: z.object({}) },
    );
    const State = Annotation.Root({ ...MessagesAnnotation.spec, ...journal.channel });
    const tools = journal.tools([pay, flaky], { pay: "once", flaky: "none" });
    const graph = new StateGraph(State)
      .addNode("agent", (state) => {
        const message = asks(pays(5), call("flaky", {}));
        return { messages: [message], ...journal.next(state, message) };
      })
      .addNode("tools", new ToolNode(tools, { handleToolErrors: false }), {
        retryPolicy: { maxAttempts: 3, initialInterval: 1, jitter: false, logWarning: false },
      })
      .addEdge(START, "agent")
      .addEdge("agent", "tools")
      .compile({ checkpointer: opened.saver });
    const done = await graph.invoke(hello, thread());
    expect(tries).toBe(3);
    expect(paid).toEqual([5]);
    expect(receipts(done.messages)).toEqual(["receipt 5", "now"]);
  });

  it.each(["sync", "async"] as const)(
    "a run that failed goes on without paying again, durability %s",
    async (durability) => {
      let broken = true;
      const { graph, paid, config } = payer((turn) => {
        if (turn === 1 && broken) throw new Error("the model is down");
        return turn === 0 ? asks(pays(5)) : says("done");
      });
      await expect(graph.invoke(hello, { ...config, durability })).rejects.toThrow("the model is down");
      broken = false;
      const done = await graph.invoke(null, { ...config, durability });
      expect(paid).toEqual([5]);
      expect(receipts(done.messages)).toEqual(["receipt 5"]);
    },
  );

  it("nothing runs where the checkpoint can't be there before: durability exit, a subgraph without checkpoints", async () => {
    const { graph, paid, config } = payer((turn) => (turn === 0 ? asks(pays(5)) : says("done")));
    const exit = await graph.invoke(hello, { ...config, durability: "exit" });
    expect(receipts(exit.messages)).toEqual([expect.stringContaining('durability "exit"')]);
    const { pay, paid: inside } = payments();
    // Before LangGraph 1.7 it is known only by the time that goes by.
    const quick = createJournal(opened.saver, { waitFor: "2s" });
    const State = Annotation.Root({ ...MessagesAnnotation.spec, ...journal.channel });
    const sub = new StateGraph(State)
      .addNode("agent", (state) => {
        const message = asks(pays(5));
        return { messages: [message], ...journal.next(state, message) };
      })
      .addNode("tools", new ToolNode(quick.tools([pay], { pay: "once" })))
      .addEdge(START, "agent")
      .addEdge("agent", "tools")
      .compile({ checkpointer: false });
    const outer = new StateGraph(MessagesAnnotation)
      .addNode("sub", sub)
      .addEdge(START, "sub")
      .compile({ checkpointer: opened.saver });
    const done = await outer.invoke(hello, thread());
    expect(receipts(done.messages)).toEqual([expect.stringContaining("checkpointer: false")]);
    expect([...paid, ...inside]).toEqual([]);
    await quick.end();
  });

  it("a fork has the calls of its source, and a call that both make later runs in each", async () => {
    const { graph, paid, config } = payer((turn) =>
      turn === 0 || turn === 2 ? asks(pays(5)) : says("done"),
    );
    await graph.invoke(hello, config);
    const forked = thread();
    await fork(opened.saver, config.configurable.thread_id, { to: forked.configurable.thread_id });
    let beforeTools;
    for await (const state of graph.getStateHistory(forked))
      if (state.next.includes("tools")) beforeTools = state.config;
    expect(receipts((await graph.invoke(null, beforeTools ?? forked)).messages)).toEqual(["receipt 5"]);
    expect(paid).toEqual([5]);
  });

  it("a run in another thread with the same journal runs nothing, and its messages have its own ids", async () => {
    const script: Script = (turn) => (turn === 0 ? asks(pays(5)) : says("done"));
    const { graph, paid, config } = payer(script);
    await graph.invoke(hello, config);
    const other = { configurable: { ...thread().configurable, journal: config.configurable.thread_id } };
    const again = await graph.invoke({ messages: [new HumanMessage("another prompt")] }, other);
    expect(receipts(again.messages)).toEqual(["receipt 5"]);
    expect(paid).toEqual([5]);
  });

  it("`fresh` reads anew, and doesn't pay anew", async () => {
    const { pay, paid } = payments();
    let reads = 0;
    const search = tool(
      () => {
        reads += 1;
        return `read ${reads}`;
      },
      { name: "search", description: "reads", schema: z.object({}) },
    );
    const tools = journal.tools([pay, search], { pay: "once", search: "none" });
    const { graph } = agentOf(
      journal,
      tools,
      (turn) => (turn === 0 ? asks(call("search", {}), pays(5)) : says("done")),
      opened.saver,
    );
    const config = thread();
    await graph.invoke(hello, config);
    let start;
    for await (const state of graph.getStateHistory(config))
      if (state.next.includes("agent")) start = state.config;
    expect(receipts((await graph.invoke(null, start!)).messages)).toEqual(["read 1", "receipt 5"]);
    const fresh = { configurable: { ...start!.configurable, calls: "fresh" } };
    expect(receipts((await graph.invoke(null, fresh)).messages)).toEqual(["read 2", "receipt 5"]);
    expect(paid).toEqual([5]);
  });

  it("Commands, artifacts and content blocks are given again with the new id of the call", async () => {
    const State = Annotation.Root({
      ...MessagesAnnotation.spec,
      ...journal.channel,
      account: Annotation<string>,
    });
    let runs = 0;
    const opens = tool(
      (_args, config) => {
        runs += 1;
        const { id } = (config as unknown as { toolCall: { id: string } }).toolCall;
        return new Command({
          update: { account: "4711", messages: [{ role: "tool", content: "opened", tool_call_id: id }] },
        });
      },
      { name: "open", description: "opens", schema: z.object({}) },
    );
    const draws = tool(
      () => {
        runs += 1;
        return ["a chart", { points: [1, 2, 3] }];
      },
      { name: "draw", description: "draws", schema: z.object({}), responseFormat: "content_and_artifact" },
    );
    const graph = new StateGraph(State)
      .addNode("agent", (state) => {
        const message = state.messages.length > 1 ? says("done") : asks(call("draw", {}), call("open", {}));
        return { messages: [message], ...journal.next(state, message) };
      })
      .addNode("tools", new ToolNode(journal.tools([opens, draws], { open: "once", draw: "once" })))
      .addEdge(START, "agent")
      .addConditionalEdges("agent", ({ messages }) => (messages.at(-1)!.content === "done" ? END : "tools"))
      .addEdge("tools", "agent")
      .compile({ checkpointer: opened.saver });
    const config = thread();
    const first = await graph.invoke(hello, config);
    let start;
    for await (const state of graph.getStateHistory(config))
      if (state.next.includes("agent")) start = state.config;
    const again = await graph.invoke(null, start!);
    expect(runs).toBe(2);
    for (const { messages, account } of [first, again]) {
      expect(account).toBe("4711");
      expect(receipts(messages).toSorted()).toEqual(["a chart", "opened"]);
      expect(messages.find(({ content }) => content === "a chart")).toMatchObject({
        artifact: { points: [1, 2, 3] },
      });
    }
  });

  it.each(["huge", "strange"])("a %s result is given to its run, and can't be given again", async (kind) => {
    let runs = 0;
    const results: Record<string, unknown> = {
      huge: "x".repeat(17 * 1024 * 1024),
      strange: {
        toJSON: () => {
          throw new Error("not for keeping");
        },
      },
    };
    const State = Annotation.Root({ out: Annotation<string> });
    let broken = true;
    const graph = new StateGraph(State)
      .addNode("work", async (_state, config) => {
        const result = await journal.run(config, { id: `odd ${kind}`, tool: "odd", args: { kind } }, () => {
          runs += 1;
          return results[kind];
        });
        if (broken) throw new Error("the node fails later");
        return { out: typeof result };
      })
      .addEdge(START, "work")
      .compile({ checkpointer: opened.saver });
    const config = thread();
    await expect(graph.invoke({ out: "" }, config)).rejects.toThrow("the node fails later");
    broken = false;
    const stopped = await graph.invoke(null, config);
    expect(questions(stopped)).toMatchObject([{ value: { kind: "ambiguous", happened: true } }]);
    expect(await graph.invoke(reply(stopped, { happened: true, result: 1 }), config)).toEqual({
      out: "number",
    });
    expect(runs).toBe(1);
  });

  it("a tool's own interrupts are answered in their order, though tools that are done don't ask again", async () => {
    const { interrupt } = await import("@langchain/langgraph");
    const got: string[] = [];
    const config = thread();
    const State = Annotation.Root({ out: Annotation<string> });
    const graph = new StateGraph(State)
      .addNode("work", async (_state, own) => {
        const first = await journal.run(own, { id: "one", args: {} }, () => {
          const answer = interrupt("first?") as string;
          got.push(answer);
          return answer;
        });
        const second = interrupt("second?") as string;
        const third = await journal.run(own, { id: "three", args: {} }, () => interrupt("third?") as string);
        return { out: [first, second, third].join(" ") };
      })
      .addEdge(START, "work")
      .compile({ checkpointer: opened.saver });
    let result = await graph.invoke({ out: "" }, config);
    for (const question of ["first?", "second?", "third?"]) {
      expect(questions(result)).toMatchObject([{ value: question }]);
      result = await graph.invoke(new Command({ resume: `answer to ${question}` }), config);
    }
    expect(result.out).toBe("answer to first? answer to second? answer to third?");
    expect(got).toEqual(["answer to first?"]);
  });
});
