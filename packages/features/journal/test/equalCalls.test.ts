import { HumanMessage, ToolMessage, type AIMessage, type BaseMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Annotation, Command, END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { MemorySaver } from "@stratigraph/core";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { inRounds } from "../../../../test/rounds.ts";
import { createJournal, currentCall, type Journal, type ToolOptions } from "../src/index.ts";
import { agentOf, asks, call, questions, receipts, reply, says, type Script } from "./support/effects.ts";

// A message asks for equal calls: each is meant. When the model asks for them again, each is a second try of another one.

const on = { configurable: { thread_id: "ada" } };
const begins = () => ({ messages: [new HumanMessage("pay")] });
const pays = (times: number, name = "pay") =>
  asks(...Array.from({ length: times }, () => call(name, { euros: 5 })));

/** A model that asks for so many payments in one message after another. */
const scriptOf =
  (counts: readonly number[], name = "pay"): Script =>
  (turn) =>
    turn < counts.length ? pays(counts[turn]!, name) : says("done");

/** A bank that charges once for a key, and a line that is cut after a payment. */
function newBank() {
  const saver = new MemorySaver();
  return { saver, paid: [] as string[], called: 0 };
}

/** The tools of an agent that pays. @param cuts in which calls the line is cut */
function paying(
  bank: ReturnType<typeof newBank>,
  options: ToolOptions,
  cuts: readonly number[],
  name = "pay",
) {
  const journal = createJournal(bank.saver);
  const pay = tool(
    () => {
      const n = (bank.called += 1);
      const { idempotencyKey: key } = currentCall()!;
      if (!bank.paid.includes(key)) bank.paid.push(key);
      if (cuts.includes(n)) throw new Error("the line was cut");
      return `receipt ${bank.paid.indexOf(key) + 1}`;
    },
    { name, description: "pays", schema: z.object({ euros: z.number() }) },
  );
  return { journal, tools: journal.tools([pay], { [name]: options }) };
}

type Agent = ReturnType<typeof agentOf>["graph"];

/** The agent's tools one after another, by a node that goes on after an error. */
function oneByOne(
  journal: Journal,
  tools: ReturnType<Journal["tools"]>,
  script: Script,
  checkpointer?: MemorySaver,
) {
  const State = Annotation.Root({ ...MessagesAnnotation.spec, ...journal.channel });
  const graph = new StateGraph(State)
    .addNode("agent", (state) => {
      const turn = state.messages.filter((message) => message.getType() === "ai").length;
      const message = script(turn, 0, state.messages);
      return { messages: [message], ...journal.next(state, message) };
    })
    .addNode("tools", async ({ messages }, config) => {
      const told: BaseMessage[] = [];
      for (const asked of (messages.at(-1) as AIMessage).tool_calls!) {
        const invoked = tools[0]!.invoke({ ...asked, type: "tool_call" } as never, config as never);
        const message = await invoked.catch((error: Error) => {
          if (error.message !== "the line was cut") throw error;
          return new ToolMessage({ content: "Error", tool_call_id: asked.id!, status: "error" });
        });
        const isTold = ToolMessage.isInstance(message);
        told.push(isTold ? message : new ToolMessage({ content: String(message), tool_call_id: asked.id! }));
      }
      return { messages: told };
    })
    .addEdge(START, "agent")
    .addConditionalEdges("agent", ({ messages }) =>
      ((messages.at(-1) as AIMessage).tool_calls?.length ?? 0) > 0 ? "tools" : END,
    )
    .addEdge("tools", "agent")
    .compile(checkpointer === undefined ? {} : { checkpointer });
  return graph as unknown as Agent;
}

/** An agent, as a graph or within one, whose tools run at once or one by one. */
function agentAs(
  [isWithin, isOneByOne]: readonly [boolean, boolean],
  bank: ReturnType<typeof newBank>,
  { journal, tools }: ReturnType<typeof paying>,
  script: Script,
): Agent {
  const saver = isWithin ? undefined : bank.saver;
  const agent = isOneByOne
    ? oneByOne(journal, tools, script, saver)
    : agentOf(journal, tools, script, saver).graph;
  if (!isWithin) return agent;
  const around = new StateGraph(MessagesAnnotation).addNode("agent", agent as never).addEdge(START, "agent");
  return around.compile({ checkpointer: bank.saver }) as unknown as Agent;
}

async function unresolved(journal: Journal): Promise<number> {
  let count = 0;
  for await (const _call of journal.unresolved("ada")) count += 1;
  return count;
}

/** Runs an agent, and answers all that it asks. */
async function answered(graph: Agent, happened: boolean) {
  let state = await graph.invoke(begins(), on);
  const asked = new Set<string>();
  for (let [question] = questions(state); question !== undefined; [question] = questions(state)) {
    const { id, call: about } = question.value;
    expect(asked).not.toContain(about);
    asked.add(about);
    const result = { result: `looked up ${asked.size}` };
    state = await graph.invoke(new Command({ resume: { id, happened, ...(happened ? result : {}) } }), on);
  }
  const told = receipts(state.messages).filter((text) => !text.startsWith("Error"));
  return { asked: asked.size, told };
}

describe.each([
  ["an agent", [false, false]],
  ["an agent in a graph", [true, false]],
  ["an agent that calls one by one", [false, true]],
  ["an agent in a graph that calls one by one", [true, true]],
] as const)("%s", (_how, how) => {
  const counts = [
    [1, 2],
    [2, 3],
    [3, 2],
  ] as const;
  describe.each(
    inRounds<readonly (readonly [number, number])[]>({
      few: counts,
      all: [...counts, [1, 1], [2, 2], [2, 1]],
    }),
  )("whose %i payments were cut off asks for %i", (open, again) => {
    const cuts = Array.from({ length: open }, (_, n) => n + 1);
    const both = Math.min(open, again);

    it("once: each that happened is the result of one of them, and the others are paid", async () => {
      const bank = newBank();
      const parts = paying(bank, "once", cuts);
      const graph = agentAs(how, bank, parts, scriptOf([open, again]));
      const { asked, told } = await answered(graph, true);
      expect(asked).toBe(both);
      expect(new Set(told).size).toBe(again);
      expect(told.filter((text) => text.startsWith("looked up"))).toHaveLength(both);
      expect(bank.paid).toHaveLength(open + again - both);
      expect(await unresolved(parts.journal)).toBe(open - both);
      expect(await parts.journal.verify("ada")).toMatchObject({ ok: true });
    });

    it("once: those that didn't happen are paid", async () => {
      const bank = newBank();
      const parts = paying(bank, "once", cuts);
      const { asked, told } = await answered(agentAs(how, bank, parts, scriptOf([open, again])), false);
      // None runs while nobody knows of one of the others.
      expect([asked, new Set(told).size, bank.called]).toEqual([open, again, open + again]);
    });

    it("idempotent: each is repeated with the key of one of them, and the others are paid", async () => {
      const bank = newBank();
      const parts = paying(bank, "idempotent", cuts);
      const { told } = await answered(agentAs(how, bank, parts, scriptOf([open, again])), true);
      expect([new Set(told).size, bank.paid.length]).toEqual([again, Math.max(open, again)]);
      expect(await unresolved(parts.journal)).toBe(open - both);
    });
  });

  it("whose payment is cut off a second time: each is a try of its own", async () => {
    const bank = newBank();
    const parts = paying(bank, "once", [1, 2, 3, 4]);
    const graph = agentAs(how, bank, parts, scriptOf([2, 2, 2]));
    const { asked, told } = await answered(graph, false);
    expect([asked, new Set(told).size, bank.called]).toEqual([4, told.length, 4 + told.length]);
  });
});

describe.each([
  ["another name", "pay_invoice", undefined],
  ["a version", "pay", "2"],
])("two equal payments before a deployment gave the tool %s", (_what, name, version) => {
  const dies = (): never => {
    throw new Error("killed");
  };
  const renamed = (bank: ReturnType<typeof newBank>, cuts: readonly number[]) => {
    const { journal, tools } = paying(bank, { effects: "once", formerly: "pay", version }, cuts, name);
    // It asks for both again, whose tool isn't there any more.
    const script: Script = (_turn, _asked, messages) =>
      receipts(messages).some((text) => /^(receipt|looked)/.test(text)) ? says("done") : pays(2, name);
    return { journal, ...agentOf(journal, tools, script, bank.saver) };
  };
  /** @param cuts in which calls the line is cut */
  const before = async (cuts: readonly number[]) => {
    const bank = newBank();
    const { journal, tools } = paying(bank, "once", cuts);
    const { graph } = agentOf(journal, tools, scriptOf([2]), bank.saver, { afterTools: dies });
    await expect(graph.invoke(begins(), on)).rejects.toThrow("killed");
    return bank;
  };

  it("that happened: each has its receipt", async () => {
    const bank = await before([]);
    const { graph, journal } = renamed(bank, []);
    const { messages } = await graph.invoke(null, on);
    expect(receipts(messages).slice(-2).toSorted()).toEqual(["receipt 1", "receipt 2"]);
    // The next two are new ones.
    const more = await graph.invoke(begins(), on);
    expect([bank.paid.length, more.messages.length > messages.length]).toEqual([2, true]);
    expect(await journal.verify("ada")).toMatchObject({ ok: true });
  });

  it("of which one happened: a person is asked for the other one", async () => {
    const bank = await before([2]);
    const { graph } = renamed(bank, []);
    const state = await graph.invoke(null, on);
    const { messages } = await graph.invoke(reply(state, { happened: true, result: "looked up" }), on);
    expect(receipts(messages).slice(-2).toSorted()).toEqual(["looked up", "receipt 1"]);
    expect(bank.paid).toHaveLength(2);
  });
});
