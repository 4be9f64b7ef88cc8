import { Annotation, DeltaChannel, START, StateGraph } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { expect } from "vitest";
import type { GraphContext } from "./context.ts";
import { historyOf, idOf } from "./snapshots.ts";

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

/** Forks of LangGraph's DeltaChannel, which stores writes and, from time to time, a snapshot. */
export const deltaChannelTests = ({ test, saver, reopen, thread }: GraphContext): void => {
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
};
