import { Annotation, END, START, StateGraph, type BaseCheckpointSaver } from "@langchain/langgraph";

const State = Annotation.Root({
  log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  step: Annotation<number>({ reducer: (_, next) => next, default: () => 0 }),
});

/** A graph whose one node runs `steps` times; each adds a line of some length to `log`. */
export function stepsGraph(
  checkpointer: BaseCheckpointSaver,
  steps: number,
  options: { inStep?: (step: number) => Promise<void> } = {},
) {
  return new StateGraph(State)
    .addNode("work", async ({ step }) => {
      await options.inStep?.(step);
      return { log: [lineOf(step)], step: step + 1 };
    })
    .addEdge(START, "work")
    .addConditionalEdges("work", ({ step }) => (step < steps ? "work" : END))
    .compile({ checkpointer });
}

function lineOf(step: number): string {
  return `${step}: ${"abcdefghij".repeat(1 + ((step * 7) % 40))}`;
}

/** What `log` is after `steps` steps. */
export function linesOf(steps: number): string[] {
  return Array.from({ length: steps }, (_, step) => lineOf(step));
}
