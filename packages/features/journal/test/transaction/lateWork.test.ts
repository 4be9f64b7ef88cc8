import { Annotation, START, StateGraph, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { MemoryTier, TierSaver } from "@stratigraph/core";
import { createJournal, transaction, transactions, type Journal, type Transaction } from "../../src/index.ts";
import { journalOn } from "../support/journalOn.ts";
import { savers, type OpenedSaver } from "../support/places.ts";

// LangGraph rejects invoke when a node throws, and subgraphs of other nodes work on. A race may be lost, and its run go on. The thread may be
// deleted. Whatever was paid in a transaction is undone by its rollback, or told; what would be paid afterwards isn't.

const State = Annotation.Root({ item: Annotation<string>() });

/** A signal between a test and a node. */
function latch() {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { open, opened };
}

describe.each(savers)("what is left of a transaction's work on %s", (_name, open) => {
  let opened: OpenedSaver;
  let journal: Journal;
  let count = 0;

  journalOn(open, (...on) => ([opened, journal] = on));

  /** A graph of which a node pays, another one throws, and a subgraph pays late. */
  async function begun() {
    const thread = `late ${(count += 1)}`;
    const world: string[] = [];
    const [isLate, mayPay, hasTried] = [latch(), latch(), latch()];
    const refused: unknown[] = [];
    const pay = async (item: string, config: LangGraphRunnableConfig) =>
      await journal.run(
        config,
        {
          id: item,
          args: { item },
          effects: "once" as const,
          compensate: () => void world.push(`refund ${item}`),
        },
        () => {
          world.push(item);
          return item;
        },
      );
    const late = new StateGraph(State)
      .addNode("pays", async (_state, config) => {
        isLate.open();
        await mayPay.opened;
        await pay("late", config).catch((error: unknown) => refused.push(error));
        hasTried.open();
        return {};
      })
      .addEdge(START, "pays")
      .compile();
    const graph = new StateGraph(State)
      .addNode("early", async ({ item }, config) => {
        await pay(item, config);
        return {};
      })
      .addNode("fails", async ({ item }) => {
        if (item !== "flight") return {};
        await isLate.opened;
        throw new Error("no seat left");
      })
      .addNode("late", ({ item }, config) => (item === "flight" ? late.invoke({ item }, config) : {}))
      .addEdge(START, "early")
      .addEdge("early", "fails")
      .addEdge("early", "late")
      .compile({ checkpointer: opened.saver });
    await graph.updateState({ configurable: { thread_id: thread } }, { item: "begun" }, "fails");
    const tries = async (): Promise<void> => {
      mayPay.open();
      await hasTried.opened;
    };
    return { thread, world, graph, isLate, refused, tries };
  }

  const ended = expect.objectContaining({ code: "TRANSACTION_ENDED" });

  it("pays nothing after the rollback of a run that failed", async () => {
    const { thread, world, graph, refused, tries } = await begun();
    const work = (tx: Transaction) => graph.invoke({ item: "flight" }, tx.config);
    await expect(transaction(opened.saver, thread, work, { journal })).rejects.toMatchObject({
      report: { undone: [{ args: { item: "flight" } }], kept: [] },
    });
    await tries();
    expect(world).toEqual(["flight", "refund flight"]);
    expect(refused).toEqual([ended]);
  });

  it("pays nothing after the commit, if the work gave a run up", async () => {
    const { thread, world, graph, isLate, refused, tries } = await begun();
    const work = async (tx: Transaction) => {
      void graph.invoke({ item: "flight" }, tx.config).catch(() => undefined);
      await isLate.opened;
    };
    await transaction(opened.saver, thread, work, { journal });
    await tries();
    expect(world).toEqual(["flight"]);
    expect(refused).toEqual([ended]);
  });

  it("pays nothing after a return to a savepoint, and the work goes on", async () => {
    const { thread, world, graph, refused, tries } = await begun();
    const work = async (tx: Transaction) => {
      await graph.invoke({ item: "car" }, tx.config);
      const savepoint = await tx.savepoint();
      await expect(graph.invoke({ item: "flight" }, tx.config)).rejects.toThrow("no seat");
      await savepoint.rollback();
      await tries();
      await graph.invoke({ item: "train" }, tx.config);
    };
    await transaction(opened.saver, thread, work, { journal });
    expect(world).toEqual(["car", "flight", "refund flight", "train"]);
    expect(refused).toEqual([ended]);
    const { values } = await graph.getState({ configurable: { thread_id: thread } });
    expect(values.item).toBe("train");
  });

  it.each(["deleted", "begun anew"])(
    "is told where its journal was %s meanwhile: nobody knows what was paid",
    async (how) => {
      const { thread, world, graph } = await begun();
      let runs = 0;
      const work = async (tx: Transaction) => {
        runs += 1;
        await graph.invoke({ item: "car" }, tx.config);
        await opened.saver.deleteThread(thread);
        if (how === "begun anew")
          await graph.updateState({ configurable: { thread_id: thread } }, { item: "anew" }, "fails");
        // A run that goes on pays nothing that a rollback wouldn't find.
        await expect(graph.invoke({ item: "train" }, tx.config)).rejects.toMatchObject({
          code: "TRANSACTION_ENDED",
        });
      };
      const options = { journal, onConflict: "retry" as const };
      await expect(transaction(opened.saver, thread, work, options)).rejects.toEqual(ended);
      expect([runs, world]).toEqual([1, ["car"]]);
      const failed = new Error("no more money");
      const fails = async (tx: Transaction) => {
        await graph.invoke({ item: "bus" }, tx.config);
        await opened.saver.deleteThread(thread);
        throw failed;
      };
      await graph.updateState({ configurable: { thread_id: thread } }, { item: "again" }, "fails");
      await expect(transaction(opened.saver, thread, fails, { journal })).rejects.toMatchObject({
        code: "TRANSACTION_ENDED",
        cause: failed,
      });
    },
  );

  it("can be rolled back if the transaction's own thread was deleted", async () => {
    const { thread, world, graph } = await begun();
    const work = async (tx: Transaction) => {
      await graph.invoke({ item: "car" }, tx.config);
      await opened.saver.deleteThread(tx.threadId);
    };
    await expect(transaction(opened.saver, thread, work, { journal })).rejects.toEqual(ended);
    const [left, ...others] = await transactions(opened.saver, thread, { journal });
    expect(others).toEqual([]);
    expect((await left!.rollback()).undone).toHaveLength(1);
    expect(world).toEqual(["car", "refund car"]);
    expect(await transactions(opened.saver, thread, { journal })).toEqual([]);
  });

  it("is refused where a run of it names another journal, of which a rollback knows nothing", async () => {
    const { thread, world, graph } = await begun();
    const work = (tx: Transaction) =>
      graph.invoke({ item: "car" }, { configurable: { ...tx.config.configurable, journal: "another" } });
    await expect(transaction(opened.saver, thread, work, { journal })).rejects.toMatchObject({
      code: "ROLLED_BACK",
      cause: { code: "TRANSACTION_ENDED" },
    });
    expect(world).toEqual([]);
  });
});

describe.each(["async", "sync"] as const)("a run that was given up, under %s", (durability) => {
  /** A graph that thinks for long, and then pays. */
  function begun() {
    const saver = new TierSaver(new MemoryTier());
    const journal = createJournal(saver);
    const [thinks, goesOn] = [latch(), latch()];
    const world: string[] = [];
    const graph = new StateGraph(State)
      .addNode("thinks", async ({ item }) => {
        if (item !== "flight") return {};
        thinks.open();
        await goesOn.opened;
        return { item: "flight, thought over" };
      })
      .addNode("pays", async ({ item }, config) => {
        const call = { id: item, args: { item }, effects: "once" as const };
        await journal.run(config, call, () => world.push(item));
        return {};
      })
      .addEdge(START, "thinks")
      .addEdge("thinks", "pays")
      .compile({ checkpointer: saver });
    return { saver, journal, thinks, goesOn, world, graph };
  }

  it.each(["by new input", "at the savepoint itself"])(
    "pays nothing after the return if it began %s",
    async (how) => {
      const { saver, journal, thinks, goesOn, world, graph } = begun();
      const ada = { configurable: { thread_id: "ada" } };
      const { signal } = new AbortController();
      await graph.invoke({ item: "begun" }, ada);
      world.length = 0;
      const work = async (tx: Transaction) => {
        const config = { ...tx.config, durability };
        // Runs may have one signal.
        await graph.invoke({ item: "car" }, { ...config, signal });
        if (how === "at the savepoint itself")
          await graph.updateState(tx.config, { item: "flight" }, "__start__");
        const savepoint = await tx.savepoint();
        const input = how === "by new input" ? { item: "flight" } : null;
        const late = graph.invoke(input, config).catch((error: unknown) => error);
        await thinks.opened;
        await savepoint.rollback();
        goesOn.open();
        expect(await late).toMatchObject({ code: "TRANSACTION_ENDED" });
        await graph.updateState(tx.config, { item: "none" }, "pays");
        await graph.invoke({ item: "train" }, { ...config, signal });
      };
      await transaction(saver, "ada", work, { journal });
      expect(world).toEqual(["car", "train"]);
      expect((await graph.getState(ada)).values.item).toBe("train");
    },
  );
});

it("a call that was let through before the rollback began is refused where it is claimed", async () => {
  const saver = new TierSaver(new MemoryTier());
  const [isAsked, mayAnswer, hasTried] = [latch(), latch(), latch()];
  const policy = async ({ tool }: { readonly tool: string }) => {
    if (tool !== "late") return true;
    isAsked.open();
    await mayAnswer.opened;
    return true;
  };
  const journal = createJournal(saver, { policy });
  const world: string[] = [];
  const compensate = async () => {
    // The rollback has begun.
    mayAnswer.open();
    await hasTried.opened;
    world.push("refund");
  };
  const graph = new StateGraph(State)
    .addNode("pays", async ({ item }, config) => {
      const call = { id: item, tool: item, args: {}, effects: "once" as const, compensate };
      await journal.run(config, call, () => world.push(item));
      return {};
    })
    .addEdge(START, "pays")
    .compile({ checkpointer: saver });
  await graph.invoke({ item: "begun" }, { configurable: { thread_id: "ada" } });
  world.length = 0;
  let late: Promise<unknown> | undefined;
  const work = async (tx: Transaction) => {
    await graph.invoke({ item: "early" }, tx.config);
    late = graph.invoke({ item: "late" }, tx.config).catch((error: unknown) => {
      hasTried.open();
      return error;
    });
    await isAsked.opened;
    throw new Error("given up");
  };
  await expect(transaction(saver, "ada", work, { journal })).rejects.toMatchObject({ code: "ROLLED_BACK" });
  expect(await late).toMatchObject({ code: "TRANSACTION_ENDED" });
  expect(world).toEqual(["early", "refund"]);
});
