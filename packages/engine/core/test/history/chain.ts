import {
  emptyCheckpoint,
  type CheckpointMetadata,
  type CheckpointTuple,
} from "@langchain/langgraph-checkpoint";
import type { TierSaver } from "@stratigraph/core";
import { text } from "../contract/support.ts";

export const metadata: CheckpointMetadata = { source: "loop", step: 0, parents: {} };

/** Ids that sort as they were put. */
export const idOf = (n: number): string => `1f000000-0000-6000-8000-${n.toString(16).padStart(12, "0")}`;

export const configOf = (id?: string) => ({
  configurable: { thread_id: "t", checkpoint_ns: "", ...(id === undefined ? {} : { checkpoint_id: id }) },
});

/** Puts a checkpoint whose channels all have the version `n`. */
export async function put(saver: TierSaver, n: number, values: Record<string, unknown>): Promise<void> {
  const versions = Object.fromEntries(Object.keys(values).map((channel) => [channel, n]));
  const checkpoint = {
    ...emptyCheckpoint(),
    id: idOf(n),
    ts: new Date(n).toISOString(),
    channel_values: values,
    channel_versions: versions,
  };
  await saver.put(configOf(n === 1 ? undefined : idOf(n - 1)), checkpoint, metadata, versions);
}

/** A log that grows by a line at a time; pending writes on every tenth checkpoint. */
export async function longChain(saver: TierSaver, length: number): Promise<void> {
  const log = [text("beginning", 4)];
  for (let n = 1; n <= length; n += 1) {
    log.push(text(`line ${n}`).slice(0, 150));
    await put(saver, n, { log: [...log], small: n });
    if (n % 10 === 0)
      await saver.putWrites(
        configOf(idOf(n)),
        [
          ["log", text(`written ${n}`, 4)],
          ["small", n],
        ],
        "task",
      );
  }
}

/** Everything that a saver reads of the thread, by checkpoint id. */
export async function tuples(saver: TierSaver): Promise<Map<string, CheckpointTuple>> {
  const found = new Map<string, CheckpointTuple>();
  for await (const tuple of saver.list(configOf())) found.set(tuple.checkpoint.id, tuple);
  return found;
}
