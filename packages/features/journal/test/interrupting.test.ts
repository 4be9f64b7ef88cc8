import { tool } from "@langchain/core/tools";
import { Annotation, Command, START, StateGraph, interrupt } from "@langchain/langgraph";
import { reservedNamespaces } from "@stratigraph/core/tier";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type Effects, type Journal } from "../src/index.ts";
import { agentOf, asks, call, questions, receipts, reply, says } from "./support/effects.ts";
import { savers } from "./support/places.ts";
import { journalOn } from "./support/journalOn.ts";

// A tool that interrupts runs again from its beginning when it is resumed. What it did before has to be a call of its own.

const begins = { messages: [{ role: "user", content: "book a seat" }] };
const answered = (text: string): Command<string, Record<string, unknown>, never> =>
  new Command({ resume: text });

type Opened = Awaited<ReturnType<(typeof savers)[number][1]>>;

describe.each(savers)("a tool that acts, asks and acts, on %s", (_name, open) => {
  let opened: Opened;
  let journal: Journal;
  journalOn(open, (...on) => ([opened, journal] = on));

  /** An agent whose tool holds a seat, asks, and books. It breaks after it booked as often as told. */
  function agent({ effects = "once" as Effects, asking = 1, fails = 0, guarded = true } = {}) {
    const done = { held: 0, booked: 0, began: 0 };
    let broken = fails;
    const hold = () => `hold ${(done.held += 1)}`;
    const book = tool(
      async ({ seat }: { seat: string }, config) => {
        done.began += 1;
        const held = guarded ? await journal.run(config, { id: "hold", args: { seat } }, hold) : hold();
        const told = [...Array(asking).keys()].map((n) => interrupt(`question ${n + 1}`) as string);
        done.booked += 1;
        if ((broken -= 1) >= 0) throw new Error("the line was cut");
        return [held, ...told, `booked ${done.booked}`].join(", ");
      },
      { name: "book", schema: z.object({ seat: z.string() }) },
    );
    const tools = journal.tools([book], { book: effects });
    const script = (turn: number) => (turn === 0 ? asks(call("book", { seat: "4A" })) : says("done"));
    const { graph } = agentOf(journal, tools, script, opened.saver);
    const config = { configurable: { thread_id: crypto.randomUUID() } };
    const beforeTools = async () => {
      for await (const state of graph.getStateHistory(config))
        if (state.next.includes("tools")) return state.config;
      throw new Error("no tools");
    };
    const statuses = async () =>
      (await journal.calls(config.configurable.thread_id)).map(
        ({ tool: name, status }) => `${name} ${status}`,
      );
    return { graph, config, done, beforeTools, statuses };
  }

  it("does by itself what stands before the interrupt as often as it runs", async () => {
    const { graph, config, done } = agent({ guarded: false });
    await graph.invoke(begins, config);
    await graph.invoke(answered("yes"), config);
    expect(done).toEqual({ began: 2, held: 2, booked: 1 });
  });

  it.each(["once", "idempotent", "none"] as const)(
    "with the effects %s: a call before the interrupt happens once, over two interrupts and time travel",
    async (effects) => {
      const { graph, config, done, statuses, beforeTools } = agent({ effects, asking: 2 });
      const first = await graph.invoke(begins, config);
      expect(questions(first)).toMatchObject([{ value: "question 1" }]);
      expect(await statuses()).toEqual(
        effects === "none" ? ["hold succeeded"] : ["book suspended", "hold succeeded"],
      );
      expect(questions(await graph.invoke(answered("yes"), config))).toMatchObject([{ value: "question 2" }]);
      const { messages } = await graph.invoke(answered("sure"), config);
      expect(receipts(messages)).toEqual(["hold 1, yes, sure, booked 1"]);
      const again = await graph.invoke(null, await beforeTools());
      expect(receipts(again.messages)).toEqual(["hold 1, yes, sure, booked 1"]);
      expect(done).toEqual({ began: 3, held: 1, booked: 1 });
    },
  );

  it("gone back to before it was answered, it holds the same seat", async () => {
    const { graph, config, done, beforeTools } = agent();
    await graph.invoke(begins, config);
    const back = await beforeTools();
    await graph.invoke(null, back);
    const { messages } = await graph.invoke(answered("yes"), config);
    expect(receipts(messages)).toEqual(["hold 1, yes, booked 1"]);
    expect(done.held).toBe(1);
  });

  it("an idempotent one that breaks after it booked books again, and holds nothing more", async () => {
    const { graph, config, done, beforeTools } = agent({ effects: "idempotent", fails: 1 });
    await graph.invoke(begins, config);
    const failed = await graph.invoke(answered("yes"), config);
    expect(receipts(failed.messages)[0]).toContain("the line was cut");
    await graph.invoke(null, await beforeTools());
    const { messages } = await graph.invoke(answered("yes"), config);
    expect(receipts(messages)).toEqual(["hold 1, yes, booked 2"]);
    expect(done).toMatchObject({ held: 1, booked: 2 });
  });

  it("one whose process dies after it booked, before that is recorded, holds nothing more either", async () => {
    const { graph, config, done, beforeTools } = agent({ effects: "idempotent" });
    await graph.invoke(begins, config);
    const { tier } = opened.saver;
    const append = tier.append.bind(tier);
    tier.append = async (request) => {
      const isCall = request.heads.some(({ namespace }) => namespace === reservedNamespaces.calls);
      if (isCall && done.booked > 0) throw new Error("the process is dead");
      return await append(request);
    };
    await graph.invoke(answered("yes"), config);
    tier.append = append;
    await graph.invoke(null, await beforeTools());
    const { messages } = await graph.invoke(answered("yes"), config);
    expect(receipts(messages)).toEqual(["hold 1, yes, booked 2"]);
    expect(done).toMatchObject({ held: 1, booked: 2 });
  });

  it("a once one that breaks after it booked is asked about, and holds nothing more when it runs again", async () => {
    const { graph, config, done, beforeTools } = agent({ fails: 1 });
    await graph.invoke(begins, config);
    await graph.invoke(answered("yes"), config);
    const asked = await graph.invoke(null, await beforeTools());
    expect(questions(asked)).toMatchObject([{ value: { kind: "ambiguous", tool: "book" } }]);
    await graph.invoke(reply(asked, { happened: false }), config);
    const { messages } = await graph.invoke(answered("yes"), config);
    expect(receipts(messages)[0]).toBe("hold 1, yes, booked 2");
    expect(done).toMatchObject({ held: 1, booked: 2 });
  });

  it("interrupts of a call within a call get their own answers, and so does what asks behind both", async () => {
    const ask = (question: string) => interrupt(question) as string;
    let agreed = 0;
    const graph = new StateGraph(Annotation.Root({ told: Annotation<string> }))
      .addNode("agree", async (_state, config) => {
        const told = await journal.run(config, { id: "outer" }, async () => {
          const inner = await journal.run(config, { id: "inner" }, () => {
            const both = [ask("1?"), ask("2?")];
            agreed += 1;
            return both;
          });
          return [...inner, ask("3?")];
        });
        return { told: [...told, ask("4?")].join(" ") };
      })
      .addEdge(START, "agree")
      .compile({ checkpointer: opened.saver });
    const config = { configurable: { thread_id: crypto.randomUUID() } };
    let asked: unknown = await graph.invoke({}, config);
    for (const nth of [1, 2, 3, 4]) {
      expect(questions(asked)).toMatchObject([{ value: `${nth}?` }]);
      asked = await graph.invoke(answered(`answer${nth}`), config);
    }
    expect(asked).toMatchObject({ told: "answer1 answer2 answer3 answer4" });
    expect(agreed).toBe(1);
  });
});
