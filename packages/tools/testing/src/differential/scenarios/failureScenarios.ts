import { END, START, StateGraph } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { scenarioGroup } from "../scenario.ts";
import { finishInTurn } from "../../finishInTurn.ts";
import { State } from "./states.ts";

const retryPolicy = (maxAttempts: number) => ({
  maxAttempts,
  initialInterval: 1,
  jitter: false,
  logWarning: false,
  retryOn: () => true,
});

/** Fails `times` times in its second node. */
const flaky = (times: number, maxAttempts: number) => {
  let left = times;
  return (checkpointer: BaseCheckpointSaver) =>
    new StateGraph(State)
      .addNode("a", () => ({ log: ["a"] }))
      .addNode(
        "b",
        () => {
          if (left-- > 0) throw new TypeError(`broken, ${left} left`);
          return { log: ["b"] };
        },
        { retryPolicy: retryPolicy(maxAttempts) },
      )
      .addNode("c", () => ({ log: ["c"] }))
      .addEdge(START, "a")
      .addEdge("a", "b")
      .addEdge("b", "c")
      .compile({ checkpointer });
};

/** One of four parallel nodes fails once, after the others have finished. */
const parallel = () => {
  const finish = finishInTurn();
  let broken = true;
  return (checkpointer: BaseCheckpointSaver) =>
    new StateGraph(State)
      .addNode("good", async () => {
        if (broken) await finish(1);
        return { log: ["good"] };
      })
      .addNode("bad", async () => {
        if (!broken) return { log: ["bad"] };
        await finish(3);
        broken = false;
        throw new Error("bad is broken");
      })
      .addNode("also", async () => {
        if (broken) await finish(2);
        return { log: ["also"] };
      })
      .addNode("third", async () => {
        if (broken) await finish(0);
        return { log: ["third"], last: "third" };
      })
      .addNode("join", (s) => ({ log: [`joined ${s.log.length}`] }))
      .addEdge(START, "good")
      .addEdge(START, "bad")
      .addEdge(START, "also")
      .addEdge(START, "third")
      .addEdge(["good", "bad", "also", "third"], "join")
      .compile({ checkpointer });
};

const failingSubgraph = () => {
  let left = 1;
  return (checkpointer: BaseCheckpointSaver) => {
    const inner = new StateGraph(State)
      .addNode("one", () => ({ log: ["one"] }))
      .addNode("two", () => {
        if (left-- > 0) throw new RangeError("inner is broken");
        return { log: ["two"] };
      })
      .addEdge(START, "one")
      .addEdge("one", "two")
      .compile();
    return new StateGraph(State)
      .addNode("inner", inner)
      .addNode("after", () => ({ log: ["after"] }))
      .addEdge(START, "inner")
      .addEdge("inner", "after")
      .compile({ checkpointer });
  };
};

/** Nodes that throw, and runs that continue after that. */
export const failureScenarios = scenarioGroup({
  "a node that succeeds at the third attempt": async (stage) => {
    const build = flaky(2, 3);
    await stage.turn(build, { log: ["in"] });
    await stage.turn(build, { log: ["again"] });
  },

  "a node that fails twice, resumed each time": async (stage) => {
    const build = flaky(2, 1);
    await stage.turn(build, { log: ["in"] });
    await stage.turn(build, null);
    await stage.turn(build, null);
    await stage.turn(build, { log: ["again"] });
  },

  "new input after a failure": async (stage) => {
    const build = flaky(1, 1);
    await stage.turn(build, { log: ["in"] });
    await stage.turn(build, { log: ["something else"] });
  },

  "a failure mended by hand": async (stage) => {
    const build = flaky(9, 1);
    await stage.turn(build, { log: ["in"] });
    await stage.update(build, { log: ["mended"] }, "b");
    await stage.turn(build, null);
  },

  "a loop that the recursion limit stops": async (stage) => {
    const build = (checkpointer: BaseCheckpointSaver) =>
      new StateGraph(State)
        .addNode("again", (s) => ({ log: [`again ${s.log.length}`] }))
        .addEdge(START, "again")
        .addConditionalEdges("again", (s) => (s.log.length < 8 ? "again" : END))
        .compile({ checkpointer });
    await stage.turn(build, { log: ["in"] }, { ...stage.config, recursionLimit: 4 });
    await stage.turn(build, null);
  },

  "one of several parallel nodes fails, and is run again": async (stage) => {
    const build = parallel();
    await stage.turn(build, { log: ["in"] });
    await stage.turn(build, null);
    await stage.turn(build, { log: ["again"] });
  },

  "a subgraph fails, and is resumed": async (stage) => {
    const build = failingSubgraph();
    await stage.turn(build, { log: ["in"] });
    await stage.turn(build, null);
    await stage.turn(build, { log: ["again"] });
  },

  "two nodes set what only one may": async (stage) => {
    const build = (checkpointer: BaseCheckpointSaver) =>
      new StateGraph(State)
        .addNode("a", () => ({ last: "a" }))
        .addNode("b", () => ({ last: "b" }))
        .addEdge(START, "a")
        .addEdge(START, "b")
        .compile({ checkpointer });
    await stage.turn(build, { log: ["in"] });
    await stage.turn(build, null);
  },
});
