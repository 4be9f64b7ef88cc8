import {
  Annotation,
  Command,
  END,
  INTERRUPT,
  START,
  StateGraph,
  interrupt,
  isInterrupted,
} from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { expect } from "vitest";
import { Calls } from "./calls.ts";
import type { GraphContext } from "./context.ts";
import { expectOneLine, historyOf, idOf, interruptIds, interruptValues, sourcesOf } from "./snapshots.ts";

const State = Annotation.Root({
  draft: Annotation<string>,
  answers: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});

const approval = (checkpointer: BaseCheckpointSaver, calls: Calls) =>
  new StateGraph(State)
    .addNode("write", () => {
      calls.add("write");
      return { draft: "hello" };
    })
    .addNode("ask", (state) => {
      calls.add("ask");
      const answer: string = interrupt({ question: `send "${state.draft}"?` });
      return { answers: [answer] };
    })
    .addNode("send", (state) => {
      calls.add("send");
      return { draft: `${state.draft} (${state.answers.join(",")})` };
    })
    .addEdge(START, "write")
    .addEdge("write", "ask")
    .addEdge("ask", "send")
    .addEdge("send", END)
    .compile({ checkpointer });

const twoQuestions = (checkpointer: BaseCheckpointSaver) =>
  new StateGraph(State)
    .addNode("ask", () => {
      const first: string = interrupt("first?");
      const second: string = interrupt("second?");
      return { answers: [first, second] };
    })
    .addEdge(START, "ask")
    .compile({ checkpointer });

const line = (
  checkpointer: BaseCheckpointSaver,
  pause: { interruptBefore?: ["b"]; interruptAfter?: ["a"] },
) =>
  new StateGraph(State)
    .addNode("a", () => ({ answers: ["a"] }))
    .addNode("b", () => ({ answers: ["b"] }))
    .addEdge(START, "a")
    .addEdge("a", "b")
    .compile({ checkpointer, ...pause });

/** interrupt(), interruptBefore, interruptAfter and resuming, also with another saver instance. */
export const interruptTests = ({ test, saver, reopen, thread, durabilities }: GraphContext): void => {
  for (const durability of durabilities()) {
    test(`interrupt and resume in another instance, durability ${durability}`, async () => {
      const calls = new Calls();
      const config = { ...thread(), durability };
      const first = await approval(saver(), calls).invoke({ draft: "" }, config);
      expect(isInterrupted(first) && first[INTERRUPT].map((i) => i.value)).toEqual([
        { question: 'send "hello"?' },
      ]);

      const graph = approval(await reopen(), calls);
      const waiting = await graph.getState(config);
      expect(waiting.values).toEqual({ draft: "hello", answers: [] });
      expect(waiting.next).toEqual(["ask"]);
      expect(waiting.tasks.map((task) => task.name)).toEqual(["ask"]);
      expect(interruptValues(waiting)).toEqual([{ question: 'send "hello"?' }]);

      const result = await graph.invoke(new Command({ resume: "yes" }), config);
      expect(result).toEqual({ draft: "hello (yes)", answers: ["yes"] });
      expect(calls.take()).toEqual(["write", "ask", "ask", "send"]);

      const done = await approval(await reopen(), calls).getState(config);
      expect(done.values).toEqual({ draft: "hello (yes)", answers: ["yes"] });
      expect(done.next).toEqual([]);
      expect(done.tasks).toEqual([]);

      const history = await historyOf(graph, config);
      const ids = expectOneLine(history);
      expect(ids).toContain(idOf(waiting.config));
      expect(sourcesOf(history)).toEqual(
        durability === "exit" ? ["loop 3", "loop 1"] : ["loop 3", "loop 2", "loop 1", "loop 0", "input -1"],
      );
    });
  }

  test("two interrupts in one node are asked one after another", async () => {
    const config = thread();
    await twoQuestions(saver()).invoke({}, config);
    expect(interruptValues(await twoQuestions(await reopen()).getState(config))).toEqual(["first?"]);
    await twoQuestions(await reopen()).invoke(new Command({ resume: "1" }), config);
    const between = await twoQuestions(await reopen()).getState(config);
    expect(interruptValues(between)).toEqual(["second?"]);
    expect(between.values).toEqual({ answers: [] });
    const result = await twoQuestions(await reopen()).invoke(new Command({ resume: "2" }), config);
    expect(result).toEqual({ answers: ["1", "2"] });
  });

  test("an answer given by interrupt id reaches its question", async () => {
    const config = thread();
    const graph = approval(saver(), new Calls());
    await graph.invoke({ draft: "" }, config);
    const [id] = interruptIds(await graph.getState(config));
    const other = approval(await reopen(), new Calls());
    const result = await other.invoke(new Command({ resume: { [String(id)]: "by id" } }), config);
    expect(result).toEqual({ draft: "hello (by id)", answers: ["by id"] });
  });

  test("resume with an update changes state before the node runs again", async () => {
    const config = thread();
    await approval(saver(), new Calls()).invoke({ draft: "" }, config);
    const graph = approval(await reopen(), new Calls());
    const result = await graph.invoke(new Command({ resume: "ok", update: { draft: "changed" } }), config);
    expect(result).toEqual({ draft: "changed (ok)", answers: ["ok"] });
  });

  for (const durability of durabilities()) {
    test(`asking again without an answer keeps the question, durability ${durability}`, async () => {
      const calls = new Calls();
      const config = { ...thread(), durability };
      await approval(saver(), calls).invoke({ draft: "" }, config);
      const graph = approval(await reopen(), calls);
      const before = await graph.getState(config);
      await graph.invoke(null, config);
      const after = await graph.getState(config);
      expect(calls.take()).toEqual(["write", "ask", "ask"]);
      expect(interruptIds(after)).toEqual(interruptIds(before));
      expect(idOf(after.config)).toBe(idOf(before.config));
      expect(after.parentConfig).toEqual(before.parentConfig);
      expect(await graph.invoke(new Command({ resume: "at last" }), config)).toEqual({
        draft: "hello (at last)",
        answers: ["at last"],
      });
      expectOneLine(await historyOf(graph, config));
    });
  }

  for (const durability of durabilities()) {
    test(`interruptBefore stops before the node, durability ${durability}`, async () => {
      const config = { ...thread(), durability };
      await line(saver(), { interruptBefore: ["b"] }).invoke({}, config);
      const graph = line(await reopen(), { interruptBefore: ["b"] });
      const waiting = await graph.getState(config);
      expect([waiting.values, waiting.next]).toEqual([{ answers: ["a"] }, ["b"]]);
      expect(await graph.invoke(null, config)).toEqual({ answers: ["a", "b"] });
      expect((await graph.getState(config)).next).toEqual([]);
    });

    test(`interruptAfter stops after the node, durability ${durability}`, async () => {
      const config = { ...thread(), durability };
      await line(saver(), { interruptAfter: ["a"] }).invoke({}, config);
      const graph = line(await reopen(), { interruptAfter: ["a"] });
      const waiting = await graph.getState(config);
      expect([waiting.values, waiting.next]).toEqual([{ answers: ["a"] }, ["b"]]);
      expect(await graph.invoke(null, config)).toEqual({ answers: ["a", "b"] });
      expectOneLine(await historyOf(graph, config));
    });
  }

  test("a new input instead of an answer drops the question", async () => {
    const config = thread();
    const graph = approval(saver(), new Calls());
    await graph.invoke({ draft: "" }, config);
    await graph.invoke({ draft: "again" }, config);
    const waiting = await approval(await reopen(), new Calls()).getState(config);
    expect(interruptValues(waiting)).toEqual([{ question: 'send "hello"?' }]);
    expectOneLine(await historyOf(graph, config));
    expect(await graph.invoke(new Command({ resume: "b" }), config)).toEqual({
      draft: "hello (b)",
      answers: ["b"],
    });
  });
};
