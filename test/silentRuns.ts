import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { StratigraphError } from "@stratigraph/core";
import { expect } from "vitest";
import type { SilentProxy } from "./servers/silentProxy.ts";

/** Runs at once, and steps of each. */
const runs = 12;
const steps = 8;
/** The step that all runs are in when the connection goes silent. */
const cutAt = 3;

/**
 * Runs of a compiled graph over a connection that goes silent. Each ends with the error code. As soon as the connection works again,
 * as many other runs complete, and those that were cut off continue from their last checkpoint.
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
    // A write of the run that was cut off may have waited in a queue and be stored only now. That is a conflict, and its advice is to repeat.
    const resume = async () => await graph.invoke(input, configOf(n));
    const end = await resume().catch((error: unknown) => {
      if (StratigraphError.is(error, "CHECKPOINT_CONFLICT")) return resume();
      throw error;
    });
    expect(end).toEqual({ step: steps });
  }
}
