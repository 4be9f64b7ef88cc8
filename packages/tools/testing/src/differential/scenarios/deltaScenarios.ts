import { Command, START, Send, StateGraph, interrupt } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { scenarioGroup } from "../scenario.ts";
import { finishInTurn } from "../../finishInTurn.ts";
import { deltaState, names } from "./states.ts";
import { turns } from "./turns.ts";

/** Parallel nodes that all write to one DeltaChannel, and one node after them. */
const parallel = (count: number, { reversed = false, snapshotFrequency = 1000 } = {}) => {
  const finish = finishInTurn();
  return (checkpointer: BaseCheckpointSaver) => {
    const graph = new StateGraph(deltaState(snapshotFrequency)).addNode("join", (s) => ({
      list: [`joined ${s.list.length}`],
      turns: 1,
    }));
    for (const [index, name] of names(count).entries()) {
      graph.addNode(name, async (s) => {
        await finish(reversed ? count - 1 - index : index);
        return { list: [`${name}${s.turns}`, `${name} again`] };
      });
      graph.addEdge(START, name as typeof START).addEdge(name as typeof START, "join");
    }
    return graph.compile({ checkpointer });
  };
};

/** One task for each text, in the order of the texts. Later tasks finish first. */
const sends = () => {
  const finish = finishInTurn();
  return (checkpointer: BaseCheckpointSaver) =>
    new StateGraph(deltaState())
      .addNode("plan", () => ({ list: ["planned"] }))
      .addNode("work", async ({ text, place }: { text: string; place: number }) => {
        await finish(place);
        return { list: [text], turns: 1 };
      })
      .addConditionalEdges(
        "plan",
        () => ["e", "b", "d", "a", "c"].map((text, index) => new Send("work", { text, place: 4 - index })),
        ["work"],
      )
      .addEdge(START, "plan")
      .compile({ checkpointer });
};

/** Two of three parallel nodes ask before they write. */
const asking = (checkpointer: BaseCheckpointSaver) =>
  new StateGraph(deltaState())
    .addNode("zulu", () => ({ list: [`zulu ${interrupt<string, string>("zulu?")}`] }))
    .addNode("mike", () => ({ list: ["mike"] }))
    .addNode("alpha", () => ({ list: [`alpha ${interrupt<string, string>("alpha?")}`] }))
    .addNode("join", (s) => ({ list: [`joined ${s.list.length}`] }))
    .addEdge(START, "zulu")
    .addEdge(START, "mike")
    .addEdge(START, "alpha")
    .addEdge(["zulu", "mike", "alpha"], "join")
    .compile({ checkpointer });

/** DeltaChannels that parallel tasks write to. */
export const deltaScenarios = scenarioGroup(
  {
    "four parallel writers of a DeltaChannel": (stage) => turns(stage, parallel(4), 2),
    "six parallel writers of a DeltaChannel": (stage) => turns(stage, parallel(6), 2),
    "six parallel writers of a DeltaChannel, finishing in reverse": (stage) =>
      turns(stage, parallel(6, { reversed: true }), 2),
    "parallel writers of a DeltaChannel, a snapshot every 3 updates": (stage) =>
      turns(stage, parallel(4, { reversed: true, snapshotFrequency: 3 }), 3),
    "five Sends into a DeltaChannel": (stage) => turns(stage, sends(), 2),

    "parallel writers of a DeltaChannel, two of which ask": async (stage) => {
      await stage.turn(asking, { list: ["in"] });
      const { tasks } = await stage.state(asking);
      const answers = tasks.flatMap(({ interrupts }) =>
        interrupts.map(({ id = "", value }) => [id, `answers ${value}`]),
      );
      await stage.turn(asking, new Command({ resume: Object.fromEntries(answers) }));
      await stage.turn(asking, { list: ["again"] });
    },

    "one of several parallel writers of a DeltaChannel fails, and is run again": async (stage) => {
      const finish = finishInTurn();
      let broken = true;
      const build = (checkpointer: BaseCheckpointSaver) =>
        new StateGraph(deltaState())
          .addNode("good", async () => {
            if (broken) await finish(1);
            return { list: ["good"] };
          })
          .addNode("bad", async () => {
            if (!broken) return { list: ["bad"] };
            await finish(2);
            broken = false;
            throw new Error("bad is broken");
          })
          .addNode("also", async () => {
            if (broken) await finish(0);
            return { list: ["also"] };
          })
          .addNode("join", (s) => ({ list: [`joined ${s.list.length}`] }))
          .addEdge(START, "good")
          .addEdge(START, "bad")
          .addEdge(START, "also")
          .addEdge(["good", "bad", "also"], "join")
          .compile({ checkpointer });
      await stage.turn(build, { list: ["in"] });
      await stage.turn(build, null);
      await stage.turn(build, { list: ["again"] });
    },

    "parallel writers of a DeltaChannel in a subgraph": async (stage) => {
      const inner = parallel(4, { reversed: true });
      const build = (checkpointer: BaseCheckpointSaver) =>
        new StateGraph(deltaState())
          .addNode("before", () => ({ list: ["before"] }))
          .addNode("inner", async (_, config) => {
            const { list } = await inner(true as unknown as BaseCheckpointSaver).invoke(
              { list: ["inside"] },
              config,
            );
            return { list };
          })
          .addEdge(START, "before")
          .addEdge("before", "inner")
          .compile({ checkpointer });
      await turns(stage, build, 2);
    },

    "a fork of parallel writers of a DeltaChannel": async (stage) => {
      const build = parallel(4, { reversed: true });
      await turns(stage, build, 2);
      const history = await stage.history(build);
      // With "exit" there is no checkpoint in the middle, and a run from the last checkpoint, which has nothing to do, would put that one
      // again. Before LangGraph 1.5 the official MemorySaver then makes it its own parent and follows that circle until the process dies.
      const middle = history.findLast(({ next }) => next.length === 4);
      if (middle !== undefined) await stage.turn(build, null, stage.at(middle.config));
      const end = history.findLast(({ next }) => next.length === 0) ?? history.at(-1);
      await stage.turn(build, { list: ["forked"] }, stage.at(end?.config));
      await stage.turn(build, { list: ["after the fork"] });
    },
  },
  { ordersByTask: true },
);
