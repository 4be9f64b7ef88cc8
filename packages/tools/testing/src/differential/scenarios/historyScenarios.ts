import { Command, END, START, StateGraph, interrupt } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { scenarioGroup } from "../scenario.ts";
import { State } from "./states.ts";

const line = (checkpointer: BaseCheckpointSaver) =>
  new StateGraph(State)
    .addNode("a", (s) => ({ log: [`a after ${s.log.length}`], last: "a" }))
    .addNode("b", (s) => ({ log: [`b sees ${s.last}`] }))
    .addNode("c", () => ({ log: ["c"], last: "c" }))
    .addEdge(START, "a")
    .addEdge("a", "b")
    .addEdge("b", "c")
    .compile({ checkpointer });

const asking = (checkpointer: BaseCheckpointSaver) =>
  new StateGraph(State)
    .addNode("a", () => ({ log: ["a"] }))
    .addNode("ask", () => ({ log: [interrupt<string, string>("which?")] }))
    .addNode("b", () => ({ log: ["b"] }))
    .addEdge(START, "a")
    .addEdge("a", "ask")
    .addEdge("ask", "b")
    .compile({ checkpointer });

const wide = (checkpointer: BaseCheckpointSaver) =>
  new StateGraph(State)
    .addNode("left", () => ({ log: ["left"] }))
    .addNode("right", () => ({ log: ["right"] }))
    .addNode("join", () => ({ log: ["join"] }))
    .addEdge(START, "left")
    .addEdge(START, "right")
    .addEdge(["left", "right"], "join")
    .compile({ checkpointer });

/** Updates by hand, time travel, forks and copies. */
export const historyScenarios = scenarioGroup({
  "updates by hand, as several nodes": async (stage) => {
    await stage.turn(line, { log: ["in"] });
    await stage.update(line, { log: ["by hand"] });
    await stage.update(line, { log: ["as a"], last: "hand" }, "a");
    await stage.turn(line, null);
    await stage.update(line, { log: ["as b"] }, "b");
    await stage.update(line, null, "c");
    await stage.turn(line, { log: ["again"] });
  },

  "an update by hand before anything ran": async (stage) => {
    await stage.update(line, { log: ["first"], last: "hand" }, "a");
    await stage.turn(line, null);
  },

  "several updates by hand at once": async (stage) => {
    await stage.turn(line, { log: ["in"] });
    await stage.bulkUpdate(line, [
      { updates: [{ values: { log: ["one"] }, asNode: "a" }] },
      { updates: [{ values: { log: ["two"], last: "bulk" }, asNode: "b" }] },
    ]);
    await stage.turn(line, null);
  },

  "a thread made by hand, of several updates in one superstep": async (stage) => {
    await stage.bulkUpdate(wide, [
      { updates: [{ values: { log: ["in"] }, asNode: "__input__" }] },
      { updates: [{ values: { log: [] }, asNode: "__start__" }] },
      { updates: ["left", "right"].map((asNode) => ({ values: { log: [`as ${asNode}`] }, asNode })) },
    ]);
    await stage.turn(wide, null);
  },

  "an empty update, and one as END": async (stage) => {
    await stage.turn(asking, { log: ["in"] });
    await stage.update(asking, null);
    await stage.update(asking, null, END);
    await stage.turn(asking, { log: ["again"] });
  },

  "an update by hand while a question waits": async (stage) => {
    await stage.turn(asking, { log: ["in"] });
    await stage.update(asking, { log: ["by hand"] }, "a");
    await stage.turn(asking, new Command({ resume: "yes" }));
    await stage.turn(asking, { log: ["again"] });
    await stage.update(asking, { log: ["answered by hand"] }, "ask");
    await stage.turn(asking, null);
  },

  "a run from the middle": async (stage) => {
    for (const turn of ["one", "two"]) await stage.turn(line, { log: [turn] });
    const history = await stage.history(line);
    const middle = history.find(({ next }) => next[0] === "b") ?? history.at(-1);
    await stage.turn(line, null, stage.at(middle?.config));
    await stage.turn(line, { log: ["after it"] });
  },

  "forks from the middle, by hand and by input": async (stage) => {
    for (const turn of ["one", "two"]) await stage.turn(line, { log: [turn] });
    const history = await stage.history(line);
    const base = history.findLast(({ next }) => next.length === 0) ?? history.at(-1);
    const forked = await stage.update(line, { log: ["forked"] }, "a", stage.at(base?.config));
    await stage.turn(line, null, stage.at(forked));
    for (const text of ["left", "right"]) await stage.turn(line, { log: [text] }, stage.at(base?.config));
    await stage.turn(line, { log: ["at the end"] });
  },

  "an answered question, answered otherwise": async (stage) => {
    await stage.turn(asking, { log: ["in"] });
    const waiting = await stage.state(asking);
    await stage.turn(asking, new Command({ resume: "left" }));
    await stage.turn(asking, null, stage.at(waiting.config));
    await stage.turn(asking, new Command({ resume: "right" }));
  },

  "a copy of a checkpoint": async (stage) => {
    await stage.turn(line, { log: ["in"] });
    const history = await stage.history(line);
    const middle = history.find(({ next }) => next[0] === "b") ?? history.at(-1);
    await stage.update(line, null, "__copy__", stage.at(middle?.config));
    await stage.turn(line, null);
  },

  "copies of the first checkpoint and of the last": async (stage) => {
    await stage.turn(line, { log: ["in"] });
    const history = await stage.history(line);
    await stage.update(line, null, "__copy__", stage.at(history.at(-1)?.config));
    await stage.turn(line, null);
    await stage.update(line, null, "__copy__");
    await stage.turn(line, { log: ["again"] });
  },
});
