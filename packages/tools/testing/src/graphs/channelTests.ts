import { Annotation, START, StateGraph } from "@langchain/langgraph";
import {
  BinaryOperatorAggregate,
  EphemeralValue,
  Topic,
  UntrackedValueChannel,
} from "@langchain/langgraph/channels";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { expect } from "vitest";
import type { GraphContext } from "./context.ts";
import { expectOneLine, historyOf } from "./snapshots.ts";

const State = Annotation.Root({
  last: Annotation<string>,
  sum: () =>
    new BinaryOperatorAggregate<number>(
      (a, b) => a + b,
      () => 0,
    ),
  topic: () => new Topic<string>(),
  kept: () => new Topic<string>({ accumulate: true, unique: true }),
  once: () => new EphemeralValue<string>(),
  seen: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});

/** Each node notes which of the short-lived channels it sees. */
const graphOf = (checkpointer: BaseCheckpointSaver) =>
  new StateGraph(State)
    .addNode("a", (s) => ({
      last: `${s.last}a`,
      sum: 1,
      topic: ["t1", "t2"] as unknown as string[],
      kept: "k1" as unknown as string[],
      once: "from a",
      seen: [`a: ${JSON.stringify([s.topic ?? null, s.once ?? null])}`],
    }))
    .addNode("b", (s) => ({
      last: `${s.last}b`,
      sum: 10,
      kept: ["k1", "k2"],
      seen: [`b: ${JSON.stringify([s.topic ?? null, s.once ?? null])}`],
    }))
    .addNode("c", (s) => ({ sum: 100, seen: [`c: ${JSON.stringify([s.topic ?? null, s.once ?? null])}`] }))
    .addEdge(START, "a")
    .addEdge("a", "b")
    .addEdge("b", "c")
    .compile({ checkpointer, interruptBefore: ["c"] });

/** Every kind of channel, across checkpoints and saver instances. */
export const channelTests = ({ test, saver, reopen, thread, durabilities }: GraphContext): void => {
  for (const durability of durabilities()) {
    test(`channels that keep, add up, collect and vanish, durability ${durability}`, async () => {
      const config = { ...thread(), durability };
      await graphOf(saver()).invoke({ last: "x", sum: 1000, once: "from input" }, config);
      const graph = graphOf(await reopen());
      const paused = await graph.getState(config);
      const seen = ['a: [null,"from input"]', 'b: [["t1","t2"],"from a"]'];
      expect(paused.values).toEqual({ last: "xab", sum: 1011, kept: ["k1", "k2"], seen });
      expect(paused.next).toEqual(["c"]);
      await graph.invoke(null, config);
      const done = await graphOf(await reopen()).getState(config);
      expect(done.values).toEqual({
        last: "xab",
        sum: 1111,
        kept: ["k1", "k2"],
        seen: [...seen, "c: [null,null]"],
      });
      const history = await historyOf(graph, config);
      expectOneLine(history);
      if (durability === "exit") return;
      expect(history.map((s) => [s.values.sum, s.values.topic, s.values.once])).toEqual([
        [1111, undefined, undefined],
        [1011, undefined, undefined],
        [1001, ["t1", "t2"], "from a"],
        [1000, undefined, "from input"],
        [0, undefined, undefined],
      ]);
    });
  }

  test("an untracked value isn't stored", async () => {
    const Secret = Annotation.Root({
      secret: () => new UntrackedValueChannel<string>(),
      out: Annotation<string>,
    });
    const build = (checkpointer: BaseCheckpointSaver) =>
      new StateGraph(Secret)
        .addNode("a", () => ({ secret: "s3cret" }))
        .addNode("b", (s) => ({ out: s.secret === "s3cret" ? "saw it" : "missed it" }))
        .addEdge(START, "a")
        .addEdge("a", "b")
        .compile({ checkpointer });
    const config = thread();
    await build(saver()).invoke({ out: "" }, config);
    const storage = await reopen();
    expect((await build(storage).getState(config)).values).toEqual({ out: "saw it" });
    for await (const tuple of storage.list(config)) {
      expect(JSON.stringify([tuple.checkpoint.channel_values, tuple.pendingWrites])).not.toContain("s3cret");
    }
  });

  test("a join waits for all its branches across an interrupt", async () => {
    const Join = Annotation.Root({
      log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
    });
    const build = (checkpointer: BaseCheckpointSaver) =>
      new StateGraph(Join)
        .addNode("left", () => ({ log: ["left"] }))
        .addNode("right", () => ({ log: ["right"] }))
        .addNode("late", () => ({ log: ["late"] }))
        .addNode("join", () => ({ log: ["join"] }))
        .addEdge(START, "left")
        .addEdge(START, "right")
        .addEdge("right", "late")
        .addEdge(["left", "late"], "join")
        .compile({ checkpointer, interruptBefore: ["late"] });
    const config = thread();
    await build(saver()).invoke({}, config);
    const graph = build(await reopen());
    const paused = await graph.getState(config);
    expect([paused.values, paused.next]).toEqual([{ log: ["left", "right"] }, ["late"]]);
    expect(await graph.invoke(null, config)).toEqual({ log: ["left", "right", "late", "join"] });
  });
};
