import { Annotation, START, StateGraph } from "@langchain/langgraph";
import { MemoryTier, TierSaver } from "@stratigraph/core";
import { expect, it } from "vitest";
import { createJournal, transaction } from "../../src/index.ts";

// Somebody runs a thread while a transaction is on it: two inputs are two purchases, equal ones too, and each is undone for itself.

function shop({ refunds: canRefund = true } = {}) {
  const tier = new MemoryTier();
  const paid: string[] = [];
  const refunds: unknown[] = [];
  const open = () => {
    const saver = new TierSaver(tier);
    const journal = createJournal(saver);
    const graph = new StateGraph(Annotation.Root({ order: Annotation<string>, receipt: Annotation<string> }))
      .addNode("sell", async ({ order }, config) => ({
        receipt: await journal.run(
          config,
          {
            id: "charge",
            args: { order },
            ...(canRefund ? { compensate: (receipt: unknown) => void refunds.push(receipt) } : {}),
          },
          () => `receipt ${paid.push(order)}`,
        ),
      }))
      .addEdge(START, "sell")
      .compile({ checkpointer: saver });
    const buy = async (config: object) => (await graph.invoke({ order: "apples" }, config)).receipt;
    return { saver, journal, graph, buy };
  };
  return { paid, refunds, open };
}

const config = { configurable: { thread_id: "t" } };

it.each(["the transaction", "the thread"])(
  "what is bought beside a transaction that is rolled back stays bought: %s buys first",
  async (first) => {
    const { paid, refunds, open } = shop();
    const [a, b] = [open(), open()];
    await a.buy(config);
    const receipts: string[] = [];
    const failed = transaction(
      a.saver,
      "t",
      async (tx) => {
        if (first === "the transaction") receipts.push(await a.buy(tx.config));
        receipts.push(await b.buy(config));
        if (first !== "the transaction") receipts.push(await a.buy(tx.config));
        throw new Error("no seat left");
      },
      { journal: a.journal },
    );
    await expect(failed).rejects.toMatchObject({ code: "ROLLED_BACK" });
    expect(receipts).toEqual(["receipt 2", "receipt 3"]);
    expect(paid).toHaveLength(3);
    const [kept, undone] =
      first === "the transaction" ? ["receipt 3", "receipt 2"] : ["receipt 2", "receipt 3"];
    expect(refunds).toEqual([undone]);
    expect((await b.graph.getState(config)).values.receipt).toBe(kept);
    // What was rolled back is nobody's any more.
    expect(await b.buy(config)).toBe("receipt 4");
  },
);

it("what a transaction bought that couldn't be undone isn't the thread's", async () => {
  const { paid, open } = shop({ refunds: false });
  const { saver, journal, buy } = open();
  await buy(config);
  const failed = transaction(
    saver,
    "t",
    async (tx) => {
      await buy(tx.config);
      throw new Error("no seat left");
    },
    { journal },
  );
  await expect(failed).rejects.toMatchObject({ code: "ROLLED_BACK" });
  expect(await buy(config)).toBe("receipt 3");
  expect(paid).toHaveLength(3);
});

it("a transaction that is tried again, as the thread went on, buys anew", async () => {
  const { paid, refunds, open } = shop();
  const [a, b] = [open(), open()];
  await a.buy(config);
  let attempts = 0;
  const { value } = await transaction(
    a.saver,
    "t",
    async (tx) => {
      const receipt = await a.buy(tx.config);
      attempts += 1;
      if (attempts === 1) await b.buy(config);
      return receipt;
    },
    { journal: a.journal, onConflict: "retry" },
  );
  expect([value, paid.length, refunds]).toEqual(["receipt 4", 4, ["receipt 2"]]);
});

it("what a transaction bought is found again where the thread goes back behind it", async () => {
  const { paid, open } = shop();
  const { saver, journal, graph, buy } = open();
  await buy(config);
  await transaction(saver, "t", async (tx) => await buy(tx.config), { journal });
  let point;
  for await (const state of graph.getStateHistory(config))
    if (state.next.includes("sell")) point ??= state.config;
  expect((await graph.invoke(null, point!)).receipt).toBe("receipt 2");
  expect(await buy(config)).toBe("receipt 3");
  expect(paid).toHaveLength(3);
});
