import type { Checkpoint, CheckpointMetadata } from "@langchain/langgraph-checkpoint";
import type { TierSaver } from "@stratigraph/core";

/** Long enough for a blob of its own. */
export function text(what: string): string {
  return `${what} ${"and so on ".repeat(30)}`;
}

/** Ids that grow with `n`. */
export function idOf(n: number): string {
  return `1ef00000-0000-6000-8000-${String(n).padStart(12, "0")}`;
}

/** Puts checkpoint `n` on its parent `n - 1` (none for 1), with one channel. */
export async function put(
  saver: TierSaver,
  threadId: string,
  n: number,
  value: unknown,
  parent: number = n - 1,
): Promise<void> {
  const checkpoint: Checkpoint = {
    v: 4,
    id: idOf(n),
    ts: new Date(1_700_000_000_000 + n * 1000).toISOString(),
    channel_values: { value },
    channel_versions: { value: n },
    versions_seen: {},
  };
  const metadata: CheckpointMetadata = { source: "loop", step: n, parents: {} };
  await saver.put(configOf(threadId, parent), checkpoint, metadata, { value: n });
}

/** A config of a thread, of checkpoint `n` if that is above 0. */
export function configOf(threadId: string, n = 0): { configurable: Record<string, string> } {
  const id = n > 0 ? { checkpoint_id: idOf(n) } : {};
  return { configurable: { thread_id: threadId, checkpoint_ns: "", ...id } };
}

/** The channel's value at checkpoint `n`, or at the head. */
export async function valueOf(saver: TierSaver, threadId: string, n = 0): Promise<unknown> {
  return (await saver.getTuple(configOf(threadId, n)))?.checkpoint.channel_values["value"];
}

/** Steps of a thread's history, newest first. */
export async function stepsOf(saver: TierSaver, threadId: string): Promise<(number | undefined)[]> {
  const steps: (number | undefined)[] = [];
  for await (const { metadata } of saver.list({ configurable: { thread_id: threadId } }))
    steps.push(metadata?.step);
  return steps;
}
