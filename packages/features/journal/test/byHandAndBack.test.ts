import { Annotation, START, StateGraph } from "@langchain/langgraph";
import { fork, merge } from "@stratigraph/branch";
import { describe, expect, it } from "vitest";
import type { Journal } from "../src/index.ts";
import { fewSavers, type Opened } from "./support/savers.ts";
import { journalOn } from "./support/journalOn.ts";

// A run goes back, and a person enters a result by hand on one of the branches: what somebody would say was paid, and by whom. All nodes pay
// under one id, and as much.

type What = "hotel" | "flight" | "car";
const [hotel, flight, car] = ["hotel", "flight", "car"] as const;

describe.each(fewSavers)("on %s", (_name, open) => {
  let opened: Opened;
  let journal: Journal;
  journalOn(open, (...on) => ([opened, journal] = on));

  const State = Annotation.Root({
    receipts: Annotation<string[]>({ reducer: (all, more) => [...all, ...more], default: () => [] }),
    note: Annotation<string>,
  });

  /** Nodes one after another, which pay. Those whose names are in `inSubgraph` are subgraphs of a node that pays. */
  function trip(inSubgraph: readonly What[] = []) {
    const bank: What[] = [];
    const breaks: { before?: What; behind?: What } = {};
    const ids: { [what in What]?: string } = {};
    const pays = (what: What) => async (_: object, config: object) => {
      if (breaks.before === what) throw new Error("broke off");
      const receipt = await journal.run(
        config,
        { id: ids[what] ?? "charge", args: { amount: 100 } },
        () => `${bank.push(what)}: ${what}`,
      );
      if (breaks.behind === what) throw new Error("broke off");
      return { receipts: [receipt] };
    };
    const nodeOf = (what: What) => {
      if (!inSubgraph.includes(what)) return pays(what);
      const inner = new StateGraph(State).addNode("pays", pays(what)).addEdge(START, "pays").compile();
      return async (_: object, config: object) => ({
        receipts: (await inner.invoke({ receipts: [] }, config)).receipts,
      });
    };
    /** @param flies the name of the flight's node, which a deployment may change */
    const graph = (flies = "flight") =>
      new StateGraph(State)
        .addNode("looks", () => ({}))
        .addNode("hotel", nodeOf("hotel"))
        .addNode(flies, nodeOf("flight"))
        .addNode("car", nodeOf("car"))
        .addEdge(START, "looks")
        .addEdge("looks", "hotel")
        .addEdge("hotel", flies as never)
        .addEdge(flies as never, "car")
        .compile({ checkpointer: opened.saver });
    const config = {
      configurable: { thread_id: crypto.randomUUID() as string },
      durability: "sync" as const,
    };
    const breaksOff = async (input: object | null, at = config) =>
      await expect(graph().invoke(input as null, at)).rejects.toThrow("broke off");
    /** The newest checkpoint behind which a node is due. */
    const dueAt = async (node: string) => {
      for await (const state of graph().getStateHistory(config))
        if (state.next.includes(node as never)) return { ...config, ...state.config } as typeof config;
      throw new Error(`${node} was never due`);
    };
    return { bank, breaks, ids, graph, config, breaksOff, dueAt };
  }

  const byHand = { receipts: ["by hand"] };

  it("the flight is entered by hand on the branch that went back: the car, which was never paid, is paid", async () => {
    for (const inSubgraph of [[], [flight], [flight, car]] as const) {
      const { bank, breaks, graph, config, breaksOff, dueAt } = trip(inSubgraph);
      breaks.before = "car";
      await breaksOff({});
      breaks.before = "flight";
      await breaksOff(null, await dueAt("hotel"));
      await graph().updateState(config, byHand, "flight" as never);
      delete breaks.before;
      expect((await graph().invoke(null, config)).receipts).toEqual(["1: hotel", "by hand", "3: car"]);
      expect(bank).toEqual([hotel, flight, car]);
    }
  });

  it("the same in a later turn, and where the car had been paid: it is given its own receipt", async () => {
    const { bank, breaks, graph, config, breaksOff, dueAt } = trip();
    for (const turn of [1, 2]) {
      await graph().invoke({}, config);
      breaks.before = "flight";
      await breaksOff(null, await dueAt("hotel"));
      await graph().updateState(config, byHand, "flight" as never);
      delete breaks.before;
      const { receipts } = await graph().invoke(null, config);
      const first = 3 * turn - 2;
      expect(receipts.slice(-3)).toEqual([`${first}: hotel`, "by hand", `${first + 2}: car`]);
    }
    expect(bank).toEqual([hotel, flight, car, hotel, flight, car]);
  });

  it("the flight is entered by hand in a fork: the car is paid there", async () => {
    const { bank, breaks, graph, config, breaksOff, dueAt } = trip();
    breaks.before = "car";
    await breaksOff({});
    const { thread_id: threadId, checkpoint_id: checkpointId } = (await dueAt("hotel"))
      .configurable as unknown as { thread_id: string; checkpoint_id: string };
    const forked = {
      ...config,
      configurable: { thread_id: (await fork(opened.saver, { threadId, checkpointId })).threadId },
    };
    breaks.before = "flight";
    await breaksOff(null, forked);
    await graph().updateState(forked, byHand, "flight" as never);
    delete breaks.before;
    expect((await graph().invoke(null, forked)).receipts).toEqual(["1: hotel", "by hand", "3: car"]);
    expect(bank).toEqual([hotel, flight, car]);
  });

  it("all was paid, and the run goes back and is entered as the flight, past the hotel: the car has its own receipt", async () => {
    const { bank, graph, config, dueAt } = trip();
    await graph().invoke({}, config);
    const at = await graph().updateState(await dueAt("hotel"), byHand, "flight" as never);
    expect((await graph().invoke(null, at as never)).receipts).toEqual(["by hand", "3: car"]);
    expect(bank).toEqual([hotel, flight, car]);
  });

  it("the hotel was entered by hand at first, and runs on the branch that went back: nothing is paid twice, and it says what to do", async () => {
    const { bank, breaks, ids, graph, config, breaksOff, dueAt } = trip();
    breaks.before = "hotel";
    await breaksOff({});
    const at = await dueAt("hotel");
    await graph().updateState(config, byHand, "hotel" as never);
    breaks.before = "car";
    await breaksOff(null);
    expect(bank).toEqual([flight]);
    delete breaks.before;
    const refused = await graph()
      .invoke(null, at)
      .catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "DUPLICATE_CALL", data: { tool: "charge" } });
    expect((refused as Error).message).toContain("give it an id of its own");
    expect(bank).toEqual([flight]);
    ids.hotel = "charge the hotel";
    const { receipts } = await graph().invoke(null, at);
    expect(receipts).toEqual(["2: hotel", "1: flight", "3: car"]);
    expect(bank).toEqual([flight, hotel, car]);
  });

  it("nothing is entered by hand: a node that was renamed is given the receipt of before", async () => {
    const { bank, breaks, graph, breaksOff, dueAt } = trip();
    breaks.before = "car";
    await breaksOff({});
    delete breaks.before;
    const { receipts } = await graph("flies").invoke(null, await dueAt("hotel"));
    expect(receipts).toEqual(["1: hotel", "2: flight", "3: car"]);
    expect(bank).toEqual([hotel, flight, car]);
  });

  it("something else is edited on the branch that went back: each is given its receipt, also a node that is renamed then", async () => {
    for (const flies of ["flight", "flies"]) {
      const { bank, breaks, graph, config, breaksOff, dueAt } = trip();
      breaks.before = "car";
      await breaksOff({});
      breaks.before = "flight";
      await breaksOff(null, await dueAt("hotel"));
      await graph(flies).updateState(config, { note: "a window seat" }, "hotel" as never);
      delete breaks.before;
      expect((await graph(flies).invoke(null, config)).receipts).toEqual(["1: hotel", "2: flight", "3: car"]);
      expect(bank).toEqual([hotel, flight, car]);
    }
  });

  it("something else is edited before a node is due that was renamed since: it is given its receipt, in a later turn, too", async () => {
    const { bank, breaks, graph, config, breaksOff, dueAt } = trip();
    await graph().invoke({}, config);
    breaks.before = "car";
    await breaksOff({});
    delete breaks.before;
    await graph().updateState(await dueAt("hotel"), { note: "a window seat" }, "looks");
    const { receipts } = await graph("flies").invoke(null, config);
    expect(receipts.slice(3)).toEqual(["4: hotel", "5: flight", "6: car"]);
    expect(bank).toHaveLength(6);
  });

  it("a node that was entered by hand runs again on a third branch, and has its receipt", async () => {
    const { bank, breaks, graph, config, breaksOff, dueAt } = trip();
    await graph().invoke({}, config);
    breaks.before = "flight";
    const at = await dueAt("hotel");
    await breaksOff(null, at);
    await graph().updateState(config, byHand, "flight" as never);
    delete breaks.before;
    await graph().invoke(null, config);
    expect((await graph().invoke(null, at)).receipts).toEqual(["1: hotel", "2: flight", "3: car"]);
    expect(bank).toEqual([hotel, flight, car]);
  });

  it("a fork of a fork, which broke off behind what it paid, is merged into the first thread: it isn't paid again", async () => {
    for (const middleTurns of [0, 1, 2])
      for (const lastTurns of [0, 1]) {
        const bank: string[] = [];
        let breaks = false;
        const Sale = Annotation.Root({ order: Annotation<string>, receipt: Annotation<string> });
        const graph = new StateGraph(Sale)
          .addNode("sell", async ({ order }, config) => {
            const on = { id: "charge", args: { order } };
            const receipt = await journal.run(config, on, () => `${bank.push(order)}: ${order}`);
            if (breaks) throw new Error("broke off");
            return { receipt };
          })
          .addEdge(START, "sell")
          .compile({ checkpointer: opened.saver });
        const forked = async (of: typeof config) => {
          const { threadId } = await fork(opened.saver, { threadId: of.configurable.thread_id });
          return { ...of, configurable: { thread_id: threadId } };
        };
        const config = {
          configurable: { thread_id: crypto.randomUUID() as string },
          durability: "sync" as const,
        };
        await graph.invoke({ order: "apples" }, config);
        const middle = await forked(config);
        for (let turn = 0; turn < middleTurns; turn += 1)
          await graph.invoke({ order: `figs ${turn}` }, middle);
        const last = await forked(middle);
        for (let turn = 0; turn < lastTurns; turn += 1) await graph.invoke({ order: `dates ${turn}` }, last);
        breaks = true;
        await expect(graph.invoke({ order: "pears" }, last)).rejects.toThrow("broke off");
        breaks = false;
        const { threadId } = { threadId: last.configurable.thread_id };
        const merged = await merge(graph, config.configurable.thread_id, { threadId });
        expect(merged.status).toBe("fast-forward");
        await graph.invoke(null, config);
        expect(bank.filter((order) => order === "pears")).toEqual(["pears"]);
        await graph.invoke({ order: "pears" }, config);
        expect(bank.filter((order) => order === "pears")).toEqual(["pears", "pears"]);
      }
  });
});
