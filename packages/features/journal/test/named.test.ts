// long file: what a person would call the same call, story by story
import {
  Annotation,
  Command,
  END,
  Send,
  START,
  StateGraph,
  entrypoint,
  interrupt,
  task,
} from "@langchain/langgraph";
import { fork } from "@stratigraph/branch";
import { TierSaver } from "@stratigraph/core";
import { describe, expect, it } from "vitest";
import { createJournal, type Journal } from "../src/index.ts";
import { savers } from "./support/places.ts";
import { journalOn } from "./support/journalOn.ts";

// Calls that code makes are known by the names that code gives them. What was paid is counted outside; a person says how much it should be.

const State = Annotation.Root({
  order: Annotation<string>,
  rounds: Annotation<number>({ reducer: (_, next) => next, default: () => 0 }),
  receipts: Annotation<string[]>({ reducer: (all, more) => [...all, ...more], default: () => [] }),
  log: Annotation<string[]>({ reducer: (_, next) => next, default: () => [] }),
});
type Values = typeof State.State;
type Config = Parameters<Journal["run"]>[0];

describe.each(savers)("on %s", (_name, open) => {
  let opened: Awaited<ReturnType<typeof open>>;
  let journal: Journal;
  journalOn(open, (...on) => ([opened, journal] = on));

  /** A shop, and what it was paid. It breaks after it paid as often as told. */
  function shop({
    breaks = 0,
    id = "charge" as string | ((state: Values) => string),
    by = () => journal,
  } = {}) {
    const paid: string[] = [];
    let broken = breaks;
    const pays = async (state: Values, config: Config, args: unknown = { order: state.order }) => {
      const receipt = await by().run(config, { id: typeof id === "string" ? id : id(state), args }, () => {
        paid.push(state.order);
        return `receipt ${paid.length}`;
      });
      if (broken > 0) {
        broken -= 1;
        throw new Error("nobody ships it");
      }
      return { receipts: [receipt] };
    };
    const compiled = (node = "sell", { channel = false, retries = 0 } = {}) =>
      new StateGraph(
        channel
          ? Annotation.Root({
              ...State.spec,
              added: Annotation<string>({ reducer: (_, b) => b, default: () => "new" }),
            })
          : State,
      )
        .addNode("look", () => ({}))
        .addNode(
          node,
          pays as never,
          retries === 0
            ? {}
            : { retryPolicy: { maxAttempts: retries + 1, initialInterval: 1, jitter: false } },
        )
        .addEdge(START, "look" as never)
        .addEdge("look" as never, node as never)
        .addEdge(node as never, END)
        .compile({ checkpointer: opened.saver }) as unknown as ReturnType<typeof compiledShop>;
    return { paid, pays, compiled, breakAgain: (times: number) => (broken = times) };
  }
  const compiledShop = () =>
    new StateGraph(State)
      .addNode("sell", () => ({}))
      .addEdge(START, "sell")
      .compile({ checkpointer: opened.saver });
  let threads = 0;
  const thread = () => ({
    configurable: { thread_id: crypto.randomUUID() },
    durability: (threads += 1) % 2 === 0 ? ("sync" as const) : ("async" as const),
  });

  /** The checkpoint before a node, in the thread's newest line. */
  async function before(
    graph: ReturnType<typeof compiledShop>,
    config: ReturnType<typeof thread>,
    node: string,
  ) {
    for await (const state of graph.getStateHistory(config))
      if (state.next.includes(node as never)) return state.config;
    throw new Error(`no ${node}`);
  }

  /** A new thread that begins at a checkpoint. */
  async function forkAt({ configurable }: { configurable?: Record<string, unknown> }) {
    const { thread_id: threadId, checkpoint_id: checkpointId } = configurable as Record<string, string>;
    const copy = thread();
    const point = { threadId: threadId!, checkpointId: checkpointId! };
    await fork(opened.saver, point, { to: copy.configurable.thread_id });
    return copy;
  }

  it("a node that pays and fails pays once, however often it is retried or continued", async () => {
    const { paid, compiled } = shop({ breaks: 4 });
    const graph = compiled("sell", { retries: 1 });
    const config = thread();
    await expect(graph.invoke({ order: "apples" }, config)).rejects.toThrow("nobody ships it");
    await expect(graph.invoke(null, config)).rejects.toThrow("nobody ships it");
    expect((await graph.invoke(null, config)).receipts).toEqual(["receipt 1"]);
    expect(paid).toEqual(["apples"]);
  });

  it("whatever the node does to its state meanwhile", async () => {
    const { paid, pays } = shop({ breaks: 2 });
    const graph = new StateGraph(State)
      .addNode(
        "sell",
        async (state, config) => {
          state.log.push("sold");
          return await pays(state as Values, config, { log: state.log });
        },
        { retryPolicy: { maxAttempts: 2, initialInterval: 1, jitter: false } },
      )
      .addEdge(START, "sell")
      .compile({ checkpointer: opened.saver });
    const config = thread();
    await expect(graph.invoke({ order: "apples" }, config)).rejects.toThrow("nobody ships it");
    expect((await graph.invoke(null, config)).receipts).toEqual(["receipt 1"]);
    expect(paid).toEqual(["apples"]);
  });

  it("a deployment that adds a channel, and an edit of something else, don't make it another call", async () => {
    const { paid, compiled } = shop({ breaks: 2 });
    const config = thread();
    await expect(compiled().invoke({ order: "apples" }, config)).rejects.toThrow("nobody ships it");
    await expect(compiled("sell", { channel: true }).invoke(null, config)).rejects.toThrow("nobody ships it");
    await compiled().updateState(config, { log: ["a note"] }, "look" as never);
    expect((await compiled().invoke(null, config)).receipts).toEqual(["receipt 1"]);
    expect(paid).toEqual(["apples"]);
  });

  it("an edit of what is paid makes it another call, and so does an edit on another branch", async () => {
    const { paid, compiled } = shop();
    const graph = compiled();
    const config = thread();
    await graph.invoke({ order: "apples" }, config);
    const back = await before(graph, config, "sell");
    const edited = await graph.updateState(back, { order: "pears" }, "look" as never);
    expect((await graph.invoke(null, edited)).receipts).toEqual(["receipt 2"]);
    expect((await graph.invoke(null, back)).receipts).toEqual(["receipt 1"]);
    expect((await graph.invoke(null, edited)).receipts).toEqual(["receipt 2"]);
    expect(paid).toEqual(["apples", "pears"]);
  });

  it("a node that a deployment renamed finds what it paid under its old name", async () => {
    const { paid, compiled } = shop();
    const config = thread();
    await compiled().invoke({ order: "apples" }, config);
    const renamed = compiled("sells");
    const back = await before(renamed, config, "look");
    expect((await renamed.invoke(null, back)).receipts).toEqual(["receipt 1"]);
    expect(paid).toEqual(["apples"]);
  });

  it("equal inputs are as many purchases as there are inputs", async () => {
    const { paid, compiled } = shop();
    const graph = compiled();
    const config = thread();
    for (let month = 1; month <= 3; month += 1) await graph.invoke({ order: "rent" }, config);
    expect((await graph.getState(config)).values.receipts).toEqual(["receipt 1", "receipt 2", "receipt 3"]);
    expect(paid).toEqual(["rent", "rent", "rent"]);
  });

  it("a month whose run broke off is its own purchase: the next input is another one", async () => {
    const { paid, compiled, breakAgain } = shop();
    const graph = compiled();
    const config = thread();
    breakAgain(1);
    await expect(graph.invoke({ order: "rent" }, config)).rejects.toThrow("nobody ships it");
    expect((await graph.invoke({ order: "rent" }, config)).receipts).toEqual(["receipt 2"]);
    expect(paid).toEqual(["rent", "rent"]);
  });

  it("a loop makes as many calls as it has rounds; gone back to, it finds each of them", async () => {
    const { paid, pays } = shop();
    const graph = new StateGraph(State)
      .addNode("remind", async (state, config) => ({
        ...(await pays(state, config)),
        rounds: state.rounds + 1,
      }))
      .addEdge(START, "remind")
      .addConditionalEdges("remind", ({ rounds }) => (rounds % 3 === 0 ? END : "remind"))
      .compile({ checkpointer: opened.saver });
    const config = thread();
    const all = ["receipt 1", "receipt 2", "receipt 3"];
    expect((await graph.invoke({ order: "reminder" }, config)).receipts).toEqual(all);
    const starts = [];
    for await (const { config: at, values } of graph.getStateHistory(config))
      starts.push([at, values.rounds] as const);
    for (const [at, rounds] of starts)
      if (rounds < 3) expect((await graph.invoke(null, at)).receipts).toEqual(all);
    expect(paid).toHaveLength(3);
    // From the middle of a branch that went back twice, and on from there with the next input.
    const [, second] = starts;
    await graph.invoke(null, second![0]);
    expect((await graph.invoke({ order: "reminder" }, config)).receipts).toEqual([
      ...all,
      "receipt 4",
      "receipt 5",
      "receipt 6",
    ]);
  });

  it("a fork goes on with what was paid; its own next purchase is its own", async () => {
    const { paid, compiled } = shop({ breaks: 1 });
    const graph = compiled();
    const [config, copy] = [thread(), thread()];
    await expect(graph.invoke({ order: "rent" }, config)).rejects.toThrow("nobody ships it");
    await fork(opened.saver, config.configurable.thread_id, { to: copy.configurable.thread_id });
    for (const one of [config, copy]) expect((await graph.invoke(null, one)).receipts).toEqual(["receipt 1"]);
    for (const one of [config, copy]) await graph.invoke({ order: "rent" }, one);
    expect(paid).toHaveLength(3);
  });

  it("a fork from before a payment, made after it, doesn't pay again: with its source, and without", async () => {
    const { paid, compiled } = shop();
    const graph = compiled();
    const config = thread();
    for (let month = 1; month <= 2; month += 1) await graph.invoke({ order: "rent" }, config);
    const point = await before(graph, config, "look");
    const [one, other] = [await forkAt(point), await forkAt(point)];
    const all = ["receipt 1", "receipt 2"];
    expect((await graph.invoke(null, one)).receipts).toEqual(all);
    await opened.saver.deleteThread(config.configurable.thread_id);
    // A process that never saw the source.
    const saver = new TierSaver(opened.saver.tier);
    const fresh = createJournal(saver);
    const { pays, paid: later } = shop({ by: () => fresh });
    const again = new StateGraph(State)
      .addNode("look", () => ({}))
      .addNode("sell", pays)
      .addEdge(START, "look")
      .addEdge("look", "sell")
      .compile({ checkpointer: saver });
    expect((await again.invoke(null, other)).receipts).toEqual(all);
    expect([paid.length, later.length]).toEqual([2, 0]);
    await again.invoke({ order: "rent" }, other);
    expect(later).toHaveLength(1);
    await fresh.end();
  });

  it("a fork of a branch that went back to before a payment doesn't pay again", async () => {
    const { paid, compiled } = shop();
    const graph = compiled();
    const config = thread();
    await graph.invoke({ order: "rent" }, config);
    // An edit of something else, before the payment: a branch that is younger than the payment.
    const back = await graph.updateState(
      await before(graph, config, "sell"),
      { log: ["a note"] },
      "look" as never,
    );
    const copy = await forkAt(back);
    expect((await graph.invoke(null, copy)).receipts).toEqual(["receipt 1"]);
    expect(paid).toHaveLength(1);
  });

  it("another process that took a turn in between has its own purchase, and this one goes on behind it", async () => {
    const others = createJournal(new TierSaver(opened.saver.tier));
    let current = journal;
    const { paid, compiled } = shop({ by: () => current });
    const graph = compiled();
    const config = thread();
    for (const one of [journal, others, others, journal]) {
      current = one;
      await graph.invoke({ order: "rent" }, config);
    }
    expect(paid).toHaveLength(4);
    await others.end();
  });

  it("a purchase before the thread was pruned is past", async () => {
    const { paid, compiled } = shop();
    const graph = compiled();
    const config = thread();
    for (let month = 1; month <= 2; month += 1) {
      await graph.invoke({ order: "rent" }, config);
      await opened.saver.prune([config.configurable.thread_id], { strategy: "keep_latest" });
      // What a new process knows: what is stored.
      await new TierSaver(opened.saver.tier).getTuple(config);
    }
    const fresh = createJournal(new TierSaver(opened.saver.tier));
    const { pays, paid: later } = shop({ by: () => fresh });
    const again = new StateGraph(State)
      .addNode("sell", pays)
      .addEdge(START, "sell")
      .compile({ checkpointer: fresh.checkpointer });
    await again.invoke({ order: "rent" }, config);
    expect([paid.length, later.length]).toEqual([2, 1]);
    await fresh.end();
  });

  it("parallel tasks that use one name make a call each, and find theirs when one of them failed", async () => {
    const paid: string[] = [];
    const failing = new Set(["pears", "plums"]);
    const graph = new StateGraph(State)
      .addNode("plan", () => ({}))
      .addNode("sell", async ({ order }: Values, config) => {
        const receipt = await journal.run(config, { id: "charge", args: { order } }, () => {
          paid.push(order);
          return `${order} ${paid.length}`;
        });
        if (failing.delete(order)) throw new Error("nobody ships it");
        return { receipts: [receipt] };
      })
      .addEdge(START, "plan")
      .addConditionalEdges("plan", () =>
        ["apples", "pears", "apples", "plums"].map((order) => new Send("sell", { order })),
      )
      .compile({ checkpointer: opened.saver });
    const config = thread();
    let state: Values | undefined;
    for (let times = 0; state === undefined; times += 1) {
      expect(times).toBeLessThan(4);
      state = await graph.invoke(times === 0 ? {} : null, config).catch(() => undefined);
    }
    expect(paid.toSorted()).toEqual(["apples", "apples", "pears", "plums"]);
    expect(new Set(state.receipts).size).toBe(4);
    const back = await before(graph as never, config, "plan");
    expect((await graph.invoke(null, back)).receipts.toSorted()).toEqual(state.receipts.toSorted());
    expect(paid).toHaveLength(4);
  });

  it("calls of one name in parallel tasks are made at the same time", async () => {
    const impatient = createJournal(opened.saver, { waitFor: "200ms" });
    let began = 0;
    let both: () => void;
    const all = new Promise<void>((resolve) => (both = resolve));
    const graph = new StateGraph(State)
      .addNode("sell", async ({ order }: Values, config) => {
        const receipt = await impatient.run(config, { id: "charge", args: { order } }, async () => {
          began += 1;
          if (began === 2) both();
          await all;
          return order;
        });
        return { receipts: [receipt] };
      })
      .addConditionalEdges(START, () => ["apples", "apples"].map((order) => new Send("sell", { order })))
      .compile({ checkpointer: opened.saver });
    expect((await graph.invoke({}, thread())).receipts).toEqual(["apples", "apples"]);
  });

  it("two nodes in parallel, and one after another, make a call each", async () => {
    for (const isParallel of [false, true]) {
      const { paid, pays } = shop();
      const graph = new StateGraph(State)
        .addNode("deposit", pays)
        .addNode("fee", pays)
        .addEdge(START, "deposit")
        .addEdge(isParallel ? START : "deposit", "fee")
        .compile({ checkpointer: opened.saver });
      const config = thread();
      const { receipts } = await graph.invoke({ order: "flat" }, config);
      expect(receipts.toSorted()).toEqual(["receipt 1", "receipt 2"]);
      const back = await before(graph as never, config, "deposit");
      expect((await graph.invoke(null, back)).receipts.toSorted()).toEqual(receipts.toSorted());
      expect(paid).toHaveLength(2);
    }
  });

  it("a name in a loop of one node names one call: with other arguments it is refused", async () => {
    const paid: unknown[] = [];
    const run = async (config: Config, order: string) =>
      await journal.run(config, { id: "charge", args: { order } }, () => paid.push(order));
    const graph = new StateGraph(State)
      .addNode("sell", async (_state, config) => {
        await run(config, "apples");
        await run(config, "apples").catch(() => undefined);
        await run(config, "pears");
        return {};
      })
      .addEdge(START, "sell")
      .compile({ checkpointer: opened.saver });
    await expect(graph.invoke({}, thread())).rejects.toMatchObject({
      code: "DUPLICATE_CALL",
      message: expect.stringContaining("`charge ${order}`") as string,
    });
    expect(paid).toEqual(["apples"]);
  });

  it.each([
    ["", {}, 4],
    // Its rounds go on where they were, so that the second input has one.
    [" that keeps its state", { checkpointer: true }, 3],
  ] as const)(
    "a subgraph%s that its node retries pays once, and its own loop once a round",
    async (_kind, options, reminders) => {
      const { paid, pays } = shop();
      let breaks = 2;
      const inner = new StateGraph(State)
        .addNode("remind", async (state, config) => ({
          ...(await pays(state, config)),
          rounds: state.rounds + 1,
        }))
        .addNode("ship", () => {
          if (breaks > 0) {
            breaks -= 1;
            throw new Error("nobody ships it");
          }
          return {};
        })
        .addEdge(START, "remind")
        .addConditionalEdges("remind", ({ rounds }) => (rounds < 2 ? "remind" : "ship"))
        .compile(options);
      const graph = new StateGraph(State)
        .addNode(
          "sell",
          async ({ order }, config) => ({ receipts: (await inner.invoke({ order }, config)).receipts }),
          { retryPolicy: { maxAttempts: 2, initialInterval: 1, jitter: false } },
        )
        .addEdge(START, "sell")
        .compile({ checkpointer: opened.saver });
      const config = thread();
      await expect(graph.invoke({ order: "reminder" }, config)).rejects.toThrow("nobody ships it");
      expect((await graph.invoke(null, config)).receipts).toEqual(["receipt 1", "receipt 2"]);
      const back = await before(graph as never, config, "sell");
      expect((await graph.invoke(null, back)).receipts).toEqual(["receipt 1", "receipt 2"]);
      expect(paid).toHaveLength(2);
      await graph.invoke({ order: "reminder" }, config);
      expect(paid).toHaveLength(reminders);
    },
  );

  it("in an entrypoint a name names one call of each task, each time that the entrypoint is begun", async () => {
    const paid: string[] = [];
    const charge = task(
      "charge",
      async (order: string) =>
        await journal.run(undefined, { id: "charge", args: { order } }, () => {
          paid.push(order);
          return `receipt ${paid.length}`;
        }),
    );
    const flow = entrypoint(
      { name: "flow", checkpointer: opened.saver },
      async (orders: string[], config) => {
        const first = await journal.run(config, { id: "fee" }, () => {
          paid.push("fee");
          return `fee ${paid.length}`;
        });
        const receipts: string[] = [first];
        for (const order of orders) receipts.push(await charge(order));
        return [...receipts, interrupt("go on?") as string];
      },
    );
    const config = thread();
    await flow.invoke(["apples", "apples", "pears"], config);
    const done = await flow.invoke(new Command({ resume: "yes" }), config);
    expect(done).toEqual(["fee 1", "receipt 2", "receipt 3", "receipt 4", "yes"]);
    expect(paid).toEqual(["fee", "apples", "apples", "pears"]);
    await flow.invoke(["apples"], config);
    expect(paid).toEqual(["fee", "apples", "apples", "pears", "fee", "apples"]);
  });

  it.each([
    ["an update", { update: { log: ["a note"] } }],
    ["a goto to the node", { goto: "sell" }],
  ])(
    "a Command with %s, while the node asks a question after it paid, doesn't pay again",
    async (_what, command) => {
      const { paid, pays } = shop();
      const graph = new StateGraph(State)
        .addNode("look", () => ({}))
        .addNode("sell", async (state, config) => {
          const sold = await pays(state, config);
          interrupt("ship it?");
          return sold;
        })
        .addEdge(START, "look")
        .addEdge("look", "sell")
        .compile({ checkpointer: opened.saver });
      const config = thread();
      await graph.invoke({ order: "apples" }, config);
      for (let times = 0; times < 2; times += 1) await graph.invoke(new Command(command as never), config);
      expect((await graph.invoke(new Command({ resume: "yes" }), config)).receipts).toEqual(["receipt 1"]);
      expect(paid).toHaveLength(1);
      // Of a thread that is done it is the way to begin the node anew.
      await graph.invoke(new Command({ goto: "sell" }), config);
      expect(paid).toHaveLength(2);
    },
  );

  it("outside a graph a name names one call of the thread, with the same arguments, apart from the graph's", async () => {
    const { paid, compiled } = shop();
    const config = thread();
    const buy = async (order: string) =>
      await journal.run(config, { id: "charge", args: { order } }, () => `outside ${paid.push(order)}`);
    await compiled().invoke({ order: "rent" }, config);
    expect([await buy("apples"), await buy("apples")]).toEqual(["outside 2", "outside 2"]);
    await expect(buy("pears")).rejects.toMatchObject({ code: "DUPLICATE_CALL", data: { tool: "charge" } });
    expect((await compiled().invoke({ order: "apples" }, config)).receipts.at(-1)).toBe("receipt 3");
    expect(paid).toEqual(["rent", "apples", "apples"]);
  });

  it("without a checkpointer nothing is paid, and nobody waits to be told so", async () => {
    const { paid, pays } = shop();
    const graph = new StateGraph(State).addNode("sell", pays).addEdge(START, "sell").compile();
    await expect(graph.invoke({ order: "rent" }, thread())).rejects.toMatchObject({
      code: "NOT_DURABLE",
      message: expect.stringContaining("runs without a checkpointer") as string,
    });
    expect(paid).toEqual([]);
  });

  it("an entrypoint that broke off after it paid is a purchase, and its next input another one", async () => {
    const paid: string[] = [];
    let broken = true;
    const flow = entrypoint({ name: "flow", checkpointer: opened.saver }, async (order: string, config) => {
      const receipt = await journal.run(config, { id: "charge", args: { order } }, () => paid.push(order));
      if (broken) throw new Error("nobody ships it");
      return receipt;
    });
    const config = thread();
    await expect(flow.invoke("rent", config)).rejects.toThrow("nobody ships it");
    broken = false;
    expect(await flow.invoke("rent", config)).toBe(2);
    expect(paid).toHaveLength(2);
  });

  it("an input that follows a payment of which nobody knows is asked about that one, and then pays its own", async () => {
    const paid: string[] = [];
    let cut = true;
    const graph = new StateGraph(State)
      .addNode("sell", async ({ order }, config) => ({
        receipts: [
          await journal.run(config, { id: "charge", args: { order } }, () => {
            paid.push(order);
            if (cut) throw new Error("the line was cut");
            return `receipt ${paid.length}`;
          }),
        ],
      }))
      .addEdge(START, "sell")
      .compile({ checkpointer: opened.saver });
    const config = thread();
    await expect(graph.invoke({ order: "rent" }, config)).rejects.toThrow("the line was cut");
    cut = false;
    const asked = await graph.invoke({ order: "rent" }, config);
    const [question] = (asked as unknown as { __interrupt__: { value: { id: string; kind: string } }[] })
      .__interrupt__;
    expect(question!.value.kind).toBe("ambiguous");
    const resume = { id: question!.value.id, happened: true, result: "by phone" };
    expect((await graph.invoke(new Command({ resume }), config)).receipts).toEqual(["receipt 2"]);
    expect(paid).toEqual(["rent", "rent"]);
  });
});
