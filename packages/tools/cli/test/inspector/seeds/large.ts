import { Annotation, START, StateGraph } from "@langchain/langgraph";
import type { TierSaver } from "@stratigraph/core";
import { longThread } from "../../operations/support/threads.ts";
import { on } from "./on.ts";

/** About 12 MB as JSON: 60,000 rows of a catalogue, and a text of 2 MB beside. */
export async function seedLarge(saver: TierSaver): Promise<void> {
  const Catalogue = Annotation.Root({
    supplier: Annotation<string>(),
    rows: Annotation<object[]>(),
    log: Annotation<string>(),
  });
  const graph = new StateGraph(Catalogue)
    .addNode("load", ({ supplier }) => ({
      rows: Array.from({ length: 60_000 }, (_, n) => ({
        sku: `${supplier}-${String(n).padStart(6, "0")}`,
        name: `Part number ${n}, which has a description of some length`,
        price: n * 0.05,
        stock: { gent: n % 7, porto: n % 11, turin: n % 13 },
        tags: ["part", `group-${n % 40}`],
      })),
      log: Array.from(
        { length: 25_000 },
        (_, n) => `2026-11-23T10:00:00Z row ${n} was read and it is well formed\n`,
      ).join(""),
    }))
    .addEdge(START, "load")
    .compile({ checkpointer: saver });
  await graph.invoke({ supplier: "shimano" }, on("catalogue of 12 MB"));
}

/** A thread of 20,000 checkpoints. */
export async function seedLong(saver: TierSaver, checkpoints = 20_000): Promise<void> {
  await longThread(saver, `${checkpoints} steps`, checkpoints);
}
