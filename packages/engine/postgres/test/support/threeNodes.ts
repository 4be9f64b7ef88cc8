import { Annotation, END, START, StateGraph, type BaseCheckpointSaver } from "@langchain/langgraph";

const State = Annotation.Root({
  log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  last: Annotation<string>(),
});

/** A graph of three nodes, one after another; each adds `<name of the run>:<node>` to `log`, and overwrites `last`. */
export function threeNodes(
  checkpointer: BaseCheckpointSaver,
  options: { before?: () => Promise<void> } = {},
) {
  const node = (name: string) => async (state: typeof State.State) => {
    await options.before?.();
    const run = state.last.split(":")[0]!;
    return { log: [`${run}:${name}`], last: `${run}:${name}` };
  };
  return new StateGraph(State)
    .addNode("one", node("one"))
    .addNode("two", node("two"))
    .addNode("three", node("three"))
    .addEdge(START, "one")
    .addEdge("one", "two")
    .addEdge("two", "three")
    .addEdge("three", END)
    .compile({ checkpointer });
}

/** What a run called `name` adds to `log`. */
export function logOf(name: string): string[] {
  return [`${name}:one`, `${name}:two`, `${name}:three`];
}
