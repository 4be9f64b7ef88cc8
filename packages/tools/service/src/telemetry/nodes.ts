import type { Recorder } from "./recorder.ts";

/**
 * A callback handler of LangChain: `graph.invoke(input, { callbacks: [handler] })`, or `graph.withConfig({ callbacks: [handler] })`
 * for every run. A plain object, which LangChain makes a handler of.
 */
export interface NodeCallbacks {
  readonly name: string;
  handleChainStart(
    chain: unknown,
    inputs: unknown,
    runId: string,
    parentRunId?: string,
    tags?: string[],
    metadata?: Record<string, unknown>,
    runType?: string,
    runName?: string,
  ): void;
  handleChainEnd(outputs: unknown, runId: string): void;
  handleChainError(error: unknown, runId: string): void;
}

/** A node that is running. */
interface Running {
  readonly node: string;
  readonly beganMs: number;
}

/** The beginning of a tag that LangGraph gives to the execution of a node, but to nothing inside it. */
const stepTag = "graph:step:";
/** How many running nodes are remembered at most: the end of a node may never be reported. */
const mostRunning = 10_000;

/** Measures the nodes of a graph. @param graph its name, a label */
export function nodeCallbacks(graph: string, to: Recorder): NodeCallbacks {
  const running = new Map<string, Running>();
  const ended = (runId: string, outcome: "ok" | "failed" | "interrupted"): void => {
    const found = running.get(runId);
    if (found === undefined) return;
    running.delete(runId);
    const { node, beganMs } = found;
    to.record("nodes", (performance.now() - beganMs) / 1000, { graph, node, outcome });
  };
  return {
    name: "stratigraph",
    handleChainStart(_chain, _inputs, runId, _parent, tags = [], metadata, _type, runName) {
      const node = metadata?.["langgraph_node"];
      // What a node runs inside of itself has the same metadata, and usually another name. A graph that is a node may have its name.
      if (typeof node !== "string" || node !== runName || !tags.some((tag) => tag.startsWith(stepTag)))
        return;
      if (running.size >= mostRunning) running.delete(running.keys().next().value!);
      running.set(runId, { node, beganMs: performance.now() });
    },
    handleChainEnd: (_outputs, runId) => ended(runId, "ok"),
    handleChainError: (error, runId) => ended(runId, isInterrupt(error) ? "interrupted" : "failed"),
  };
}

/** Whether LangGraph threw this to stop at a question, or to hand a command to a parent graph. It is no error of the node. */
function isInterrupt(error: unknown): boolean {
  const { name, is_bubble_up: bubblesUp } = Object(error) as { name?: unknown; is_bubble_up?: unknown };
  return (
    bubblesUp === true || name === "GraphInterrupt" || name === "NodeInterrupt" || name === "ParentCommand"
  );
}
