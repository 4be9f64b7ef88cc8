import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { expect } from "vitest";
import { Calls } from "./calls.ts";
import type { GraphContext } from "./context.ts";
import { chainOf, expectOneLine, historyOf, idOf } from "./snapshots.ts";

const State = Annotation.Root({
  topic: Annotation<string>,
  log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  count: Annotation<number>({ reducer: (a, b) => a + b, default: () => 0 }),
});

/** Three steps that each note the topic they see, so that a value of another branch is noticed. */
const steps = (checkpointer: BaseCheckpointSaver, calls: Calls, mark = "") =>
  new StateGraph(State)
    .addNode("one", (s) => (calls.add("one"), { log: [`one:${s.topic}${mark}`], count: 1 }))
    .addNode("two", (s) => (calls.add("two"), { log: [`two:${s.topic}${mark}`], count: 1 }))
    .addNode("three", (s) => (calls.add("three"), { log: [`three:${s.topic}${mark}`], count: 1 }))
    .addEdge(START, "one")
    .addEdge("one", "two")
    .addEdge("two", "three")
    .addEdge("three", END)
    .compile({ checkpointer });

const logOf = (topic: string, marks: [string, string, string] = ["", "", ""]) =>
  ["one", "two", "three"].map((name, index) => `${name}:${topic}${marks[index]}`);

/** Running, reading and forking from old checkpoints of one thread. */
export const timeTravelTests = ({ test, saver, reopen, thread, durabilities }: GraphContext): void => {
  test("every checkpoint is read by its id with the values of its time", async () => {
    const config = thread();
    await steps(saver(), new Calls()).invoke({ topic: "x" }, config);
    const graph = steps(await reopen(), new Calls());
    const history = await historyOf(graph, config);
    expectOneLine(history);
    for (const listed of history) {
      const read = await graph.getState(listed.config);
      expect(read).toEqual(listed);
    }
    expect(history.map((s) => s.values)).toEqual([
      { topic: "x", log: logOf("x"), count: 3 },
      { topic: "x", log: logOf("x").slice(0, 2), count: 2 },
      { topic: "x", log: logOf("x").slice(0, 1), count: 1 },
      { topic: "x", log: [], count: 0 },
      { log: [], count: 0 },
    ]);
    expect(history.map((s) => s.next)).toEqual([[], ["three"], ["two"], ["one"], ["__start__"]]);
  });

  test("replay from an old checkpoint runs only what follows it", async () => {
    const calls = new Calls();
    const config = thread();
    const graph = steps(saver(), calls);
    await graph.invoke({ topic: "x" }, config);
    calls.take();
    const before = await historyOf(graph, config);
    const old = before.find((s) => s.next[0] === "two");
    const again = steps(await reopen(), calls, "'");
    const result = await again.invoke(null, old?.config ?? {});
    expect(calls.take()).toEqual(["two", "three"]);
    const expected = { topic: "x", log: logOf("x", ["", "'", "'"]), count: 3 };
    expect(result).toEqual(expected);
    const head = await steps(await reopen(), calls).getState(config);
    expect([head.values, head.next]).toEqual([expected, []]);
    const chain = await chainOf(again, head.config);
    expect(chain.map((s) => idOf(s.config))).toContain(idOf(old?.config));
    for (const listed of before) expect((await again.getState(listed.config)).values).toEqual(listed.values);
    expect((await historyOf(again, config)).length).toBe(before.length + 3);
  });

  for (const durability of durabilities()) {
    test(`two forks with the same integer versions keep their own values, durability ${durability}`, async () => {
      const config = { ...thread(), durability };
      const main = steps(saver(), new Calls());
      await main.invoke({ topic: "main" }, { ...config, durability: "sync" });
      const base = (await historyOf(main, config)).find((s) => s.next[0] === "two");
      const heads: Record<string, string> = { main: idOf((await main.getState(config)).config) };
      for (const name of ["left", "right"]) {
        const graph = steps(await reopen(), new Calls(), `/${name}`);
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

      const reader = steps(storage, new Calls());
      const expectedLogs: Record<string, string[]> = {
        main: logOf("main"),
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

  test("two forks of one checkpoint by plain invoke keep their own values", async () => {
    const config = thread();
    const graph = steps(saver(), new Calls());
    await graph.invoke({ topic: "main" }, config);
    const base = (await historyOf(graph, config)).find((s) => s.next[0] === "one");
    const heads: string[] = [];
    for (const mark of ["-L", "-R"]) {
      const fork = steps(await reopen(), new Calls(), mark);
      await fork.invoke(null, base?.config ?? {});
      heads.push(idOf((await fork.getState(config)).config));
    }
    const reader = steps(await reopen(), new Calls());
    const logs = [];
    for (const id of heads) {
      const state = await reader.getState({ configurable: { ...config.configurable, checkpoint_id: id } });
      logs.push(state.values.log);
    }
    expect(logs).toEqual([logOf("main", ["-L", "-L", "-L"]), logOf("main", ["-R", "-R", "-R"])]);
  });

  test("a new input at an old checkpoint continues from there", async () => {
    const config = thread();
    const graph = steps(saver(), new Calls());
    await graph.invoke({ topic: "first" }, config);
    const end = await graph.getState(config);
    await graph.invoke({ topic: "second" }, config);
    const fork = steps(await reopen(), new Calls());
    const result = await fork.invoke({ topic: "other" }, end.config);
    const expected = { topic: "other", log: [...logOf("first"), ...logOf("other")], count: 6 };
    expect(result).toEqual(expected);
    const reader = steps(await reopen(), new Calls());
    const head = await reader.getState(config);
    expect(head.values).toEqual(expected);
    const second = (await historyOf(reader, config)).filter(
      (s) => s.values.topic === "second" && s.next.length === 0,
    );
    expect(second.map((s) => s.values.log)).toEqual([[...logOf("first"), ...logOf("second")]]);
    expect((await chainOf(reader, head.config)).some((s) => s.values.topic === "second")).toBe(false);
  });

  test("after a fork, the next turn builds on the fork and not on the longer branch", async () => {
    const config = thread();
    const graph = steps(saver(), new Calls());
    await graph.invoke({ topic: "t1" }, config);
    const first = await graph.getState(config);
    await graph.invoke({ topic: "t2" }, config);
    await graph.invoke({ topic: "t3" }, config);
    await steps(await reopen(), new Calls()).invoke({ topic: "f1" }, first.config);
    const next = steps(await reopen(), new Calls());
    const result = await next.invoke({ topic: "f2" }, config);
    expect(result).toEqual({ topic: "f2", log: [...logOf("t1"), ...logOf("f1"), ...logOf("f2")], count: 9 });
    const chain = await chainOf(next, config);
    expect(chain.map((s) => s.values.topic).filter((t) => t === "t2" || t === "t3")).toEqual([]);
  });
};
