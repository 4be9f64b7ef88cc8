import { Command, Overwrite, START, StateGraph, interrupt } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { scenarioGroup } from "../scenario.ts";
import { deltaState } from "./states.ts";
import { turns } from "./turns.ts";

const line = (snapshotFrequency: number) => (checkpointer: BaseCheckpointSaver) =>
  new StateGraph(deltaState(snapshotFrequency))
    .addNode("a", (s) => ({ list: [`a${s.turns}`], turns: 1 }))
    .addNode("b", (s) => ({ list: [`b after ${s.list.length}`] }))
    .addEdge(START, "a")
    .addEdge("a", "b")
    .compile({ checkpointer });

const oneByOne = line(3);

const asking = (checkpointer: BaseCheckpointSaver) =>
  new StateGraph(deltaState())
    .addNode("a", () => ({ list: ["a"] }))
    .addNode("ask", () => ({ list: [interrupt<string, string>("?")] }))
    .addEdge(START, "a")
    .addEdge("a", "ask")
    .compile({ checkpointer });

/** DeltaChannels with one writer at a time. */
export const deltaLineScenarios = scenarioGroup({
  "a DeltaChannel with one writer at a time, six turns": (stage) => turns(stage, oneByOne, 6),
  "a DeltaChannel with a snapshot every update": (stage) => turns(stage, line(1), 3),
  "a DeltaChannel without a snapshot, six turns": (stage) => turns(stage, line(1000), 6),

  "Overwrite of a DeltaChannel": async (stage) => {
    const build = (checkpointer: BaseCheckpointSaver) =>
      new StateGraph(deltaState())
        .addNode("a", (s) => ({ list: s.turns === 1 ? new Overwrite(["anew"]) : [`a${s.turns}`], turns: 1 }))
        .addNode("b", (s) => ({ list: [`b after ${s.list.length}`] }))
        .addEdge(START, "a")
        .addEdge("a", "b")
        .compile({ checkpointer });
    await turns(stage, build, 3);
    await stage.turn(build, { list: new Overwrite(["from input"]) });
    await turns(stage, build, 1);
  },

  "a DeltaChannel updated by hand": async (stage) => {
    await turns(stage, oneByOne, 2);
    await stage.update(oneByOne, { list: ["by hand"] }, "b");
    await stage.update(oneByOne, { list: new Overwrite(["anew by hand"]) }, "a");
    await stage.turn(oneByOne, null);
    await turns(stage, oneByOne, 1);
  },

  "a DeltaChannel updated by hand while a question waits": async (stage) => {
    await stage.turn(asking, { list: ["in"] });
    await stage.update(asking, { list: ["by hand"] }, "a");
    await stage.turn(asking, new Command({ resume: "yes" }));
  },

  "a DeltaChannel forked in the middle": async (stage) => {
    await turns(stage, oneByOne, 3);
    const history = await stage.history(oneByOne);
    const ends = history.filter(({ next }) => next.length === 0);
    const base = stage.at(ends.at(-1)?.config);
    for (const text of ["left", "right"]) await stage.turn(oneByOne, { list: [text] }, base);
    await stage.update(oneByOne, { list: ["by hand"] }, "a", stage.at(ends[1]?.config ?? base));
    await stage.turn(oneByOne, null);
  },
});
