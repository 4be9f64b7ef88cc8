import { Annotation, Command, END, START, Send, StateGraph } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { expect } from "vitest";
import type { GraphContext } from "./context.ts";
import { expectOneLine, historyOf } from "./snapshots.ts";

const State = Annotation.Root({
  route: Annotation<string>,
  log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});

/** A router that chooses the next node with a Command. */
const router = (checkpointer: BaseCheckpointSaver) =>
  new StateGraph(State)
    .addNode(
      "router",
      (state) => {
        if (state.route === "both") {
          return new Command({
            goto: [new Send("left", state), new Send("right", state)],
            update: { log: ["both"] },
          });
        }
        return new Command({ goto: state.route, update: { log: [`to ${state.route}`] } });
      },
      { ends: ["left", "right", END] },
    )
    .addNode("left", () => ({ log: ["left"] }))
    .addNode("right", () => ({ log: ["right"] }))
    .addEdge(START, "router")
    .compile({ checkpointer });

/** A subgraph that chooses the next node of its parent. */
const escaping = (checkpointer: BaseCheckpointSaver) => {
  const inner = new StateGraph(State)
    .addNode(
      "leave",
      () => new Command({ goto: "target", update: { log: ["left the child"] }, graph: Command.PARENT }),
    )
    .addEdge(START, "leave")
    .compile();
  return new StateGraph(State)
    .addNode("inner", inner, { ends: ["target"] })
    .addNode("target", () => ({ log: ["target"] }))
    .addEdge(START, "inner")
    .compile({ checkpointer });
};

/** Command as the result of a node and as the input of a run. */
export const commandTests = ({ test, saver, reopen, thread, durabilities }: GraphContext): void => {
  for (const durability of durabilities()) {
    test(`goto and update, durability ${durability}`, async () => {
      for (const route of ["left", "right"]) {
        const config = { ...thread(), durability };
        await router(saver()).invoke({ route }, config);
        const graph = router(await reopen());
        const state = await graph.getState(config);
        expect([state.values, state.next]).toEqual([{ route, log: [`to ${route}`, route] }, []]);
        const history = await historyOf(graph, config);
        expectOneLine(history);
        if (durability !== "exit")
          expect(history.map((s) => s.next)).toEqual([[], [route], ["router"], ["__start__"]]);
      }
    });
  }

  test("goto to several Sends", async () => {
    const config = thread();
    await router(saver()).invoke({ route: "both" }, config);
    const state = await router(await reopen()).getState(config);
    expect(state.values).toEqual({ route: "both", log: ["both", "left", "right"] });
  });

  test("a Command for the parent graph leaves the subgraph", async () => {
    const config = thread();
    await escaping(saver()).invoke({ route: "", log: ["in"] }, config);
    const graph = escaping(await reopen());
    const state = await graph.getState(config);
    expect([state.values.log, state.next]).toEqual([["in", "left the child", "target"], []]);
    const nexts = (await historyOf(graph, config)).map((s) => s.next);
    expect(nexts).toEqual([[], ["target"], ["inner"], ["__start__"]]);
  });

  test("a Command as input updates the state and chooses the node", async () => {
    const config = thread();
    await router(saver()).invoke({ route: "left" }, config);
    const graph = router(await reopen());
    const result = await graph.invoke(new Command({ goto: "right", update: { log: ["by hand"] } }), config);
    expect(result).toEqual({ route: "left", log: ["to left", "left", "by hand", "right"] });
    const state = await router(await reopen()).getState(config);
    expect([state.values, state.next]).toEqual([result, []]);
    expectOneLine(await historyOf(graph, config));
  });
};
