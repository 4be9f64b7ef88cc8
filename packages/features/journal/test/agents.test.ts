// long file: calls of createAgent's agents, in all ways in which they are repeated
import { HumanMessage, type AIMessage, type BaseMessage } from "@langchain/core/messages";
import { tool, type StructuredTool } from "@langchain/core/tools";
import { Command, interrupt, isGraphInterrupt } from "@langchain/langgraph";
import { MemorySaver } from "@stratigraph/core";
import { createJournal } from "@stratigraph/journal";
import { journalMiddleware } from "@stratigraph/journal/langchain";
import {
  createAgent,
  createMiddleware,
  humanInTheLoopMiddleware,
  toolRetryMiddleware,
  type AgentMiddleware,
} from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  asks,
  call,
  payments,
  pays,
  questions,
  receipts,
  reply,
  says,
  type Script,
  onceEach,
} from "./support/effects.ts";
import { ScriptedModel } from "./support/scriptedModel.ts";

const hello = { messages: [new HumanMessage("pay")] };
const config = { configurable: { thread_id: "ada" } };

interface Made {
  readonly script: Script;
  readonly version?: "v1" | "v2";
  readonly behave?: Parameters<typeof payments>[0];
  readonly others?: readonly StructuredTool[];
  readonly middleware?: AgentMiddleware[];
  /** Before the journal's. */
  readonly before?: AgentMiddleware[];
  readonly models?: boolean;
  /** Has it the journal's middleware? Default: yes. */
  readonly wired?: boolean;
}

/** The agent, without the many parameters of its type, which depend on the tools. */
interface Agent {
  invoke(input: unknown, config: unknown): Promise<{ messages: BaseMessage[] }>;
}

/** An agent of createAgent that pays through a journal. */
function payer(made: Made) {
  const { script, version = "v2", behave, others = [], before = [], middleware = [] } = made;
  const { models, wired = true } = made;
  const saver = new MemorySaver();
  const journal = createJournal(saver);
  const { pay, paid } = payments(behave);
  const model = new ScriptedModel(script);
  const agent = createAgent({
    model,
    tools: journal.tools([pay, ...others], onceEach([pay, ...others])),
    middleware: [...before, ...(wired ? [journalMiddleware(journal, { models })] : []), ...middleware],
    checkpointer: saver,
    version,
  });
  const start = async () => {
    let first;
    for await (const state of agent.graph.getStateHistory(config))
      if (state.next.includes("model_request")) first = state;
    return first!.config;
  };
  return { agent: agent as Agent, graph: agent.graph, paid, model, start, saver, journal };
}

describe.each(["v1", "v2"] as const)("calls of an agent of createAgent %s", (version) => {
  it("happen once, whatever is repeated, and its state holds the chain without showing it", async () => {
    const { agent, paid, start, model } = payer({
      version,
      script: (turn) => (turn === 0 ? asks(pays(5), pays(6)) : says("done")),
    });
    const first = await agent.invoke(hello, config);
    expect(Object.keys(first)).toEqual(["messages"]);
    const again = await agent.invoke(null, await start());
    expect(paid).toEqual([5, 6]);
    expect(model.asked).toBe(4);
    for (const { messages } of [first, again]) expect(receipts(messages)).toEqual(["receipt 5", "receipt 6"]);
  });

  it("and what its model answered is recorded where that is asked for", async () => {
    const { agent, paid, start, model } = payer({
      version,
      models: true,
      script: (turn) => (turn === 0 ? asks(pays(5), pays(6)) : says("done")),
    });
    await agent.invoke(hello, config);
    expect(model.asked).toBe(2);
    const again = await agent.invoke(null, await start());
    expect([model.asked, paid]).toEqual([2, [5, 6]]);
    expect(again.messages.map(({ text }) => text)).toEqual(["pay", "", "receipt 5", "receipt 6", "done"]);
  });

  it("happen again in a later turn, also after the messages were trimmed", async () => {
    const trimming = createMiddleware({
      name: "Trimming",
      wrapModelCall: (request, handler) => handler({ ...request, messages: request.messages.slice(-1) }),
    });
    const { agent, paid } = payer({
      version,
      script: (_turn, asked) => (asked % 2 === 1 ? asks(pays(5)) : says("done")),
      middleware: [trimming],
    });
    for (let turn = 0; turn < 3; turn += 1) await agent.invoke(hello, config);
    expect(paid).toEqual([5, 5, 5]);
  });

  it("happen once beside one that stops the graph, and beside one that fails", async () => {
    let broken = true;
    const confirm = tool(() => `confirmed by ${String(interrupt("really?"))}`, {
      name: "confirm",
      description: "asks",
      schema: z.object({}),
    });
    const flaky = tool(
      () => {
        if (broken) throw new Error("not now");
        return "now";
      },
      { name: "flaky", description: "fails", schema: z.object({}) },
    );
    const failing = createMiddleware({
      name: "Failing",
      wrapToolCall: (request, handler) => handler(request),
    });
    const { agent, paid } = payer({
      version,
      others: [confirm, flaky],
      middleware: [failing],
      script: (turn) =>
        turn === 0
          ? asks(pays(5), call("confirm", {}))
          : turn === 1
            ? asks(pays(6), call("flaky", {}))
            : says("done"),
    });
    const stopped = await agent.invoke(hello, config);
    expect(questions(stopped)).toMatchObject([{ value: "really?" }]);
    await expect(agent.invoke(new Command({ resume: "Ada" }), config)).rejects.toThrow("not now");
    broken = false;
    // The flaky call's outcome isn't known, so it is asked about; the payments aren't made again.
    const asked = await agent.invoke(null, config);
    expect(questions(asked)).toMatchObject([{ value: { kind: "ambiguous", tool: "flaky" } }]);
    const done = await agent.invoke(reply(asked, { happened: false }), config);
    expect(paid).toEqual([5, 6]);
    expect(receipts(done.messages)).toEqual(["receipt 5", "confirmed by Ada", "receipt 6", "now"]);
  });

  it("two whose outcome is unknown are both asked about, and each gets its own answer", async () => {
    const { agent, paid } = payer({
      version,
      script: (turn) => (turn < 1 ? asks(pays(5), pays(6)) : says("done")),
      behave: (_amount, times) => {
        if (times === 1) throw new Error("the line was cut");
      },
      middleware: [
        createMiddleware({ name: "Passing", wrapToolCall: (request, handler) => handler(request) }) as never,
      ],
    });
    await expect(agent.invoke(hello, config)).rejects.toThrow(
      // The first one's: calls that end at the same time end their tasks one after another.
      "the line was cut",
    );
    let result = await agent.invoke(null, config);
    expect(questions(result).length).toBe(version === "v1" ? 1 : 2);
    for (let times = 0; times < 3 && questions(result).length > 0; times += 1) {
      const resume = Object.fromEntries(
        questions(result).map(({ id, value }) => [
          id,
          (value.args as { amount: number }).amount === 5
            ? { id: value.id, happened: true, result: "by phone" }
            : { id: value.id, happened: false },
        ]),
      );
      result = await agent.invoke(new Command({ resume }), config);
    }
    expect(paid.toSorted()).toEqual([5, 6, 6]);
    expect(receipts(result.messages).toSorted()).toEqual(["by phone", "receipt 6"]);
  });

  it("aren't repeated by toolRetryMiddleware, which swallows the question", async () => {
    const { agent, paid } = payer({
      version,
      script: (turn) => (turn < 3 ? asks(pays(5)) : says("done")),
      behave: () => {
        throw new Error("the line was cut");
      },
      middleware: [toolRetryMiddleware({ maxRetries: 2, initialDelayMs: 1, jitter: false })],
    });
    const done = await agent.invoke(hello, config);
    expect(paid).toEqual([5]);
    expect(receipts(done.messages).length).toBe(3);
  });

  it("nor by one that lets questions through: then a person is asked", async () => {
    const { agent, paid } = payer({
      version,
      script: (turn) => (turn < 1 ? asks(pays(5)) : says("done")),
      behave: () => {
        throw new Error("the line was cut");
      },
      middleware: [
        toolRetryMiddleware({
          maxRetries: 2,
          initialDelayMs: 1,
          jitter: false,
          retryOn: (error) => !isGraphInterrupt(error),
          onFailure: "error",
        }),
      ],
    });
    const asked = await agent.invoke(hello, config);
    expect(questions(asked)).toMatchObject([{ value: { kind: "ambiguous", tool: "pay" } }]);
    const done = await agent.invoke(reply(asked, { happened: true, result: "by phone" }), config);
    expect([paid, receipts(done.messages)]).toEqual([[5], ["by phone"]]);
  });

  it("that happened and whose result isn't kept are asked about: a model that tries again pays nothing", async () => {
    const { agent, paid, start, journal } = payer({
      version,
      script: (turn) => (turn === 0 ? asks(pays(5)) : says("done")),
    });
    await agent.invoke(hello, config);
    await journal.erase("ada", { before: new Date(Date.now() + 60_000) });
    const asked = await agent.invoke(null, await start());
    expect(questions(asked)).toMatchObject([{ value: { kind: "ambiguous", happened: true } }]);
    const done = await agent.invoke(reply(asked, { happened: true, result: "by phone" }), config);
    expect([paid, receipts(done.messages)]).toEqual([[5], ["by phone"]]);
  });

  it("whose arguments aren't JSON are refused to the model, which goes on", async () => {
    const dating = createMiddleware({
      name: "Dating",
      wrapToolCall: (request, handler) => {
        const { toolCall } = request;
        const args = toolCall.args["amount"] === 6 ? { amount: 6, at: new Date(0) } : toolCall.args;
        return handler({ ...request, toolCall: { ...toolCall, args } });
      },
    });
    const { agent, paid } = payer({
      version,
      script: (turn) =>
        turn === 0 ? asks(call("pay", { amount: 5, note: "\ud83c" }), pays(6), pays(7)) : says("done"),
      middleware: [dating],
    });
    const { messages } = await agent.invoke(hello, config);
    expect(receipts(messages)).toEqual([
      expect.stringContaining("found a lone surrogate at $.note"),
      expect.stringContaining("found an object of class Date at $.at"),
      "receipt 7",
    ]);
    expect(paid).toEqual([7]);
  });

  it("are found if the journal's middleware comes first, whatever others make of the model's message", async () => {
    const renaming = createMiddleware({
      name: "Renaming",
      wrapModelCall: async (request, handler) => {
        const message = (await handler(request)) as AIMessage;
        return asks(...(message.tool_calls ?? []));
      },
    });
    const script: Script = (turn) => (turn === 0 ? asks(pays(5)) : says("done"));
    const behind = payer({ version, script, middleware: [renaming] });
    expect(receipts((await behind.agent.invoke(hello, config)).messages)).toEqual(["receipt 5"]);
    const before = payer({ version, script, before: [renaming] });
    const told = expect.stringContaining("isn't in its chain");
    expect(receipts((await before.agent.invoke(hello, config)).messages)).toEqual([told]);
    expect([behind.paid, before.paid]).toEqual([[5], []]);
  });

  it("are refused without the journal's middleware, whether errors are shown to the model or end the run", async () => {
    const script: Script = (turn) => (turn === 0 ? asks(pays(5), pays(6)) : says("done"));
    const passing = createMiddleware({
      name: "Passing",
      wrapToolCall: (request, handler) => handler(request),
    });
    const shown = payer({ version, script, wired: false });
    const { messages } = await shown.agent.invoke(hello, config);
    const told = expect.stringContaining("middleware: [journalMiddleware(journal)]");
    expect(receipts(messages)).toEqual([told, told]);
    const one: Script = (turn) => (turn === 0 ? asks(pays(5)) : says("done"));
    const ends = payer({ version, script: one, wired: false, middleware: [passing] });
    await expect(ends.agent.invoke(hello, config)).rejects.toMatchObject({
      code: "NOT_WIRED",
      data: { threadId: "ada", tool: "pay", part: "channel" },
    });
    expect([shown.paid, ends.paid]).toEqual([[], []]);
  });

  it("are made as a person edited them, or allowed them as they are", async () => {
    // langchain's types of its options come out as `never` here.
    const asking = humanInTheLoopMiddleware({ interruptOn: { pay: true } } as never);
    const { agent, paid } = payer({
      version,
      script: (turn) => (turn === 0 ? asks(pays(5), pays(6)) : says("done")),
      middleware: [asking as never],
    });
    await agent.invoke(hello, config);
    const edit = { type: "edit", editedAction: { name: "pay", args: { amount: 7 } } };
    const resume = { decisions: [edit, { type: "approve" }] };
    const { messages } = await agent.invoke(new Command({ resume }), config);
    expect(receipts(messages)).toEqual(["receipt 7", "receipt 6"]);
    expect(paid.toSorted()).toEqual([6, 7]);
  });

  it("are made where a person puts their message into the state with next(), and refused without it", async () => {
    const { agent, graph, paid, journal } = payer({ version, script: () => says("done") });
    await agent.invoke(hello, config);
    const { config: before, values } = await graph.getState(config);
    const run = async (more: object) => {
      const update = { messages: [message], ...more } as never;
      return await agent.invoke(null, await graph.updateState(before, update, "model_request"));
    };
    const message = asks(pays(5));
    const told = expect.stringContaining("graph.updateState(config, {");
    expect(receipts((await run({})).messages)).toEqual([told]);
    expect(receipts((await run(journal.next(values, message))).messages)).toEqual(["receipt 5"]);
    expect(paid).toEqual([5]);
  });
});
