import { Annotation, START, StateGraph } from "@langchain/langgraph";
import { fork } from "@stratigraph/branch";
import { MemorySaver, type TierSaver } from "@stratigraph/core";
import { describe, expect, it } from "vitest";
import { createJournal, type CallOptions, type Journal } from "../src/index.ts";
import { questions } from "./support/effects.ts";

// What a process knows of its own calls must not make it repeat one.

const on = (thread_id: string) => ({ configurable: { thread_id } });
const call = { id: "pay 5", tool: "pay", args: { amount: 5 } };

/** Pays twice with the same call, of which the first attempt throws. Returns what was paid, and how each attempt ended. */
async function twice(thrown: unknown, options: CallOptions = {}) {
  const journal = createJournal(new MemorySaver());
  let paid = 0;
  const ends: unknown[] = [];
  for (let attempt = 1; attempt <= 2; attempt += 1)
    await journal
      .run(on("ada"), { ...call, ...options }, () => {
        paid += 1;
        throw thrown;
      })
      .catch((error: unknown) => ends.push((Object(error) as { code?: unknown }).code ?? "thrown"));
  return { paid, ends };
}

describe("a call whose thread is copied while it runs, in the same process", () => {
  const copies: [string, (saver: TierSaver) => Promise<unknown>][] = [
    ["copyThread", (saver) => saver.copyThread("ada", "copy")],
    ["fork", (saver) => fork(saver, "ada", { to: "copy" })],
  ];

  it.each(copies)("%s: the copy asks, and doesn't pay again", async (_name, copy) => {
    const saver = new MemorySaver();
    const journal = createJournal(saver);
    const paid: unknown[] = [];
    const graph = new StateGraph(Annotation.Root({ receipt: Annotation<string> }))
      .addNode("sell", async (_state, config) => {
        const pay = async () => {
          paid.push(config.configurable?.["thread_id"]);
          if (paid.length === 1) await copy(saver);
          return "receipt";
        };
        return { receipt: await journal.run(config, call, pay) };
      })
      .addEdge(START, "sell")
      .compile({ checkpointer: saver });
    expect(await graph.invoke({}, on("ada"))).toEqual({ receipt: "receipt" });
    expect(questions(await graph.invoke(null, on("copy")))).toMatchObject([{ value: { kind: "ambiguous" } }]);
    expect(paid).toEqual(["ada"]);
  });
});

describe("a call that throws what can't be made text of", () => {
  const throwing = {
    get message(): string {
      throw new Error("no message");
    },
  };
  it.each([
    ["no prototype", Object.create(null)],
    ["a message that throws", throwing],
    ["a symbol", Symbol("s")],
    ["undefined", undefined],
  ])("%s: its outcome is unknown, and it isn't repeated", async (_name, thrown) => {
    expect(await twice(thrown)).toEqual({ paid: 1, ends: ["thrown", "AMBIGUOUS_OUTCOME"] });
  });
});

describe("a reconciler that answers what isn't an answer", () => {
  it.each([null, false, true, "no", {}, [], { happened: "yes" }, { happened: 0 }])(
    "%j: nobody knows more than before, and the call isn't repeated",
    async (answer) => {
      const reconcile = () => answer as never;
      const ends = ["thrown", "AMBIGUOUS_OUTCOME"];
      expect(await twice(new Error("cut"), { reconcile })).toEqual({ paid: 1, ends });
    },
  );
});

it("equal calls of two nodes that are given the same state are two calls, one after the other and in parallel", async () => {
  const saver = new MemorySaver();
  const journal = createJournal(saver);
  for (const isParallel of [false, true]) {
    const paid: string[] = [];
    const pays = (node: string) => async (_state: unknown, config: unknown) => {
      const receipt = await journal.run(config, call, () => (paid.push(node), node));
      expect(receipt).toBe(node);
      return {};
    };
    const graph = new StateGraph(Annotation.Root({ order: Annotation<string> }))
      .addNode("deposit", pays("deposit"))
      .addNode("fee", pays("fee"))
      .addEdge(START, "deposit")
      .addEdge(isParallel ? START : "deposit", "fee")
      .compile({ checkpointer: saver });
    await graph.invoke({ order: "apples" }, on(isParallel ? "beside" : "behind"));
    expect(paid.toSorted()).toEqual(["deposit", "fee"]);
  }
});

it("of two answers to one question only the first counts, and whoever gave the other is told", async () => {
  const journal: Journal = createJournal(new MemorySaver());
  const paid: number[] = [];
  const pay = () =>
    journal.run(on("ada"), call, () => {
      paid.push(5);
      throw new Error("cut");
    });
  await expect(pay()).rejects.toThrow("cut");
  for await (const { fingerprint } of journal.unresolved("ada")) {
    const answers = await Promise.allSettled([
      journal.resolve(fingerprint, { threadId: "ada", happened: true, result: "receipt by phone" }),
      journal.resolve(fingerprint, { threadId: "ada", happened: false }),
    ]);
    const refused = answers.filter(({ status }) => status === "rejected");
    expect(refused).toMatchObject([{ reason: { code: "INVALID_OPTION", data: { field: "fingerprint" } } }]);
  }
});
