import { Annotation, interrupt, MemorySaver, START, StateGraph } from "@langchain/langgraph";
import { observe } from "@stratigraph/service";
import * as prometheus from "prom-client";

const State = Annotation.Root({ n: Annotation<number> });

test("a graph that is a node and has its name is one execution of the node", async () => {
  const register = new prometheus.Registry();
  const telemetry = observe({ prometheus, register });
  const inner = new StateGraph(State).addNode("step", () => ({ n: 1 })).addEdge(START, "step");
  const outer = new StateGraph(State)
    .addNode("agent", inner.compile({ name: "agent" }))
    .addEdge(START, "agent");
  await outer.compile().invoke({ n: 0 }, { callbacks: [telemetry.callbacks("g")] });
  const text = await register.metrics();
  const counts = [...text.matchAll(/^stratigraph_node_duration_seconds_count\{.*node="(\w+)".*\} (\d+)$/gm)];
  expect(counts.map(([, node, count]) => [node, Number(count)]).toSorted()).toEqual([
    ["__start__", 2],
    ["agent", 1],
    ["step", 1],
  ]);
  telemetry.stop();
});

test("a node that stops at a question is interrupted, and one that throws has failed", async () => {
  const register = new prometheus.Registry();
  const telemetry = observe({ prometheus, register });
  const graph = new StateGraph(State)
    .addNode("ask", () => ({ n: interrupt<string, number>("How many?") }))
    .addNode("fail", () => Promise.reject(new Error("down")))
    .addEdge(START, "ask")
    .addEdge(START, "fail")
    .compile({ checkpointer: new MemorySaver() });
  const config = { configurable: { thread_id: "t" }, callbacks: [telemetry.callbacks("g")] };
  await graph.invoke({ n: 0 }, config).catch(() => undefined);
  const text = await register.metrics();
  const ends = [
    ...text.matchAll(/^stratigraph_node_duration_seconds_count\{.*node="(ask|fail)",outcome="(\w+)"\} 1$/gm),
  ];
  expect(ends.map(([, node, outcome]) => [node, outcome]).toSorted()).toEqual([
    ["ask", "interrupted"],
    ["fail", "failed"],
  ]);
  telemetry.stop();
});
