import { Annotation, Command, START, StateGraph, interrupt } from "@langchain/langgraph";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { ConformingSaver } from "../clause.ts";
import type { Calls } from "./call.ts";

/** How many arguments are passed on by subclasses that were written for the official MemorySaver. */
const passedOn: Readonly<Record<string, number>> = { put: 3, putWrites: 3 };

/** A saver as LangGraph's tests, its server and many applications make one: a subclass whose methods pass on fewer arguments. */
const passingFewer = (saver: ConformingSaver): ConformingSaver =>
  new Proxy(saver, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      const count = passedOn[String(name)];
      return (...args: unknown[]): unknown => member.apply(target, args.slice(0, count)) as unknown;
    },
  });

const State = Annotation.Root({
  log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  answer: Annotation<string>,
  unwritten: Annotation<string>,
});

const graphOn = (checkpointer: ConformingSaver) =>
  new StateGraph(State)
    .addNode("plan", () => ({ log: ["plan"] }))
    .addNode("look", () => ({ log: ["look"] }))
    .addNode("ask", () => ({ answer: interrupt<string, string>("which?"), log: ["ask"] }))
    .addEdge(START, "plan")
    .addEdge("plan", "look")
    .addEdge("plan", "ask")
    .compile({ checkpointer: passingFewer(checkpointer) });

/** A graph on a saver that gets fewer arguments than LangGraph passes. */
export const graphCalls: Calls = {
  graph_on_a_subclass: {
    from: [
      "langgraph-core/src/tests/utils.ts: MemorySaverAssertImmutable, on which all of pregel.test.ts runs",
      "langgraph-core/src/tests/pregel.test.ts: should wait for slow checkpointer errors",
      "langgraph-core/src/tests/python_port/checkpoint.test.ts: should not cancel checkpoint put operation when invoke is cancelled, " +
        "should not cancel checkpoint put operation when streaming is cancelled",
      "langgraph-core/src/tests/durability.persistence_failure.test.ts: keeps checkpointing after a failed put …",
      "langgraph-api/src/storage/checkpoint.mts: InMemorySaver",
    ],
    make: async (saver, thread) => {
      const answers: unknown[] = [];
      for (const durability of ["async", "exit"] as const) {
        const graph = graphOn(saver);
        const config = { configurable: { thread_id: `${thread} ${durability}` } };
        const run = { ...config, durability };
        await graph.invoke({ log: ["in"] }, run);
        await graph.invoke(new Command({ resume: "this one" }), run);
        await graph.updateState(config, { log: ["by hand"] }, "look");
        await graph.invoke({ log: ["in again"] }, run);
        const history: { config: RunnableConfig; state: unknown }[] = [];
        for await (const { values, next, metadata, config: of } of graphOn(saver).getStateHistory(config))
          history.push({ config: of, state: [values, next, metadata?.source, metadata?.step] });
        const root = history.at(-1);
        await graph.invoke(null, { ...config, ...root?.config });
        answers.push([history.map(({ state }) => state), (await graphOn(saver).getState(config)).values]);
      }
      return answers;
    },
  },
};
