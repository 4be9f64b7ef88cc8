import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Checkpoint, CheckpointMetadata } from "@langchain/langgraph-checkpoint";
import type { TierSaver, TraceEvent } from "@stratigraph/core";

export const day = 86_400_000;

/** Ids that grow with `n`. */
export function idOf(n: number): string {
  return `1ef00000-0000-6000-8000-${String(n).padStart(12, "0")}`;
}

/** A config of a thread, of checkpoint `n` if that is above 0. */
export function configOf(threadId: string, n = 0): { configurable: Record<string, string> } {
  const id = n > 0 ? { checkpoint_id: idOf(n) } : {};
  return { configurable: { thread_id: threadId, checkpoint_ns: "", ...id } };
}

/** Puts checkpoint `n` on `parent`, made now. */
export async function put(saver: TierSaver, threadId: string, n: number, parent = n - 1): Promise<void> {
  const checkpoint: Checkpoint = {
    v: 4,
    id: idOf(n),
    ts: new Date().toISOString(),
    channel_values: { value: `${threadId} ${n} ${"and so on ".repeat(30)}` },
    channel_versions: { value: n },
    versions_seen: {},
  };
  const metadata: CheckpointMetadata = { source: "loop", step: n, parents: {} };
  await saver.put(configOf(threadId, parent), checkpoint, metadata, { value: n });
}

/** Puts checkpoints 1 to `count`. */
export async function fill(saver: TierSaver, threadId: string, count: number): Promise<void> {
  for (let n = 1; n <= count; n += 1) await put(saver, threadId, n);
}

/** Steps of a thread's history, newest first. */
export async function stepsOf(saver: TierSaver, threadId: string): Promise<(number | undefined)[]> {
  const steps: (number | undefined)[] = [];
  for await (const { metadata } of saver.list({ configurable: { thread_id: threadId } }))
    steps.push(metadata?.step);
  return steps;
}

/** Moves the clock on. Only dates are faked. */
export function later(ms: number): void {
  vi.setSystemTime(Date.now() + ms);
}

/** Maintenance that is traced from now on; `stop` ends it. */
export function maintenanceTraces(): { readonly what: string[]; stop(): void } {
  const what: string[] = [];
  const listen = (event: unknown): void => {
    const traced = event as TraceEvent;
    if (traced.type === "maintenance") what.push(traced.what);
  };
  subscribe("stratigraph", listen);
  return { what, stop: () => unsubscribe("stratigraph", listen) };
}
