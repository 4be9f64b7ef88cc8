// long file: every race of two writers, over the same few graphs
import {
  Annotation,
  Command,
  DeltaChannel,
  START,
  StateGraph,
  interrupt,
  type StateSnapshot,
} from "@langchain/langgraph";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { expect } from "vitest";
import { Hold } from "../faulty/hold.ts";
import type { GraphContext, ThreadConfig } from "../graphs/context.ts";
import { heldWrites } from "./heldWrites.ts";

const append = (state: string[], writes: string[][]): string[] => [...state, ...writes.flat()];

const State = Annotation.Root({
  list: () => new DeltaChannel<string[], string[]>(append, { snapshotFrequency: 1000 }),
  plain: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  who: Annotation<string>,
});

/** Two parallel nodes, then one. Each writes the name of its run. `plain` is an ordinary channel that gets the same writes. */
const graphOf = (checkpointer: BaseCheckpointSaver, onB: () => void | Promise<void> = () => {}) =>
  new StateGraph(State)
    .addNode("a", ({ who }) => ({ list: [`a by ${who}`], plain: [`a by ${who}`] }))
    .addNode("b", async ({ who }) => {
      await onB();
      return { list: [`b by ${who}`], plain: [`b by ${who}`] };
    })
    .addNode("c", ({ who }) => ({ list: [`c by ${who}`], plain: [`c by ${who}`] }))
    .addEdge(START, "a")
    .addEdge(START, "b")
    .addEdge(["a", "b"], "c")
    .compile({ checkpointer });

/** Interrupts once, and writes the answer to both channels. */
const askingGraph = (checkpointer: BaseCheckpointSaver) =>
  new StateGraph(State)
    .addNode("ask", () => {
      const answer: string = interrupt("which?");
      return { list: [answer], plain: [answer] };
    })
    .addNode("after", ({ plain }) => ({ list: [`after ${plain.at(-1)}`], plain: [`after ${plain.at(-1)}`] }))
    .addEdge(START, "ask")
    .addEdge("ask", "after")
    .compile({ checkpointer });

const inputOf = (who: string) => ({ list: [`input of ${who}`], plain: [`input of ${who}`], who });

type Graph = ReturnType<typeof graphOf>;

/** Asserts that the DeltaChannel has the same items as the ordinary channel, and returns them. */
const expectSame = async (graph: Graph, config: RunnableConfig): Promise<string[]> => {
  const { values } = await graph.getState(config);
  const { list, plain } = values as { list: string[]; plain: string[] };
  expect(list.toSorted()).toEqual(plain.toSorted());
  return list;
};

/** The tips of side branches: checkpoints without children, except the head. */
const sideTips = async (saver: BaseCheckpointSaver, config: ThreadConfig): Promise<RunnableConfig[]> => {
  const tuples: CheckpointTuple[] = [];
  for await (const tuple of saver.list(config)) tuples.push(tuple);
  const head = (await saver.getTuple(config))?.checkpoint.id;
  const parents = new Set(
    tuples.map(({ parentConfig }) => parentConfig?.configurable?.["checkpoint_id"] as unknown),
  );
  return tuples
    .filter(({ checkpoint }) => checkpoint.id !== head && !parents.has(checkpoint.id))
    .map(({ config: tip }) => tip);
};

/** Opens a saver other than `one`, if the setup opens several. */
const other = async (
  reopen: () => Promise<BaseCheckpointSaver>,
  one: BaseCheckpointSaver,
): Promise<BaseCheckpointSaver> => {
  const opened = await reopen();
  return opened === one ? await reopen() : opened;
};

/** Tests with two writers that start from one checkpoint: the writes of one never become part of the other's result. */
export const raceTests = ({ test, saver, reopen, thread, durabilities }: GraphContext): void => {
  for (const durability of durabilities()) {
    test(`a run that lost leaks nothing into the winner's DeltaChannel, durability ${durability}`, async () => {
      const config = { ...thread(), durability };
      await graphOf(saver()).invoke(inputOf("first"), config);
      const loser = heldWrites(await reopen(), ["put"]);
      const losing = graphOf(loser.saver)
        .invoke(inputOf("loser"), config)
        .then(
          () => "branched",
          (error: Error & { code?: string }) => error.code,
        );
      await loser.waiting;
      await graphOf(await reopen()).invoke(inputOf("winner"), config);
      loser.release();
      expect(await losing).toBe(durability === "async" ? "branched" : "CHECKPOINT_CONFLICT");

      const reader = await reopen();
      const list = await expectSame(graphOf(reader), config);
      expect(list.filter((item) => item.includes("loser"))).toEqual([]);
      expect(list.filter((item) => item.includes("winner"))).toHaveLength(4);
      const tips = await sideTips(reader, config);
      if (durability === "async") expect(tips).not.toEqual([]);
      for (const tip of tips) {
        const side = await expectSame(graphOf(reader), tip);
        expect(side.filter((item) => item.includes("winner"))).toEqual([]);
      }
      await graphOf(await reopen()).invoke(inputOf("next"), config);
      expect(
        (await expectSame(graphOf(await reopen()), config)).filter((item) => item.includes("loser")),
      ).toEqual([]);
    });

    test(`of two answers to one interrupt, the head has the winner's, durability ${durability}`, async () => {
      const config = { ...thread(), durability };
      await askingGraph(saver()).invoke(inputOf("first"), config);
      // The winner reads the thread before anything of the loser's is stored.
      const winner = heldWrites(await reopen(), ["put", "putWrites"]);
      const winning = askingGraph(winner.saver).invoke(new Command({ resume: "winning answer" }), config);
      await winner.waiting;
      const loser = heldWrites(await reopen(), ["put"]);
      const losing = askingGraph(loser.saver)
        .invoke(new Command({ resume: "losing answer" }), config)
        .catch(() => undefined);
      await loser.waiting;
      winner.release();
      const result = await winning;
      loser.release();
      await losing;
      const state = await askingGraph(await reopen()).getState(config);
      expect(state.values).toEqual(result);
      expect(result.list).toEqual(["input of first", "winning answer", "after winning answer"]);
    });
  }

  // Under "exit", LangGraph before 1.5 stores the writes of such a step twice, with every saver.
  for (const durability of ["sync", "async"] as const) {
    test(`a step that one process began and another one finished is complete, durability ${durability}`, async () => {
      const config = { ...thread(), durability };
      const failing = graphOf(saver(), () => {
        throw new Error("b fails");
      });
      await expect(failing.invoke(inputOf("first"), config)).rejects.toThrow("b fails");
      const result = await graphOf(await reopen()).invoke(null, config);
      const state = await graphOf(await reopen()).getState(config);
      expect(state.values).toEqual(result);
      expect(result.list.toSorted()).toEqual(["a by first", "b by first", "input of first"]);
    });
  }

  test("an update by hand that lost leaks nothing into the winner's DeltaChannel", async () => {
    const config = thread();
    await graphOf(saver()).invoke(inputOf("first"), config);
    const loser = heldWrites(await reopen(), ["put"]);
    const update = (who: string) => ({ list: [`update by ${who}`], plain: [`update by ${who}`] });
    const losing = graphOf(loser.saver)
      .updateState(config, update("loser"), "c")
      .then(
        () => "stored",
        (error: Error & { code?: string }) => error.code,
      );
    await loser.waiting;
    await graphOf(await reopen()).updateState(config, update("winner"), "c");
    loser.release();
    expect(await losing).toBe("CHECKPOINT_CONFLICT");
    const list = await expectSame(graphOf(await reopen()), config);
    expect(list.at(-1)).toBe("update by winner");
    expect(list).toHaveLength(5);
  });

  for (const [what, values, asNode] of [
    ["nothing", null, undefined],
    ["the end", null, "__end__"],
    ["no channel", {}, "c"],
  ] as const) {
    test(`an update by hand that lost leaks nothing into a winner that writes ${what}`, async () => {
      const config = thread();
      await graphOf(saver()).invoke(inputOf("first"), config);
      // Both read the thread before either writes. The winner only writes pending writes to the checkpoint.
      const winner = heldWrites(await reopen(), ["put", "putWrites"]);
      const winning = graphOf(winner.saver).updateState(config, values, asNode as "c");
      await winner.waiting;
      const loser = heldWrites(await other(reopen, saver()), ["put"]);
      const losing = graphOf(loser.saver)
        .updateState(config, { list: ["loser"], plain: ["loser"] }, "c")
        .catch(() => undefined);
      await loser.waiting;
      winner.release();
      await winning;
      loser.release();
      await losing;
      expect(await expectSame(graphOf(await reopen()), config)).toHaveLength(4);
    });
  }

  test("an update by hand that lost is refused, even if its saver has read the winner's work meanwhile", async () => {
    const config = thread();
    await graphOf(saver()).invoke(inputOf("first"), config);
    const update = (who: string) => ({ list: [`update by ${who}`], plain: [`update by ${who}`] });
    const loser = heldWrites(saver(), ["put"]);
    const losing = graphOf(loser.saver)
      .updateState(config, update("loser"), "c")
      .then(
        () => "stored",
        (error: Error & { code?: string }) => error.code,
      );
    await loser.waiting;
    await graphOf(await reopen()).updateState(config, update("winner"), "c");
    await graphOf(saver()).getState(config);
    loser.release();
    expect(await losing).toBe("CHECKPOINT_CONFLICT");
    expect((await expectSame(graphOf(await reopen()), config)).at(-1)).toBe("update by winner");
  });

  test("a copy has the values of the original, even if the saver reads a sibling of it meanwhile", async () => {
    const config = thread();
    await graphOf(saver()).invoke(inputOf("first"), config);
    const before = await graphOf(saver()).getState(config);
    const history = [];
    for await (const state of graphOf(saver()).getStateHistory(config)) history.push(state);
    const sibling = await graphOf(saver()).updateState(
      history[1]!.config,
      { list: ["forked"], plain: ["forked"] },
      "c",
    );
    const copying = heldWrites(saver(), ["put"]);
    const copied = graphOf(copying.saver).updateState(before.config, null, "__copy__");
    await copying.waiting;
    await graphOf(saver()).getState(sibling);
    copying.release();
    expect((await graphOf(await reopen()).getState(await copied)).values).toEqual(before.values);
  });

  test("under exit, an update that comes with an answer is kept if the step is interrupted again", async () => {
    const config = { ...thread(), durability: "exit" as const };
    const twice = (checkpointer: BaseCheckpointSaver) =>
      new StateGraph(State)
        .addNode("ask", () => {
          const answers = [interrupt("first?"), interrupt("second?")] as string[];
          return { list: answers, plain: answers };
        })
        .addEdge(START, "ask")
        .compile({ checkpointer });
    await twice(saver()).invoke(inputOf("first"), config);
    const update = { list: ["told"], plain: ["told"] };
    await twice(await reopen()).invoke(new Command({ resume: "one", update }), config);
    await twice(await reopen()).invoke(new Command({ resume: "two" }), config);
    const { values } = await twice(await reopen()).getState(config);
    expect((values as { list: string[] }).list).toEqual(["input of first", "told", "one", "two"]);
  });

  test("an update of an older checkpoint doesn't include writes of the earlier continuation", async () => {
    const config = thread();
    await graphOf(saver()).invoke(inputOf("first"), config);
    const graph = graphOf(await reopen());
    for await (const { config: older, values, next } of graph.getStateHistory(config)) {
      if (!next.includes("c")) continue;
      const forked = await graph.updateState(older, { list: ["by hand"], plain: ["by hand"] }, "a");
      const { list } = values as { list: string[] };
      expect((await graphOf(await reopen()).getState(forked)).values.list).toEqual([...list, "by hand"]);
      return;
    }
    expect.unreachable("no checkpoint waited for c");
  });

  test("a copy has the values of the original, even if another writer lost a race there", async () => {
    const config = { ...thread(), durability: "sync" as const };
    await graphOf(saver()).invoke(inputOf("first"), config);
    const loser = heldWrites(await reopen(), ["put"]);
    const losing = graphOf(loser.saver)
      .invoke(inputOf("loser"), config)
      .catch(() => undefined);
    await loser.waiting;
    await graphOf(await reopen()).invoke(inputOf("winner"), config);
    loser.release();
    await losing;
    const graph = graphOf(await reopen());
    const states = [];
    for await (const state of graph.getStateHistory(config)) states.push(state);
    for (const state of states.slice(0, 4)) {
      const copy = await graph.updateState(state.config, null, "__copy__");
      expect((await graphOf(await reopen()).getState(copy)).values).toEqual(state.values);
    }
  });

  test("the head's line comes first in lists, and pages go on from it, if a run that lost has newer checkpoints", async () => {
    const config = { ...thread(), durability: "async" as const };
    await graphOf(saver()).invoke(inputOf("first"), config);
    const loser = heldWrites(await reopen(), ["put"]);
    const asleep = new Hold();
    const losing = graphOf(loser.saver, () => asleep.wait()).invoke(inputOf("loser"), config);
    await loser.waiting;
    await graphOf(await reopen()).invoke(inputOf("winner"), config);
    asleep.release();
    loser.release();
    await losing;
    const reader = await reopen();
    const found = async (options: { limit?: number; before?: RunnableConfig } = {}) => {
      const states: StateSnapshot[] = [];
      for await (const state of graphOf(reader).getStateHistory(config, options)) states.push(state);
      return states;
    };
    const all = await found();
    const idOf = (of: RunnableConfig | undefined): unknown => of?.configurable?.["checkpoint_id"];
    const ids = all.map((state) => idOf(state.config));
    const head = await graphOf(reader).getState(config);
    expect(all[0]!.values).toEqual(head.values);
    // What LangGraph's clients show of several children of one checkpoint is the first.
    const first = new Map<unknown, unknown>();
    for (const { parentConfig, config: of } of all.toReversed()) first.set(idOf(parentConfig), idOf(of));
    for (let at = head; at.parentConfig !== undefined; at = await graphOf(reader).getState(at.parentConfig))
      expect(first.get(idOf(at.parentConfig))).toBe(idOf(at.config));
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.toSorted().at(-1)).not.toBe(ids[0]);
    const paged: unknown[] = [];
    for (let page = await found({ limit: 3 }); page.length > 0;) {
      paged.push(...page.map((state) => idOf(state.config)));
      page = await found({ limit: 3, before: page.at(-1)!.config });
    }
    expect(paged).toEqual(ids);
  });

  test("after a replay from an older checkpoint, the state is what the replay returned", async () => {
    const config = thread();
    await graphOf(saver()).invoke(inputOf("first"), config);
    const graph = graphOf(await reopen());
    const states = [];
    for await (const state of graph.getStateHistory(config)) states.push(state);
    for (const state of states.filter(({ next }) => next.length > 0 && !next.includes(START))) {
      const replayed = await graph.invoke(null, state.config);
      expect((await graphOf(await reopen()).getState(config)).values).toEqual(replayed);
    }
  });
};
