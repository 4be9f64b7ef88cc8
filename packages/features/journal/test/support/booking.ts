import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import type { TierSaver } from "@stratigraph/core";
import type { CallOptions, Journal } from "../../src/index.ts";

/** What a world outside has been told, in its order. */
export type World = string[];

/** A graph that books things through the journal, one per run, and remembers them in its state. */
export function booking(
  checkpointer: TierSaver,
  journal: Journal,
  world: Pick<World, "push">,
  options: (item: string) => CallOptions = () => ({}),
) {
  const State = Annotation.Root({
    item: Annotation<string>(),
    booked: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  });
  return new StateGraph(State)
    .addNode("book", async ({ item }, config) => {
      const cancel = (result: unknown, args: unknown) => {
        world.push(`cancel ${(args as { item: string }).item} (${String(result)})`);
      };
      const call = { id: "book", args: { item }, compensate: cancel, ...options(item) };
      const receipt = await journal.run(config, call, () => {
        world.push(`book ${item}`);
        return `receipt of ${item}`;
      });
      return { booked: [receipt] };
    })
    .addEdge(START, "book")
    .addEdge("book", END)
    .compile({ checkpointer });
}

export const on = (thread_id: string) => ({ configurable: { thread_id } });
