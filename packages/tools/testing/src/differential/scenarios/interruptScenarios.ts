import { Annotation, Command, START, Send, StateGraph, interrupt } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import type { BuildGraph, Stage } from "../stage.ts";
import { finishInTurn } from "../../finishInTurn.ts";
import { scenarioGroup } from "../scenario.ts";
import { State } from "./states.ts";

const ask = (question: string): string => interrupt<string, string>(question);

const one = (checkpointer: BaseCheckpointSaver) =>
  new StateGraph(State)
    .addNode("a", () => ({ log: ["a"] }))
    .addNode("ask", () => ({ log: [ask("which?")] }))
    .addNode("b", (s) => ({ log: [`b after ${s.log.at(-1)}`] }))
    .addEdge(START, "a")
    .addEdge("a", "ask")
    .addEdge("ask", "b")
    .compile({ checkpointer });

const twoInOne = (checkpointer: BaseCheckpointSaver) =>
  new StateGraph(State)
    .addNode("ask", () => ({ log: [ask("first?"), ask("second?")] }))
    .addNode("b", () => ({ log: ["b"] }))
    .addEdge(START, "ask")
    .addEdge("ask", "b")
    .compile({ checkpointer });

/** Three parallel nodes: two interrupt at different times, one doesn't. */
const parallel = (checkpointer: BaseCheckpointSaver) => {
  const finish = finishInTurn();
  return new StateGraph(State)
    .addNode("slow", async () => {
      await finish(2);
      return { log: [`slow ${ask("slow?")}`] };
    })
    .addNode("quiet", async () => {
      await finish(1);
      return { log: ["quiet"] };
    })
    .addNode("fast", async () => {
      await finish(0);
      return { log: [`fast ${ask("fast?")}`] };
    })
    .addNode("join", (s) => ({ log: [`joined ${s.log.length}`] }))
    .addEdge(START, "slow")
    .addEdge(START, "quiet")
    .addEdge(START, "fast")
    .addEdge(["slow", "quiet", "fast"], "join")
    .compile({ checkpointer });
};

/** One task for each tool, by Send. Those whose names start with "ask" wait for an answer, the other one counts its runs. */
const tools = () => {
  let runs = 0;
  return (checkpointer: BaseCheckpointSaver) =>
    new StateGraph(State)
      .addNode("plan", () => ({ last: "planned" }))
      .addNode("tool", ({ tool }: { tool: string }) => ({
        log: [tool.startsWith("ask") ? ask(`${tool}?`) : `${tool} ${++runs}`],
      }))
      .addNode("report", (s) => ({ last: `${s.log.length} results` }))
      .addEdge(START, "plan")
      .addConditionalEdges(
        "plan",
        () => ["ask b", "free", "ask a", "ask c"].map((tool) => new Send("tool", { tool })),
        ["tool"],
      )
      .addEdge("tool", "report")
      .compile({ checkpointer });
};

const inSubgraph = (checkpointer: BaseCheckpointSaver) => {
  const inner = new StateGraph(State)
    .addNode("prepare", () => ({ log: ["prepared"] }))
    .addNode("ask", () => ({ log: [`inner ${ask("inner?")}`] }))
    .addEdge(START, "prepare")
    .addEdge("prepare", "ask")
    .compile();
  return new StateGraph(State)
    .addNode("inner", inner)
    .addNode("after", () => ({ log: ["after"] }))
    .addEdge(START, "inner")
    .addEdge("inner", "after")
    .compile({ checkpointer });
};

const stops = (checkpointer: BaseCheckpointSaver) =>
  new StateGraph(Annotation.Root({ log: State.spec.log }))
    .addNode("a", () => ({ log: ["a"] }))
    .addNode("b", () => ({ log: ["b"] }))
    .addNode("c", () => ({ log: ["c"] }))
    .addEdge(START, "a")
    .addEdge("a", "b")
    .addEdge("b", "c")
    .compile({ checkpointer, interruptBefore: ["b"], interruptAfter: ["b"] });

/** A join of two branches of different length, which stops before the longer one ends. */
const joining = (checkpointer: BaseCheckpointSaver) =>
  new StateGraph(State)
    .addNode("left", () => ({ log: ["left"] }))
    .addNode("right", () => ({ log: ["right"] }))
    .addNode("late", () => ({ log: ["late"] }))
    .addNode("join", () => ({ log: ["join"] }))
    .addEdge(START, "left")
    .addEdge(START, "right")
    .addEdge("right", "late")
    .addEdge(["left", "late"], "join")
    .compile({ checkpointer, interruptBefore: ["late"] });

/** Answers, by interrupt id, the questions that match. */
const answersById = async (
  stage: Stage,
  build: BuildGraph,
  matches: (question: unknown) => boolean = () => true,
): Promise<Command> => {
  const { tasks } = await stage.state(build);
  const all = tasks.flatMap(({ interrupts }) => interrupts).filter(({ value }) => matches(value));
  return new Command({
    resume: Object.fromEntries(all.map(({ id = "", value }) => [id, `answer to ${value}`])),
  });
};

/** Questions, and answers to them. */
export const interruptScenarios = scenarioGroup({
  "one question, asked again without an answer": async (stage) => {
    for (const turn of ["one", "two"]) {
      await stage.turn(one, { log: [turn] });
      await stage.turn(one, null);
      await stage.turn(one, new Command({ resume: `answer ${turn}` }));
    }
  },

  "new input instead of an answer": async (stage) => {
    await stage.turn(one, { log: ["in"] });
    await stage.turn(one, { log: ["something else"] });
    await stage.turn(one, new Command({ resume: "late answer" }));
  },

  "two questions of one node": async (stage) => {
    for (const turn of ["one", "two"]) {
      await stage.turn(twoInOne, { log: [turn] });
      await stage.turn(twoInOne, new Command({ resume: "first answer" }));
      await stage.turn(twoInOne, new Command({ resume: "second answer" }));
    }
  },

  "parallel questions, all answered at once by id": async (stage) => {
    await stage.turn(parallel, { log: ["in"] });
    await stage.turn(parallel, await answersById(stage, parallel));
    await stage.turn(parallel, { log: ["again"] });
  },

  "parallel questions, answered one after another by id": async (stage) => {
    await stage.turn(parallel, { log: ["in"] });
    await stage.turn(parallel, await answersById(stage, parallel, (question) => question === "fast?"));
    await stage.turn(parallel, await answersById(stage, parallel, (question) => question === "slow?"));
  },

  "questions of several Sends, one answered before the others": async (stage) => {
    const build = tools();
    await stage.turn(build, { log: ["in"] });
    await stage.turn(build, await answersById(stage, build, (question) => question === "ask a?"));
    await stage.turn(build, await answersById(stage, build));
  },

  "a question in a subgraph": async (stage) => {
    for (const turn of ["one", "two"]) {
      await stage.turn(inSubgraph, { log: [turn] });
      await stage.turn(inSubgraph, new Command({ resume: turn }));
    }
  },

  "a question in a subgraph, answered by id": async (stage) => {
    await stage.turn(inSubgraph, { log: ["in"] });
    await stage.turn(inSubgraph, await answersById(stage, inSubgraph));
  },

  "a question in a subgraph, read and updated from inside": async (stage) => {
    await stage.turn(inSubgraph, { log: ["in"] });
    const { tasks } = await stage.state(inSubgraph);
    const inner = stage.at({ configurable: { checkpoint_ns: `inner:${tasks[0]?.id}` } });
    const inside = await stage.history(inSubgraph, inner);
    await stage.state(inSubgraph, stage.at(inside.at(-1)?.config));
    await stage.update(inSubgraph, { log: ["by hand"] }, "prepare", inner);
    await stage.turn(inSubgraph, new Command({ resume: "yes" }));
  },

  "updated by hand while a question waits beside a node that has ended": async (stage) => {
    const build = (checkpointer: BaseCheckpointSaver) =>
      new StateGraph(Annotation.Root({ ...State.spec, last: Annotation<string> }))
        .addNode("quiet", () => ({ log: ["quiet"], last: "quiet" }))
        .addNode("ask", () => ({ log: [ask("which?")] }))
        .addNode("end", (s) => ({ log: [`end after ${s.last}`] }))
        .addEdge(START, "quiet")
        .addEdge(START, "ask")
        .addEdge(["quiet", "ask"], "end")
        .compile({ checkpointer });
    for (const node of ["quiet", "ask", "end"]) {
      await stage.turn(build, { log: ["in"], last: "in" });
      await stage.update(build, { log: ["by hand"] }, node);
    }
  },

  "a question in a subgraph, answered otherwise": async (stage) => {
    await stage.turn(inSubgraph, { log: ["in"] });
    await stage.turn(inSubgraph, new Command({ resume: "left" }));
    const base = (await stage.history(inSubgraph)).find(({ next }) => next[0] === "inner");
    await stage.turn(inSubgraph, null, stage.at(base?.config));
    await stage.turn(inSubgraph, new Command({ resume: "right" }));
  },

  "a join across a stop": async (stage) => {
    await stage.turn(joining, { log: ["in"] });
    await stage.turn(joining, null);
    await stage.turn(joining, { log: ["again"] });
  },

  "stops before and after a node": async (stage) => {
    await stage.turn(stops, { log: ["in"] });
    for (let turn = 0; turn < 2; turn++) await stage.turn(stops, null);
    await stage.turn(stops, { log: ["again"] });
  },
});
