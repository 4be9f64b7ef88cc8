import { setImmediate as turn } from "node:timers/promises";
import { Annotation, Overwrite, START, StateGraph, writer } from "@langchain/langgraph";
import { EphemeralValue, Topic, UntrackedValueChannel } from "@langchain/langgraph/channels";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { scenarioGroup } from "../scenario.ts";
import { finishInTurn } from "../../finishInTurn.ts";
import { State, names } from "./states.ts";

const linear = (checkpointer: BaseCheckpointSaver) =>
  new StateGraph(State)
    .addNode("a", (s) => ({ log: [`a after ${s.log.length}`], last: "a" }))
    .addNode("b", () => ({ log: ["b1", "b2"] }))
    .addNode("c", (s) => ({ log: [`c sees ${s.last}`], last: "c" }))
    .addEdge(START, "a")
    .addEdge("a", "b")
    .addEdge("b", "c")
    .compile({ checkpointer });

/** Parallel nodes that finish in the order in which they are listed, or in the reverse order. */
const parallel = (count: number, reversed = false) => {
  const finish = finishInTurn();
  return (checkpointer: BaseCheckpointSaver) => {
    const graph = new StateGraph(State).addNode("join", (s) => ({ log: [`joined ${s.log.length}`] }));
    for (const [index, name] of names(count).entries()) {
      graph.addNode(name, async () => {
        await finish(reversed ? count - 1 - index : index);
        return { log: [name, `${name} ${index}`] };
      });
      graph.addEdge(START, name as typeof START).addEdge(name as typeof START, "join");
    }
    return graph.compile({ checkpointer });
  };
};

const Kinds = Annotation.Root({
  log: State.spec.log,
  topic: () => new Topic<string>(),
  kept: () => new Topic<string>({ accumulate: true, unique: true }),
  once: () => new EphemeralValue<string>(),
  secret: () => new UntrackedValueChannel<string>(),
});

const kinds = (checkpointer: BaseCheckpointSaver) =>
  new StateGraph(Kinds)
    .addNode("a", (s) => ({
      log: [`a: ${s.once}`],
      topic: ["t1", "t2"],
      kept: ["k1"],
      once: "from a",
      secret: "x",
    }))
    .addNode("b", (s) => ({ log: [`b: ${s.once}, ${s.topic?.join()}, ${s.secret}`], kept: ["k1", "k2"] }))
    .addNode("c", (s) => ({ log: [`c: ${s.once}, ${s.topic?.join()}, ${s.secret}`] }))
    .addEdge(START, "a")
    .addEdge("a", "b")
    .addEdge("b", "c")
    .compile({ checkpointer, interruptBefore: ["c"] });

interface Nested {
  items: { name: string; tags: string[] }[];
}

const Mutable = Annotation.Root({ box: Annotation<Nested>, log: State.spec.log });

/** Nodes that change the state they were given, instead of returning something new. */
const inPlace = (checkpointer: BaseCheckpointSaver) => {
  const change = (name: string) => async (s: typeof Mutable.State) => {
    s.box.items.push({ name, tags: [] });
    for (const item of s.box.items) item.tags.push(name);
    await turn();
    return { box: s.box, log: [name] };
  };
  return new StateGraph(Mutable)
    .addNode("a", change("a"))
    .addNode("b", change("b"))
    .addNode("c", change("c"))
    .addEdge(START, "a")
    .addEdge("a", "b")
    .addEdge("b", "c")
    .compile({ checkpointer });
};

/** A node that changes the state it was given without returning the change, and a node after it that returns something. */
const silently = (checkpointer: BaseCheckpointSaver) =>
  new StateGraph(Mutable)
    .addNode("silent", (s) => {
      s.box.items.push({ name: "nobody was told", tags: [] });
      return { log: ["silent"] };
    })
    .addNode("told", (s) => ({ box: s.box, log: ["told"] }))
    .addEdge(START, "silent")
    .addEdge("silent", "told")
    .compile({ checkpointer });

/** Graphs without questions, failures or subgraphs. */
export const plainScenarios = scenarioGroup({
  "three nodes in a row, five turns": async (stage) => {
    for (let turn = 0; turn < 5; turn++) await stage.turn(linear, { log: [`in ${turn}`] });
  },

  "four nodes side by side": async (stage) => {
    const build = parallel(4);
    for (const last of ["one", "two"]) await stage.turn(build, { log: [last], last });
  },

  "six nodes side by side": async (stage) => {
    const build = parallel(6);
    for (const last of ["one", "two"]) await stage.turn(build, { log: [last], last });
  },

  "six nodes that finish in another order than they are listed": async (stage) => {
    const build = parallel(6, true);
    for (const last of ["one", "two"]) await stage.turn(build, { log: [last], last });
  },

  "a deferred node": async (stage) => {
    const build = (checkpointer: BaseCheckpointSaver) =>
      new StateGraph(State)
        .addNode("a", () => ({ log: ["a"] }))
        .addNode("short", () => ({ log: ["short"] }))
        .addNode("long", () => ({ log: ["long"] }))
        .addNode("longer", () => ({ log: ["longer"] }))
        .addNode("end", (s) => ({ log: [`end after ${s.log.length}`] }), { defer: true })
        .addEdge(START, "a")
        .addEdge("a", "short")
        .addEdge("a", "long")
        .addEdge("long", "longer")
        .addEdge("short", "end")
        .addEdge("longer", "end")
        .compile({ checkpointer });
    await stage.turn(build, { log: ["in"] });
    await stage.turn(build, { log: ["again"] });
  },

  "what nodes write to the stream": async (stage) => {
    const build = (checkpointer: BaseCheckpointSaver) =>
      new StateGraph(State)
        .addNode("a", () => {
          writer({ progress: 1 });
          return { last: "a" };
        })
        .addNode("b", () => {
          writer("text");
          writer([1, { two: null }]);
          return { last: "b" };
        })
        .addEdge(START, "a")
        .addEdge("a", "b")
        .compile({ checkpointer });
    await stage.turn(build, { log: ["in"] });
    await stage.turn(build, { log: ["again"] });
  },

  "a channel that the graph no longer has, and one that is new": async (stage) => {
    const later = Annotation.Root({ log: State.spec.log, fresh: Annotation<number> });
    const without = (checkpointer: BaseCheckpointSaver) =>
      new StateGraph(later)
        .addNode("only", (s) => ({ log: ["only"], fresh: (s.fresh ?? 0) + 1 }))
        .addEdge(START, "only")
        .compile({ checkpointer });
    await stage.turn(linear, { log: ["in"] });
    await stage.turn(without, { log: ["without"] });
    await stage.turn(without, { log: ["without"] });
    await stage.turn(linear, { log: ["with"] });
  },

  "Overwrite of a list": async (stage) => {
    const build = (checkpointer: BaseCheckpointSaver) =>
      new StateGraph(State)
        .addNode("a", (s) => ({ log: s.log.length > 3 ? new Overwrite(["anew"]) : ["a"] }))
        .addNode("b", () => ({ log: ["b"] }))
        .addEdge(START, "a")
        .addEdge("a", "b")
        .compile({ checkpointer });
    for (const turn of ["one", "two", "three"]) await stage.turn(build, { log: [turn] });
  },
});

/** Graphs in which objects that LangGraph holds are changed, by nodes or by themselves. */
export const mutatingScenarios = scenarioGroup(
  {
    "channels that keep, collect, vanish and aren't tracked": async (stage) => {
      await stage.turn(kinds, { log: ["in"], once: "from input" });
      await stage.turn(kinds, null);
      await stage.turn(kinds, { log: ["again"] });
      await stage.turn(kinds, null);
    },

    "nodes that change their state in place": async (stage) => {
      await stage.turn(inPlace, { box: { items: [] }, log: ["in"] });
      await stage.turn(inPlace, { log: ["again"] });
    },

    "a node that changes its state in place and returns nothing of it": async (stage) => {
      await stage.turn(silently, { box: { items: [] }, log: ["in"] });
      await stage.turn(silently, { log: ["again"] });
    },
  },
  { mutates: true },
);
