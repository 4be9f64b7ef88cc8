import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { StratigraphError } from "@stratigraph/core";
import { postgres } from "@stratigraph/postgres";
import { redis } from "@stratigraph/redis";
import { TieredSaver, memory, type Consistency } from "@stratigraph/tiered";

// One of two processes that race on one thread. Every round: read the thread, say so, wait for the start, run.
const [name, consistency, durability, url, redisUrl, keyPrefix] = process.argv.slice(2) as [
  string,
  Consistency,
  "sync" | "async",
  string,
  string,
  string,
];

export type RaceMessage =
  | { type: "up" }
  | { type: "read"; round: number }
  | { type: "done"; round: number; log: string[] | undefined; error: string | undefined };

const tell = (message: RaceMessage) => void process.send?.(message);
const State = Annotation.Root({
  log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  last: Annotation<string>(),
});

const saver = new TieredSaver({
  hot: [memory(), redis({ url: redisUrl, keyPrefix, ttl: "5m" })],
  warm: postgres({ url }),
  consistency,
});
let round = 0;
let start: () => void = () => undefined;
let started = Promise.resolve();

// The first put of a run waits until the other process has read the thread as well.
const put = saver.put.bind(saver);
let gated = false;
saver.put = async (...args) => {
  if (!gated) {
    gated = true;
    tell({ type: "read", round });
  }
  await started;
  return await put(...args);
};

const node = (step: string) => (state: typeof State.State) => {
  const run = state.last.split(":")[0]!;
  return { log: [`${run}:${step}`], last: `${run}:${step}` };
};
const graph = new StateGraph(State)
  .addNode("one", node("one"))
  .addNode("two", node("two"))
  .addEdge(START, "one")
  .addEdge("one", "two")
  .addEdge("two", END)
  .compile({ checkpointer: saver });

process.on("message", async (order: { run: number } | "start" | "end") => {
  if (order === "start") return start();
  if (order === "end") {
    await saver.end();
    process.exit(0);
  }
  round = order.run;
  gated = false;
  started = new Promise((resolve) => (start = resolve));
  const config = { configurable: { thread_id: "race" }, durability };
  try {
    const { log } = await graph.invoke({ last: `${name}${round}` }, config);
    tell({ type: "done", round, log, error: undefined });
  } catch (error) {
    const code = StratigraphError.is(error) ? error.code : String(error);
    tell({ type: "done", round, log: undefined, error: code });
  }
});
tell({ type: "up" });
