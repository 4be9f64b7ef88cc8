// long file: every way in which equal branches end, and how each is asked
import { Annotation, Command, Send, START, StateGraph } from "@langchain/langgraph";
import { MemorySaver, TierSaver } from "@stratigraph/core";
import { reservedNamespaces, type AppendRequest } from "@stratigraph/core/tier";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { inRounds } from "../../../../test/rounds.ts";
import { createJournal, currentCall, type AmbiguousQuestion, type Journal } from "../src/index.ts";
import { questions } from "./support/effects.ts";
import { deafToDeaths, Life } from "./support/mortal.ts";
import { fewSavers, type Opened } from "./support/savers.ts";

// Equal branches of a fan-out whose process was killed: nobody can tell one from the other, so a person says how many happened.

const State = Annotation.Root({
  receipts: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});
const branches = inRounds({ few: 12, all: 50 });
/** The payment with which a process dies. */
const half = branches / 2;

/** A bank that knows what it was paid. The process dies with the payment of a number. */
function payments() {
  const paid: string[] = [];
  /** The branch that waits for all others. */
  let reach!: () => void;
  const slow = {
    send: undefined as number | undefined,
    others: 0,
    all: 0,
    reached: new Promise<void>((resolve) => (reach = resolve)),
  };
  const graphOn = (saver: TierSaver, dies: Life = new Life(), last = Infinity, orders = ["tea"]) => {
    const journal = createJournal(saver);
    const graph = new StateGraph(State)
      .addNode("pay", async ({ order }: { order: string }, config) => {
        const { metadata } = config as { metadata?: { langgraph_path?: [unknown, number] } };
        const send = metadata?.langgraph_path?.[1];
        if (slow.send !== undefined && slow.send === send) await slow.reached;
        const making = journal.run(config, { id: "pay", args: { order } }, () => {
          dies.lives();
          paid.push(`receipt ${paid.length + 1}`);
          if (paid.length === last) dies.end();
          return paid.at(-1)!;
        });
        // It ends without a receipt if it asks, or leaves that to another one.
        if (slow.send !== undefined)
          await making
            .catch(() => undefined)
            .finally(() => {
              slow.others += 1;
              if (slow.others === slow.all - 1) reach();
            });
        return { receipts: [await making] };
      })
      .addConditionalEdges(START, () =>
        Array.from({ length: branches }, (_, n) => new Send("pay", { order: orders[n % orders.length] })),
      )
      .compile({ checkpointer: saver });
    return { graph, journal };
  };
  return { paid, slow, graphOn };
}

async function unresolved(journal: Journal, thread: string): Promise<number> {
  let count = 0;
  for await (const _call of journal.unresolved(thread)) count += 1;
  return count;
}

describe.each(fewSavers)("equal branches, on %s", (_name, open) => {
  let opened: Opened;
  let hear: () => void;
  let threads = 0;
  beforeAll(async () => {
    opened = await open();
    hear = deafToDeaths();
  });
  afterAll(async () => {
    hear();
    await opened.close();
  });

  /** A thread whose process died with the 25th payment, and what is asked when it goes on. */
  async function killed(orders = ["tea"]) {
    threads += 1;
    const thread = `thread ${threads}`;
    const config = { configurable: { thread_id: thread }, durability: "sync" as const };
    const { paid, slow, graphOn } = payments();
    const life = new Life();
    await expect(
      graphOn(new TierSaver(life.of(opened.saver.tier)), life, half, orders).graph.invoke({}, config),
    ).rejects.toThrow();
    expect(paid).toHaveLength(half);
    const { graph, journal } = graphOn(opened.saver, undefined, undefined, orders);
    const asked = async (input: Parameters<typeof graph.invoke>[0]) => {
      const state = await graph.invoke(input, config);
      return { receipts: state.receipts, questions: questions(state) };
    };
    const first = await asked(null);
    const about = first.questions.map(({ value }) => value as AmbiguousQuestion);
    // Some were recorded before the process died.
    const equal = about.reduce((sum, question) => sum + (question.equal ?? 1), 0);
    return {
      thread,
      slow,
      paid,
      graphOn,
      graph,
      journal,
      asked,
      config,
      first,
      about,
      equal,
      lost: half - (branches - equal),
    };
  }

  it("one question; half of them happened, with the receipts of the bank: all are paid once", async () => {
    const { about, lost, asked, paid, journal, thread, graph, config } = await killed();
    const [value, ...others] = about;
    expect(others).toEqual([]);
    expect(value).toMatchObject({ kind: "ambiguous", tool: "pay", args: { order: "tea" } });
    expect(lost).toBeGreaterThan(5);
    expect((await graph.getState(config)).tasks.flatMap(({ interrupts }) => interrupts)).toHaveLength(1);
    const results = paid.slice(half - lost);
    const { receipts, questions: none } = await asked(
      new Command({ resume: { id: value!.id, happened: lost, results } }),
    );
    expect(none).toEqual([]);
    expect(paid).toHaveLength(branches);
    expect(receipts.toSorted()).toEqual(paid.toSorted());
    expect(await unresolved(journal, thread)).toBe(0);
  });

  it("an answer by the interrupt's id reaches all of them", async () => {
    const { first, lost, asked, paid } = await killed();
    const [{ id, value }] = first.questions as [{ id: string; value: AmbiguousQuestion }];
    const resume = { [id]: { id: value.id, happened: lost, result: "paid before" } };
    const { receipts, questions: none } = await asked(new Command({ resume }));
    expect([none, receipts.length, paid.length]).toEqual([[], branches, branches]);
    expect(receipts.filter((receipt) => receipt === "paid before")).toHaveLength(lost);
  });

  it("an answer reaches those, too, that come to their call before the one that asked", async () => {
    const { first, lost, equal, asked, paid, slow } = await killed();
    const [{ id, value }] = first.questions as [{ id: string; value: AmbiguousQuestion }];
    Object.assign(slow, { send: value.where.send, all: equal });
    expect(slow.send).toBeTypeOf("number");
    const resume = { [id]: { id: value.id, happened: lost } };
    const { receipts, questions: none } = await asked(new Command({ resume }));
    expect([none, receipts.length, paid.length]).toEqual([[], branches, branches]);
  });

  it("none of them, and all of them", async () => {
    for (const isNone of [false, true]) {
      const { about, equal, asked, paid } = await killed();
      const happened = isNone ? 0 : equal;
      const { receipts } = await asked(new Command({ resume: { id: about[0]!.id, happened } }));
      expect([receipts.length, paid.length]).toEqual([branches, isNone ? half + equal : half]);
    }
  });

  it("yes or no, more than there are, half a call, and other results than happened are refused, and nothing is paid", async () => {
    const { about, equal, lost, asked, paid } = await killed();
    let value = about[0]!;
    for (const wrong of [
      { happened: true },
      { happened: false },
      { happened: equal + 1 },
      { happened: 1.5 },
      { happened: -1 },
      { happened: 2, results: ["a"] },
    ]) {
      const again = await asked(new Command({ resume: { id: value.id, ...wrong } }));
      expect(again.questions).toHaveLength(1);
      ({ value } = again.questions[0] as { value: AmbiguousQuestion });
      expect(value.refused).toContain(`how many of the ${equal} happened`);
    }
    expect(paid).toHaveLength(half);
    await asked(new Command({ resume: { id: value.id, happened: lost } }));
    expect(paid).toHaveLength(branches);
  });

  it("continued without an answer, it asks the same again", async () => {
    const { first, asked, paid } = await killed();
    const again = await asked(null);
    expect(again.questions).toEqual(first.questions);
    expect(paid).toHaveLength(half);
  });

  it("one of them that was looked up meanwhile isn't asked for any more", async () => {
    const { about, equal, lost, asked, journal, thread, paid } = await killed();
    const value = about[0]!;
    await journal.resolve(value.call, {
      threadId: thread,
      happened: true,
      result: "receipt 1",
      author: "ops",
    });
    const late = await asked(new Command({ resume: { id: value.id, happened: lost } }));
    // It was an answer for all of them: they are asked for anew.
    const rest = late.questions[0]!.value as AmbiguousQuestion;
    expect([late.questions.length, rest.equal, paid.length]).toEqual([1, equal - 1, half]);
    await asked(new Command({ resume: { id: rest.id, happened: lost - 1 } }));
    expect(paid).toHaveLength(branches);
  });

  it("one of them that is looked up while the answer is recorded: the answer doesn't count", async () => {
    const { about, lost, journal, thread, config, graphOn } = await killed();
    const { call, id } = about[0]!;
    let appends = 0;
    const tier = new Proxy(opened.saver.tier, {
      get: (target, name) => {
        const method = Reflect.get(target, name, target) as unknown;
        if (typeof method !== "function") return method;
        if (name !== "append") return method.bind(target) as unknown;
        return async (...args: readonly [AppendRequest]) => {
          const isOfJournal = args[0].records.some((each) => each.namespace === reservedNamespaces.calls);
          if (isOfJournal && ++appends === 1)
            await journal.resolve(call, { threadId: thread, happened: false, author: "ops" });
          return (await Reflect.apply(method, target, args)) as unknown;
        };
      },
    });
    const { graph } = graphOn(new TierSaver(tier));
    const state = await graph.invoke(new Command({ resume: { id, happened: lost } }), config);
    expect(appends).toBeGreaterThan(0);
    expect(questions(state).map(({ value }) => (value as AmbiguousQuestion).equal)).toEqual([
      about[0]!.equal! - 1,
    ]);
  });

  it("an answer doesn't count for the next thread with its id", async () => {
    const { about, lost, asked, journal, thread, config } = await killed();
    await asked(new Command({ resume: { id: about[0]!.id, happened: lost } }));
    await journal.checkpointer.deleteThread(thread);
    const { paid, graphOn } = payments();
    const life = new Life();
    const first = graphOn(new TierSaver(life.of(opened.saver.tier)), life, half).graph;
    await expect(first.invoke({}, config)).rejects.toThrow();
    const state = await graphOn(opened.saver).graph.invoke(null, config);
    expect([questions(state).length, paid.length]).toEqual([1, half]);
  });

  it("two kinds of branches are two questions", async () => {
    const { first, about, paid, asked } = await killed(["tea", "milk"]);
    expect(about.map(({ args }) => (args as { order: string }).order).toSorted()).toEqual(["milk", "tea"]);
    for (const { id, value } of first.questions)
      await asked(
        new Command({ resume: { [id]: { id: value.id, happened: (value as AmbiguousQuestion).equal } } }),
      );
    expect(paid).toHaveLength(half);
  });

  it("two equal calls of one task are two questions, as its code says which is which", async () => {
    threads += 1;
    const config = { configurable: { thread_id: `thread ${threads}` }, durability: "sync" as const };
    const paid: string[] = [];
    const made = new Set<string>();
    const graphOn = (saver: TierSaver, life = new Life(), last = Infinity) => {
      const journal = createJournal(saver);
      const pay = (runConfig: object, to: string) =>
        journal.run(runConfig, { id: `pay ${to}`, tool: "pay", args: {} }, () => {
          life.lives();
          paid.push(to);
          made.add(currentCall()!.fingerprint);
          if (paid.length === last) life.end();
          return to;
        });
      return new StateGraph(State)
        .addNode("pay", async (_, runConfig) => ({
          receipts: await Promise.all(["ada", "bob"].map((to) => pay(runConfig, to))),
        }))
        .addEdge(START, "pay")
        .compile({ checkpointer: saver });
    };
    const life = new Life();
    await expect(
      graphOn(new TierSaver(life.of(opened.saver.tier)), life, 1).invoke({}, config),
    ).rejects.toThrow();
    const graph = graphOn(opened.saver);
    let state = await graph.invoke(null, config);
    for (let n = 0; questions(state).length > 0; n += 1) {
      const value = questions(state)[0]!.value as AmbiguousQuestion;
      // LangGraph asks again where both ask at once.
      expect([n < 5, value.equal]).toEqual([true, undefined]);
      const happened = made.has(value.call);
      state = await graph.invoke(new Command({ resume: { id: value.id, happened, result: "ada" } }), config);
    }
    expect(paid.toSorted()).toEqual(["ada", "bob"]);
    expect(state.receipts).toHaveLength(2);
  });
});

describe("equal branches of a process that lives", () => {
  const on = { configurable: { thread_id: "ada" } };
  /** A fan-out of three payments, which begin at once. @param pay what the bank does with the n-th one */
  function fanOut(pay: (n: number) => string, isKilled = () => false) {
    const saver = new MemorySaver();
    const journal = createJournal(saver);
    let paid = 0;
    let begin!: () => void;
    const began = new Promise<void>((resolve) => (begin = resolve));
    const work = async () => {
      const n = (paid += 1);
      if (n === 3) begin();
      await began;
      return pay(n);
    };
    const graph = new StateGraph(State)
      .addNode("pay", async (_state, config) => {
        const receipts = [await journal.run(config, { id: "pay", args: {} }, work)];
        if (isKilled()) throw new Error("killed");
        return { receipts };
      })
      .addConditionalEdges(START, () => [1, 2, 3].map(() => new Send("pay", {})))
      .compile({ checkpointer: saver });
    return { graph, journal, paid: () => paid };
  }

  it.each(["error", "signal"])("that an %s cut off are asked for once", async (way) => {
    const stop = new AbortController();
    const { graph, paid } = fanOut((n) => {
      if (n > 3) return `receipt ${n}`;
      if (way === "signal") stop.abort();
      throw new Error("cut");
    });
    await expect(graph.invoke({}, { ...on, signal: stop.signal })).rejects.toThrow();
    const asked = questions(await graph.invoke(null, on));
    expect(asked.map(({ value }) => (value as AmbiguousQuestion).equal)).toEqual([3]);
    expect(asked[0]!.value).toMatchObject({ why: expect.stringContaining("3 equal calls: cut") });
    const resume = { id: asked[0]!.value.id, happened: 2, results: ["one", "two"] };
    const { receipts } = await graph.invoke(new Command({ resume }), on);
    expect([receipts.toSorted(), paid()]).toEqual([["one", "receipt 4", "two"], 4]);
  });

  it("whose results were erased are asked for once: all of them happened", async () => {
    let isKilled = true;
    const { graph, journal, paid } = fanOut(
      (n) => `receipt ${n}`,
      () => isKilled,
    );
    await expect(graph.invoke({}, on)).rejects.toThrow("killed");
    isKilled = false;
    await journal.erase("ada", { before: new Date(Date.now() + 60_000) });
    const asked = questions(await graph.invoke(null, on));
    expect(asked.map(({ value }) => value)).toMatchObject([{ equal: 3, happened: true }]);
    const { id } = asked[0]!.value;
    const refused = questions(await graph.invoke(new Command({ resume: { id, happened: 2 } }), on));
    expect((refused[0]!.value as AmbiguousQuestion).refused).toContain("happened: 3");
    const results = ["one", "two", "three"];
    const resume = { [refused[0]!.id]: { id, happened: 3, results } };
    const { receipts } = await graph.invoke(new Command({ resume }), on);
    expect([receipts.toSorted(), paid()]).toEqual([results.toSorted(), 3]);
  });
});
