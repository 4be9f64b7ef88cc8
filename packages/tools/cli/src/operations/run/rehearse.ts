import { DeltaSnapshot } from "@langchain/langgraph-checkpoint";
import { MemorySaver, NotFoundError, type TierSaver } from "@stratigraph/core";
import { configOf } from "@stratigraph/core/internal";
import type { Address } from "@stratigraph/core/tier";
import { onSaver, type RunnableGraph } from "./runnableGraph.ts";

/** A graph on a copy of one checkpoint in this process's memory. Running it changes nothing that is stored. */
export interface Rehearsal {
  readonly graph: RunnableGraph;
  readonly saver: TierSaver;
  readonly threadId: string;
}

/**
 * Copies a checkpoint into memory, so that something can be tried before it is done. Only the root namespace is copied: subgraphs
 * begin anew.
 * @param point the checkpoint; undefined for a thread that doesn't exist yet
 * @param isHead whether it is the head. If not, its pending writes aren't copied, as if its step had not begun
 */
export async function rehearsal(
  graph: RunnableGraph,
  saver: TierSaver,
  point: Address | undefined,
  isHead: boolean,
): Promise<Rehearsal> {
  const memory = new MemorySaver({ serde: saver.serde });
  const copy = onSaver(graph, memory);
  const threadId = point?.threadId ?? "new";
  if (point === undefined) return { graph: copy, saver: memory, threadId };
  const config = configOf(point);
  const tuple = await saver.getTuple(config);
  if (tuple === undefined) throw new NotFoundError("The checkpoint is gone.", { ...point });
  const { checkpoint, pendingWrites = [] } = tuple;
  const values = { ...checkpoint.channel_values };
  const deltas = Object.entries(graph.channels as Readonly<Record<string, { lc_graph_name?: string } | null>>)
    .filter(([name, channel]) => channel?.lc_graph_name === "DeltaChannel" && !(name in values))
    .flatMap(([name]) => (checkpoint.channel_versions[name] === undefined ? [] : [name]));
  if (deltas.length > 0) {
    // The value of a DeltaChannel is in writes of earlier checkpoints, which aren't copied.
    const state = (await graph.getState(config)).values as Readonly<Record<string, unknown>>;
    for (const name of deltas) values[name] = new DeltaSnapshot(state[name]);
  }
  const copied = { ...checkpoint, channel_values: values };
  const at = { configurable: { thread_id: threadId, checkpoint_ns: "" } };
  const stored = await memory.put(at, copied, tuple.metadata!, checkpoint.channel_versions);
  for (const [task, channel, value] of isHead ? pendingWrites : [])
    await memory.putWrites(stored, [[channel, value]], task);
  return { graph: copy, saver: memory, threadId };
}
