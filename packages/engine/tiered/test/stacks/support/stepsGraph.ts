import { Annotation, END, START, StateGraph, type BaseCheckpointSaver } from "@langchain/langgraph";

const State = Annotation.Root({
  log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  step: Annotation<number>({ reducer: (_, next) => next, default: () => 0 }),
});

/** A graph whose one node runs `steps` times; each adds a line to `log`. `onStep` is told which one ran. */
export function stepsGraph(
  checkpointer: BaseCheckpointSaver,
  steps: number,
  onStep: (step: number) => void = () => undefined,
) {
  return new StateGraph(State)
    .addNode("work", ({ step }) => {
      onStep(step);
      return { log: [`${step}: ${"abcdefghij".repeat(1 + ((step * 7) % 40))}`], step: step + 1 };
    })
    .addEdge(START, "work")
    .addConditionalEdges("work", ({ step }) => (step < steps ? "work" : END))
    .compile({ checkpointer });
}
