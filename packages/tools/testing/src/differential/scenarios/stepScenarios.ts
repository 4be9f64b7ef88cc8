import { Annotation, Command, END, START, Send, StateGraph, interrupt } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { scenarioGroup } from "../scenario.ts";
import { finishInTurn } from "../../finishInTurn.ts";
import { State } from "./states.ts";

const mapReduce = (items = ["d", "a", "e", "c", "b"]) => {
  const finish = finishInTurn();
  return (checkpointer: BaseCheckpointSaver) =>
    new StateGraph(State)
      .addNode("plan", (s) => ({ log: [`plan after ${s.log.length}`] }))
      .addNode("map", async ({ item, place }: { item: string; place: number }) => {
        await finish(place);
        return { log: [`mapped ${item}`] };
      })
      .addNode("reduce", (s) => ({ log: [`reduced ${s.log.length}`], last: "reduced" }))
      .addConditionalEdges(
        "plan",
        () => items.map((item, index) => new Send("map", { item, place: items.length - 1 - index })),
        ["map"],
      )
      .addEdge("map", "reduce")
      .addEdge(START, "plan")
      .compile({ checkpointer });
};

/** Twelve tasks by Send, of which the ninth fails once, when all others have finished. */
const failing = () => {
  const finish = finishInTurn();
  let broken = true;
  let runs = 0;
  return (checkpointer: BaseCheckpointSaver) =>
    new StateGraph(State)
      .addNode("plan", () => ({ last: "planned" }))
      .addNode("work", async ({ index, ...rest }: { index: number; list: unknown[] }) => {
        runs += 1;
        if (broken) await finish(index === 8 ? 12 : 11 - index);
        if (index !== 8 || !broken) return { log: [`${index} ${JSON.stringify(rest)}, after ${runs} runs`] };
        broken = false;
        throw new Error("the ninth is broken");
      })
      .addConditionalEdges(
        "plan",
        () =>
          Array.from(
            { length: 12 },
            (_, index) => new Send("work", { index, list: [index, null, { "ü😀": false }] }),
          ),
        ["work"],
      )
      .addEdge(START, "plan")
      .compile({ checkpointer });
};

/** A subgraph that chooses the next node of its parent. */
const leaving = (checkpointer: BaseCheckpointSaver) => {
  const inner = new StateGraph(State)
    .addNode("leave", () => new Command({ goto: "target", update: { log: ["left"] }, graph: Command.PARENT }))
    .addEdge(START, "leave")
    .compile();
  return new StateGraph(State)
    .addNode("inner", inner, { ends: ["target"] })
    .addNode("target", () => ({ log: ["target"] }))
    .addEdge(START, "inner")
    .compile({ checkpointer });
};

const commands = (checkpointer: BaseCheckpointSaver) =>
  new StateGraph(State)
    .addNode(
      "router",
      (s) => {
        const goto =
          s.last === "fan"
            ? [new Send("left", { ...s, last: "sent" }), "right"]
            : s.last === "left"
              ? "left"
              : "right";
        return new Command({ goto, update: { log: ["routed"], last: "routed" } });
      },
      { ends: ["left", "right"] },
    )
    .addNode("left", (s) => ({ log: [`left ${s.last}`] }))
    .addNode("right", (s) => new Command({ goto: END, update: { log: [`right ${s.last}`] } }), {
      ends: [END],
    })
    .addEdge(START, "router")
    .compile({ checkpointer });

const Waiting = Annotation.Root({ log: State.spec.log, answers: State.spec.log });

const paused = (checkpointer: BaseCheckpointSaver) =>
  new StateGraph(Waiting)
    .addNode("a", () => ({ log: ["a"] }))
    .addNode("ask", (s) => ({ answers: [interrupt<string, string>(`question ${s.answers.length}`)] }))
    .addNode("b", () => ({ log: ["b"] }))
    .addEdge(START, "a")
    .addEdge("a", "ask")
    .addEdge("ask", "b")
    .compile({ checkpointer });

/** Send and Command. */
export const stepScenarios = scenarioGroup({
  "map and reduce by Send": async (stage) => {
    const build = mapReduce();
    for (const last of ["one", "two"]) await stage.turn(build, { log: [last], last });
  },

  "forty Sends come back in the order they were sent": async (stage) => {
    const items = Array.from({ length: 40 }, (_, index) => `item ${index}`);
    await stage.turn(mapReduce(items), { log: ["in"] });
  },

  "one of twelve Sends fails, and is run again": async (stage) => {
    const build = failing();
    await stage.turn(build, { log: ["in"] });
    await stage.turn(build, null);
  },

  "Command from a subgraph to its parent": async (stage) => {
    for (const last of ["one", "two"]) await stage.turn(leaving, { log: [last], last });
  },

  "Command from a node: goto and update": async (stage) => {
    for (const last of ["left", "right", "fan"]) await stage.turn(commands, { log: [last], last });
  },

  "Command as input: an update while a question waits": async (stage) => {
    await stage.turn(paused, { log: ["in"] });
    await stage.turn(paused, new Command({ update: { log: ["told"] } }));
    await stage.turn(paused, new Command({ resume: "yes" }));
  },

  "Command as input: update, goto, and both with an answer": async (stage) => {
    await stage.turn(paused, { log: ["in"] });
    await stage.turn(paused, new Command({ resume: "yes", update: { log: ["with the answer"] } }));
    await stage.turn(paused, new Command({ goto: "b", update: { log: ["to b"] } }));
    await stage.turn(paused, new Command({ goto: new Send("ask", { log: [], answers: ["sent"] }) }));
    await stage.turn(paused, new Command({ resume: "sent yes" }));
  },
});
