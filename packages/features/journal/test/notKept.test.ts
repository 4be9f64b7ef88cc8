// long file: each way in which a result is lost, each place that needs it
import { tool } from "@langchain/core/tools";
import { Annotation, entrypoint, START, StateGraph, task } from "@langchain/langgraph";
import { MemorySaver, type TierSaver } from "@stratigraph/core";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { batch, createJournal, transaction, type CallOptions, type Journal } from "../src/index.ts";
import { agentOf, asks, pays, questions, receipts, reply, says, type Script } from "./support/effects.ts";

// A call that happened isn't made again, even if its result can't be given: a person is asked for the result.

const config = { configurable: { thread_id: "ada" } };
const begins = { messages: [{ role: "user", content: "pay" }] };

class Receipt {
  readonly amount = 5;
}

const longBytes = new Uint8Array(17 * 1024 * 1024);
const longText = "x".repeat(17 * 1024 * 1024);

/** A model that tries again when a tool's answer is an error. */
const stubborn: Script = (turn) => (turn === 0 ? asks(pays(5)) : says("done"));

/** An agent with a tool that pays and returns a given value. */
function payer(returned: unknown, effects: CallOptions["effects"] = "once", script = stubborn) {
  const saver = new MemorySaver();
  const journal = createJournal(saver);
  const paid: number[] = [];
  const pay = tool(
    async ({ amount }: { amount: number }) => {
      paid.push(amount);
      return returned as string;
    },
    {
      name: "pay",
      description: "pays",
      schema: z.object({ amount: z.number() }),
      ...(Array.isArray(returned) ? { responseFormat: "content_and_artifact" as const } : {}),
    },
  );
  const { graph } = agentOf(journal, journal.tools([pay], { pay: { effects } }), script, saver);
  const start = async (): Promise<object> => {
    let first;
    for await (const state of graph.getStateHistory(config)) if (state.next.includes("agent")) first = state;
    return first!.config;
  };
  return { saver, journal, graph, paid, start };
}

/** All that a journal says of its only call. */
async function told(journal: Journal) {
  const [call] = await journal.calls("ada");
  const unresolved = [];
  for await (const each of journal.unresolved("ada")) unresolved.push(each.why);
  return { status: call!.status, notKept: call!.notKept, unresolved };
}

const ways = {
  "is too long": {
    returned: longText,
    lose: () => undefined,
    why: expect.stringMatching(/^it takes 178\d+ bytes, and at most 16777216 are kept$/) as string,
  },
  "is of a class": {
    returned: new Receipt(),
    lose: () => undefined,
    why: expect.stringContaining("found an instance of Receipt") as string,
  },
  "was erased": {
    returned: "receipt 5",
    lose: (journal: Journal) => journal.erase("ada", { before: new Date(Date.now() + 60_000) }),
    why: "it was erased",
  },
  "was cut off": {
    returned: "receipt 5",
    lose: (journal: Journal) => journal.cut("ada", { before: new Date(Date.now() + 60_000) }),
    why: "it was cut off with the oldest entries",
  },
} as const;

const erasing = Object.entries(ways).filter(([, { returned }]) => returned === "receipt 5");
describe.each(erasing)("a payment of a graph whose result %s", (_way, { returned, lose, why }) => {
  it.each(["once", "idempotent"] as const)(
    "(%s) isn't repeated: a person gives its result",
    async (effects) => {
      const { journal, graph, paid, start } = payer(returned, effects);
      await graph.invoke(begins, config);
      await lose(journal);
      const stopped = await graph.invoke(null, await start());
      const lost = { kind: "ambiguous", tool: "pay", happened: true, why };
      expect(questions(stopped)).toMatchObject([{ value: lost }]);
      expect(await told(journal)).toEqual({ status: "unknown", notKept: why, unresolved: [why] });
      const refused = await graph.invoke(reply(stopped, { happened: false }), config);
      const said = expect.stringContaining("it is recorded that the call happened");
      expect(questions(refused)).toMatchObject([{ value: { refused: said } }]);
      const done = await graph.invoke(reply(refused, { happened: true, result: "by phone" }), config);
      expect([paid, receipts(done.messages)]).toEqual([[5], ["by phone"]]);
      expect(await told(journal)).toEqual({ status: "succeeded", notKept: undefined, unresolved: [] });
      const again = await graph.invoke(null, await start());
      expect([paid, receipts(again.messages)]).toEqual([[5], ["by phone"]]);
    },
  );

  it("blocks equal ones while nobody answers, also in another turn", async () => {
    const { journal, graph, paid, start } = payer(returned, "once", (turn) =>
      turn < 2 ? asks(pays(5)) : says("done"),
    );
    const calls = await graph
      .invoke(begins, { ...config, recursionLimit: 3 })
      .catch((error: unknown) => error);
    expect(calls).toMatchObject({ lc_error_code: "GRAPH_RECURSION_LIMIT" });
    await lose(journal);
    await graph.invoke(null, await start());
    const asked = await graph.invoke(begins, config);
    expect(questions(asked)).toMatchObject([{ value: { happened: true, why } }]);
    expect(paid).toEqual([5]);
  });
});

describe.each(Object.entries(ways))("a payment whose result %s", (_way, { returned, lose, why }) => {
  it("by code outside graphs is an error that says so, also for an equal call", async () => {
    const { journal } = payer(returned);
    let paid = 0;
    const pay = (id: string) =>
      journal.run(config, { id, tool: "pay", args: 5 }, () => {
        paid += 1;
        return returned;
      });
    await pay("rent");
    await lose(journal);
    for (const id of ["rent", "rent", "rent again"])
      await expect(pay(id)).rejects.toMatchObject({
        code: "RESULT_NOT_KEPT",
        data: { why },
        message: expect.stringContaining("isn't made again"),
      });
    const [call] = await journal.calls("ada");
    await expect(
      journal.resolve(call!.fingerprint, { threadId: "ada", happened: false }),
    ).rejects.toMatchObject({ code: "INVALID_OPTION" });
    await journal.resolve(call!.fingerprint, { threadId: "ada", happened: true, result: "by phone" });
    expect([await pay("rent"), paid]).toEqual(["by phone", 1]);
  });
});

it("a result that the checkpointer refuses as well: the repeated run asks", async () => {
  const { journal, graph, paid } = payer(["receipt 5", new Receipt()]);
  await expect(graph.invoke(begins, config)).rejects.toMatchObject({ code: "SERIALIZATION" });
  const why = expect.stringContaining("message.artifact: found an instance of Receipt");
  expect(await told(journal)).toEqual({ status: "succeeded", notKept: why, unresolved: [] });
  const stopped = await graph.invoke(null, config);
  expect(questions(stopped)).toMatchObject([{ value: { happened: true, why } }]);
  const done = await graph.invoke(reply(stopped, { happened: true, result: "by phone" }), config);
  expect([paid, receipts(done.messages)]).toEqual([[5], ["by phone"]]);
});

it("an answer that can't be kept either is asked for again", async () => {
  const { graph, paid, start, journal } = payer("receipt 5");
  await graph.invoke(begins, config);
  await journal.erase("ada", { before: new Date(Date.now() + 60_000) });
  const stopped = await graph.invoke(null, await start());
  const refused = await graph.invoke(reply(stopped, { happened: true, result: longBytes }), config);
  const said = expect.stringContaining("at most 16777216 are kept");
  expect(questions(refused)).toMatchObject([{ value: { refused: said } }]);
  const { value } = questions(stopped)[0]!;
  await expect(
    journal.resolve(value.call, { threadId: "ada", happened: true, result: new Receipt() }),
  ).rejects.toMatchObject({ code: "INVALID_OPTION", data: { field: "result" } });
  const done = await graph.invoke(reply(refused, { happened: true, result: "by phone" }), config);
  expect([paid, receipts(done.messages)]).toEqual([[5], ["by phone"]]);
});

describe("a reconciler", () => {
  const run = async (journal: Journal, reconcile: CallOptions["reconcile"], made: unknown[]) =>
    await journal.run(config, { id: "pay", reconcile }, () => {
      made.push(5);
      return new Receipt();
    });

  it("gives the result, and isn't believed if it says that a recorded call didn't happen", async () => {
    const journal = createJournal(new MemorySaver());
    const made: unknown[] = [];
    await run(journal, undefined, made);
    await expect(run(journal, () => ({ happened: false }), made)).rejects.toMatchObject({
      code: "RESULT_NOT_KEPT",
    });
    expect(await run(journal, () => ({ happened: true, result: "receipt 5" }), made)).toBe("receipt 5");
    expect(await run(journal, undefined, made)).toBe("receipt 5");
    expect(made).toEqual([5]);
  });

  it("that gives what can't be kept is asked each time", async () => {
    const journal = createJournal(new MemorySaver());
    const made: unknown[] = [];
    await run(journal, undefined, made);
    for (let times = 1; times <= 2; times += 1)
      expect(await run(journal, () => ({ happened: true, result: new Receipt() }), made)).toBeInstanceOf(
        Receipt,
      );
    expect(made).toEqual([5]);
  });
});

it("a read whose result isn't kept reads again", async () => {
  const journal = createJournal(new MemorySaver());
  let read = 0;
  const look = () => journal.run(config, { id: "look", effects: "none" }, () => [(read += 1), new Receipt()]);
  expect((await look())[0]).toBe(1);
  expect((await look())[0]).toBe(2);
});

it("a node and a task of the functional API ask, and go on with the answer", async () => {
  const make = (saver: TierSaver) => {
    const journal = createJournal(saver);
    let died = false;
    const paid: number[] = [];
    const pay = async (given: unknown) => {
      const receipt = await journal.run(given, { id: "pay" }, () => {
        paid.push(5);
        return new Receipt() as unknown as string;
      });
      if (!died) {
        died = true;
        throw new Error("killed");
      }
      return receipt;
    };
    return { paid, pay };
  };
  const State = Annotation.Root({ receipt: Annotation<string> });
  const ofGraph = new MemorySaver();
  const inGraph = make(ofGraph);
  const graph = new StateGraph(State)
    .addNode("sell", async (_state, given) => ({ receipt: await inGraph.pay(given) }))
    .addEdge(START, "sell")
    .compile({ checkpointer: ofGraph });
  const ofFunctions = new MemorySaver();
  const inTask = make(ofFunctions);
  const sell = task("sell", async (_input: null, given?: unknown) => inTask.pay(given));
  const functions = entrypoint({ name: "shop", checkpointer: ofFunctions }, async (_input: null) => ({
    receipt: await sell(null),
  }));
  for (const [runs, { paid }] of [
    [graph, inGraph],
    [functions, inTask],
  ] as [{ invoke(input: unknown, given: object): Promise<unknown> }, { paid: number[] }][]) {
    await expect(runs.invoke({}, config)).rejects.toThrow("killed");
    const stopped = await runs.invoke(null, config);
    expect(questions(stopped)).toMatchObject([{ value: { happened: true } }]);
    const done = await runs.invoke(reply(stopped, { happened: true, result: "by phone" }), config);
    expect([done, paid]).toEqual([{ receipt: "by phone" }, [5]]);
  }
});

it("a batch doesn't need results", async () => {
  const journal = createJournal(new MemorySaver());
  let done = 0;
  const run = () =>
    batch(journal, config, ["a", "b"], { id: "all", key: (item) => item }, () => {
      done += 1;
      return new Receipt();
    });
  // Two at the same time: each finds items that the other one did.
  const reports = await Promise.all([run(), run()]);
  expect(reports.map(({ done: items, ambiguous }) => [items, ambiguous])).toEqual([
    [2, 0],
    [2, 0],
  ]);
  expect([await run(), done]).toMatchObject([{ done: 2, before: 2 }, 2]);
});

it("a transaction that is rolled back says which result its compensation lacks", async () => {
  const { saver, journal, graph } = payer("receipt 5");
  await graph.invoke(begins, config);
  const refunds: unknown[] = [];
  const report = transaction(
    saver,
    "ada",
    async (tx) => {
      await journal.run(
        tx.config,
        { id: "pay", compensate: (result: unknown) => void refunds.push(result) },
        () => new Receipt(),
      );
      throw new Error("no stock");
    },
    { journal },
  );
  const failed = (await report.catch((error: unknown) => error)) as { report: { kept: unknown[] } };
  expect(failed.report.kept).toMatchObject([
    {
      why: "compensation failed",
      error: { message: expect.stringContaining("found an instance of Receipt") },
    },
  ]);
  expect(refunds).toEqual([]);
});

it("the first run tells that its result can't be kept, and where", async () => {
  const events: { outcome?: string; notKept?: string }[] = [];
  const listen = (event: unknown) => void events.push(event as object);
  subscribe("stratigraph", listen);
  try {
    const { journal, graph } = payer(["receipt 5", { rows: [new Receipt()] }]);
    await graph.invoke(begins, config).catch(() => undefined);
    const why = expect.stringContaining("message.artifact.rows[0]: found an instance of Receipt");
    expect(events.filter(({ outcome }) => outcome !== undefined)).toContainEqual(
      expect.objectContaining({ type: "tool-call", tool: "pay", outcome: "ran", notKept: why }),
    );
    const entries = [];
    for await (const { event } of journal.trail("ada", { types: ["succeeded"] })) entries.push(event);
    expect(entries).toMatchObject([{ kept: false, notKept: why }]);
    expect((await journal.verify("ada")).ok).toBe(true);
  } finally {
    unsubscribe("stratigraph", listen);
  }
});

it("the reason survives a stored state", async () => {
  const saver = new MemorySaver();
  const journal = createJournal(saver);
  await journal.run(config, { id: "pay" }, () => new Receipt());
  await journal.cut("ada", { before: new Date(Date.now() + 60_000) });
  const other = createJournal(saver).run(config, { id: "pay" }, () => "again");
  await expect(other).rejects.toThrow("found an instance of Receipt");
});
