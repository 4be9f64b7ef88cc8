import { randomUUID } from "node:crypto";
import { Annotation, START, StateGraph } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { expect } from "vitest";
import type { GraphContext } from "./context.ts";
import { expectUnbrokenHistory, historyOf } from "./snapshots.ts";

const State = Annotation.Root({
  log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});

const graphOf = (checkpointer: BaseCheckpointSaver, inFirst: () => Promise<void> | void = () => undefined) =>
  new StateGraph(State)
    .addNode("one", async (s) => {
      await inFirst();
      return { log: [`one ${s.log.at(-1)}`] };
    })
    .addNode("two", (s) => ({ log: [`two ${s.log.at(-1)}`] }))
    .addEdge(START, "one")
    .addEdge("one", "two")
    .compile({ checkpointer });

/** Returns a function that `runs` runs await. None of them continues before all of them wait. */
const meeting = (runs: number): (() => Promise<void>) => {
  let waiting: (() => void)[] = [];
  return () =>
    new Promise((resolve) => {
      waiting.push(resolve);
      if (waiting.length < runs) return;
      for (const goOn of waiting) goOn();
      waiting = [];
    });
};

/** A graph whose node runs a subgraph that remembers its own visits. */
const visiting = (checkpointer: BaseCheckpointSaver) => {
  const inner = new StateGraph(State)
    .addNode("visit", (s) => ({ log: [`visit ${s.log.length + 1}`] }))
    .addEdge(START, "visit")
    .compile({ checkpointer: true });
  return new StateGraph(State)
    .addNode("inner", async (_, config) => ({ log: (await inner.invoke({}, config)).log.slice(-1) }))
    .addEdge(START, "inner")
    .compile({ checkpointer });
};

const after = (name: string): string[] => [name, `one ${name}`, `two one ${name}`];

/** Threads that must not affect each other. */
export const isolationTests = ({ test, saver, reopen, thread, durabilities }: GraphContext): void => {
  test("a persistent subgraph is a thread's own", async () => {
    const [one, two] = [thread(), thread()];
    const graph = visiting(saver());
    for (const config of [one, one, two]) await graph.invoke({ log: [] }, config);
    expect((await graph.getState(one)).values).toEqual({ log: ["visit 1", "visit 2"] });
    expect((await graph.getState(two)).values).toEqual({ log: ["visit 1"] });
  });

  test("ids of any text are threads of their own", async () => {
    const run = randomUUID();
    const ids = [
      "plain",
      "PLAIN",
      "plain ",
      "it's",
      `say "hi"`,
      "'; drop table checkpoints; --",
      "100%",
      "100_",
      "a*",
      "a?",
      "[a]",
      "{a}",
      "a:b",
      "a|b",
      "a/b",
      "../a",
      "a\\b",
      "line\nbreak",
      "ü",
      "u\u0308",
      "😀",
      "👨‍👩‍👧",
      "עברית",
      "x".repeat(900),
    ].map((id) => `${run} ${id}`);
    const graph = graphOf(saver());
    for (const id of ids) await graph.invoke({ log: [id] }, { configurable: { thread_id: id } });
    const reader = graphOf(await reopen());
    for (const id of ids) {
      const config = { configurable: { thread_id: id } };
      const state = await reader.getState(config);
      expect(state.values).toEqual({ log: after(id) });
      expect(state.config.configurable?.["thread_id"]).toBe(id);
      expect((await historyOf(reader, config)).length).toBe(4);
    }
    await (await reopen()).deleteThread(ids[0] ?? "");
    expect((await reader.getState({ configurable: { thread_id: ids[0] } })).values).toEqual({});
    for (const id of ids.slice(1)) {
      expect((await reader.getState({ configurable: { thread_id: id } })).values).toEqual({ log: after(id) });
    }
  });

  for (const durability of durabilities()) {
    test(`twelve threads at once, from three instances, durability ${durability}`, async () => {
      const configs = Array.from({ length: 12 }, () => ({ ...thread(), durability }));
      const meet = meeting(configs.length);
      const graphs = [saver(), await reopen(), await reopen()].map((each) => graphOf(each, meet));
      for (let turn = 0; turn < 2; turn++) {
        await Promise.all(
          configs.map((config, index) =>
            graphs[index % 3]?.invoke({ log: [`thread ${index} turn ${turn}`] }, config),
          ),
        );
      }
      const reader = graphOf(await reopen());
      for (const [index, config] of configs.entries()) {
        const state = await reader.getState(config);
        expect(state.values.log).toEqual([0, 1].flatMap((turn) => after(`thread ${index} turn ${turn}`)));
        expectUnbrokenHistory(await historyOf(reader, config));
      }
    });
  }

  test("an unknown thread is empty", async () => {
    const config = thread();
    const graph = graphOf(saver());
    const state = await graph.getState(config);
    expect([state.values, state.next, state.tasks, state.parentConfig]).toEqual([{}, [], [], undefined]);
    expect(await historyOf(graph, config)).toEqual([]);
  });
};
