import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { postgres } from "@stratigraph/postgres";
import { redis } from "@stratigraph/redis";
import { TieredSaver, boundedMemory, type Consistency } from "@stratigraph/tiered";
import { race } from "../../../../../../test/race/racer.ts";

const [name, consistency, durability, url, redisUrl, prefix] = process.argv.slice(2) as [
  string,
  Consistency,
  "sync" | "async",
  string,
  string,
  string,
];

const State = Annotation.Root({
  log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  last: Annotation<string>(),
});

const node = (step: string) => (state: typeof State.State) => {
  const run = state.last.split(":")[0]!;
  return { log: [`${run}:${step}`], last: `${run}:${step}` };
};

race({
  name,
  durability,
  saver: new TieredSaver({
    hot: [boundedMemory(), redis({ url: redisUrl, prefix, ttl: "5m" })],
    warm: postgres({ url }),
    consistency,
  }),
  compile: (saver) =>
    new StateGraph(State)
      .addNode("one", node("one"))
      .addNode("two", node("two"))
      .addEdge(START, "one")
      .addEdge("one", "two")
      .addEdge("two", END)
      .compile({ checkpointer: saver }),
});
