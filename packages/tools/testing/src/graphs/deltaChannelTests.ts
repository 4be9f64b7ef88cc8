import { Annotation, DeltaChannel, START, StateGraph } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { expect } from "vitest";
import type { GraphContext } from "./context.ts";
import { historyOf, idOf } from "./snapshots.ts";

const append = (state: string[], writes: string[][]): string[] => [...state, ...writes.flat()];

type List = () => DeltaChannel<string[], string[]>;

/** How often the list is stored as a snapshot, or that it isn't a DeltaChannel yet. */
type Kind = number | "plain";

const plainList = Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] });
const stateOf = (kind: Kind) =>
  Annotation.Root({
    list:
      kind === "plain"
        ? (plainList as unknown as List)
        : () => new DeltaChannel<string[], string[]>(append, { snapshotFrequency: kind }),
    turn: Annotation<number>({ reducer: (a, b) => a + b, default: () => 0 }),
  });

/** Two writers, one after the other, each turn. */
const graphOf = (checkpointer: BaseCheckpointSaver, kind: Kind, mark = "", interruptBefore: "b"[] = []) =>
  new StateGraph(stateOf(kind))
    .addNode("a", (s) => ({ list: [`a${s.turn}${mark}`], turn: 1 }))
    .addNode("b", (s) => ({ list: [`b${s.turn}${mark}`, `${s.list.length} before`] }))
    .addEdge(START, "a")
    .addEdge("a", "b")
    .compile({ checkpointer, interruptBefore });

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

  for (const frequency of [2, 1000])
    test(`a list that was no DeltaChannel becomes one, a snapshot every ${frequency} updates`, async () => {
      const config = thread();
      const turn = async (n: number, kind: Kind): Promise<void> =>
        void (await graphOf(await reopen(), kind).invoke({ list: [`in${n}`] }, config));
      await turn(0, "plain");
      await turn(1, "plain");
      const plain = await graphOf(saver(), "plain").getState(config);
      for (let n = 2; n < 5; n += 1) {
        await turn(n, frequency);
        const reader = graphOf(await reopen(), frequency);
        expect((await reader.getState(config)).values).toEqual({ list: expectedList(n + 1), turn: n + 1 });
      }
      const reader = graphOf(await reopen(), frequency);
      expect((await reader.getState(plain.config)).values).toEqual({ list: expectedList(2), turn: 2 });
      const lengths = (await historyOf(reader, config)).map(({ values }) => values.list?.length ?? 0);
      expect(lengths.toReversed()).toEqual([
        0, 1, 2, 4, 4, 5, 6, 8, 8, 9, 10, 12, 12, 13, 14, 16, 16, 17, 18, 20,
      ]);
      const fork = graphOf(await reopen(), frequency, "F");
      const forked = await fork.invoke({ list: ["in2"] }, plain.config);
      expect(forked.list).toEqual(expectedList(3, ["", "", "F"]));
    });

  test("a list becomes a DeltaChannel while its run waits", async () => {
    const config = thread();
    await graphOf(saver(), "plain", "", ["b"]).invoke({ list: ["in0"] }, config);
    const graph = graphOf(await reopen(), 1000);
    expect((await graph.getState(config)).values).toEqual({ list: ["in0", "a0"], turn: 1 });
    expect((await graph.invoke(null, config)).list).toEqual(expectedList(1));
    await graph.updateState(config, { list: ["edited"] }, "b");
    const { values } = await graphOf(await reopen(), 1000).getState(config);
    expect(values).toEqual({ list: [...expectedList(1), "edited"], turn: 1 });
  });
};
