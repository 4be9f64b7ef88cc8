// long file: one story for each way to wire a graph, and for each part that is forgotten
import { AIMessage, HumanMessage, type BaseMessage, type ToolMessage } from "@langchain/core/messages";
import { tool, type StructuredTool } from "@langchain/core/tools";
import {
  Annotation,
  END,
  entrypoint,
  MessagesAnnotation,
  MessagesValue,
  StateSchema,
  messagesStateReducer,
  Send,
  START,
  StateGraph,
  task,
} from "@langchain/langgraph";
import { createReactAgent, ToolNode } from "@langchain/langgraph/prebuilt";
import { MemorySaver } from "@stratigraph/core";
import { createJournal, type Journal } from "@stratigraph/journal";
import { beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { asks, call, payments, pays, receipts, says, type Script } from "./support/effects.ts";
import { ScriptedModel } from "./support/scriptedModel.ts";

const hello = { messages: [new HumanMessage("pay")] };
const config = { configurable: { thread_id: "ada" } };

let saver: MemorySaver;
let journal: Journal;
beforeEach(() => {
  saver = new MemorySaver();
  journal = createJournal(saver);
});

/** Each turn pays 5 once. */
const everyTurn: Script = (_turn, asked) => (asked % 2 === 1 ? asks(pays(5)) : says("done"));
/** The first turn pays 5. */
const firstTurn: Script = (turn) => (turn === 0 ? asks(pays(5)) : says("done"));

interface Wiring {
  /** Has the state the journal's channel? */
  readonly channel?: boolean;
  /** Does the model's node return `journal.next()`? */
  readonly next?: boolean;
  /** Does the model's node pass only its messages to it? */
  readonly passes?: "messages";
  /** How many messages the state keeps. */
  readonly window?: number;
  /** Does the graph show errors of tools to the model? */
  readonly shows?: boolean;
  readonly isSubgraph?: boolean;
  readonly stopsBefore?: "tools";
  /** How the tools are called: by a ToolNode, by one that is given each call by itself, or with a part of the state. */
  readonly by?: "node" | "sends" | "part";
}

/** An agent of a StateGraph that is wired as it is said; whole if nothing is said. */
function wired(tools: readonly StructuredTool[], script: Script, wiring: Wiring = {}) {
  const { channel = true, next = true, window = 100, shows = false, isSubgraph, stopsBefore } = wiring;
  let asked = 0;
  const State = Annotation.Root({
    messages: Annotation<BaseMessage[]>({
      reducer: (before, more) => messagesStateReducer(before, more).slice(-window),
      default: () => [],
    }),
    ...((channel ? journal.channel : {}) as typeof journal.channel),
  });
  const asksFor = ({ messages }: typeof State.State) => (messages.at(-1) as AIMessage).tool_calls ?? [];
  const ways: Record<string, (state: typeof State.State) => typeof END | "tools" | Send[]> = {
    node: (state) => (asksFor(state).length > 0 ? "tools" : END),
    sends: (state) => {
      const sends = asksFor(state).map((each) => new Send("tools", { ...state, lg_tool_call: each }));
      return sends.length > 0 ? sends : END;
    },
    part: ({ messages }) =>
      asksFor({ messages } as never).length > 0 ? [new Send("tools", { messages: messages.slice(-1) })] : END,
  };
  const passed = (state: typeof State.State): object =>
    wiring.passes === "messages" ? { messages: state.messages.slice(-2) } : state;
  return new StateGraph(State)
    .addNode("agent", (state) => {
      asked += 1;
      const turn = state.messages.filter((each) => each.getType() === "ai").length;
      const message = script(turn, asked, state.messages);
      return { messages: [message], ...(next ? journal.next(passed(state), message) : {}) };
    })
    .addNode("tools", new ToolNode([...tools], { handleToolErrors: shows }))
    .addEdge(START, "agent")
    .addConditionalEdges("agent", ways[wiring.by ?? "node"]!, ["tools", END])
    .addEdge("tools", "agent")
    .compile({
      ...(isSubgraph === true ? {} : { checkpointer: saver }),
      ...(stopsBefore === undefined ? {} : { interruptBefore: [stopsBefore] }),
    });
}

/** A payer whose graph is wired as it is said. */
function payer(script: Script, wiring: Wiring = {}) {
  const { pay, paid } = payments();
  return { graph: wired(journal.tools([pay], { pay: "once" }), script, wiring), paid };
}

/** What a thread's journal has. */
async function entries(threadId = "ada") {
  const found = [];
  for await (const entry of journal.trail(threadId)) found.push(entry);
  return found;
}

describe("a StateGraph", () => {
  it("with all three parts pays each time that it is asked to", async () => {
    const { graph, paid } = payer(everyTurn);
    for (let turn = 0; turn < 3; turn += 1) await graph.invoke(hello, config);
    expect(paid).toEqual([5, 5, 5]);
  });

  it("whose node passes next() a part of the state pays each time, too", async () => {
    const { graph, paid } = payer(everyTurn, { window: 4, passes: "messages" });
    for (let turn = 0; turn < 3; turn += 1) await graph.invoke(hello, config);
    expect(paid).toEqual([5, 5, 5]);
  });

  it.each(["Annotation", "StateSchema"])(
    "of an %s, two nodes of which ask for equal calls in one step, makes two of them, in each turn",
    async (kind) => {
      const annotation = Annotation.Root({ ...MessagesAnnotation.spec, ...journal.channel });
      const schema = new StateSchema({ messages: MessagesValue, ...journal.channel });
      const State = kind === "Annotation" ? annotation : (schema as unknown as typeof annotation);
      const { pay, paid } = payments();
      const [wrapped] = journal.tools([pay], { pay: "once" });
      let fails = true;
      const asking = (state: object) => {
        const message = asks(pays(5));
        return { messages: [message], ...journal.next(state, message) };
      };
      const graph = new StateGraph(State)
        .addNode("one", asking)
        .addNode("other", asking)
        .addNode("tools", async ({ messages }, run) => {
          const calls = messages.slice(-2).flatMap((message) => (message as AIMessage).tool_calls ?? []);
          const done: BaseMessage[] = [];
          for (const each of calls)
            done.push((await wrapped!.invoke({ ...each, type: "tool_call" }, run)) as ToolMessage);
          if (fails) throw new Error("broke off");
          return { messages: done };
        })
        .addEdge(START, "one")
        .addEdge(START, "other")
        .addEdge(["one", "other"], "tools")
        .compile({ checkpointer: saver });
      await expect(graph.invoke(hello, config)).rejects.toThrow("broke off");
      fails = false;
      await graph.invoke(null, config);
      await graph.invoke(hello, config);
      expect(paid).toEqual([5, 5, 5, 5]);
    },
  );

  it("whose state has no channel is told to add it, before anything is done or claimed", async () => {
    for (const next of [true, false]) {
      const { graph, paid } = payer(everyTurn, { channel: false, next });
      const refused = await graph.invoke(hello, config).catch((error: unknown) => error);
      expect(refused).toMatchObject({
        code: "NOT_WIRED",
        data: { threadId: "ada", tool: "pay", part: "channel" },
      });
      const { message } = refused as Error;
      expect(message).toContain("Add ...journal.channel to the graph's state");
      expect(message).toContain("return ...journal.next(state, message) from the node that asks the model");
      expect(message).toContain("middleware: [journalMiddleware(journal)]");
      expect(paid).toEqual([]);
      expect(await entries()).toEqual([]);
    }
  });

  it("whose model's node forgets next() is told so, in the first turn and after one that didn't forget it", async () => {
    const { graph, paid } = payer(everyTurn, { next: false });
    const refused = await graph.invoke(hello, config).catch((error: unknown) => error);
    expect(refused).toMatchObject({
      code: "NOT_WIRED",
      data: { threadId: "ada", tool: "pay", part: "next" },
    });
    expect((refused as Error).message).toContain(
      "Return ...journal.next(state, message) along with the message",
    );
    expect((refused as Error).message).toContain("graph.updateState(config, {");
    expect(await entries()).toEqual([]);
    const other = { configurable: { thread_id: "bob" } };
    const [whole, forgets] = [payer(everyTurn), payer(everyTurn, { next: false })];
    await whole.graph.invoke(hello, other);
    await expect(forgets.graph.invoke(hello, other)).rejects.toMatchObject({ data: { part: "next" } });
    expect([paid, whole.paid, forgets.paid]).toEqual([[], [5], []]);
  });

  it("whose reads aren't wired may not read either: an older answer could be given for a newer one", async () => {
    let reads = 0;
    const search = tool(() => (reads += 1), { name: "search", schema: z.object({}) });
    const tools = journal.tools([search], { search: "none" });
    const graph = wired(tools, () => asks(call("search", {})), { channel: false });
    await expect(graph.invoke(hello, config)).rejects.toMatchObject({ code: "NOT_WIRED" });
    expect(reads).toBe(0);
  });

  it("that shows errors of tools to its model shows it this one", async () => {
    const { graph, paid } = payer(firstTurn, { channel: false, shows: true });
    const { messages } = await graph.invoke(hello, config);
    expect(receipts(messages)).toEqual([expect.stringContaining("Add ...journal.channel")]);
    expect(paid).toEqual([]);
  });

  it("that keeps two messages pays three of three", async () => {
    const { graph, paid } = payer(everyTurn, { window: 2 });
    for (let turn = 0; turn < 3; turn += 1) await graph.invoke(hello, config);
    expect(paid).toEqual([5, 5, 5]);
  });

  it("as a subgraph is wired by itself, and that the graph around it is wired doesn't help", async () => {
    for (const channel of [true, false]) {
      const { graph, paid } = payer(firstTurn, { channel, isSubgraph: true });
      const Around = Annotation.Root({ ...MessagesAnnotation.spec, ...(channel ? {} : journal.channel) });
      const around = new StateGraph(Around)
        .addNode("payer", graph)
        .addEdge(START, "payer")
        .compile({ checkpointer: saver });
      const run = around.invoke(hello, { configurable: { thread_id: `channel ${channel}` } });
      if (channel) expect(receipts((await run).messages)).toEqual(["receipt 5"]);
      else await expect(run).rejects.toMatchObject({ code: "NOT_WIRED", data: { part: "channel" } });
      expect(paid).toEqual(channel ? [5] : []);
    }
  });

  it("within a tool is wired by itself", async () => {
    for (const channel of [true, false]) {
      const { graph, paid } = payer(firstTurn, { channel, isSubgraph: true });
      const ask = tool(async () => (await graph.invoke(hello)).messages.at(-1)!.text, {
        name: "ask",
        schema: z.object({}),
      });
      const around = wired(journal.tools([ask], { ask: "none" }), (turn) =>
        turn === 0 ? asks(call("ask", {})) : says("all done"),
      );
      const run = around.invoke(hello, { configurable: { thread_id: `channel ${channel}` } });
      if (channel) expect(receipts((await run).messages)).toEqual(["done"]);
      else await expect(run).rejects.toMatchObject({ code: "NOT_WIRED", data: { tool: "pay" } });
      expect(paid).toEqual(channel ? [5] : []);
    }
  });

  it("may give each call of a message to the tool node by itself, equal ones too, and a part of its state", async () => {
    for (const by of ["sends", "part"] as const) {
      const two: Script = (turn) => (turn === 0 ? asks(pays(5), pays(6), pays(5)) : says("done"));
      const { graph, paid } = payer(two, { by });
      const at = { configurable: { thread_id: by } };
      const { messages } = await graph.invoke(hello, at);
      expect(paid.toSorted()).toEqual([5, 5, 6]);
      expect(receipts(messages)).toEqual(["receipt 5", "receipt 6", "receipt 5"]);
      const without = payer(two, { by, channel: false });
      const run = without.graph.invoke(hello, { configurable: { thread_id: `${by} without` } });
      await expect(run).rejects.toThrow();
      expect(without.paid).toEqual([]);
    }
  });
});

it.each(["v1", "v2"] as const)(
  "an agent of createReactAgent %s is wired by its state and a hook",
  async (version) => {
    const { pay, paid } = payments();
    const agent = () =>
      createReactAgent({
        llm: new ScriptedModel(everyTurn),
        tools: journal.tools([pay], { pay: "once" }),
        stateSchema: Annotation.Root({ ...MessagesAnnotation.spec, ...journal.channel }),
        postModelHook: (state) => journal.next(state, state.messages.at(-1)),
        checkpointSaver: saver,
        version,
      });
    const whole = agent();
    for (let turn = 0; turn < 2; turn += 1) await whole.invoke(hello, config);
    let start;
    for await (const state of whole.getStateHistory(config))
      if (state.next.includes("agent")) start = state.config;
    await agent().invoke(null, start);
    expect(paid).toEqual([5, 5]);
  },
);

describe("a person", () => {
  /** A payer that was stopped before its tools, and the message that asks for 5. */
  async function stopped(wiring: Wiring = {}) {
    const made = payer(firstTurn, { ...wiring, stopsBefore: "tools" });
    const { messages } = await made.graph.invoke(hello, config);
    return { ...made, asked: messages.at(-1) as AIMessage };
  }

  it("may edit calls under their ids, and add one to the message", async () => {
    const { graph, paid, asked } = await stopped();
    const [first] = asked.tool_calls!;
    const tool_calls = [{ ...first!, args: { amount: 7 } }, asks(pays(8)).tool_calls![0]!];
    await graph.updateState(config, {
      messages: [new AIMessage({ id: asked.id!, content: "", tool_calls })],
    });
    const { messages } = await graph.invoke(null, config);
    expect(receipts(messages)).toEqual(["receipt 7", "receipt 8"]);
    expect(paid.toSorted()).toEqual([7, 8]);
  });

  it("puts a message of a new call into the state with next(); without it the call is refused", async () => {
    const { graph, paid, asked } = await stopped();
    const own = asks(pays(5));
    own.id = asked.id!;
    const { configurable: forgot } = await graph.updateState(config, { messages: [own] }, "agent");
    await expect(graph.invoke(null, { configurable: forgot! })).rejects.toMatchObject({
      code: "NOT_WIRED",
      data: { part: "next" },
    });
    expect(paid).toEqual([]);
    const { values } = await graph.getState(config);
    await graph.updateState(config, { messages: [own], ...journal.next(values, own) }, "agent");
    expect(receipts((await graph.invoke(null, config)).messages)).toEqual(["receipt 5"]);
    expect(paid).toEqual([5]);
  });

  it("tells the state of a message that is in it without a chain, and goes on", async () => {
    const { graph, paid, asked } = await stopped({ next: false });
    await expect(graph.invoke(null, config)).rejects.toMatchObject({ data: { part: "next" } });
    const whole = payer(firstTurn);
    const { values } = await whole.graph.getState(config);
    // At the place that the model's node would have given it.
    const { messages } = values as { messages: BaseMessage[] };
    expect(journal.next(values, asked)).toEqual(journal.next({ messages: messages.slice(0, -1) }, asked));
    await whole.graph.updateState(config, journal.next(values, messages.at(-1)), "agent");
    expect(receipts((await whole.graph.invoke(null, config)).messages)).toEqual(["receipt 5"]);
    expect([paid, whole.paid]).toEqual([[], [5]]);
  });
});

it("in a thread with calls of before its graph had a chain a new turn pays, and what was paid isn't paid again", async () => {
  const { graph, paid } = payer(everyTurn);
  const { messages } = await graph.invoke(hello, config);
  // As an older version left threads: with calls at these places, and no chain in the state.
  const old = { configurable: { thread_id: "old", journal: "ada" } };
  const { configurable } = await graph.updateState(old, { messages }, "agent");
  const { values } = await graph.getState(old);
  expect(Object.keys(values as object)).toEqual(["messages"]);
  await graph.invoke(hello, old);
  expect(paid).toEqual([5, 5]);
  const back = { configurable: { ...configurable!, journal: "ada" } };
  await graph.invoke(hello, back);
  await graph.invoke(hello, old);
  expect(paid).toEqual([5, 5, 5]);
});

describe("code that calls tools by itself needs no wiring", () => {
  const asked = asks(pays(5));
  const [toolCall] = asked.tool_calls!;

  it("in a node that asks a model and does what it says", async () => {
    const { pay, paid } = payments();
    const [wrapped] = journal.tools([pay], { pay: "once" });
    const node = new ToolNode([wrapped!], { handleToolErrors: false });
    let broken = true;
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("agent", async ({ messages }, own) => {
        for (let time = 0; time < 2; time += 1) {
          const message = asks(pays(5));
          await node.invoke({ messages: [...messages, message] }, own);
          await wrapped!.invoke({ ...message.tool_calls![0]!, type: "tool_call" }, own);
        }
        if (broken) throw new Error("later");
        return { messages: [says("done")] };
      })
      .addEdge(START, "agent")
      .compile({ checkpointer: saver });
    await expect(graph.invoke(hello, config)).rejects.toThrow("later");
    broken = false;
    await graph.invoke(null, config);
    expect(paid).toEqual([5, 5, 5, 5]);
  });

  it("in a tool that isn't the journal's, and calls one that is", async () => {
    const { pay, paid } = payments();
    const [wrapped] = journal.tools([pay], { pay: "once" });
    const twice = tool(
      async (_args, own) => [
        await wrapped!.invoke({ amount: 5 }, own),
        await wrapped!.invoke({ amount: 5 }, own),
      ],
      { name: "twice", schema: z.object({}) },
    );
    for (const channel of [true, false]) {
      const script: Script = (turn) => (turn === 0 ? asks(call("twice", {})) : says("done"));
      const at = { configurable: { thread_id: `channel ${channel}` } };
      await wired([twice], script, { channel }).invoke(hello, at);
    }
    expect(paid).toEqual([5, 5, 5, 5]);
  });

  it("in the functional API, where there is no state", async () => {
    const { pay, paid } = payments();
    const [wrapped] = journal.tools([pay], { pay: "once" });
    const node = new ToolNode([wrapped!], { handleToolErrors: false });
    const callOne = task("one", async (one: typeof toolCall) => (await wrapped!.invoke(one!)) as ToolMessage);
    const callAll = task(
      "all",
      async (message: AIMessage) => (await node.invoke([message])) as ToolMessage[],
    );
    let broken = true;
    const flow = entrypoint(
      { name: "flow", checkpointer: saver },
      async (messages: BaseMessage[], own): Promise<string[]> => {
        const results = [
          await callOne({ ...toolCall!, type: "tool_call" }),
          ...(await callAll(asked)),
          ...((await node.invoke(messages, own)) as ToolMessage[]),
          ...((await node.invoke([asks(pays(5))], own)) as ToolMessage[]),
        ];
        if (broken) throw new Error("later");
        return results.map(({ content }) => String(content));
      },
    );
    await expect(flow.invoke([asked], config)).rejects.toThrow("later");
    broken = false;
    expect(await flow.invoke(null as never, config)).toEqual(Array.from({ length: 4 }, () => "receipt 5"));
    expect(paid).toEqual([5, 5, 5, 5]);
    expect(await flow.invoke([asked], config)).toHaveLength(4);
    expect(paid).toHaveLength(8);
  });

  it("in a task that a node calls", async () => {
    const { pay, paid } = payments();
    const node = new ToolNode(journal.tools([pay], { pay: "once" }), { handleToolErrors: false });
    const callAll = task(
      "all",
      async (message: AIMessage) => (await node.invoke([message])) as ToolMessage[],
    );
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("agent", async () => ({ messages: await callAll(asks(pays(5))) }))
      .addEdge(START, "agent")
      .compile({ checkpointer: saver });
    for (let turn = 0; turn < 2; turn += 1) await graph.invoke(hello, config);
    expect(paid).toEqual([5, 5]);
  });

  it("outside any graph; only a tool node that is given messages needs the chain beside them", async () => {
    const { pay, paid } = payments();
    const [wrapped] = journal.tools([pay], { pay: "once" });
    for (const input of [{ amount: 5 }, { ...toolCall!, type: "tool_call" as const }])
      await wrapped!.invoke(input as never, config);
    expect(paid).toEqual([5]);
    const node = new ToolNode([wrapped!], { handleToolErrors: false });
    await expect(node.invoke({ messages: [asked] }, config)).rejects.toMatchObject({
      code: "NOT_WIRED",
      message: expect.stringContaining("The state that the tool node is called with has no chain of calls"),
      data: { threadId: "ada", tool: "pay", part: "next" },
    });
    let state: Record<string, unknown> & { messages: BaseMessage[] } = hello;
    for (let turn = 0; turn < 2; turn += 1) {
      const message = asks(pays(5));
      state = { messages: [...state.messages, message], ...journal.next(state, message) };
      for (let time = 0; time < 2; time += 1) await node.invoke(state, config);
    }
    expect(paid).toEqual([5, 5, 5]);
  });
});

it("a run that was refused goes on from the model's step, in a graph that is wired by then", async () => {
  const { graph } = payer(firstTurn, { channel: false });
  await expect(graph.invoke(hello, config)).rejects.toMatchObject({ code: "NOT_WIRED" });
  // The model is asked again.
  const whole = payer(firstTurn);
  const states = [];
  for await (const state of whole.graph.getStateHistory(config)) states.push(state);
  const start = states.find(({ next }) => next.includes("agent"))!;
  const { messages } = await whole.graph.invoke(null, start.config);
  expect(receipts(messages)).toEqual(["receipt 5"]);
});
