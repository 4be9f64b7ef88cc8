import { HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Annotation, Command, interrupt, MemorySaver, START, StateGraph } from "@langchain/langgraph";
import { MemorySaver as Saver } from "@stratigraph/core";
import { AmbiguousOutcomeError, createJournal } from "@stratigraph/journal";
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
  unluckyPayer,
  type Script,
} from "./support/effects.ts";

const hello = { messages: [new HumanMessage("pay")] };
const config = { configurable: { thread_id: "ada" } };

const twice: Script = (turn) => (turn < 2 ? asks(pays(5)) : says("done"));

describe("what makes names necessary: what LangGraph does with an answer once its node asks again", () => {
  const State = Annotation.Root({ out: Annotation<string> });
  const asked = async (byId: boolean) => {
    const graph = new StateGraph(State)
      .addNode("ask", () => ({ out: `${interrupt("one?")} ${interrupt("two?")}` }))
      .addEdge(START, "ask")
      .compile({ checkpointer: new MemorySaver() });
    const [one] = questions(await graph.invoke({ out: "" }, config));
    const resume = byId ? { [one!.id]: "yes" } : "yes";
    const answer = (on = config) => graph.invoke(new Command({ resume }), on);
    const [two] = questions(await answer());
    return { graph, answer, hasOwnIds: one!.id !== two!.id };
  };

  it("one that names no interrupt is given to the next question, too", async () => {
    expect((await (await asked(false)).graph.invoke(null, config)).out).toBe("yes yes");
    expect((await (await asked(false)).answer()).out).toBe("yes yes");
  });

  it("one by the interrupt's id isn't, unless it comes twice", async () => {
    expect((await (await asked(true)).graph.invoke(null, config)).out).toBe("");
    expect((await (await asked(true)).answer()).out).toBe("yes yes");
  });

  it("one that comes twice is refused with strict resume from LangGraph 1.7 on, where each question has an id of its own", async () => {
    const { answer, hasOwnIds } = await asked(true);
    const strict = { configurable: { ...config.configurable, __pregel_strict_resume: true } };
    const again = answer(strict);
    if (hasOwnIds)
      await expect(again).rejects.toMatchObject({ name: "UnknownInterruptError", reason: "not_pending" });
    else expect((await again).out).toBe("yes yes");
  });
});

describe("a call whose outcome is unknown", () => {
  it("is asked about when the model tries it again, and runs if it didn't happen", async () => {
    const { graph, paid } = unluckyPayer(twice);
    const stopped = await graph.invoke(hello, config);
    const done = await graph.invoke(reply(stopped, { happened: false }), config);
    expect(paid).toEqual([5, 5]);
    expect(receipts(done.messages).at(-1)).toBe("receipt 5");
  });

  it("doesn't hinder a call with other arguments", async () => {
    const { graph, paid } = unluckyPayer((turn) =>
      turn === 0 ? asks(pays(5)) : turn === 1 ? asks(pays(6)) : says("done"),
    );
    const done = await graph.invoke(hello, config);
    expect(questions(done)).toEqual([]);
    expect(paid).toEqual([5, 6]);
  });

  it("stays open for answers that don't name the question, name another one, or don't fit", async () => {
    const { graph, paid } = unluckyPayer(twice);
    let stopped = await graph.invoke(hello, config);
    const { id } = questions(stopped)[0]!.value;
    const { response_schema: schema } = questions(stopped)[0] as { response_schema?: object };
    // Since LangGraph 1.5.
    if (schema !== undefined)
      expect(schema).toMatchObject({ properties: { id: { const: id } }, required: ["id", "happened"] });
    for (const [answer, refused] of [
      [
        { happened: false },
        expect.stringContaining(`An answer has to name the question that it is for: { id: "${id}"`),
      ],
      ["yes", undefined],
      [{ id: `${id}0`, happened: false }, undefined],
      [{ id, allow: true }, expect.stringContaining("has to be")],
      [{ id, happened: "no" }, expect.stringContaining("has to be")],
    ] as const) {
      stopped = await graph.invoke(new Command({ resume: answer }), config);
      const value = expect.objectContaining({ id, kind: "ambiguous" });
      expect(questions(stopped)).toMatchObject([{ value }]);
      expect((questions(stopped)[0]!.value as { refused?: string }).refused).toEqual(refused);
    }
    expect(paid).toEqual([5]);
    await graph.invoke(new Command({ resume: { id, happened: false } }), config);
    expect(paid).toEqual([5, 5]);
  });

  it("isn't taken for answered when the run is continued without an answer", async () => {
    const { graph, paid } = unluckyPayer(
      (turn) => (turn < 4 ? asks(pays(5)) : says("done")),
      Number.POSITIVE_INFINITY,
    );
    const stopped = await graph.invoke(hello, config);
    const again = await graph.invoke(reply(stopped, { happened: false }), config);
    expect(paid).toEqual([5, 5]);
    expect(questions(again)[0]!.value.id).not.toBe(questions(stopped)[0]!.value.id);
    for (let times = 0; times < 3; times += 1) {
      const still = await graph.invoke(null, config);
      expect(questions(still)).toMatchObject([{ value: { id: questions(again)[0]!.value.id } }]);
    }
    expect(paid).toEqual([5, 5]);
  });

  it("two in one message are asked about one after another, and each gets its own answer", async () => {
    const { graph, paid } = unluckyPayer((turn) => (turn < 2 ? asks(pays(5), pays(6)) : says("done")));
    let stopped = await graph.invoke(hello, config);
    expect(paid).toEqual([5, 6]);
    const answers: Record<number, object> = {
      5: { happened: true, result: "by phone" },
      6: { happened: false },
    };
    for (let times = 0; times < 2; times += 1) {
      const question = questions(stopped)[0]!.value as { args: { amount: number } };
      stopped = await graph.invoke(reply(stopped, { ...answers[question.args.amount] }), config);
    }
    expect(questions(stopped)).toEqual([]);
    expect(paid).toEqual([5, 6, 6]);
    expect(receipts(stopped.messages).slice(2)).toEqual(["by phone", "receipt 6"]);
  });

  it.each(["by name", "by the interrupt's id"])(
    "leaves a tool's own interrupt its answer, answered %s",
    async (how) => {
      const saver = new Saver();
      const journal = createJournal(saver);
      const { pay, paid } = payments((_amount, times) => {
        if (times === 1) throw new Error("the line was cut");
      });
      const heard: unknown[] = [];
      const confirm = tool(
        () => {
          const answer: unknown = interrupt("really?");
          heard.push(answer);
          return "confirmed";
        },
        { name: "confirm", description: "asks", schema: z.object({}) },
      );
      const { graph } = agentOf(
        journal,
        journal.tools([pay, confirm], { pay: "once", confirm: "once" }),
        (turn) =>
          turn === 0 ? asks(pays(5)) : turn === 1 ? asks(call("confirm", {}), pays(5)) : says("done"),
        saver,
      );
      let result = await graph.invoke(hello, config);
      // An answer that looks like one to the journal's question, but names none.
      const plain = { happened: false, allow: true };
      for (let times = 0; questions(result).length > 0 && times < 5; times += 1) {
        const value: unknown = questions(result)[0]!.value;
        const answer = { id: questions(result)[0]!.value.id, happened: true, result: "by phone" };
        const resume = value === "really?" ? plain : answer;
        const named = { [questions(result)[0]!.id]: resume };
        result = await graph.invoke(new Command({ resume: how === "by name" ? resume : named }), config);
      }
      expect(heard).toEqual([plain]);
      expect(paid).toEqual([5]);
      expect(receipts(result.messages).slice(1)).toEqual(["confirmed", "by phone"]);
    },
  );

  it("in a subgraph that a tool runs is answered through the tool that runs it", async () => {
    const saver = new Saver();
    const journal = createJournal(saver);
    const { pay, paid } = payments((_amount, times) => {
      if (times === 1) throw new Error("the line was cut");
    });
    const inner = agentOf(journal, journal.tools([pay], { pay: "once" }), twice, undefined).graph;
    const ask = tool(
      async ({ task }) => {
        const { messages } = await inner.invoke({ messages: [new HumanMessage(task)] });
        return String(messages.at(-1)!.content);
      },
      { name: "ask", description: "asks another agent", schema: z.object({ task: z.string() }) },
    );
    const outer = agentOf(
      journal,
      journal.tools([ask], { ask: "once" }),
      (turn) => (turn === 0 ? asks(call("ask", { task: "pay 5" })) : says("all done")),
      saver,
    ).graph;
    const stopped = await outer.invoke(hello, config);
    expect(questions(stopped)).toMatchObject([{ value: { kind: "ambiguous", tool: "pay" } }]);
    const done = await outer.invoke(reply(stopped, { happened: false }), config);
    expect(paid).toEqual([5, 5]);
    expect(receipts(done.messages)).toEqual(["done"]);
  });

  it("is found out by the tool's reconciler, and asked about where it can't tell, throws or hangs", async () => {
    for (const [reconcile, happened] of [
      [() => ({ happened: true as const, result: "by the books" }), true],
      [() => undefined, undefined],
      [() => Promise.reject(new Error("down")), undefined],
      [() => new Promise<never>(() => undefined), undefined],
      [() => ({ happened: false as const }), false],
    ] as const) {
      const saver = new Saver();
      const journal = createJournal(saver, { policyTimeout: "50ms" });
      const { pay, paid } = payments((_amount, times) => {
        if (times === 1) throw new Error("the line was cut");
      });
      const { graph } = agentOf(
        journal,
        journal.tools([pay], { pay: { effects: "once", reconcile } }),
        twice,
        saver,
      );
      const done = await graph.invoke(hello, config);
      expect(questions(done).length).toBe(happened === undefined ? 1 : 0);
      expect(paid).toEqual(happened === false ? [5, 5] : [5]);
      if (happened !== undefined)
        expect(receipts(done.messages).at(-1)).toBe(happened ? "by the books" : "receipt 5");
    }
  });

  it("outside of a graph that can be stopped is an error that LangGraph doesn't retry", async () => {
    const saver = new Saver();
    const journal = createJournal(saver);
    const work = () => {
      throw new Error("the line was cut");
    };
    const plain = { id: "charge 5", tool: "charge", args: { amount: 5 } };
    await expect(journal.run(config, plain, work)).rejects.toThrow("the line was cut");
    const again = await journal.run(config, plain, work).catch((error: unknown) => error);
    expect(again).toBeInstanceOf(AmbiguousOutcomeError);
    expect(again).toMatchObject({ code: "AMBIGUOUS_OUTCOME", status: 409 });
  });
});
