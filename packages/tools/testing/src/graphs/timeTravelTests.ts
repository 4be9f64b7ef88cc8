import { Annotation, START, StateGraph } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { expect } from "vitest";
import type { GraphContext } from "./context.ts";
import { chainOf, historyOf, idOf } from "./snapshots.ts";

const State = Annotation.Root({
  topic: Annotation<string>,
  log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  count: Annotation<number>({ reducer: (a, b) => a + b, default: () => 0 }),
});

/** Three steps that each note the topic they see, so that a value of another branch is noticed. */
const steps = (checkpointer: BaseCheckpointSaver, mark = "") =>
  new StateGraph(State)
    .addNode("one", (s) => ({ log: [`one:${s.topic}${mark}`], count: 1 }))
    .addNode("two", (s) => ({ log: [`two:${s.topic}${mark}`], count: 1 }))
    .addNode("three", (s) => ({ log: [`three:${s.topic}${mark}`], count: 1 }))
    .addEdge(START, "one")
    .addEdge("one", "two")
    .addEdge("two", "three")
    .compile({ checkpointer });

/** Forks of one checkpoint, which use the same version numbers for other values. */
export const timeTravelTests = ({ test, saver, reopen, thread, durabilities }: GraphContext): void => {
  for (const durability of durabilities()) {
    test(`two forks with the same integer versions keep their own values, durability ${durability}`, async () => {
      const config = { ...thread(), durability };
      const main = steps(saver());
      await main.invoke({ topic: "main" }, { ...config, durability: "sync" });
      const base = (await historyOf(main, config)).find((s) => s.next[0] === "two");
      const heads: Record<string, string> = { main: idOf((await main.getState(config)).config) };
      for (const name of ["left", "right"]) {
        const graph = steps(await reopen(), `/${name}`);
        const forked = await graph.updateState(base?.config ?? {}, { topic: name });
        const result = await graph.invoke(null, { ...forked, durability });
        expect(result.log).toEqual(["one:main", `two:${name}/${name}`, `three:${name}/${name}`]);
        heads[name] = idOf((await graph.getState(config)).config);
      }
      expect(new Set(Object.values(heads)).size).toBe(3);

      const storage = await reopen();
      const versions = [];
      for (const id of Object.values(heads)) {
        const tuple = await storage.getTuple({ configurable: { ...config.configurable, checkpoint_id: id } });
        versions.push(tuple?.checkpoint.channel_versions["log"]);
      }
      // This is what the test is about: the branches have equal version numbers of different values.
      expect(versions[1]).toBe(versions[2]);

      const reader = steps(storage);
      const expectedLogs: Record<string, string[]> = {
        main: ["one:main", "two:main", "three:main"],
        left: ["one:main", "two:left/left", "three:left/left"],
        right: ["one:main", "two:right/right", "three:right/right"],
      };
      for (const [name, id] of Object.entries(heads)) {
        const at = { configurable: { ...config.configurable, checkpoint_id: id } };
        const state = await reader.getState(at);
        expect(state.values).toEqual({ topic: name, log: expectedLogs[name], count: 3 });
        const chain = await chainOf(reader, at);
        const topics = chain.map((s) => String(s.values.topic ?? ""));
        expect(new Set(topics.filter((topic) => topic !== name))).toEqual(
          new Set(name === "main" ? [""] : ["main", ""]),
        );
        for (const s of chain) {
          const log = (s.values.log ?? []) as string[];
          expect(log).toEqual((expectedLogs[name] ?? []).slice(0, log.length));
          expect(s.values.count).toBe(log.length);
        }
      }
      expect((await reader.getState(config)).values.topic).toBe("right");
    });
  }
};
