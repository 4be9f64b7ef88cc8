import { Annotation, START, StateGraph } from "@langchain/langgraph";
import { createCache } from "../src/index.ts";

// A process that runs a graph over a cache when it is told to, and ends its node when it is told to.

const { config, name, wait } = JSON.parse(process.argv[2]!);
const cache = await createCache(config, { name, wait });
const told = new Set<string>();
process.on("message", (order) => {
  told.add(String(order));
});
const order = async (awaited: string): Promise<void> => {
  while (!told.has(awaited)) await new Promise((resolve) => process.once("message", resolve));
};

const State = Annotation.Root({ topic: Annotation<string>, by: Annotation<number> });
const graph = new StateGraph(State)
  .addNode(
    "compute",
    async () => {
      process.send!("computing");
      await order("finish");
      return { by: process.pid };
    },
    { cachePolicy: true },
  )
  .addEdge(START, "compute")
  .compile({ cache });

const get = cache.get.bind(cache);
cache.get = async (keys) => {
  process.send!("asked");
  return await get(keys);
};
process.send!("ready");
await order("go");
const { by } = await graph.invoke({ topic: "tea" });
process.send!(`got ${by}`);
