import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { expect } from "vitest";
import type { SilentProxy } from "./servers/silentProxy.ts";

/** So many runs at once, and steps of each. */
const runs = 12;
const steps = 8;
/** The step in which all runs are when the wire goes silent. */
const cutAt = 3;

/**
 * Runs of a compiled graph over a wire that goes silent under way: each ends with the code, and as soon as the wire is back as many
 * others run to their ends, and those that were cut off go on from where they were.
 */
export async function expectRunsToSurviveSilence(
  checkpointer: BaseCheckpointSaver,
  proxy: SilentProxy,
  code: string,
  durability: "sync" | "async",
): Promise<void> {
  let there = 0;
  let letGo: () => void = () => undefined;
  const allThere = new Promise<void>((resolve) => (letGo = resolve));
  const State = Annotation.Root({ step: Annotation<number>() });
  const graph = new StateGraph(State)
    .addNode("work", async ({ step }) => {
      if (step === cutAt && there < runs) {
        there += 1;
        if (there === runs) {
          proxy.silence();
          letGo();
        }
        await allThere;
      }
      return { step: step + 1 };
    })
    .addEdge(START, "work")
    .addConditionalEdges("work", ({ step }) => (step < steps ? "work" : END))
    .compile({ checkpointer });
  const configOf = (n: number) => ({ configurable: { thread_id: `thread-${n}` }, durability });
  const several = (from: number) =>
    Array.from({ length: runs }, async (_, n) => await graph.invoke({ step: 0 }, configOf(from + n)));

  for (const end of await Promise.allSettled(several(0)))
    expect(end).toMatchObject({ status: "rejected", reason: { code, retryable: true } });
  proxy.speak();
  for (const end of await Promise.all(several(runs))) expect(end).toEqual({ step: steps });
  // Under "async" perhaps nothing was stored yet when the wire went silent; under "sync" two steps were.
  for (let n = 0; n < runs; n += 1) {
    const { values } = await graph.getState(configOf(n));
    const stored = (values as { step?: number }).step;
    if (durability === "sync") expect(stored).toBeGreaterThanOrEqual(cutAt - 1);
    const input = stored === undefined ? { step: 0 } : null;
    expect(await graph.invoke(input, configOf(n))).toEqual({ step: steps });
  }
}
