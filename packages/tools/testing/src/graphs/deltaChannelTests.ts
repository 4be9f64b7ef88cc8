import {
  Annotation,
  Command,
  DeltaChannel,
  Overwrite,
  START,
  StateGraph,
  interrupt,
} from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { expect } from "vitest";
import { isAtLeast } from "../installedVersion.ts";
import type { GraphContext } from "./context.ts";
import { finishInTurn } from "../finishInTurn.ts";
import { DURABILITIES } from "./durabilities.ts";
import { chainOf, expectOneLine, historyOf, idOf } from "./snapshots.ts";

const append = (state: string[], writes: string[][]): string[] => [...state, ...writes.flat()];

const stateOf = (snapshotFrequency: number) =>
  Annotation.Root({
    list: () => new DeltaChannel<string[], string[]>(append, { snapshotFrequency }),
    turn: Annotation<number>({ reducer: (a, b) => a + b, default: () => 0 }),
  });

/** Two writers, one after the other, each turn. */
const graphOf = (checkpointer: BaseCheckpointSaver, snapshotFrequency: number, mark = "") =>
  new StateGraph(stateOf(snapshotFrequency))
    .addNode("a", (s) => ({ list: [`a${s.turn}${mark}`], turn: 1 }))
    .addNode("b", (s) => ({ list: [`b${s.turn}${mark}`, `${s.list.length} before`] }))
    .addEdge(START, "a")
    .addEdge("a", "b")
    .compile({ checkpointer });

const writers = ["mike", "zulu", "alpha", "kilo"];

/** Parallel writers in one superstep, of which the last one finishes first, and one writer after them. */
const parallelOf = (checkpointer: BaseCheckpointSaver, snapshotFrequency: number) => {
  const finish = finishInTurn();
  const graph = new StateGraph(stateOf(snapshotFrequency)).addNode("join", () => ({ list: ["join"] }));
  for (const [index, name] of writers.entries()) {
    graph.addNode(name, async () => {
      await finish(writers.length - index);
      return { list: [`${name} 1`, `${name} 2`] };
    });
    graph.addEdge(START, name as typeof START).addEdge(name as typeof START, "join");
  }
  return graph.compile({ checkpointer });
};

/** Nodes sorted by their paths, which end with their names. */
const expectedParallel = (turns: number): string[] =>
  Array.from({ length: turns }, (_, turn) => [
    `in${turn}`,
    ...writers.toSorted().flatMap((name) => [`${name} 1`, `${name} 2`]),
    "join",
  ]).flat();

/**
 * Before 1.5, LangGraph applies parallel writes in the order of task ids, which are random. With "exit", the task ids that it stores
 * differ from those of the run.
 */
const keepsOrder = isAtLeast("@langchain/langgraph", "1.5.0");

/** The expected list after some turns, each with its own input. */
const expectedList = (turns: number, marks: readonly string[] = []): string[] => {
  const list: string[] = [];
  for (let turn = 0; turn < turns; turn++) {
    const mark = marks[turn] ?? "";
    list.push(`in${turn}`, `a${turn}${mark}`);
    list.push(`b${turn + 1}${mark}`, `${list.length} before`);
  }
  return list;
};

/** Tests of LangGraph's DeltaChannel, which stores writes and, from time to time, a snapshot. */
export const deltaChannelTests = ({ test, saver, reopen, thread, durabilities }: GraphContext): void => {
  for (const frequency of [1, 3, 1000]) {
    for (const durability of durabilities()) {
      test(`eight turns, a snapshot every ${frequency} updates, durability ${durability}`, async () => {
        const config = { ...thread(), durability };
        for (let turn = 0; turn < 8; turn++) {
          const graph = graphOf(await reopen(), frequency);
          const result = await graph.invoke({ list: [`in${turn}`] }, config);
          expect(result.list).toEqual(expectedList(turn + 1));
          expect((await graphOf(await reopen(), frequency).getState(config)).values).toEqual(result);
        }
        const reader = graphOf(saver(), frequency);
        for (const snapshot of await chainOf(reader, config)) {
          const { list } = snapshot.values as { list: string[] };
          expect(list).toEqual(expectedList(8).slice(0, list.length));
        }
      });
    }
  }

  test("history shows every value the channel had", async () => {
    const config = thread();
    for (let turn = 0; turn < 2; turn++) await graphOf(saver(), 3).invoke({ list: [`in${turn}`] }, config);
    const history = await historyOf(graphOf(await reopen(), 3), config);
    expectOneLine(history);
    const lengths = history.map((s) => (s.values as { list: string[] }).list.length);
    expect(lengths).toEqual([8, 6, 5, 4, 4, 2, 1, 0]);
  });

  for (const frequency of [2, 1000]) {
    test(`two forks keep their own values, a snapshot every ${frequency} updates`, async () => {
      const config = thread();
      for (let turn = 0; turn < 3; turn++)
        await graphOf(saver(), frequency).invoke({ list: [`in${turn}`] }, config);
      const main = await graphOf(saver(), frequency).getState(config);
      const ends = (await historyOf(graphOf(saver(), frequency), config)).filter((s) => s.next.length === 0);
      const base = ends[2];
      expect(base?.values.list).toEqual(expectedList(1));
      const heads: string[] = [];
      for (const mark of ["L", "R"]) {
        const fork = graphOf(await reopen(), frequency, mark);
        const result = await fork.invoke({ list: ["in1"] }, base?.config ?? {});
        expect(result.list).toEqual(expectedList(2, ["", mark]));
        heads.push(idOf((await fork.getState(config)).config));
      }
      const reader = graphOf(await reopen(), frequency);
      for (const [index, id] of heads.entries()) {
        const state = await reader.getState({ configurable: { ...config.configurable, checkpoint_id: id } });
        expect(state.values).toEqual({ list: expectedList(2, ["", "LR"[index] ?? ""]), turn: 2 });
      }
      expect((await reader.getState(main.config)).values).toEqual({ list: expectedList(3), turn: 3 });
    });
  }

  for (const frequency of [3, 1000]) {
    for (const durability of durabilities()) {
      test(`writers in parallel, a snapshot every ${frequency} updates, durability ${durability}`, async () => {
        const config = { ...thread(), durability };
        let live: string[] = [];
        for (let turn = 0; turn < 3; turn++) {
          const result = await parallelOf(await reopen(), frequency).invoke({ list: [`in${turn}`] }, config);
          expect(result.list.slice(0, live.length + 1)).toEqual([...live, `in${turn}`]);
          live = result.list;
          const read = (await parallelOf(await reopen(), frequency).getState(config)).values.list;
          if (keepsOrder || durability !== "exit") expect(read).toEqual(live);
          if (keepsOrder) expect(read).toEqual(expectedParallel(turn + 1));
          // The next turn continues from what was read.
          live = read;
          expect(read.toSorted()).toEqual(expectedParallel(turn + 1).toSorted());
        }
        for (const { values } of await historyOf(parallelOf(await reopen(), frequency), config)) {
          const { list } = values as { list: string[] };
          if (keepsOrder || durability !== "exit") expect(list).toEqual(live.slice(0, list.length));
        }
      });
    }
  }

  test("an interrupted step's writes and an update by hand are replayed", async () => {
    for (const durability of DURABILITIES) {
      const config = { ...thread(), durability };
      const build = (checkpointer: BaseCheckpointSaver) =>
        new StateGraph(stateOf(1000))
          .addNode("a", () => ({ list: ["a"] }))
          .addNode("ask", () => {
            const answer: string = interrupt("?");
            return { list: [answer] };
          })
          .addEdge(START, "a")
          .addEdge("a", "ask")
          .compile({ checkpointer });
      await build(saver()).invoke({ list: ["in"] }, config);
      await build(await reopen()).updateState(config, { list: ["by hand"] }, "a");
      expect((await build(await reopen()).getState(config)).values.list).toEqual(["in", "a", "by hand"]);
      await build(await reopen()).invoke(new Command({ resume: "yes" }), config);
      expect((await build(await reopen()).getState(config)).values.list).toEqual([
        "in",
        "a",
        "by hand",
        "yes",
      ]);
    }
  });

  test("Overwrite resets the value", async () => {
    for (const durability of DURABILITIES) {
      const config = { ...thread(), durability };
      for (let turn = 0; turn < 2; turn++)
        await graphOf(saver(), 1000).invoke({ list: [`in${turn}`] }, config);
      const graph = graphOf(await reopen(), 1000);
      await graph.invoke({ list: new Overwrite(["fresh"]) as unknown as string[] }, config);
      const expected = ["fresh", "a2", "b3", "2 before"];
      expect((await graphOf(await reopen(), 1000).getState(config)).values.list).toEqual(expected);
      await graphOf(await reopen(), 1000).invoke({ list: ["in3"] }, config);
      const more = [...expected, "in3", "a3", "b4", "6 before"];
      expect((await graphOf(await reopen(), 1000).getState(config)).values.list).toEqual(more);
    }
  });
};
