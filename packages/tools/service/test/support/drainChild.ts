import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { postgres } from "@stratigraph/postgres";
import { redis } from "@stratigraph/redis";
import { createService, drainOnSignals, type DrainReport } from "@stratigraph/service";
import { TieredSaver } from "@stratigraph/tiered";

// Runs graphs on many threads, and tells of each step after the checkpoint before it was acknowledged. Shuts down at SIGTERM.

const [url = "", redisUrl = "", prefix = "", threads = "", runsLimit = "", ends = ""] = process.argv.slice(2);

export interface StepMessage {
  readonly type: "step";
  readonly threadId: string;
  /** The step that begins: those before it are stored. */
  readonly step: number;
}
export type DrainMessage =
  | StepMessage
  | { readonly type: "draining" }
  | { readonly type: "report"; readonly report: DrainReport };

const send = (message: DrainMessage): Promise<void> =>
  new Promise((resolve) => void process.send?.(message, undefined, undefined, () => resolve()));

const saver = new TieredSaver({
  hot: redis({ url: redisUrl, prefix, ttl: "5m" }),
  warm: postgres({ url }),
});

export const State = Annotation.Root({
  log: Annotation<number[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});

const graph = new StateGraph(State)
  .addNode("step", async ({ log }, { configurable }) => {
    await send({ type: "step", threadId: String(configurable?.["thread_id"]), step: log.length });
    await new Promise((resolve) => setTimeout(resolve, 5 + Math.random() * 10));
    if (ends === "never" && log.length > 10) await new Promise(() => undefined);
    return { log: [log.length] };
  })
  .addEdge(START, "step")
  .addConditionalEdges("step", ({ log }) => (log.length < 40 ? "step" : END))
  .compile({ checkpointer: saver });

const service = createService(saver, {
  limits: { balancer: "100ms", runs: runsLimit as "1s", abort: "5s" },
});
drainOnSignals(service, { onReport: (report) => send({ type: "report", report }) });
process.once("SIGTERM", () => void send({ type: "draining" }));

async function work(thread: number): Promise<void> {
  for (let n = 0; ; n += 1) {
    const threadId = `t${thread}-${n}`;
    await service.run(threadId, (signal) =>
      graph.invoke(
        { log: [] },
        { configurable: { thread_id: threadId }, signal, durability: "sync", recursionLimit: 100 },
      ),
    );
  }
}

for (let thread = 0; thread < Number(threads); thread += 1)
  // Ended by DRAINING, before a run or in the middle of it.
  void work(thread).catch(() => undefined);
