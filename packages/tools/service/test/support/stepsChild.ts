import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { PostgresSaver } from "@stratigraph/postgres";
import { createService, drainOnSignals, type DrainReport } from "@stratigraph/service";

// Runs a graph of ten steps on some threads and tells of each step that begins. The fourth lasts until SIGTERM, later ones until the run's
// signal fires: what a deployment cuts off. Given "again", it goes on with all threads, and nothing waits.

const [url = "", again = ""] = process.argv.slice(2);

export type StepsMessage =
  | { readonly type: "step"; readonly threadId: string; readonly step: number }
  | { readonly type: "report"; readonly report: DrainReport };

/** Threads by what their graphs are given, and their durability. */
export const threads = ["signal", "control"].flatMap((given) =>
  (["sync", "async", "exit"] as const).map((durability) => ({
    given,
    durability,
    threadId: `${given} ${durability}`,
  })),
);

type Durability = (typeof threads)[number]["durability"];

const send = (message: StepsMessage): void => void process.send?.(message);

const State = Annotation.Root({ step: Annotation<number> });
type Wait = (step: number, signal: AbortSignal | undefined) => Promise<void>;
const graphOf = (saver: PostgresSaver, wait: Wait) =>
  new StateGraph(State)
    .addNode("work", async ({ step }, { configurable, signal }) => {
      send({ type: "step", threadId: String(configurable?.["thread_id"]), step });
      await wait(step, signal);
      return { step: step + 1 };
    })
    .addEdge(START, "work")
    .addConditionalEdges("work", ({ step }) => (step < 10 ? "work" : END))
    .compile({ checkpointer: saver });

if (url !== "") {
  const saver = PostgresSaver.fromConnString(url);
  if (again === "again") {
    const graph = graphOf(saver, async () => undefined);
    await Promise.all(
      threads.map(({ threadId }) => graph.invoke(null, { configurable: { thread_id: threadId } })),
    );
    await saver.end();
    process.disconnect?.();
  } else {
    const service = createService(saver, { limits: { balancer: "0ms", runs: "100ms", abort: "5s" } });
    drainOnSignals(service, { onReport: (report) => send({ type: "report", report }) });
    // The service has heard of it before.
    const terminated = new Promise<void>((resolve) => process.once("SIGTERM", () => resolve()));
    const graph = graphOf(saver, async (step, signal) => {
      if (step === 3) await terminated;
      if (step > 3)
        await new Promise<void>((_, reject) =>
          signal?.addEventListener("abort", () => reject(signal.reason as Error)),
        );
    });
    const invoke = (threadId: string, durability: Durability, options: object) =>
      graph.invoke({ step: 0 }, { ...options, durability, configurable: { thread_id: threadId } });
    for (const { given, durability, threadId } of threads)
      service
        .run(threadId, (signal, control) =>
          invoke(threadId, durability, given === "control" ? { signal, control } : { signal }),
        )
        .catch(() => undefined);
  }
}
