import { setImmediate as turn } from "node:timers/promises";
import { Annotation, Command, START, StateGraph, interrupt } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { scenarioGroup } from "../scenario.ts";
import { State } from "./states.ts";

const nested = (checkpointer: BaseCheckpointSaver) => {
  const grandchild = new StateGraph(State)
    .addNode("deep", (s) => ({ log: [`deep after ${s.log.length}`] }))
    .addNode("ask", () => ({ log: [interrupt<string, string>("deep?")] }))
    .addEdge(START, "deep")
    .addEdge("deep", "ask")
    .compile();
  const child = new StateGraph(State)
    .addNode("enter", () => ({ log: ["entered"] }))
    .addNode("grandchild", grandchild)
    .addNode("leave", (s) => ({ log: ["left"], last: s.log.at(-1) ?? "" }))
    .addEdge(START, "enter")
    .addEdge("enter", "grandchild")
    .addEdge("grandchild", "leave")
    .compile();
  return new StateGraph(State)
    .addNode("start", () => ({ log: ["started"] }))
    .addNode("child", async (_, config) => {
      const { log } = await child.invoke({ log: ["called"] }, config);
      return { log };
    })
    .addNode("finish", (s) => ({ log: [`finished after ${s.log.length}`] }))
    .addEdge(START, "start")
    .addEdge("start", "child")
    .addEdge("child", "finish")
    .compile({ checkpointer });
};

const Inner = Annotation.Root({
  log: State.spec.log,
  visits: Annotation<number>({ reducer: (a, b) => a + b, default: () => 0 }),
});

/** A subgraph with a memory of its own, which interrupts on its second visit. */
const remembering = (checkpointer: BaseCheckpointSaver) => {
  const inner = new StateGraph(Inner)
    .addNode("count", (s) => ({ visits: 1, log: [`visit ${s.visits + 1}`] }))
    .addNode("maybe", (s) => ({
      log: s.visits === 2 ? [`told ${interrupt<string, string>("second time?")}`] : [],
    }))
    .addEdge(START, "count")
    .addEdge("count", "maybe")
    .compile({ checkpointer: true });
  return new StateGraph(State)
    .addNode("inner", async (_, config) => {
      const { log } = await inner.invoke({}, config);
      return { log: log.slice(-1), last: `${log.length}` };
    })
    .addEdge(START, "inner")
    .compile({ checkpointer });
};

const sideBySide = () => {
  // The right subgraph ends after the left one, however long the storage takes for the left one's last checkpoint.
  let leftEnds = (): void => undefined;
  const nextEnd = (): Promise<void> => new Promise((resolve) => (leftEnds = resolve));
  let leftEnd = nextEnd();
  const inner = (name: string, end: () => Promise<void> | void) =>
    new StateGraph(Inner)
      .addNode("one", () => ({ log: [`${name} one`], visits: 1 }))
      .addNode("two", async () => {
        await end();
        return { log: [`${name} two`], visits: 1 };
      })
      .addEdge(START, "one")
      .addEdge("one", "two")
      .compile();
  const left = inner("left", () => undefined).pipe((state: typeof Inner.State) => {
    leftEnds();
    return state;
  });
  const right = inner("right", async () => {
    await leftEnd;
    leftEnd = nextEnd();
    await turn();
  });
  return (checkpointer: BaseCheckpointSaver) =>
    new StateGraph(State)
      .addNode("right", right)
      .addNode("left", left)
      .addNode("join", (s) => ({ log: [`joined ${s.log.length}`] }))
      .addEdge(START, "right")
      .addEdge(START, "left")
      .addEdge(["right", "left"], "join")
      .compile({ checkpointer });
};

/** Graphs that contain graphs. */
export const subgraphScenarios = scenarioGroup({
  "a subgraph in a subgraph, which asks": async (stage) => {
    for (const turn of ["one", "two"]) {
      await stage.turn(nested, { log: [turn] });
      await stage.turn(nested, new Command({ resume: `answer ${turn}` }));
    }
  },

  "a subgraph with a memory of its own": async (stage) => {
    await stage.turn(remembering, { log: ["one"] });
    await stage.turn(remembering, { log: ["two"] });
    await stage.turn(remembering, new Command({ resume: "yes" }));
    await stage.turn(remembering, { log: ["three"] });
  },

  "a run from before a subgraph that remembers": async (stage) => {
    await stage.turn(remembering, { log: ["one"] });
    await stage.turn(remembering, { log: ["two"] });
    await stage.turn(remembering, new Command({ resume: "yes" }));
    await stage.turn(remembering, { log: ["three"] });
    const history = await stage.history(remembering);
    const second = history.filter(({ next }) => next[0] === "inner").at(1) ?? history.at(-1);
    await stage.turn(remembering, null, stage.at(second?.config));
    await stage.turn(remembering, new Command({ resume: "otherwise" }));
  },

  "two subgraphs side by side": async (stage) => {
    const build = sideBySide();
    for (const turn of ["one", "two"]) await stage.turn(build, { log: [turn] });
  },
});
